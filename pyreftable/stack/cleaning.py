"""Deleting what crashed processes, and systems that cannot delete open files, left behind.

Done under the list's lock, under which alone tables are named and listed. So an unlisted table is
dead, but what is not named yet, a temporary file, may belong to a compaction or a writer at
work; only its age tells. A table's lock likewise: while its table is listed it is respected for
ever, as git does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import FormatError
from .storage import LOCK_SUFFIX, TABLE_SUFFIX, TEMP_INFIX

if TYPE_CHECKING:
    from .snapshot import Snapshot
    from .stack import Stack
    from .storage import Storage

#: Seconds after its last write when a temporary file must be dead. Writing a table of a million
#: refs takes seconds; a day leaves room for a machine that slept. A writer that sleeps longer
#: fails to name its table, and its stack stays as it was.
SAFE_AGE = 24 * 60 * 60


def clean(stack: Stack) -> list[str]:
    """Delete dead files of the stack; the names of those deleted.

    Dead are tables that the list does not name and whose largest update index is not above the
    stack's (git's rule); temporary files, and locks of tables not listed, older than `SAFE_AGE`.
    Tables that cannot be read stay. Raises `LockError`, `StorageError`, `FormatError`.
    """
    lock = stack.storage.lock(stack.options.lock_timeout_ms)
    try:
        dead = list(_dead_files(stack.storage, stack.snapshot()))
        return [name for name in dead if stack.storage.remove(name)]
    finally:
        lock.release()


def _dead_files(storage: Storage, snapshot: Snapshot) -> Iterator[str]:
    for name, age in storage.files():
        if name.endswith(TABLE_SUFFIX):
            dead = name not in snapshot.names and _is_superseded(storage, name, snapshot)
        elif name.endswith(TABLE_SUFFIX + LOCK_SUFFIX):
            dead = name.removesuffix(LOCK_SUFFIX) not in snapshot.names and age > SAFE_AGE
        else:
            dead = name.startswith("0x") and TEMP_INFIX in name and age > SAFE_AGE
        if dead:
            yield name


def _is_superseded(storage: Storage, name: str, snapshot: Snapshot) -> bool:
    try:
        table = storage.open_table(name)
    except (FileNotFoundError, FormatError):
        return False
    try:
        return table.max_update_index < snapshot.next_update_index
    finally:
        # Windows deletes no open file; nobody else has this one from us.
        table.close()
