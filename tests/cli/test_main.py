"""The frame of the command line: global options, unknown commands, streams, ends.

Compared with git wherever git has the same.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pyreftable_cli.main import COMMANDS, help_text
from tests.command_server import Outcome
from tests.support import git_env, init_repo, pyreftable_cmd, run_git
from tests.twins import run_ours, run_theirs


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a few refs and a sub-folder; tests only read it."""
    path = init_repo(tmp_path_factory.mktemp("main") / "repo")
    (path / "sub" / "deep").mkdir(parents=True)
    tree = run_git(["mktree"], path).stdout.decode().strip()
    commit = run_git(["commit-tree", "-m", "m", tree], path).stdout.decode().strip()
    for name in ("heads/main", "heads/side", "tags/v1"):
        run_git(["update-ref", f"refs/{name}", commit], path)
    return path


ACCEPTED = [
    "for-each-ref",
    "-C sub for-each-ref",
    "-C sub -C deep for-each-ref",
    "-C sub/deep -C ../.. for-each-ref",
    "-C sub -C '' for-each-ref",
    "-C .git for-each-ref",
    "-C .git/refs for-each-ref",
    "--git-dir=.git for-each-ref",
    "--git-dir .git for-each-ref",
    "-C sub --git-dir ../.git for-each-ref",
    "--git-dir .git -C sub for-each-ref",
    "--git-dir=nope for-each-ref",
    "--work-tree=. for-each-ref",
    "--git-dir=.git --work-tree sub for-each-ref",
    "--bare for-each-ref",
    "-C .git --bare for-each-ref",
    "-P for-each-ref",
    "--no-pager for-each-ref",
    "--no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice for-each-ref",
    "--literal-pathspecs for-each-ref",
    "--no-literal-pathspecs --glob-pathspecs for-each-ref",
    "--noglob-pathspecs --icase-pathspecs for-each-ref",
    "--attr-source=HEAD --exec-path=/nowhere for-each-ref",
    "--namespace=x for-each-ref",
    "--namespace x for-each-ref",
    "-C .. for-each-ref",
    "-C /nowhere for-each-ref",
    "-C sub/file for-each-ref",
]


@pytest.mark.parametrize("command", ACCEPTED)
def test_global_options(repo: Path, command: str) -> None:
    args = shlex.split(command)
    assert run_ours(args, repo) == run_theirs(args, repo)


SETTINGS = [
    "-c core.abbrev=12",
    "-c core.abbrev=12 -c core.abbrev=9",
    "-c core.abbrev=no",
    "-c Core.Abbrev=11",
    "-c some.thing",
    "-c section.it\\'s!.key=it\\'s!",
    "-c nodot",
    "-c =x",
    "--config-env=core.abbrev=LENGTH",
    "--config-env core.abbrev=LENGTH",
    "--config-env=core.abbrev=NOT_SET",
    "--config-env=core.abbrev=",
    "--config-env=core",
]


@pytest.mark.parametrize("options", SETTINGS)
def test_settings(repo: Path, options: str) -> None:
    args = [*shlex.split(options), "for-each-ref", "--format=%(objectname:short)"]
    env = git_env(repo) | {"LENGTH": "15"}
    assert run_ours(args, repo, env=env) == run_theirs(args, repo, env=env)


def test_settings_reach_the_environment_of_other_programs(tmp_path: Path) -> None:
    """A hook sees what `-c` set, as with git."""
    results = []
    for name, run in (("ours", run_ours), ("theirs", run_theirs)):
        repo = init_repo(tmp_path / name)
        tree = run_git(["mktree"], repo).stdout.decode().strip()
        commit = run_git(["commit-tree", "-m", "m", tree], repo).stdout.decode().strip()
        hook = repo / ".git" / "hooks" / "reference-transaction"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ngit config --get-regexp '^some' >>seen\n")
        hook.chmod(0o755)
        settings = ["-c", "some.key=it's !1", "-c", "some.flag"]
        env = git_env(repo) | {"GIT_CONFIG_PARAMETERS": "'some.first'='1'"}
        outcome = run([*settings, "update-ref", "refs/heads/x", commit], repo, env=env)
        assert outcome.status == 0
        results.append(sorted(set((repo / "seen").read_text().splitlines())))
    ours, theirs = results
    assert ours == theirs == ["some.first 1", "some.flag", "some.key it's !1"]


@pytest.mark.parametrize(
    "words",
    [
        ["-C"],
        ["-c"],
        ["-c=x.y=z", "for-each-ref"],
        ["--git-dir"],
        ["--work-tree"],
        ["--namespace"],
        ["--config-env"],
        ["--attr-source"],
        ["--bogus"],
        ["--bogus=1", "for-each-ref"],
        ["-z"],
    ],
)
def test_bad_global_options(repo: Path, words: list[str]) -> None:
    """git's usage names options that concern its documentation; ours does not."""
    ours, theirs = run_ours(words, repo), run_theirs(words, repo)
    assert (ours.status, ours.stdout) == (theirs.status, theirs.stdout) == (129, b"")
    assert ours.stderr.splitlines()[0] == theirs.stderr.splitlines()[0]
    assert ours.stderr.splitlines()[1] == theirs.stderr.splitlines()[1]


