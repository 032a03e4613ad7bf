"""Merging tables of a stack into one, while readers and writers go on.

What to merge is `policy`'s business; this is the mechanism, in the steps of git's document,
section "Compaction", as git takes them:

    1. lock the list, and see that it still says what the range was chosen from;
    2. lock the tables of the range, the last one first;
    3. unlock the list: writers may now add tables on top;
    4. merge the tables into a temporary file;
    5. lock the list again, and find the range in it;
    6. name the merged table, and write the list with it in place of the range;
    7. unlock the list (that is the same rename); load the new list;
    8. delete the old tables, then unlock them.

Tables are locked from last to first so that a newer process, which finds an older one at work on
the tables below, can still compact those that it added itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import CallerError, LockError, OutdatedError
from ..format.records import LogRecord
from ..merged import Merged
from ..progress import SILENCE, Progress, counted, estimated_logs, estimated_refs
from ..table import Table
from ..writer import TableWriter
from .options import LogExpiry
from .policy import NOTHING, Segment, geometric_segment
from .publication import Publication

if TYPE_CHECKING:
    from .snapshot import Snapshot
    from .stack import Stack
    from .storage import Lock, TableFile


# Entry points, behind the methods of `Stack`


def auto_compact(stack: Stack, progress: Progress = SILENCE) -> bool:
    """See `Stack.auto_compact`."""

    def choose(snapshot: Snapshot) -> Segment:
        return geometric_segment(snapshot, stack.options)

    # Most commits need no compaction, and should not lock the list a second time to see that.
    if choose(stack.snapshot()) == NOTHING:
        return False
    return _compact(stack, choose, None, best_effort=True, progress=progress)


def compact_all(stack: Stack, expiry: LogExpiry | None, progress: Progress = SILENCE) -> bool:
    """See `Stack.compact_all`."""

    def choose(snapshot: Snapshot) -> Segment:
        count = len(snapshot.tables)
        return Segment(0, count) if count > 1 or (count and expiry is not None) else NOTHING

    if choose(stack.snapshot()) == NOTHING:
        return False
    return _compact(stack, choose, expiry, best_effort=False, progress=progress)


def compact_range(stack: Stack, first: int, last: int, expiry: LogExpiry | None) -> bool:
    """See `Stack.compact_range`."""
    meant = stack.cached
    if not 0 <= first <= last < len(meant.tables):
        raise CallerError(f"no tables {first} to {last} in a stack of {len(meant.tables)}")
    if first == last and expiry is None:
        return False

    def choose(snapshot: Snapshot) -> Segment:
        if snapshot.names != meant.names:
            raise OutdatedError(f"{stack.storage.location}: the stack changed since it was read")
        return Segment(first, last + 1)

    return _compact(stack, choose, expiry, best_effort=False)


# Mechanism


class _Manner(NamedTuple):
    """How records are copied: which log entries go, and who is told."""

    expiry: LogExpiry | None
    progress: Progress


def _compact(
    stack: Stack,
    choose: Callable[[Snapshot], Segment],
    expiry: LogExpiry | None,
    *,
    best_effort: bool,
    progress: Progress = SILENCE,
) -> bool:
    """Merge what `choose` says of the locked list; with `best_effort`, what of it can be locked."""
    locks: list[Lock] = []
    try:
        is_base, tables = _lock_range(stack, choose, locks, best_effort=best_effort)
        if not tables:
            return False
        stack.stats.compactions += 1
        manner = _Manner(expiry, progress)
        file = _write_merged(stack, tables, manner, drop_deletions=is_base)
        try:
            _replace_range(stack, tables, file)
        finally:
            if file is not None:
                file.discard()
        _delete_replaced(stack, tables)
    finally:
        for lock in locks:
            lock.release()
    return True


def _lock_range(
    stack: Stack, choose: Callable[[Snapshot], Segment], locks: list[Lock], *, best_effort: bool
) -> tuple[bool, dict[str, Table]]:
    """Steps 1 to 3; whether the range starts at the stack's base, and its tables by list name.

    Locks are added to `locks` one by one, for the caller to release whatever happens.
    """
    list_lock = stack.storage.lock(stack.options.lock_timeout_ms)
    try:
        snapshot = stack.snapshot()
        start, end = choose(snapshot)
        for index in range(end - 1, start - 1, -1):
            try:
                locks.append(stack.storage.lock_table(snapshot.names[index]))
            except LockError:
                if not best_effort or len(locks) < 2:
                    raise
                start = index + 1
                break
    finally:
        list_lock.release()
    names, tables = snapshot.names[start:end], snapshot.tables[start:end]
    return start == 0, dict(zip(names, tables, strict=True))


def _write_merged(
    stack: Stack, tables: dict[str, Table], manner: _Manner, *, drop_deletions: bool
) -> TableFile | None:
    """Step 4: an unnamed file with the tables' records, or `None` if none is left."""
    merging = list(tables.values())
    low, high = _range_of(merging)
    file = stack.storage.create_table(low, high)
    try:
        writer = TableWriter(
            file.write,
            hash=stack.options.hash,
            # Messages were cleaned, or not, when they were first written.
            options=stack.options.write._replace(exact_log_message=True),
            min_update_index=low,
            max_update_index=high,
        )
        merged = Merged(merging, suppress_deletions=drop_deletions)
        _copy_records(merged, writer, manner)
        writer.finish()
        stack.stats.records_compacted += writer.refs_written + writer.logs_written
        if writer.is_empty:
            file.discard()
            return None
        file.finish()
    except BaseException:
        file.discard()
        raise
    return file


