"""A second implementation of `Storage`, in memory: proof that the stack knows no disk.

It keeps to the letter of the protocol and no further: names are not git's, a stamp is a counter,
and nothing is ever half there.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from pyreftable.errors import LockError, StorageError
from pyreftable.stack.storage import Listing, StoredFile
from pyreftable.table import Table


class MemoryStorage:
    """Tables in a dict. `fail_after` calls that change something, they raise `StorageError`."""

    def __init__(self) -> None:
        self.location = "memory"
        self.tables: dict[str, bytes] = {}
        self.unfinished: set[MemoryTable] = set()
        self.locks: set[str] = set()
        self.names: tuple[str, ...] = ()
        self.changes = 0
        self.fail_after: int | None = None
        self._counter = 0

    def step(self) -> None:
        """Every changing call comes through here."""
        if self.fail_after is not None:
            self.fail_after -= 1
            if self.fail_after < 0:
                raise StorageError("memory: full")

    def read_list(self) -> Listing:
        return Listing(self.names, self.changes)

    def is_current(self, listing: Listing) -> bool:
        return listing.stamp == self.changes

    def open_table(self, name: str) -> Table:
        if name not in self.tables:
            raise FileNotFoundError(name)
        return Table(MemoryReader(self.tables[name]), name)

    def lock(self, timeout_ms: int) -> MemoryListLock:
        return MemoryListLock(self, "list", timeout_ms)

    def lock_table(self, name: str) -> MemoryLock:
        return MemoryLock(self, name, 0)

    def new_name(self, min_update_index: int, max_update_index: int) -> str:
        self._counter += 1
        return f"{min_update_index}-{max_update_index}-{self._counter}"

    def create_table(self, min_update_index: int, max_update_index: int) -> MemoryTable:
        self.step()
        return MemoryTable(self)

    def sync(self) -> None:
        self.step()

    def remove(self, name: str) -> bool:
        return self.tables.pop(name, None) is not None

    def files(self) -> Iterable[StoredFile]:
        return [StoredFile(name, 0.0) for name in self.tables]


class MemoryReader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def read(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]

    def close(self) -> None:
        self.data = b""


class MemoryLock:
    def __init__(self, storage: MemoryStorage, name: str, timeout_ms: int) -> None:
        self.storage = storage
        self.path = name + ".lock"
        deadline = time.monotonic() + timeout_ms / 1000
        while self.path in storage.locks:
            if timeout_ms >= 0 and time.monotonic() >= deadline:
                raise LockError(f"memory: {self.path} is held", path=self.path)
            time.sleep(0.001)
        storage.step()
        storage.locks.add(self.path)
        self.held = True

    def release(self) -> None:
        if self.held:
            self.held = False
            self.storage.locks.discard(self.path)


class MemoryListLock(MemoryLock):
    def replace(self, names: Sequence[str]) -> None:
        self.storage.step()
        self.storage.names = tuple(names)
        self.storage.changes += 1
        self.release()


class MemoryTable:
    def __init__(self, storage: MemoryStorage) -> None:
        self.storage = storage
        self.chunks: list[bytes] = []
        storage.unfinished.add(self)

    def write(self, data: bytes) -> None:
        self.storage.step()
        self.chunks.append(data)

    def finish(self) -> None:
        self.storage.step()

    def publish(self, name: str) -> None:
        self.storage.step()
        self.storage.tables[name] = b"".join(self.chunks)
        self.storage.unfinished.discard(self)

    def discard(self) -> None:
        self.storage.unfinished.discard(self)
