"""The seam between a stack and the place where its tables are kept.

`Storage` is all that a stack asks of that place; `DirectoryStorage` is a directory on disk, in
git's layout:

    tables.list                                  table names, oldest first, one a line
    tables.list.lock                             whoever created it may replace the list
    0x<min>-0x<max>-<random>.ref                 one table, never changed once it is named
    0x<min>-0x<max>-<random>.ref.lock            a compaction is replacing that table
    0x<min>-0x<max>-<random>.temp.<random>       a table being written

Files are only ever replaced by rename, so a reader sees whole files and needs no lock.

Order of a durable change: the table's bytes, synced; its name; the new list's bytes, synced; its
name; the directory, synced. The list is synced after the table got its name, in one directory:
file systems that keep a journal commit both in that order, so a crash leaves the old list, or the
new one with its tables.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from ..errors import FormatError
from ..ranged import read_on
from ..table import Table
from .files import OwnFile, acquire_lock, storage_error, storage_errors

LIST = "tables.list"
LOCK_SUFFIX = ".lock"
TABLE_SUFFIX = ".ref"
TEMP_INFIX = ".temp."

_READ_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
# A Windows file cannot be replaced while it is open, and its inode number may be missing.
_KEEP_LIST_OPEN = os.name != "nt"
_CANNOT_SYNC_DIRECTORY = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EACCES}


class Listing(NamedTuple):
    """What the list said: table names, oldest first, and the storage's own mark of that state."""

    names: tuple[str, ...]
    stamp: object


class StoredFile(NamedTuple):
    """A file beside the list: its name, and the seconds since it was last written."""

    name: str
    age: float


class Lock(Protocol):
    """A lock that is held; `path` is what people have to remove if its holder died."""

    @property
    def path(self) -> str: ...

    def release(self) -> None:
        """Give it back; a second call does nothing. Raises nothing."""


class ListLock(Lock, Protocol):
    """The right to replace the list."""

    def replace(self, names: Sequence[str]) -> None:
        """Write the list and release the lock, in one step. Raises `StorageError`.

        After an error, or an interrupt, the list may be the old one or the new one.
        """


class TableFile(Protocol):
    """A table being written, that has no name yet. Methods raise `StorageError`."""

    def write(self, data: bytes) -> object:
        """Append bytes."""

    def finish(self) -> None:
        """No more bytes will come: make them durable."""

    def publish(self, name: str) -> None:
        """Give the finished table its name."""

    def discard(self) -> None:
        """Forget it, unless it is published. Raises nothing."""


class Storage(Protocol):
    """A place that keeps tables and the list of them. Methods raise `StorageError`."""

    @property
    def location(self) -> str:
        """Where it is, for messages."""

    def read_list(self) -> Listing:
        """The list as it is now; empty if there is none. Raises `FormatError` too."""

    def is_current(self, listing: Listing) -> bool:
        """Whether the list is certainly still that one; when in doubt, False."""

    def open_table(self, name: str) -> Table:
        """Open a table. Raises `FileNotFoundError` if it is gone, `FormatError` if damaged."""

    def lock(self, timeout_ms: int) -> ListLock:
        """Lock the list, waiting so long (0: try once, -1: for ever). Raises `LockError`."""

    def lock_table(self, name: str) -> Lock:
        """Lock one table against other compactions. Raises `LockError`, at once."""

    def new_name(self, min_update_index: int, max_update_index: int) -> str:
        """A name for a table with that range that nothing has yet; ask with the list locked."""

    def create_table(self, min_update_index: int, max_update_index: int) -> TableFile:
        """Start to write a table that will have about that range."""

    def sync(self) -> None:
        """Make the names that were given so far durable."""

    def remove(self, name: str) -> bool:
        """Delete a file; False if it is gone already or cannot be deleted now."""

    def files(self) -> Iterable[StoredFile]:
        """All files there, the list and its lock apart."""


class _OpenList:
    """The stamp of a list on disk: its status, and a descriptor that keeps its inode taken.

    The descriptor matters. Without it: a reader notes the list's inode; a writer adds a table,
    which makes a second file; its auto-compaction replaces that by a third, which may get the
    first one's inode number, size and even time. The reader would take it for the list it knows.
    While the first file is open its inode cannot be given to another.
    """

    __slots__ = ("fd", "status")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.status = _identity(os.fstat(fd))

    def __del__(self) -> None:
        os.close(self.fd)


class _ListLockFile:
    def __init__(self, storage: DirectoryStorage, file: OwnFile) -> None:
        self._storage = storage
        self._file = file

    @property
    def path(self) -> str:
        return self._file.path

    def replace(self, names: Sequence[str]) -> None:
        self._file.write(b"".join(os.fsencode(name) + b"\n" for name in names))
        self._file.finish(sync=self._storage.fsync)
        self._file.rename(self._storage.path(LIST))

    def release(self) -> None:
        self._file.remove()


