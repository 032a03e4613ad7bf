"""Objects in packs, read by gitdb or by a `git cat-file` process.

Two backings of one small interface (`PackSource`): `GitdbPacks` reads SHA-1 packs in this
process; `CatFile` asks git, through one process that stays open, and knows every format that
the git at hand knows. Neither is imported or started before a pack has to be looked into:
`import gitdb` costs some 17 ms and a git process some 15 ms.

Measured on a pack of 60,000 objects: gitdb 8 us an object, git 7.5 us asked one at a time and
2 us in batches.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import RepositoryError
from .loose import OBJECT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_TYPES_BY_BYTES = {kind.encode(): kind for kind in OBJECT_TYPES}

# Questions written before their answers are read. At most 70 bytes each way, so both fit in
# the 64 KiB of a pipe and neither side ever waits for the other.
_PIPELINE = 500


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


class CatFile:
    """A `git cat-file --batch-command` process on one repository, started by the first question.

    `git` is looked up on the `PATH` of `environ`; `GIT_PYTHON_GIT_EXECUTABLE` names another
    one, as for GitPython. Questions from several threads take turns.

    Raises `RepositoryError` if there is no git, or if it refuses the repository.
    """

    _process: Any = None

    def __init__(self, git_dir: str, environ: Mapping[str, str]) -> None:
        import threading

        git = environ.get("GIT_PYTHON_GIT_EXECUTABLE") or "git"
        self._command = [git, f"--git-dir={git_dir}"]
        # A replaced object would not be the one that loose files hold under that id.
        self._environ = {**environ, "GIT_NO_REPLACE_OBJECTS": "1"}
        self._lock = threading.Lock()

    def info(self, hexid: str) -> tuple[str, int] | None:
        return next(self.info_many((hexid,)))

    def info_many(self, hexids: Sequence[str]) -> Iterator[tuple[str, int] | None]:
        for start in range(0, len(hexids), _PIPELINE):
            with self._lock:
                answers = self._ask_info(hexids[start : start + _PIPELINE])
            yield from answers

    def _ask_info(self, hexids: Sequence[str]) -> list[tuple[str, int] | None]:
        answers = self._send("".join([f"info {hexid}\n" for hexid in hexids]))
        return [self._parse_header(answers.readline()) for _ in hexids]

    def read(self, hexid: str) -> tuple[str, bytes] | None:
        with self._lock:
            answers = self._send(f"contents {hexid}\n")
            header = self._parse_header(answers.readline())
            if header is None:
                return None
            body = answers.read(header[1])
            if len(body) != header[1] or answers.read(1) != b"\n":
                raise self._stopped()
        return header[0], body

    def expand(self, prefix: str) -> list[str]:
        done = self._run("rev-parse", f"--disambiguate={prefix}")
        if done.returncode != 0:
            raise self._refusal(done)
        found: list[str] = done.stdout.decode().split()
        return found

    def close(self) -> None:
        """End the process by ending its input; harmless when it never ran."""
        process, self._process = self._process, None
        if process is not None:
            # A question may be left that a dead process cannot take; the pipe is closed then too.
            with suppress(OSError):
                process.stdin.close()
            process.stdout.close()
            process.wait()

    def __del__(self) -> None:
        self.close()

    def _parse_header(self, line: bytes) -> tuple[str, int] | None:
        words = line.split()
        if len(words) == 3 and words[1] in _TYPES_BY_BYTES:
            return _TYPES_BY_BYTES[words[1]], int(words[2])
        if len(words) == 2 and words[1] == b"missing":
            return None
        raise self._stopped()

    def _send(self, questions: str) -> Any:
        if self._process is None:
            self._process = self._start()
        try:
            self._process.stdin.write(questions.encode("ascii"))
            self._process.stdin.flush()
        except OSError:
            raise self._stopped() from None
        return self._process.stdout

    def _start(self) -> Any:
        import subprocess

        try:
            return subprocess.Popen(
                [*self._command, "cat-file", "--batch-command"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environ,
            )
        except OSError as error:
            raise self._no_git(error) from error

    def _run(self, *arguments: str) -> Any:
        import subprocess

        try:
            return subprocess.run(
                [*self._command, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self._environ,
                check=False,
            )
        except OSError as error:
            raise self._no_git(error) from error

    def _stopped(self) -> RepositoryError:
        """The error for a process that ended, or that answers in no way we know.

        Its own words are lost by then; a second start, with nothing to do, has the same ones.
        """
        self.close()
        return self._refusal(self._run("cat-file", "--batch-command"))

    def _refusal(self, done: Any) -> RepositoryError:
        words = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        return RepositoryError(f"{self._command[0]} cannot read the repository's objects: {words}")

    def _no_git(self, error: OSError) -> RepositoryError:
        return RepositoryError(
            f"reading this repository's packed objects needs git, and {self._command[0]!r} "
            f"cannot be run: {error.strerror}"
        )
