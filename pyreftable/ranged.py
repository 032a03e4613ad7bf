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


#: Bytes up to which a file is read whole.
_SMALL = 1 << 18


def open_file(path: str) -> RangedReader:
    """The file at `path`, through a memory map, or read whole if it is small. Raises `OSError`.

    Reading a small file costs less than mapping it, and once it is deleted its space is free.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        size = os.fstat(descriptor).st_size
        return MappedFile(descriptor, size) if size > _SMALL else LoadedFile(descriptor, size)
    finally:
        os.close(descriptor)


class LoadedFile:
    """A file's content in memory."""

    def __init__(self, descriptor: int, size: int) -> None:
        data = b""
        while chunk := os.read(descriptor, size + 1):
            data += chunk
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
