"""`--help`: git's short help, and examples; `-h` is git's to the letter and has none."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pyreftable_cli.examples import EXAMPLES
from pyreftable_cli.main import COMMANDS
from pyreftable_cli.reflog import SUBCOMMANDS as REFLOG_SUBCOMMANDS
from pyreftable_cli.refs import SUBCOMMANDS as REFS_SUBCOMMANDS
from tests.support import init_repo, run_git
from tests.twins import run_ours

ALL = sorted(
    [*COMMANDS]
    + [f"refs {name}" for name in REFS_SUBCOMMANDS]
    + [f"reflog {name}" for name in REFLOG_SUBCOMMANDS]
)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit."""
    path = init_repo(tmp_path_factory.mktemp("help") / "repo")
    run_git(["commit", "-q", "--allow-empty", "-m", "first"], path)
    return path


def test_every_command_has_examples() -> None:
    assert sorted(EXAMPLES) == ALL


@pytest.mark.parametrize("command", ALL)
def test_help(repo: Path, tmp_path: Path, command: str) -> None:
    """The short help, then the examples, in a repository and outside."""
    for folder in (repo, tmp_path):
        short = run_ours([*command.split(), "-h"], folder)
        full = run_ours([*command.split(), "--help"], folder)
        assert (short.status, short.stderr) == (full.status, full.stderr) == (0, b"")
        assert b"Examples:" not in short.stdout
        assert full.stdout.startswith(short.stdout.rstrip(b"\n"))
        examples = full.stdout.partition(b"\nExamples:\n")[2].decode()
        for line, what in EXAMPLES[command]:
            words = line.format(command=f"git {command}")
            assert f"    {words}\n        {what}\n" in examples


@pytest.mark.parametrize("command", ALL)
def test_examples_are_good_command_lines(repo: Path, command: str) -> None:
    """They may fail, as there is little here; but not for how they are written."""
    for line, _ in EXAMPLES[command]:
        words = shlex.split(line.format(command=command).replace("<commands", ""))
        if words[0] == "init" or "migrate" in words:
            continue
        outcome = run_ours(words, repo)
        assert b"usage:" not in outcome.stderr
        assert b"unknown option" not in outcome.stderr
        assert b"unrecognized" not in outcome.stderr


def test_help_as_a_command(repo: Path) -> None:
    assert run_ours(["help", "dump"], repo) == run_ours(["dump", "--help"], repo)


@pytest.mark.parametrize(
    "command", ["for-each-ref", "refs list", "refs verify", "reflog show", "dump"]
)
def test_json_is_told_of(repo: Path, command: str) -> None:
    shown = run_ours([*command.split(), "--help"], repo).stdout
    assert b"as JSON, one object a line\n" in shown or b"one JSON object a line\n" in shown
