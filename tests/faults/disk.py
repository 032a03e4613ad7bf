"""A disk under test: `Disk` stands in for the module `os` inside the stack's storage.

It passes everything through to the real directory and does two more things:

- it records each change, from which `crash_states` derives, without crashing anything, what may
  be on the disk after the machine stops at any moment;
- it makes the n-th call fail, with an error or an interrupt, before or after its effect.

What a crash may leave. Bytes that were not synced: none, some, or all of them. Names that were
not synced (creations, renames, deletions): those up to some point in time, as file systems with a
journal keep them. What was synced stays.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

State = dict[str, bytes]


class Event(NamedTuple):
    """One change: its kind, the names or the inode it concerns, and the bytes written."""

    kind: str
    names: tuple[str, ...] = ()
    inode: int = 0
    data: bytes = b""


class Failure(NamedTuple):
    """What happens at a call: `error` is raised, after its effect or instead of it."""

    error: Callable[[], BaseException]
    after: bool = False


def disk_full() -> OSError:
    """What a full disk answers."""
    return OSError(errno.ENOSPC, "No space left on device")


def disk_broken() -> OSError:
    """What a broken disk answers."""
    return OSError(errno.EIO, "Input/output error")


class Disk:
    """`os`, recorded, and failing when `fail_at` counts down to zero."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.calls: list[str] = []
        self.failure: Failure | None = None
        self.fail_at = -1
        self._writing: set[int] = set()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put this under the stack's storage."""
        monkeypatch.setattr("pyreftable.stack.files.os", self)
        monkeypatch.setattr("pyreftable.stack.storage.os", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        fd: int = self._call("open", os.open, path, flags, mode)
        if flags & os.O_CREAT:
            self._writing.add(fd)
            self._note("create", path, inode=os.fstat(fd).st_ino)
        return fd

    def write(self, fd: int, data: bytes) -> int:
        written: int = self._call("write", os.write, fd, data)
        self._note("write", inode=os.fstat(fd).st_ino, data=bytes(data[:written]))
        return written

    def fsync(self, fd: int) -> None:
        self._call("fsync", os.fsync, fd)
        status = os.fstat(fd)
        kind = "sync names" if stat.S_ISDIR(status.st_mode) else "sync bytes"
        self._note(kind, inode=status.st_ino)

    def replace(self, source: str, target: str) -> None:
        self._call("replace", os.replace, source, target)
        self._note("rename", source, target)

    def unlink(self, path: str) -> None:
        self._call("unlink", os.unlink, path)
        self._note("delete", path)

    def close(self, fd: int) -> None:
        if fd in self._writing:
            self._writing.discard(fd)
            self._call("close", os.close, fd)
        else:
            # Closed by finalizers, out of which nothing can be raised.
            os.close(fd)

    def chmod(self, path: str, mode: int) -> None:
        self._call("chmod", os.chmod, path, mode)

    def stat(self, path: str) -> os.stat_result:
        status: os.stat_result = self._call("stat", os.stat, path)
        return status

    def lstat(self, path: str) -> os.stat_result:
        status: os.stat_result = self._call("lstat", os.lstat, path)
        return status

    def _note(self, kind: str, *paths: str, inode: int = 0, data: bytes = b"") -> None:
        names = tuple(os.path.basename(path) for path in paths)
        self.events.append(Event(kind, names, inode, data))

    def _call(self, name: str, call: Callable[..., Any], *args: Any) -> Any:
        self.calls.append(name)
        failure = self.failure if len(self.calls) - 1 == self.fail_at else None
        if failure is not None and not failure.after:
            raise failure.error()
        result = call(*args)
        if failure is not None:
            raise failure.error()
        return result


def read_state(directory: Path) -> State:
    """All files there."""
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def write_state(directory: Path, state: State) -> None:
    """Make the directory hold just that."""
    directory.mkdir(exist_ok=True)
    for path in directory.iterdir():
        path.unlink()
    for name, data in state.items():
        (directory / name).write_bytes(data)


def crash_states(start: State, events: list[Event]) -> Iterator[State]:
    """What may be there after a crash right after `events`; `start` was durable before them."""
    durable: dict[str, int | bytes] = dict(start)
    pending: list[Event] = []
    written: dict[int, bytes] = {}
    synced: dict[int, int] = {}
    for event in events:
        if event.kind == "write":
            written[event.inode] += event.data
        elif event.kind == "sync bytes":
            synced[event.inode] = len(written[event.inode])
        elif event.kind == "sync names":
            for change in pending:
                rename(durable, change)
            pending.clear()
        elif event.names:
            pending.append(event)
            if event.kind == "create":
                written[event.inode], synced[event.inode] = b"", 0
    for count in range(len(pending) + 1):
        names = dict(durable)
        for change in pending[:count]:
            rename(names, change)
        for part in (0, 1, 2):
            yield {
                name: content
                if isinstance(content, bytes)
                else surviving(written[content], synced[content], part)
                for name, content in names.items()
            }


def surviving(data: bytes, synced: int, part: int) -> bytes:
    """What was synced, and none, half or all of the rest."""
    return data[: synced + (len(data) - synced) * part // 2]


def rename(names: dict[str, int | bytes], event: Event) -> None:
    """Apply one change of names."""
    if event.kind == "create":
        names[event.names[0]] = event.inode
    elif event.kind == "rename":
        names[event.names[1]] = names.pop(event.names[0])
    else:
        del names[event.names[0]]
