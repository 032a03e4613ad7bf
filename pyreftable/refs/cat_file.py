"""Objects told by a `git cat-file` process, which knows every format that the git at hand knows.

Any git will do, also one that refuses the repository because it does not know reftables: object
directories are laid out as ever, so it is shown an empty repository that has the same ones.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..errors import RepositoryError
from .loose import OBJECT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .protocols import ObjectsHome

_INFO = "%(objectname) %(objecttype) %(objectsize)"
_TYPES_BY_BYTES = {kind.encode(): kind for kind in OBJECT_TYPES}

# Questions written at once. At most 70 bytes each way, so two lots of questions and answers fit in
# the 64 KiB of a pipe: git works on one lot while we read the other, and nobody waits for ever.
_PIPELINE = 400


class CatFile:
    """A `git cat-file --batch-command` process on one repository, started by the first question.

    `git` is looked up on the `PATH` of the repository's environment; `GIT_PYTHON_GIT_EXECUTABLE`
    names another one, as for GitPython. It has to be 2.36 or newer. Questions from several threads
    take turns. `form` is what `told` is to tell, in the format of `git cat-file --batch-check`.

    Raises `RepositoryError` if there is no git, or if it cannot read the objects.
    """

    _process: Any = None
    _stand_in: Any = None

    def __init__(self, home: ObjectsHome, form: str = _INFO) -> None:
        import threading

        self._home = home
        self._form = form
        self._git = home.environ.get("GIT_PYTHON_GIT_EXECUTABLE") or "git"
        self._git_dir: str | None = None
        # A replaced object would not be the one that loose files hold under that id.
        self._environ = {**home.environ, "GIT_NO_REPLACE_OBJECTS": "1"}
        self._lock = threading.Lock()

    def info(self, hexid: str) -> tuple[str, int] | None:
        """Type and size, or `None` if there is no such object."""
        return next(self.info_many((hexid,)))

    def info_many(self, hexids: Sequence[str]) -> Iterator[tuple[str, int] | None]:
        """The answers of `info` for many ids, in their order."""
        with self._turn():
            return iter([self._parse_header(line) for line in self._lines(hexids)])

    def told(self, hexids: Sequence[str]) -> list[list[bytes]]:
        """Of each object the words of `form`; of a missing one the id and `missing`."""
        with self._turn():
            lines = self._lines(hexids)
            if not all(lines):
                raise self._stopped()
        return [line.split() for line in lines]

    def _lines(self, hexids: Sequence[str]) -> list[bytes]:
        lines: list[bytes] = []
        lots = [hexids[at : at + _PIPELINE] for at in range(0, len(hexids), _PIPELINE)]
        for lot, following in zip(lots, [*lots[1:], ()], strict=True):
            if lot is lots[0]:
                self._send_infos(lot)
            if following:
                self._send_infos(following)
            readline = self._process.stdout.readline
            lines += [readline() for _ in lot]
        return lines

    def _send_infos(self, hexids: Sequence[str]) -> None:
        self._send("".join([f"info {hexid}\n" for hexid in hexids]))

    def read(self, hexid: str) -> tuple[str, bytes] | None:
        """Type and body, or `None` if there is no such object."""
        with self._turn():
            self._send(f"contents {hexid}\n")
            answers = self._process.stdout
            header = self._parse_header(answers.readline())
            if header is None:
                return None
            body = answers.read(header[1])
            if len(body) != header[1] or answers.read(1) != b"\n":
                raise self._stopped()
        return header[0], body

    def expand(self, prefix: str) -> list[str]:
        """All hex ids that start with `prefix`."""
        with self._turn():
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
        stand_in, self._stand_in = self._stand_in, None
        if stand_in is not None:
            self._git_dir = None
            stand_in.cleanup()

    def __del__(self) -> None:
        self.close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One thread's question and its answer; who breaks off leaves nobody else's answer."""
        with self._lock:
            try:
                yield
            except BaseException:
                self.close()
                raise

    def _parse_header(self, line: bytes) -> tuple[str, int] | None:
        words = line.split()
        if len(words) == 3 and words[1] in _TYPES_BY_BYTES:
            return _TYPES_BY_BYTES[words[1]], int(words[2])
        if len(words) == 2 and words[1] == b"missing":
            return None
        raise self._stopped()

    def _send(self, questions: str) -> None:
        if self._process is None:
            self._process = self._start()
        try:
            # Git gathers its answers until it is told to give them.
            self._process.stdin.write(questions.encode("ascii") + b"flush\n")
            self._process.stdin.flush()
        except OSError:
            raise self._stopped() from None

    def _start(self) -> Any:
        import subprocess

        try:
            return subprocess.Popen(
                [*self._command(), "cat-file", f"--batch-command={self._form}", "--buffer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environ,
            )
        except OSError as error:
            raise self._no_git(error) from error

    def _command(self) -> list[str]:
        """How git is called, on the repository or, where it refuses that, on the stand-in."""
        if self._git_dir is None:
            self._git_dir = os.path.abspath(self._home.git_dir)
            if self._run("rev-parse", "--git-dir").returncode != 0:
                self._git_dir = self._make_stand_in()
        return [self._git, f"--git-dir={self._git_dir}"]

    def _make_stand_in(self) -> str:
        """An empty repository with the objects of ours; its path."""
        from tempfile import TemporaryDirectory

        self._stand_in = TemporaryDirectory(prefix="pyreftable-", ignore_cleanup_errors=True)
        path: str = self._stand_in.name
        for name in ("objects", "refs"):
            os.mkdir(f"{path}/{name}")
        version, extension = 0, ""
        if self._home.hash.name != "sha1":
            version, extension = 1, f"[extensions]\n\tobjectFormat = {self._home.hash.name}\n"
        files = {
            "HEAD": "ref: refs/heads/main\n",
            "config": f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{extension}",
        }
        for name, content in files.items():
            with open(f"{path}/{name}", "w", encoding="ascii", newline="\n") as file:
                file.write(content)
        self._environ.pop("GIT_COMMON_DIR", None)
        self._environ.setdefault(
            "GIT_OBJECT_DIRECTORY", os.path.join(os.path.abspath(self._home.common_dir), "objects")
        )
        return path

    def _run(self, *arguments: str) -> Any:
        import subprocess

        try:
            return subprocess.run(
                [*self._command(), *arguments],
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
        return RepositoryError(f"{self._git} cannot read the repository's objects: {words}")

    def _no_git(self, error: OSError) -> RepositoryError:
        return RepositoryError(
            f"reading this repository's packed objects needs git, and {self._git!r} "
            f"cannot be run: {error.strerror}"
        )
