"""Progress on stderr: for people at a terminal, and for nobody else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pyreftable.refs.store import RefStore
from pyreftable_cli.progress import DELAY, Meter, delay_of, progress_line
from tests.support import git_env, init_repo, pyreftable_cmd
from tests.unit.test_progress import fill

pty = pytest.importorskip("pty", reason="terminals as files are Unix's")
BIG, REFS = 1200, 1500


# The line


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (90_000, 200_000, 2.0, "Work:  45% (90,000 of 200,000), 45,000/s, 2 s left"),
        (1, 1000, 1.0, "Work:   0% (1 of 1,000), 1/s, 16 min 39 s left"),
        (10, 100_000, 1.0, "Work:   0% (10 of 100,000), 10/s, 2 h 46 min left"),
        (100, 100, 1.0, "Work: 100% (100 of 100), 100/s, 0 s left"),
        (101, 100, 1.0, "Work: 101, 101/s"),
        (1500, None, 0.5, "Work: 1,500, 3,000/s"),
        (1500, 0, 0.5, "Work: 1,500, 3,000/s"),
        (0, 10, 0.0, "Work:   0% (0 of 10), 0/s"),
    ],
)
def test_line(done: int, total: int | None, seconds: float, text: str) -> None:
    assert progress_line("Work", done, total, seconds) == text


@pytest.mark.parametrize(("text", "delay"), [("0", 0), ("3", 3), ("", DELAY), ("-1", DELAY)])
def test_delay(text: str, delay: float) -> None:
    assert delay_of({"GIT_PROGRESS_DELAY": text}) == delay
    assert delay_of({}) == DELAY


class Scene:
    """A meter with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.drawn: list[bytes] = []
        self.meter = Meter(1.0, write=self.drawn.append, clock=lambda: self.now)

    def pass_time(self, seconds: float, count: int) -> None:
        self.now += seconds
        self.meter.advance(count)


def test_short_work_shows_nothing() -> None:
    scene = Scene()
    scene.meter.start("Work", 100)
    scene.pass_time(0.9, 100)
    scene.meter.erase()
    assert scene.drawn == []


def test_drawn_over_and_erased() -> None:
    scene = Scene()
    scene.meter.start("Work", 100)
    scene.pass_time(1.0, 10)
    first = b"Work:  10% (10 of 100), 10/s, 9 s left"
    assert scene.drawn == [b"\r" + first]
    scene.pass_time(0.05, 10)
    assert len(scene.drawn) == 1
    scene.meter.start("More")
    scene.pass_time(1.0, 5)
    second = b"More: 5, 5/s"
    assert scene.drawn[1:] == [b"\r" + second.ljust(len(first))]
    scene.meter.erase()
    scene.meter.erase()
    assert scene.drawn[2:] == [b"\r" + b" " * len(second), b"\r"]


# Commands


@pytest.fixture
def repo(tmp_path: Path, template: Path) -> Path:
    """A repository with many refs in two tables."""
    return Path(shutil.copytree(template, tmp_path / "repo"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `repo` is copied from."""
    path = init_repo(tmp_path_factory.mktemp("progress") / "repo")
    with RefStore.open(str(path), environ=git_env(path)) as store:
        fill(store.stack(), range(BIG))
        # Small enough for no auto-compaction.
        fill(store.stack(), range(BIG, REFS))
    return path


def at_terminal(repo: Path, words: str, output: str | None, **environ: str) -> tuple[int, bytes]:
    """Run with stderr, and without `output` stdout too, at a terminal: status and what it shows."""
    child, terminal = pty.fork()
    if child == 0:
        if output is not None:
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT), 1)
        os.chdir(repo)
        command = [*pyreftable_cmd(), *words.split()]
        os.execve(command[0], command, git_env(repo) | {"GIT_PROGRESS_DELAY": "0"} | environ)
    shown = b""
    try:
        while part := os.read(terminal, 1 << 16):
            shown += part
    except OSError:
        # So Linux tells that the other side has closed.
        pass
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown


COMMANDS = {
    "refs verify": (b"Checking records: ", b"Checking refs: "),
    "refs optimize": (b"Merging refs: ",),
    "pack-refs": (b"Merging refs: ",),
    "refs migrate --ref-format=files": (b"Writing refs: ", b"Writing log entries: "),
    "for-each-ref --format=%(refname)": (b"Listing refs: ",),
    "refs list --format=%(refname)": (b"Listing refs: ",),
    "for-each-ref --sort=-refname --format=%(refname)": (b"Listing refs: ", b"Sorting refs: "),
}


@pytest.mark.skipif(sys.platform == "darwin", reason="forking a threaded test runner")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("words", COMMANDS)
def test_at_a_terminal(repo: Path, tmp_path: Path, words: str) -> None:
    """Something of it is seen, and nothing of it stays."""
    output = str(tmp_path / "output")
    status, shown = at_terminal(repo, words, output)
    assert status == 0
    assert any(what in shown for what in COMMANDS[words])
    assert b"/s" in shown
    assert not shown.rpartition(b"/s")[2].rpartition(b"\r")[2]
    assert b"\n" not in shown
    if "format=%" in words:
        assert len(Path(output).read_bytes().splitlines()) == REFS


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_listing_at_the_same_terminal_speaks_for_itself(repo: Path) -> None:
    status, shown = at_terminal(repo, "for-each-ref --format=%(refname)", None)
    assert status == 0
    assert len(shown.splitlines()) == REFS
    assert b"Listing" not in shown


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("environ", [{"TERM": "dumb"}, {"GIT_PROGRESS_DELAY": "60"}])
def test_not_wanted(repo: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    shown = at_terminal(repo, "refs verify", str(tmp_path / "output"), **environ)
    assert shown == (0, b"")


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_messages_get_a_line_of_their_own(repo: Path, tmp_path: Path) -> None:
    status, shown = at_terminal(repo, "refs verify --verbose", str(tmp_path / "output"))
    assert status == 0
    tables = [line for line in shown.split(b"\r\n") if b"Checking table: " in line]
    assert len(tables) >= 2
    assert all(line.rpartition(b"\r")[2].startswith(b"Checking table: ") for line in tables)


@pytest.mark.parametrize("words", COMMANDS)
def test_without_a_terminal_there_is_none(repo: Path, words: str) -> None:
    env = git_env(repo) | {"GIT_PROGRESS_DELAY": "0"}
    command = [*pyreftable_cmd(), *words.split()]
    done = subprocess.run(command, cwd=repo, env=env, capture_output=True, check=True)
    assert done.stderr == b""
