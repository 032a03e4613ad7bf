"""A mutable sequence of tables in one place: the current snapshot, additions, compactions.

Threads and processes: any number may read, and no reader ever takes a lock, of this object or of
a file. Writers of all threads and processes take turns by the list's lock file. Two additions that
one thread opens on the same stack wait for each other in vain, until `lock_timeout_ms` is over.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ..errors import CallerError
from ..progress import SILENCE, Progress
from .options import LogExpiry, StackOptions, StackStats
from .snapshot import Snapshot, load_snapshot
from .storage import DirectoryStorage, Listing, Storage

if TYPE_CHECKING:
    from ..writer import TableWriter
    from .addition import Addition

DEFAULTS = StackOptions()

#: How many lists a writer holds on to.
_HELD = 4


class Stack:
    """A stack of tables in `storage`; nothing is read or changed before it is asked for.

    Every method may raise `StorageError` (the disk refused) and `FormatError` (damaged list or
    table); what else, each says.
    """

    __slots__ = ("_closed", "_loaded", "_replaced", "options", "stats", "storage")

    def __init__(self, storage: Storage, options: StackOptions = DEFAULTS) -> None:
        self.storage = storage
        self.options = options
        self.stats = StackStats()
        self._loaded: tuple[Snapshot, Listing] | None = None
        self._replaced: list[Listing] = []
        self._closed = False

    @classmethod
    def open(cls, directory: str, options: StackOptions = DEFAULTS) -> Stack:
        """The stack in a directory such as `.git/reftable`; it may not exist yet, or be empty."""
        storage = DirectoryStorage(directory, fsync=options.fsync, file_mode=options.file_mode)
        return cls(storage, options)

    def __enter__(self) -> Stack:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the tables; snapshots and iterators that are still held go on working."""
        self._closed = True
        self._loaded = None
        self._replaced = []

    # Reading

    def snapshot(self) -> Snapshot:
        """The current snapshot; loads it if the list changed. Raises `TableVanishedError`.

        If loading fails, the snapshots already handed out, and `cached`, stay as they are.
        """
        loaded = self._loaded
        if loaded is None or not self.storage.is_current(loaded[1]):
            # Threads that come here at once all load: better twice than waiting for each other.
            # Should an older list be kept last, the next call will see it.
            self._loaded = loaded = self._load(loaded[0] if loaded else None)
        return loaded[0]

    def _load(self, previous: Snapshot | None) -> tuple[Snapshot, Listing]:
        if self._closed:
            raise CallerError(f"{self.storage.location}: the stack is closed")
        return load_snapshot(self.storage, self.options, self.stats, previous)

    @property
    def cached(self) -> Snapshot:
        """The snapshot that was loaded last, unchecked; loads the first one."""
        loaded = self._loaded
        return loaded[0] if loaded is not None else self.snapshot()

    def load_own(self) -> None:
        """Load the list after replacing it, and hold on to the old one for a few commits more.

        Readers hold what they have loaded, too. Whoever lets go of a deleted file last has the file
        system free it, and wait for its journal: that is the writer's part.
        """
        if self._loaded is not None:
            self._replaced = [*self._replaced[1 - _HELD :], self._loaded[1]]
        self.snapshot()

    # Writing

    def addition(self) -> Addition:
        """Lock the list, to add tables on top of what is there then. Raises `LockError`."""
        from .addition import Addition

        return Addition(self)

    def add(self, fill: Callable[[TableWriter, Snapshot], None]) -> None:
        """Add one table that `fill` writes; it sees the snapshot it will be added to.

        If `fill` adds no record, or raises, the stack stays as it is. Raises `LockError`,
        `WriteError`, and what `fill` raises.
        """
        with self.addition() as addition:
            addition.write_table(lambda writer: fill(writer, addition.snapshot))
            addition.commit()

    # Compaction

    def auto_compact(self, progress: Progress = SILENCE) -> bool:
        """Compact as the geometric rule says; whether anything was compacted.

        Leaves out tables that another compaction has locked. `progress` is told of the records
        that are merged. Raises `LockError` when the list is locked, or when fewer than two tables
        are left.
        """
        from .compaction import auto_compact

        return auto_compact(self, progress)

    def compact_all(self, expiry: LogExpiry | None = None, progress: Progress = SILENCE) -> bool:
        """Merge all tables into one; whether anything was done. Raises `LockError`.

        One table alone is only rewritten when there is an `expiry`. `progress` is told of the
        records that are merged.
        """
        from .compaction import compact_all

        return compact_all(self, expiry, progress)

    def compact_range(self, first: int, last: int, expiry: LogExpiry | None = None) -> bool:
        """Merge the tables `first` to `last` (inclusive) of `cached`; whether anything was done.

        Raises `LockError`, `OutdatedError` if the list has changed since `cached` was loaded, and
        `CallerError` for a range that is not in it.
        """
        from .compaction import compact_range

        return compact_range(self, first, last, expiry)

    def compaction_required(self, geometric: bool) -> bool:
        """Whether auto-compaction (or, not `geometric`, `compact_all`) would do anything."""
        from .policy import compaction_required

        return compaction_required(self.snapshot(), self.options, geometric=geometric)

    def clean(self) -> list[str]:
        """Delete files that no list names and no live process needs; their names.

        Raises `LockError`.
        """
        from .cleaning import clean

        return clean(self)
