"""Objects in packs: what is asked of them, and gitdb as one who answers; the other is `cat_file`.

Neither is imported or started before a pack has to be looked into: `import gitdb` costs some
17 ms and a git process some 15 ms.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class PackSource(Protocol):
    """A place to look for objects that are not loose."""

    def info(self, hexid: str) -> tuple[str, int] | None:
        """Type and size, or `None` if there is no such object."""

    def info_many(self, hexids: Sequence[str]) -> Iterator[tuple[str, int] | None]:
        """The answers of `info` for many ids, in their order."""

    def read(self, hexid: str) -> tuple[str, bytes] | None:
        """Type and body, or `None` if there is no such object."""

    def expand(self, prefix: str) -> Iterable[str]:
        """All hex ids that start with `prefix`."""

    def close(self) -> None:
        """Let go of files and processes."""


def has_packs(directory: str) -> bool:
    """Whether an object directory holds any pack."""
    try:
        return any(entry.endswith(".pack") for entry in os.listdir(f"{directory}/pack"))
    except OSError:
        return False


class GitdbPacks:
    """The packs of some object directories, through GitPython's gitdb (SHA-1 only).

    Questions from several threads take turns, since gitdb moves one window over each pack.

    Raises `ImportError` if gitdb is not installed. gitdb's own view of a directory of packs is
    not used: it takes the path for a glob pattern, and finds nothing below a folder `[x]`.
    """

    def __init__(self, directories: Sequence[str]) -> None:
        import threading

        from gitdb.pack import PackEntity  # type: ignore[import-untyped]

        self._lock = threading.Lock()
        self._open_pack = PackEntity
        self._directories = directories
        self._seen: dict[str, int] = {}
        # Path of the index -> the pack; the one that answered last comes first.
        self._packs: dict[str, Any] = {}
        self._rescan()

    def info(self, hexid: str) -> tuple[str, int] | None:
        found: tuple[str, int] | None = self._find(hexid, _info_at)
        return found

    def info_many(self, hexids: Sequence[str]) -> Iterator[tuple[str, int] | None]:
        return map(self.info, hexids)

    def read(self, hexid: str) -> tuple[str, bytes] | None:
        found: tuple[str, bytes] | None = self._find(hexid, _read_at)
        return found

    def _find(self, hexid: str, look_up: Callable[[Any, int], Any]) -> Any:
        """`look_up` in the pack that has the object, or `None`.

        A pack may come or go meanwhile: a repack writes the new one before it removes the old.
        """
        oid = bytes.fromhex(hexid)
        with self._lock:
            try:
                found = self._find_in_known(oid, look_up)
            except OSError:
                self._seen.clear()
                found = None
            if found is None and self._rescan():
                found = self._find_in_known(oid, look_up)
        return found

    def _find_in_known(self, oid: bytes, look_up: Callable[[Any, int], Any]) -> Any:
        for path, pack in self._packs.items():
            position = pack.index().sha_to_index(oid)
            if position is not None:
                found = look_up(pack, position)
                if path != next(iter(self._packs)):
                    self._packs = {path: pack, **self._packs}
                return found
        return None

    def _rescan(self) -> bool:
        """List the packs of each directory that changed since; whether any did."""
        changed = False
        for directory in self._directories:
            folder = f"{directory}/pack"
            try:
                modified = os.stat(folder).st_mtime_ns
                if self._seen.get(folder) == modified:
                    continue
                names = os.listdir(folder)
            except OSError:
                continue
            self._seen[folder] = modified
            self._update(folder, {f"{folder}/{name}" for name in names if name.endswith(".idx")})
            changed = True
        return changed

    def _update(self, folder: str, indexes: set[str]) -> None:
        packs = dict(self._packs)
        for path in self._packs.keys() - indexes:
            if os.path.dirname(path) == folder:
                packs.pop(path).close()
        for path in indexes - packs.keys():
            packs[path] = self._open_pack(path)
        self._packs = packs

    def expand(self, prefix: str) -> list[str]:
        with self._lock:
            self._rescan()
            indexes = [pack.index() for pack in self._packs.values()]
            return [hexid for index in indexes for hexid in _index_range(index, prefix)]

    def close(self) -> None:
        from gitdb.util import mman  # type: ignore[import-untyped]

        for pack in self._packs.values():
            pack.close()
        self._packs = {}
        self._seen = {}
        # gitdb keeps maps that nobody uses, and their descriptors, until it is told.
        mman.collect()


def _info_at(pack: Any, position: int) -> tuple[str, int]:
    info = pack.info_at_index(position)
    return info.type.decode(), info.size


def _read_at(pack: Any, position: int) -> tuple[str, bytes]:
    stream = pack.stream_at_index(position)
    return stream.type.decode(), stream.read()


def _index_range(index: Any, prefix: str) -> Iterator[str]:
    """The ids in a pack index that start with `prefix`: bisect to the first, then walk."""
    first = bytes.fromhex(prefix.ljust(40, "0"))
    low, high = 0, index.size()
    while low < high:
        middle = (low + high) // 2
        if index.sha(middle) < first:
            low = middle + 1
        else:
            high = middle
    while low < index.size():
        hexid: str = index.sha(low).hex()
        if not hexid.startswith(prefix):
            return
        yield hexid
        low += 1
