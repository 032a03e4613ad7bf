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


class MappedFile:
    """A file read through a memory map."""

    def __init__(self, path: str) -> None:
        import mmap

        with open(path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            # An empty file cannot be mapped; the table's size check will refuse it.
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.size else None

    def read(self, offset: int, length: int) -> bytes:
        """See `RangedReader.read`."""
        return self._map[offset : offset + length] if self._map is not None else b""

    def close(self) -> None:
        """Unmap the file."""
        if self._map is not None:
            self._map.close()
