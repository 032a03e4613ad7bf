"""The short way for `update-ref --stdin`: runs of plain lines, as programs write them.

    create SP <ref> SP <new-id>
    update SP <ref> SP <new-id> [SP <old-id>]
    delete SP <ref> [SP <old-id>]
    verify SP <ref> [SP <old-id>]

with full ids in hexadecimal and nothing quoted. Here lines are only told apart and taken to
pieces; whatever is unusual, let alone wrong, is left to `update_ref_arguments`, which reads every
line and knows every message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .update_ref_names import ObjectNames


class PlainUpdates:
    """Updates as parallel lists, with ids as `Transaction.queue_many` takes them.

    `end` is the number of the first line that is not among them.
    """

    __slots__ = ("end", "names", "new_oids", "old_oids")

    def __init__(self, start: int) -> None:
        self.names: list[str] = []
        self.new_oids: list[bytes | None] = []
        self.old_oids: list[bytes | None] = []
        self.end = start


def scan(lines: list[str], start: int, ids: ObjectNames) -> PlainUpdates:
    """Read the plain lines from `lines[start]` on, up to the first that is not plain.

    One flat loop, because a million lines go through it. What it accepts, the exact reader
    would read the same way: words between single blanks, with other white space neither in ids
    nor (as whoever queues them checks) in names.
    """
    updates = PlainUpdates(start)
    names, new_oids, old_oids = updates.names, updates.new_oids, updates.old_oids
    null, known, full_id = ids.null, ids.full_ids, ids.full_id
    for at in range(start, len(lines)):
        line = lines[at]
        words = line.split(" ")
        command = words[0]
        count = len(words)
        new: bytes | None
        old: bytes | None
        if count == 3:
            last = known.get(words[2]) or full_id(words[2])
            if last is None:
                break
            if command == "create" and last != null:
                new, old = last, null
            elif command == "update":
                new, old = last, None
            elif command == "delete" and last != null:
                new, old = null, last
            elif command == "verify":
                new, old = None, last
            else:
                break
        elif count == 4 and command == "update":
            new, old = full_id(words[2]), full_id(words[3])
            if new is None or old is None:
                break
        elif count == 2 and command == "delete":
            new, old = null, None
        elif count == 2 and command == "verify":
            new, old = None, null
        else:
            break
        if '"' in line:
            break
        names.append(words[1])
        new_oids.append(new)
        old_oids.append(old)
    updates.end = start + len(names)
    return updates
