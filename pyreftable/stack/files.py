"""Files that exist for a moment, or until they get their final name: locks, unfinished tables.

A file made here is this process's own: it goes away when its work ends, however that ends:

    1. an exception, KeyboardInterrupt included: the owner's `finally` calls `remove`;
    2. an owner that forgot: the object's finalizer, at the latest at interpreter exit;
    3. a signal: only in programs that called `remove_files_on_signals`.

A crash or SIGKILL leaves the files, as git does: a lock then waits for a person, a temporary
file for `Stack.clean`.

Removing by path is safe only while the path still names *our* file. Between a rename to the
final name and the note of it, an interrupt may come, and another process may already hold a
lock of the same name. So `remove` compares device and inode first. If they are ours, nobody else
can put another file there (a lock is only ever created where there is none), so there is no gap
between look and removal. A child after fork owns nothing of its parent's.

A stack comes here only through `storage.py`. Layers above use the same files for what they lock
themselves, and command lines the signal handler.
"""

from __future__ import annotations

import atexit
import os
import time
from contextlib import suppress

from ..errors import LockError, StorageError

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_BUFFER_SIZE = 256 * 1024
_LONGEST_WAIT_MS = 1000

_Owner = tuple[int, int, int]
_owned: dict[str, _Owner] = {}


class storage_errors:
    """Turns the operating system's refusals in the block into `StorageError` naming `path`."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError):
            raise storage_error(self.path, error) from error


def storage_error(path: str, error: OSError) -> StorageError:
    """What `storage_errors` raises, for those who cannot afford a context."""
    return StorageError(f"{path}: {error.strerror or error}")


class OwnFile:
    """A new file, written through a buffer; gone again unless `rename` gave it a final name.

    Creating it raises `FileExistsError` where there is a file already. `mode` are permission
    bits, `None` for what the umask leaves. Methods raise `StorageError`.
    """

    __slots__ = ("_buffer", "_buffered", "_fd", "_owner", "path")

    def __init__(self, path: str, mode: int | None = None) -> None:
        self.path = path
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._owner: _Owner | None = None
        self._fd = os.open(path, _FLAGS, 0o666)
        try:
            status = os.fstat(self._fd)
            self._owner = _owned[path] = (os.getpid(), status.st_dev, status.st_ino)
            if mode is not None:
                os.chmod(path, mode)
        except BaseException:
            self.remove()
            raise

    def write(self, data: bytes) -> None:
        """Append `data`; it reaches the disk with `finish` at the latest."""
        self._buffer.append(data)
        self._buffered += len(data)
        if self._buffered >= _BUFFER_SIZE:
            self._flush()

    def _flush(self) -> None:
        view = memoryview(b"".join(self._buffer))
        self._buffer.clear()
        self._buffered = 0
        with storage_errors(self.path):
            while view:
                view = view[os.write(self._fd, view) :]

    def finish(self, *, sync: bool) -> None:
        """Write what is pending, with `sync` down to the disk, and close the descriptor."""
        self._flush()
        with storage_errors(self.path):
            if sync:
                os.fsync(self._fd)
            self._close()

    def close(self) -> None:
        """Close the descriptor; the file stays, and stays ours."""
        with storage_errors(self.path):
            self._close()

    def _close(self) -> None:
        descriptor, self._fd = self._fd, -1
        if descriptor >= 0:
            os.close(descriptor)

    def rename(self, path: str) -> None:
        """Give the file its final name, replacing what is there: it is no longer ours."""
        with storage_errors(path):
            os.replace(self.path, path)
        self._disown()

    def _disown(self) -> _Owner | None:
        """Forget that the file is ours; by now another object may own one of the same path."""
        owner, self._owner = self._owner, None
        if owner is not None and _owned.get(self.path) == owner:
            _owned.pop(self.path, None)
        return owner

    def remove(self) -> None:
        """Close and delete the file, if it is still there and still ours. Never raises `OSError`.

        A file that cannot be deleted is left as a crash would leave it.
        """
        with suppress(OSError):
            self._close()  # The file is thrown away: what its last bytes met does not matter.
        owner = self._disown()
        if owner is not None:
            _remove_own(self.path, owner)

    def __del__(self) -> None:
        # An object whose file was never created has no descriptor.
        if hasattr(self, "_fd"):
            self.remove()


def acquire_lock(path: str, timeout_ms: int, mode: int | None = None) -> OwnFile:
    """Create the lock file `path`, trying for `timeout_ms` (0: once, -1: for ever).

    The waits grow quadratically from 1 ms to 1 s, and each is randomised by a quarter so that
    rivals part, as git's do. Raises `LockError` naming the file, or `StorageError`.
    """
    with storage_errors(path):
        waited = 0.0
        attempt = 0
        while True:
            try:
                return OwnFile(path, mode)
            except FileExistsError:
                if timeout_ms == 0 or 0 < timeout_ms <= waited:
                    break
            attempt += 1
            wait = min(attempt * attempt, _LONGEST_WAIT_MS) * (0.75 + random_fraction() / 2)
            time.sleep(wait / 1000)
            waited += wait
    raise LockError(
        f"Unable to create '{os.path.abspath(path)}': File exists.\n\n"
        "Another git process seems to be running in this repository, "
        "or the lock file may be stale",
        path=path,
    )


def random_fraction() -> float:
    """A random number in [0, 1); the module `random` would cost 2 ms of every start."""
    return int.from_bytes(os.urandom(4), "big") / (1 << 32)


def remove_own_files() -> None:
    """Delete every lock and unfinished file that this process owns."""
    while _owned:
        try:
            path, owner = _owned.popitem()
        except KeyError:
            return  # Another thread took the last one.
        _remove_own(path, owner)


def _remove_own(path: str, owner: _Owner) -> None:
    with suppress(OSError):  # Gone already, or not deletable: then it stays as after a crash.
        status = os.lstat(path)
        if owner == (os.getpid(), status.st_dev, status.st_ino):
            os.unlink(path)


atexit.register(remove_own_files)


def remove_files_on_signals() -> None:
    """For command lines: on the signals that end a process, delete own files, then die of it.

    The library itself never touches signal handlers. Signals that the process ignores stay
    ignored; others get the default action after the clean-up, so that the exit status shows the
    signal, as git's does. Must be called in the main thread.
    """
    import signal

    def clean_and_die(number: int, frame: object) -> None:
        remove_own_files()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for name in ("SIGINT", "SIGHUP", "SIGTERM", "SIGQUIT", "SIGPIPE"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, clean_and_die)
