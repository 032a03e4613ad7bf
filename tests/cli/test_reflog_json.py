"""`reflog show --json`: one object a line, by the same choice of entries as without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import FIXED_TIME, init_repo, run_git
from tests.twins import run_ours

MEMBERS = ["log", "number", "old_oid", "new_oid", "committer", "email", "time", "tz", "message"]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three commits on main; tests only read it."""
    path = init_repo(tmp_path_factory.mktemp("reflog-json") / "repo")
    for number in range(3):
        run_git(["commit", "-q", "--allow-empty", "-m", f"commit {number}"], path)
    message = b'odd \xff "quoted" \xc3\xa9'
    run_git(["update-ref", "-m", message, "refs/heads/side", "HEAD~1"], path)
    return path


def entries(repo: Path, *arguments: str) -> list[dict[str, object]]:
    """The objects that are printed."""
    outcome = run_ours(["reflog", "show", "--json", *arguments], repo)
    assert (outcome.status, outcome.stderr) == (0, b"")
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def test_members(repo: Path) -> None:
    ids = run_git(["rev-list", "main"], repo).stdout.decode().split()
    found = entries(repo, "main")
    assert [entry["new_oid"] for entry in found] == ids
    assert [entry["old_oid"] for entry in found] == [*ids[1:], "0" * 40]
    assert [entry["number"] for entry in found] == [0, 1, 2]
    assert all(list(entry) == MEMBERS for entry in found)
    assert found[0] == {
        "log": "main",
        "number": 0,
        "old_oid": ids[1],
        "new_oid": ids[0],
        "committer": "C O Mitter",
        "email": "committer@example.com",
        "time": FIXED_TIME,
        "tz": "+0000",
        "message": "commit: commit 2",
    }


def test_same_entries_as_without(repo: Path) -> None:
    for arguments in (["--all"], ["-1", "main"], ["--skip=1", "HEAD"], ["main@{1}"], []):
        form = "--format=%gD %H"
        lines = run_ours(["reflog", "show", form, *arguments], repo).stdout.decode().splitlines()
        assert [
            f"{e['log']}@{{{e['number']}}} {e['new_oid']}" for e in entries(repo, *arguments)
        ] == (lines)
        # A format does not count.
        assert entries(repo, form, *arguments) == entries(repo, *arguments)


def test_any_bytes(repo: Path) -> None:
    (entry,) = entries(repo, "side")
    assert str(entry["message"]).encode("utf-8", "surrogateescape") == b'odd \xff "quoted" \xc3\xa9'


def test_without_the_word_show(repo: Path) -> None:
    assert run_ours(["reflog", "--json", "main"], repo) == run_ours(
        ["reflog", "show", "--json", "main"], repo
    )


def test_errors_are_as_without(repo: Path) -> None:
    for words in (["nothing"], ["--bogus"]):
        plain = run_ours(["reflog", "show", *words], repo)
        assert plain.status == 128
        assert run_ours(["reflog", "show", "--json", *words], repo) == plain