def _copy_records(merged: Merged, writer: TableWriter, manner: _Manner) -> None:
    """Stream all records; without an expiry nobody has to look into the log entries."""
    expiry, progress = manner
    if progress is not SILENCE:
        progress.start("Merging refs", estimated_refs(merged.tables))
    for run in counted(merged.ref_runs(), progress):
        writer.add_ref_run(run)
    if progress is not SILENCE:
        progress.start("Merging log entries", estimated_logs(merged.tables))
    if expiry is not None:
        writer.add_logs(_unexpired(merged.logs(), expiry))
        return
    for run in counted(merged.log_runs(), progress):
        writer.add_log_run(run)


def _unexpired(logs: Iterator[LogRecord], expiry: LogExpiry) -> Iterator[LogRecord]:
    """The entries to keep. Tombstones have no time of their own: one that got this far hides an
    entry in a table below the range, which must not come back. (Git reads their time as 0.)"""
    oldest, lowest = expiry
    for log in logs:
        if log.is_deletion or (log.time >= oldest and log.update_index >= lowest):
            yield log


def _range_of(tables: Sequence[Table]) -> tuple[int, int]:
    return tables[0].min_update_index, tables[-1].max_update_index


def _replace_range(stack: Stack, tables: dict[str, Table], file: TableFile | None) -> None:
    """Steps 5 to 7."""
    publication = Publication(stack.storage, stack.storage.lock(stack.options.lock_timeout_ms))
    try:
        names = stack.storage.read_list().names
        start = _find_range(names, tuple(tables), stack.storage.location)
        if file is not None:
            publication.publish(file, *_range_of(list(tables.values())))
        publication.commit(names[:start] + publication.names + names[start + len(tables) :])
    finally:
        publication.rollback()
    stack.load_own()


def _find_range(names: tuple[str, ...], wanted: tuple[str, ...], location: str) -> int:
    """Where the tables we merged are in the list now; writers only ever added on top of them.

    As we hold their locks nobody but a person can have moved them; raises `OutdatedError`.
    """
    for start in range(len(names) - len(wanted) + 1):
        if names[start : start + len(wanted)] == wanted:
            return start
    raise OutdatedError(f"{location}: tables left the stack while they were compacted")


def _delete_replaced(stack: Stack, tables: dict[str, Table]) -> None:
    """Step 8. Readers that have them open go on reading; Windows then leaves them to `clean`."""
    for name in tables:
        stack.storage.remove(name)