class _TableLockFile:
    def __init__(self, file: OwnFile) -> None:
        try:
            # Compacting many tables would otherwise run out of descriptors.
            file.close()
        except BaseException:
            file.remove()
            raise
        self._file = file

    @property
    def path(self) -> str:
        return self._file.path

    def release(self) -> None:
        self._file.remove()


class _TableFile:
    def __init__(self, storage: DirectoryStorage, file: OwnFile) -> None:
        self._storage = storage
        self._file = file
        self.write = file.write

    def finish(self) -> None:
        self._file.finish(sync=self._storage.fsync)

    def publish(self, name: str) -> None:
        self._file.rename(self._storage.path(name))

    def discard(self) -> None:
        self._file.remove()


class DirectoryStorage:
    """A stack's directory, as git has it in `.git/reftable`; a `Storage`, whose methods see there.

    The directory must exist before anything is written; until then the stack reads as empty.
    `fsync`: sync files and directory. `file_mode`: permission bits of tables and list, `None` for
    what the umask leaves.
    """

    def __init__(self, directory: str, fsync: bool = True, file_mode: int | None = None) -> None:
        self.location = directory
        self.fsync = fsync
        self.file_mode = file_mode
        self._list_path = self.path(LIST)

    def path(self, name: str) -> str:
        """Path of the file called `name`."""
        return os.path.join(self.location, name)

    def read_list(self) -> Listing:
        try:
            stamp = _OpenList(os.open(self._list_path, _READ_FLAGS))
            data = read_on(stamp.fd, stamp.status[2])
        except FileNotFoundError:
            return Listing((), None)
        except OSError as error:
            raise storage_error(self._list_path, error) from error
        return Listing(_parse_list(data, self._list_path), stamp if _KEEP_LIST_OPEN else object())

    def is_current(self, listing: Listing) -> bool:
        try:
            status = os.stat(self._list_path)
        except FileNotFoundError:
            return listing.stamp is None
        except OSError:
            return False  # Reading the list will tell what is wrong.
        return isinstance(listing.stamp, _OpenList) and listing.stamp.status == _identity(status)

    def open_table(self, name: str) -> Table:
        path = self.path(name)
        try:
            return Table.open(path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise storage_error(path, error) from error

    def lock(self, timeout_ms: int) -> ListLock:
        path = self._list_path + LOCK_SUFFIX
        return _ListLockFile(self, acquire_lock(path, timeout_ms, self.file_mode))

    def lock_table(self, name: str) -> Lock:
        path = self.path(name) + LOCK_SUFFIX
        return _TableLockFile(acquire_lock(path, timeout_ms=0))

    def new_name(self, min_update_index: int, max_update_index: int) -> str:
        while True:
            name = _stem(min_update_index, max_update_index) + TABLE_SUFFIX
            if not os.path.lexists(self.path(name)):
                return name

    def create_table(self, min_update_index: int, max_update_index: int) -> TableFile:
        suffix = TEMP_INFIX + os.urandom(3).hex()
        path = self.path(_stem(min_update_index, max_update_index) + suffix)
        with storage_errors(path):
            return _TableFile(self, OwnFile(path, self.file_mode))

    def sync(self) -> None:
        """Sync the directory; where the system cannot, its names are as durable as it makes them.

        Windows cannot open a directory, and some network file systems refuse to sync one.
        """
        if not self.fsync or os.name == "nt":
            return
        with storage_errors(self.location):
            try:
                fd = os.open(self.location, os.O_RDONLY)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
            except OSError as error:
                if error.errno not in _CANNOT_SYNC_DIRECTORY:
                    raise

    def remove(self, name: str) -> bool:
        try:
            os.unlink(self.path(name))
        except OSError:
            # Windows deletes no file that a reader has open; `Stack.clean` will find it.
            return False
        return True

    def files(self) -> Iterator[StoredFile]:
        with storage_errors(self.location):
            names = os.listdir(self.location)
        now = time.time()
        for name in names:
            if name not in (LIST, LIST + LOCK_SUFFIX):
                try:
                    status = os.lstat(self.path(name))
                except OSError:
                    continue  # Deleted since it was listed.
                yield StoredFile(name, now - status.st_mtime)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _parse_list(data: bytes, path: str) -> tuple[str, ...]:
    """Table names, each ended by a line feed; empty lines are skipped, as git does.

    A name that leads out of the directory is refused, which git does not check.
    """
    names = os.fsdecode(data).split("\n")
    if names.pop():
        what = "the last table name has no line end"
        raise FormatError(what, path=path, offset=len(data) - len(data.rpartition(b"\n")[2]))
    if b"/" in data or b"\0" in data:
        offset = 0
        for line in data.split(b"\n"):
            if b"/" in line or b"\0" in line:
                raise FormatError(f"{line!r} is no table name", path=path, offset=offset)
            offset += len(line) + 1
    return tuple(filter(None, names))


def _stem(min_update_index: int, max_update_index: int) -> str:
    unique = os.urandom(4).hex()
    return f"0x{min_update_index:012x}-0x{max_update_index:012x}-{unique}"
