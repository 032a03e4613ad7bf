"""Adding tables on top of a stack: all of them become visible at once, or none.

`Publication` is what additions and compactions share: tables get their names before the list
names them, and lose them again if it never does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from ..errors import CallerError, ReftableError, WriteError
from ..writer import TableWriter

if TYPE_CHECKING:
    from .stack import Stack
    from .storage import ListLock, Storage, TableFile


class Publication:
    """Named tables on their way into the list, under its lock.

    `commit` or `rollback` ends it, and the lock with it.

    Rolling back after `commit` began has to look before it deletes. An interrupt may arrive, or
    an error be reported, when the list has already been replaced; deleting its tables then would
    destroy the stack.
    """

    def __init__(self, storage: Storage, lock: ListLock) -> None:
        self._storage = storage
        self._lock = lock
        self._names: list[str] = []
        self._list_may_be_new = False

    @property
    def names(self) -> tuple[str, ...]:
        """The tables published so far, oldest first."""
        return tuple(self._names)

    def publish(self, file: TableFile, min_update_index: int, max_update_index: int) -> str:
        """Name a finished table after its range; its name."""
        name = self._storage.new_name(min_update_index, max_update_index)
        self._names.append(name)
        try:
            file.publish(name)
        except BaseException:
            # An interrupt may come after the rename: delete it, whether it is there or not.
            self._storage.remove(name)
            self._names.remove(name)
            raise
        return name

    def commit(self, names: Sequence[str]) -> None:
        """Replace the list by `names`, durably."""
        self._list_may_be_new = True
        self._lock.replace(names)
        self._names.clear()
        self._storage.sync()

    def rollback(self) -> None:
        """Delete the tables that are not in the list and release its lock. Raises nothing."""
        try:
            names = self._unlisted()
            self._names.clear()
            for name in names:
                self._storage.remove(name)
        finally:
            self._lock.release()

    def _unlisted(self) -> list[str]:
        if not (self._names and self._list_may_be_new):
            return list(self._names)
        try:
            listed = self._storage.read_list().names
        except ReftableError:
            return []  # Better a table too many, which `Stack.clean` deletes, than one too few.
        return [name for name in self._names if name not in listed]


class Addition:
    """A locked stack that tables are added to; made by `Stack.addition`.

    As a context manager it rolls back at the end unless it was committed. `snapshot` is the
    state the tables go on top of; the lock keeps it current.
    """

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._storage = stack.storage
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

    def commit(self) -> None:
        """Make the tables visible, release the lock, and let the stack auto-compact.

        Without tables nothing changes. Raises `StorageError`: then the stack is as before, unless
        it was the last step that failed, syncing the directory.
        """
        publication = self._open_publication()
        if not publication.names:
            self.rollback()
            return
        try:
            publication.commit(self.snapshot.names + publication.names)
        finally:
            self.rollback()
        _settle(self._stack)

    def rollback(self) -> None:
        """Delete the tables written, if they are not committed, and release the lock.

        Does nothing the second time. Raises nothing.
        """
        publication, self._publication = self._publication, None
        if publication is not None:
            publication.rollback()

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
        stack.snapshot()
        if stack.options.auto_compact:
            stack.auto_compact()
    except ReftableError as error:
        stack.stats.failed_compactions += 1
        # Its traceback would keep the snapshot, and so the old tables, open.
        stack.stats.compaction_error = error.with_traceback(None)
