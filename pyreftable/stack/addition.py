"""Adding tables on top of a stack: all of them become visible at once, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from ..errors import CallerError, ReftableError, WriteError
from ..writer import TableWriter, encode_logs
from .early_compaction import EarlyCompaction, compact_early
from .publication import Publication

if TYPE_CHECKING:
    from ..format.block import Run
    from ..format.records import LogRecord
    from .stack import Stack


class Addition:
    """A locked stack that tables are added to; made by `Stack.addition`.

    As a context manager it rolls back at the end unless it was committed. `snapshot` is the
    state the tables go on top of; the lock keeps it current.
    """

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._storage = stack.storage
        self._early: EarlyCompaction | None = None
        lock = self._storage.lock(stack.options.lock_timeout_ms)
        try:
            self.snapshot = stack.snapshot()
            self.next_update_index = self.snapshot.next_update_index
            self._publication: Publication | None = Publication(self._storage, lock)
        except BaseException:
            lock.release()
            raise

    def __enter__(self) -> Addition:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.rollback()

    def write_table(
        self,
        fill: Callable[[TableWriter], None],
        *,
        min_update_index: int | None = None,
        max_update_index: int | None = None,
    ) -> None:
        """Write one table: `fill` adds its records. A table without records is left out.

        The range defaults to `next_update_index` alone, and `max_update_index` to
        `min_update_index`; the next table's range must begin above this one's. When this raises
        (`WriteError`, `StorageError`, or what `fill` raises) the addition is as before the call.
        """
        publication = self._open_publication()
        low = self.next_update_index if min_update_index is None else min_update_index
        high = low if max_update_index is None else max_update_index
        if low < self.next_update_index:
            raise WriteError(f"update index {low} is below the next one, {self.next_update_index}")
        file = self._storage.create_table(low, high)
        try:
            options = self._stack.options
            writer = TableWriter(
                file.write,
                hash=options.hash,
                options=options.write,
                min_update_index=low,
                max_update_index=high,
            )
            fill(writer)
            writer.finish()
            if not writer.is_empty:
                file.finish()
                publication.publish(file, low, high)
                self.next_update_index = high + 1
        finally:
            file.discard()

    def write_records(self, refs: Run, logs: Sequence[LogRecord] = ()) -> None:
        """Write one table of these records, in key order, whose update index is the next one.

        Where auto-compaction would merge it with the tables below at once, the merged table may be
        written instead (see `early_compaction`). Raises as `write_table` does.
        """
        publication = self._open_publication()
        index = self.next_update_index
        if not publication.names and (refs.keys or logs):
            options = self._stack.options
            log_run = encode_logs(logs, options.hash, options.write)
            early = compact_early(self._stack, self.snapshot, refs, log_run, index)
            if early is not None:
                self._early = early
                if early.file is not None:
                    publication.publish(early.file, early.low, index)
                self.next_update_index = index + 1
                return

        def fill(writer: TableWriter) -> None:
            writer.add_ref_run(refs)
            writer.add_logs(logs)

        self.write_table(fill)

    def commit(self) -> None:
        """Make the tables visible, release the lock, and let the stack auto-compact.

        Without tables nothing changes. Raises `StorageError`: then the stack is as before, unless
        it was the last step that failed, syncing the directory.
        """
        publication, early = self._open_publication(), self._early
        if not publication.names and early is None:
            self.rollback()
            return
        below = self.snapshot.names[: early.start] if early else self.snapshot.names
        try:
            publication.commit(below + publication.names)
            if early is not None:
                early.delete_replaced()
        finally:
            self.rollback()
        _settle(self._stack)

    def rollback(self) -> None:
        """Delete the tables written, if they are not committed, and release the lock.

        Does nothing the second time. Raises nothing.
        """
        publication, self._publication = self._publication, None
        early, self._early = self._early, None
        try:
            if publication is not None:
                publication.rollback()
        finally:
            if early is not None:
                early.release()

    def _open_publication(self) -> Publication:
        if self._publication is None:
            raise CallerError("the addition is already committed or rolled back")
        return self._publication


def _settle(stack: Stack) -> None:
    """After a commit: load the new tables, and auto-compact if the options say so.

    The tables are listed by now, so whatever goes wrong here (a rival holds the locks, the disk
    is full) must not make the commit fail: this is the one place where it is absorbed, and
    counted. A stack that cannot be loaded shows again with the next `snapshot`.
    """
    try:
        stack.load_own()
        if stack.options.auto_compact:
            stack.auto_compact()
    except ReftableError as error:
        stack.stats.failed_compactions += 1
        # Its traceback would keep the snapshot, and so the old tables, open.
        stack.stats.compaction_error = error.with_traceback(None)
