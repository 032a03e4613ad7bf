"""Compacting at the commit: one table written where auto-compaction would make two.

A table that auto-compaction would merge with those below it as soon as it is listed need not be
written first and read again. Where the geometric rule says so, and nobody holds a lock on the
tables below, an addition writes the merged table in the first place, and lists it in their stead.
Readers then load one new list instead of two.

The list stays locked while tables are merged here, unlike in `compaction`: so only as many bytes
are merged as keep that short beside the writing of the new records. Whatever goes wrong (a rival
compacts, a table below is damaged), the addition writes its own table alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import ReftableError
from ..format.block import Run
from ..merged import merge_runs, without_deletions
from ..writer import TableWriter
from .policy import suggest_segment, weights

if TYPE_CHECKING:
    from .snapshot import Snapshot
    from .stack import Stack
    from .storage import Lock, TableFile

_CHUNK = 1024
#: How many bytes may be merged: so many, and so many times the new ones.
_FREE_SHARE = 1 << 18
_SHARE = 2


class EarlyCompaction:
    """New records merged with the tables from `start` on, whose locks are held until `release`.

    `file` is the merged table, finished but unnamed, of the update indices `low` up to the new
    records'; `None` where no record is left.
    """

    def __init__(self, stack: Stack, snapshot: Snapshot, start: int) -> None:
        self.start = start
        self.replaced = snapshot.names[start:]
        self.low = snapshot.tables[start].min_update_index
        self.file: TableFile | None = None
        self._stack = stack
        self._tables = snapshot.tables[start:]
        self._locks: list[Lock] = []

    def lock(self) -> None:
        """Lock the tables, the last one first. Raises `LockError`."""
        for name in reversed(self.replaced):
            self._locks.append(self._stack.storage.lock_table(name))

    def write(self, refs: Run, logs: Run, high: int) -> None:
        """Write the merged table. Raises what reading and writing raise."""
        stack, tables = self._stack, self._tables
        file = stack.storage.create_table(self.low, high)
        try:
            writer = TableWriter(
                file.write,
                hash=stack.options.hash,
                options=stack.options.write._replace(exact_log_message=True),
                min_update_index=self.low,
                max_update_index=high,
            )
            for run in self._visible([table.ref_runs() for table in tables], refs):
                writer.add_ref_run(run)
            for run in self._visible([table.log_runs() for table in tables], logs):
                writer.add_log_run(run)
            writer.finish()
            if not writer.is_empty:
                file.finish()
                self.file = file
        finally:
            if self.file is None:
                file.discard()
        stack.stats.compactions += 1
        stack.stats.records_compacted += writer.refs_written + writer.logs_written

    def _visible(self, below: list[Iterator[Run]], new: Run) -> Iterator[Run]:
        merged = merge_runs([*below, _chunks(new)])
        # Deletions have hidden all that they could where nothing is below.
        return merged if self.start else without_deletions(merged)

    def delete_replaced(self) -> None:
        """Delete the tables that no list names any more; readers may have them open still."""
        for name in self.replaced:
            self._stack.storage.remove(name)

    def release(self) -> None:
        """Forget the file, unless it was named, and unlock the tables. Raises nothing."""
        if self.file is not None:
            self.file.discard()
        for lock in self._locks:
            lock.release()


def compact_early(
    stack: Stack, snapshot: Snapshot, refs: Run, logs: Run, high: int
) -> EarlyCompaction | None:
    """The compaction that the new records, of update index `high`, call for; `None` without one."""
    start = _start(stack, snapshot, refs, logs)
    if start == len(snapshot.tables):
        return None
    early = EarlyCompaction(stack, snapshot, start)
    try:
        early.lock()
        early.write(refs, logs, high)
    except ReftableError:
        early.release()
        return None
    except BaseException:
        early.release()
        raise
    return early


def _start(stack: Stack, snapshot: Snapshot, refs: Run, logs: Run) -> int:
    """The first table to merge with the new one; the number of tables if there is none."""
    count = len(snapshot.tables)
    if not stack.options.auto_compact or not count:
        return count
    new = _least_size(refs, logs)
    sizes = [*weights(snapshot, stack.options), new]
    segment = suggest_segment(sizes, stack.options.geometric_factor or 2)
    if segment.end <= count or sum(sizes[segment.start : -1]) > _FREE_SHARE + _SHARE * new:
        return count
    return segment.start


def _least_size(refs: Run, logs: Run) -> int:
    """What a table of these records weighs, rather too little: then auto-compaction does the rest.

    Of a ref's name only the end is stored, but for every sixteenth; logs are deflated.
    """
    count = len(refs.keys)
    size = sum(map(len, refs.values)) + sum(map(len, refs.keys[::16])) + 4 * count
    return size + sum(map(len, logs.values)) // 2


def _chunks(run: Run) -> Iterator[Run]:
    for start in range(0, len(run.keys), _CHUNK):
        yield run.slice(start, start + _CHUNK)
