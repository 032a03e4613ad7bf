"""Planning a big, plain transaction in columns instead of update by update.

What a program that creates, moves or deletes very many refs sends is plain: no symrefs, no
logs, all in the main stack, nothing in the way. Then sorted columns of names and ids answer every
question of `checks` for the whole batch, and become the table's columns as they are. At a
million refs this takes a fifth of the time of as many `Update` objects.

Whatever is not plain, above all what has to be refused, is left to `checks`: nothing here makes
an error of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import compress, islice, repeat
from operator import lt
from typing import TYPE_CHECKING, NamedTuple, cast

from ..format.block import Run
from ..format.records import DELETION, OID, OID_AND_PEELED
from ..merged import Merged
from ..probe import survey
from .conflicts import in_the_way, views_of
from .names import LOGGED_PREFIXES, PER_WORKTREE_PREFIXES
from .settings import log_all_ref_updates
from .text import as_bytes
from .update import Update

if TYPE_CHECKING:
    from ..stack import Addition
    from .store import RefStore

Oid = bytes | None


class Columns:
    """Queued updates of refs under `refs/` as parallel lists: names, new and old ids.

    Ids are as in `Update`; `peeled` has the peeled ids of the annotated tags among the new ones.
    """

    def __init__(self, deref: bool) -> None:
        self.deref = deref
        self.names: list[str] = []
        self.new_oids: list[Oid] = []
        self.old_oids: list[Oid] = []
        self.peeled: dict[bytes, bytes] = {}

    def extend(
        self,
        names: Sequence[str],
        new_oids: Sequence[Oid],
        old_oids: Sequence[Oid],
        peeled: Mapping[bytes, bytes],
    ) -> None:
        """Add more of the same."""
        self.names += names
        self.new_oids += new_oids
        self.old_oids += old_oids
        self.peeled.update(peeled)

    def append(self, name: str, new_oid: Oid, old_oid: Oid, peeled: Oid) -> None:
        """Add one, whose new object is an annotated tag if it has a peeled id."""
        self.names.append(name)
        self.new_oids.append(new_oid)
        self.old_oids.append(old_oid)
        if new_oid is not None and peeled is not None:
            self.peeled[new_oid] = peeled

    def updates(self, message: bytes) -> list[Update]:
        """The same one by one."""
        peeled, deref = self.peeled, self.deref
        return [
            Update(
                name,
                new_oid=new,
                old_oid=old,
                peeled=None if new is None else peeled.get(new),
                deref=deref,
                message=message,
            )
            for name, new, old in zip(self.names, self.new_oids, self.old_oids, strict=True)
        ]


class Batch(NamedTuple):
    """Updates in the order of their names; `keys` are the names' bytes."""

    keys: list[bytes]
    new_oids: list[Oid]
    old_oids: list[Oid]


def sorted_batch(columns: Columns) -> Batch | None:
    """The updates in the order of their names; `None` if a name comes twice."""
    keys = as_bytes("\n".join(columns.names)).split(b"\n")
    new, old = columns.new_oids, columns.old_oids
    if all(map(lt, keys, islice(keys, 1, None))):
        return Batch(keys, new, old)
    if len(set(new)) == len(set(old)) == 1:
        keys.sort()
        return Batch(keys, new, old) if all(map(lt, keys, islice(keys, 1, None))) else None
    rows = dict(zip(keys, zip(new, old, strict=True), strict=True))
    if len(rows) < len(keys):
        return None
    keys.sort()
    rows_in_order = zip(*map(rows.__getitem__, keys), strict=True)
    new_oids, old_oids = (list(column) for column in rows_in_order)
    return Batch(keys, new_oids, old_oids)


def may_be_plain(store: RefStore, batch: Batch) -> bool:
    """Whether the names alone allow it: shared refs, that no log and no HEAD follows."""
    keys = batch.keys
    special = list(PER_WORKTREE_PREFIXES)
    mode = log_all_ref_updates(store.repository)
    if mode == "always":
        return False
    if mode == "normal":
        special += LOGGED_PREFIXES
    if any(_has_prefix(keys, as_bytes(prefix)) for prefix in special):
        return False
    head = store.get("HEAD")
    return head is None or head.target is None or not _has(keys, as_bytes(head.target))


def plan_run(
    store: RefStore, addition: Addition, batch: Batch, peeled: Mapping[bytes, bytes]
) -> Run | None:
    """The records that the batch comes to under the lock; `None` if it is not plain.

    `peeled` has the peeled ids of the annotated tags among the new ids.
    """
    merged = addition.snapshot.merged
    keys = batch.keys
    if _may_have_logs(merged, keys[0], keys[-1]):
        return None
    current, is_above = survey(merged, keys)
    null = store.hash.null
    if is_above or not _old_ids_hold(batch, current, null):
        return None
    unborn = [key for key in keys if key not in current] if current else keys
    if in_the_way(views_of(store), unborn, keys, merged):
        return None
    return _run(batch, current, null, peeled, addition.next_update_index)


def _has(keys: Sequence[bytes], key: bytes) -> bool:
    at = bisect_left(keys, key)
    return at < len(keys) and keys[at] == key


def _has_prefix(keys: Sequence[bytes], prefix: bytes) -> bool:
    at = bisect_left(keys, prefix)
    return at < len(keys) and keys[at].startswith(prefix)


def _may_have_logs(merged: Merged, first: bytes, last: bytes) -> bool:
    """Whether there is a log record, be it a deletion, of any name from `first` to `last`."""
    record = next(merged.logs(first + b"\0"), None)
    return record is not None and record.refname <= last


def _old_ids_hold(batch: Batch, current: Mapping[bytes, bytes], null: bytes) -> bool:
    """Whether every ref is as its update expects, and none is a symref."""
    asked = set(batch.old_oids)
    if not current:
        return asked <= {None, null}
    if b"" in current.values():
        return False
    if asked == {None}:
        return True
    held = map(current.get, batch.keys, repeat(null))
    return all(old is None or old == oid for old, oid in zip(batch.old_oids, held, strict=False))


def _run(
    batch: Batch,
    current: Mapping[bytes, bytes],
    null: bytes,
    peeled: Mapping[bytes, bytes],
    index: int,
) -> Run:
    """The records of the refs that change."""
    keys, new_oids = batch.keys, batch.new_oids
    asked = set(new_oids)
    if asked == {null}:
        names = keys if len(current) == len(keys) else [key for key in keys if key in current]
        count = len(names)
        return Run(names, [DELETION] * count, [b""] * count, [index] * count)
    if current:
        held = map(current.get, keys, repeat(null))
        changes = [new is not None and new != oid for new, oid in zip(new_oids, held, strict=False)]
        keys, new_oids = list(compress(keys, changes)), list(compress(new_oids, changes))
    elif null in asked or None in asked:
        changes = [new is not None and new != null for new in new_oids]
        keys, new_oids = list(compress(keys, changes)), list(compress(new_oids, changes))
    count = len(keys)
    types, values = [OID] * count, cast("list[bytes]", new_oids)
    if peeled or null in asked:
        types = [_type_of(new, null, peeled) for new in values]
        values = [b"" if new == null else new + peeled.get(new, b"") for new in values]
    return Run(keys, types, values, [index] * count)


def _type_of(new: bytes, null: bytes, peeled: Mapping[bytes, bytes]) -> int:
    if new == null:
        return DELETION
    return OID_AND_PEELED if new in peeled else OID
