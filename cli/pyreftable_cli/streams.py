"""Standard streams by their descriptors: binary, buffered where it pays, errors told apart."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

    from _typeshed import ReadableBuffer

STDIN, STDOUT, STDERR = 0, 1, 2

# Big enough that a listing of many refs is few system calls, small enough not to delay a reader.
_OUTPUT_BUFFER = 1 << 17


class OutputError(Exception):
    """Standard output cannot be written; the cause is the `OSError`."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.errno = error.errno
        self.reason = error.strerror


class _RawOutput(io.RawIOBase):
    """Standard output, unbuffered. An error of its own: other files may fail in a command, too.

    It is raised once: the buffer tries to write again when it is finalized, and would complain.
    """

    _is_broken = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return STDOUT

    def isatty(self) -> bool:
        return os.isatty(STDOUT)

    def write(self, data: ReadableBuffer) -> int:
        if self._is_broken:
            return memoryview(data).nbytes
        try:
            return os.write(STDOUT, data)
        except OSError as error:
            self._is_broken = True
            raise OutputError(error) from error


def open_output() -> io.BufferedWriter:
    """Standard output, buffered; writing raises `OutputError`."""
    return io.BufferedWriter(_RawOutput(), _OUTPUT_BUFFER)


def open_input() -> BinaryIO:
    """Standard input."""
    return open(STDIN, "rb", closefd=False)


def write_error(data: bytes) -> None:
    """Write to stderr at once; if nobody listens there, the exit status still tells."""
    try:
        while data:
            data = data[os.write(STDERR, data) :]
    except OSError:
        pass


def is_terminal(descriptor: int) -> bool:
    """Whether a standard stream leads to a terminal; not if it is closed."""
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def reserve_descriptors() -> None:
    """Open the standard streams that the caller closed, on nothing.

    Otherwise a table or lock file could get the descriptor, and what is printed would end in it.
    """
    descriptor = STDIN
    while descriptor <= STDERR:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
