"""Reading by ranges: where a table's bytes come from.

A table asks for the bytes from an offset on, and no more: a file on disk answers from a memory
map, and anything else that can read ranges may stand in for it.
"""

from __future__ import annotations

import os
from typing import Protocol


class RangedReader(Protocol):
    """Where a table's bytes come from: a mapped file, or anything read by ranges."""

    @property
    def size(self) -> int:
        """Length in bytes."""

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on: `length` of them, or fewer at the end."""

    def close(self) -> None:
        """Give the resource back."""


_READ_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
#: Bytes up to which a file is read whole, and those up to which that is done at once.
_SMALL = 1 << 18
_TINY = 1 << 12


def open_file(path: str) -> RangedReader:
    """The file at `path`, through a memory map, or read whole if it is small. Raises `OSError`.

    Reading a small file costs less than mapping it, and once it is deleted its space is free.
    """
    descriptor = os.open(path, _READ_FLAGS)
    try:
        # New tables are mostly this small, and then their size need not be asked.
        start = os.read(descriptor, _TINY)
        if len(start) < _TINY:
            return LoadedFile(start)
        size = os.fstat(descriptor).st_size
        if size > _SMALL:
            return MappedFile(descriptor, size)
        return LoadedFile(start + read_on(descriptor, size - _TINY))
    finally:
        os.close(descriptor)


def read_on(descriptor: int, size: int) -> bytes:
    """The rest of an open file, most likely `size` bytes, which one call then reads."""
    data = os.read(descriptor, size + 1)
    while len(data) != size and (more := os.read(descriptor, 1 << 16)):
        data += more
    return data


class LoadedFile:
    """A file's content in memory."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        """See `RangedReader.read`."""
        return self._data[offset : offset + length]

    def close(self) -> None:
        """Forget the content."""
        self._data = b""


class MappedFile:
    """A file read through a memory map."""

    def __init__(self, descriptor: int, size: int) -> None:
        import mmap

        self.size = size
        self._map = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)

    def read(self, offset: int, length: int) -> bytes:
        """See `RangedReader.read`."""
        return self._map[offset : offset + length]

    def close(self) -> None:
        """Unmap the file."""
        self._map.close()
