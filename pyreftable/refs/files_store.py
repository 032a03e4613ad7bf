"""A repository that stores its refs in files, read as if it had them in a reftable.

Its refs and logs are read once and become a table in memory, so that everything that reads a
`RefStore` works. Writing is refused: that takes git, or a migration.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from ..errors import CallerError
from ..stack import Stack
from ..stack.storage import Listing, ListLock, Lock, StoredFile, TableFile
from ..table import Table
from ..writer import TableWriter
from .files_reading import FilesReader, number_logs
from .settings import stack_options
from .store import RefStore

if TYPE_CHECKING:
    from .repository import Repository

_NAME = "files.ref"


class FilesRefStore(RefStore):
    """The refs of `repository`, which stores them as "files", for reading; they do not change.

    What cannot be read as a ref is left out. Raises `DataError` for a `packed-refs` that is none.
    """

    ref_storage = "files"

    def __init__(self, repository: Repository) -> None:
        super().__init__(repository, stack_options(repository)._replace(auto_compact=False))

    def stack(self, worktree: str | None = None) -> Stack:
        """The refs of the common directory, or the own ones of a linked worktree."""
        stack = self._stacks.get(worktree)
        if stack is None:
            folder = self.repository.ref_directory(worktree)
            reader = FilesReader(folder, self.hash, self.objects)
            stack = Stack(_MemoryStorage(folder, self._table_of(reader)), self._options)
            self._stacks[worktree] = stack
        return stack

    def _table_of(self, reader: FilesReader) -> bytes:
        refs = reader.refs(_ignore)
        logs, after = number_logs(reader, 1)
        parts: list[bytes] = []
        writer = TableWriter(
            parts.append,
            hash=self.hash,
            options=self._options.write,
            min_update_index=1,
            max_update_index=max(1, after - 1),
        )
        writer.add_refs(ref._replace(update_index=1) for ref in refs)
        writer.add_logs(logs)
        writer.finish()
        return b"".join(parts)


def _ignore(name: str, reason: str) -> None:
    pass


class _Bytes:
    """A table's bytes in memory (see `RangedReader`)."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]

    def close(self) -> None:
        pass


class _MemoryStorage:
    """One table that never changes (see `Storage`)."""

    def __init__(self, location: str, data: bytes) -> None:
        self.location = location
        self._data = data

    def read_list(self) -> Listing:
        return Listing((_NAME,), None)

    def is_current(self, listing: Listing) -> bool:
        return True

    def open_table(self, name: str) -> Table:
        return Table(_Bytes(self._data), f"{self.location}/{name}")

    def lock(self, timeout_ms: int) -> ListLock:
        self._refuse()

    def lock_table(self, name: str) -> Lock:
        self._refuse()

    def new_name(self, min_update_index: int, max_update_index: int) -> str:
        self._refuse()

    def create_table(self, min_update_index: int, max_update_index: int) -> TableFile:
        self._refuse()

    def sync(self) -> None:
        self._refuse()

    def remove(self, name: str) -> bool:
        return False

    def files(self) -> Iterable[StoredFile]:
        return ()

    def _refuse(self) -> NoReturn:
        raise CallerError(
            f"{self.location}: refs are stored as 'files', which can only be read here "
            "(see 'refs migrate')"
        )