def test_unknown_command(repo: Path) -> None:
    ours, theirs = run_ours(["bogus"], repo), run_theirs(["bogus"], repo)
    assert ours == theirs
    assert ours.status == 1
    words = ["for-each-reff"]
    assert run_ours(words, repo) == run_theirs(words, repo)


def test_no_command(repo: Path) -> None:
    ours = run_ours([], repo)
    assert (ours.status, ours.stderr) == (1, b"")
    assert ours.stdout == help_text("git").encode()


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"], ["-C", "sub", "--help"]])
def test_help(repo: Path, words: list[str]) -> None:
    ours = run_ours(words, repo)
    assert ours == Outcome(0, help_text("git").encode(), b"")


def test_help_names_every_command() -> None:
    text = help_text("pyreftable")
    assert all(f"\n   {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(tmp_path: Path, name: str) -> None:
    """Outside a repository too."""
    shown = run_ours([name, "-h"], tmp_path)
    assert shown.stderr == b""
    assert shown.stdout.startswith(f"usage: git {name}".encode())


@pytest.mark.parametrize("words", [["--version"], ["-v"], ["version"]])
def test_version(repo: Path, words: list[str]) -> None:
    from importlib.metadata import version

    expected = f"pyreftable version {version('pyreftable')}\n".encode()
    assert run_ours(words, repo) == Outcome(0, expected, b"")


def test_exec_path_is_a_folder(repo: Path) -> None:
    ours = run_ours(["--exec-path"], repo)
    assert (ours.status, ours.stderr) == (0, b"")
    assert os.path.isdir(ours.stdout.rstrip(b"\n"))


# The process: real ones, because its streams and its end are what is looked at


def start(args: list[str], repo: Path, **streams: int | None) -> subprocess.Popen[bytes]:
    """Start pyreftable."""
    return subprocess.Popen([*pyreftable_cmd(), *args], cwd=repo, env=git_env(repo), **streams)  # type: ignore[call-overload, no-any-return]


def test_program_name_is_that_of_the_link(repo: Path, tmp_path: Path) -> None:
    script = tmp_path / "git"
    script.write_text(f"#!{sys.executable}\nfrom pyreftable_cli.main import run\nrun()\n")
    script.chmod(0o755)
    env = git_env(repo)
    linked = subprocess.run([script, "bogus"], cwd=repo, env=env, capture_output=True, check=False)
    plain = subprocess.run(
        [*pyreftable_cmd(), "bogus"], cwd=repo, env=env, capture_output=True, check=False
    )
    assert linked.stderr == b"git: 'bogus' is not a git command. See 'git --help'.\n"
    assert plain.stderr == linked.stderr.replace(b"git", b"pyreftable")


posix = pytest.mark.skipif(os.name == "nt", reason="signals and /dev of POSIX systems")


@posix
def test_closed_pipe_ends_it_silently(repo: Path) -> None:
    """More output than any buffer holds, and a reader that goes away."""
    long_line = "%(refname)" + "x" * 500_000
    process = start(
        ["for-each-ref", f"--format={long_line[:100_000]}"],
        repo,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    process.stdout.close()
    assert process.stderr
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == -signal.SIGPIPE


@posix
def test_full_disk_is_an_error(repo: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    with open("/dev/full", "wb") as full:
        process = start(["for-each-ref"], repo, stdout=full.fileno(), stderr=subprocess.PIPE)
        _, message = process.communicate()
    expected = b"fatal: write failure on standard output: No space left on device\n"
    assert (process.returncode, message) == (128, expected)


@posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_get_no_other_file(repo: Path, closed: str) -> None:
    """Otherwise a table or lock file gets the descriptor, and output or messages end in it."""
    before = {path: path.read_bytes() for path in (repo / ".git" / "reftable").iterdir()}
    for command in ("for-each-ref", "for-each-ref --bogus", "update-ref --stdin"):
        words = shlex.join(pyreftable_cmd())
        script = f"exec {words} {command} {closed}"
        subprocess.run(["sh", "-c", script], cwd=repo, env=git_env(repo), check=False)
    after = {path: path.read_bytes() for path in (repo / ".git" / "reftable").iterdir()}
    assert after == before


@posix
def test_interrupt_ends_it_by_the_signal(repo: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    for command in (["for-each-ref", "--stdin"], ["update-ref", "--stdin"]):
        process = start(command, repo, **pipes)
        wait_until_reading(process)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate()
        assert (process.returncode, message) == (-signal.SIGINT, b"")


def wait_until_reading(process: subprocess.Popen[bytes]) -> None:
    """Wait until the process has started and sleeps in a read (or, elsewhere, long enough)."""
    import time

    path = Path(f"/proc/{process.pid}/wchan")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        time.sleep(0.05 if path.exists() else 2)
        if not path.exists() or "pipe" in path.read_text():
            return


HEAVY = ["dataclasses", "inspect", "argparse", "subprocess", "pathlib", "logging", "gitdb", "typer"]


def test_start_up_imports_nothing_heavy(repo: Path) -> None:
    """A listing of refs needs none of these; each costs milliseconds of every command."""
    code = (
        "import sys, os; sys.argv[0] = 'pyreftable'; from pyreftable_cli.main import main\n"
        "main(['for-each-ref', '--format=%(refname)'])\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=repo,
        env=git_env(repo),
        capture_output=True,
        check=True,
    )
    assert done.stderr.split() == [b"[]"]
