"""`for-each-ref --json`: one object a line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.for_each_ref_scene import make_scene
from tests.command_server import Outcome
from tests.support import run_git
from tests.twins import run_ours


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scene, and a symbolic ref; tests only read it."""
    path = make_scene(tmp_path_factory.mktemp("json"), "sha1")
    run_git(["symbolic-ref", "refs/heads/sym", "refs/heads/main"], path)
    return path


def ours(repo: Path, arguments: str) -> Outcome:
    """Give the command to pyreftable."""
    return run_ours(["for-each-ref", "--json", *shlex.split(arguments)], repo)


def objects(repo: Path, arguments: str) -> list[dict[str, str]]:
    """The objects that are printed."""
    done = ours(repo, arguments)
    assert (done.status, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_members_without_a_format(repo: Path) -> None:
    oid = run_git(["rev-parse", "refs/heads/main"], repo).stdout.decode().strip()
    main = {"refname": "refs/heads/main", "objectname": oid, "objecttype": "commit"}
    symbolic = main | {"refname": "refs/heads/sym", "symref": "refs/heads/main"}
    assert objects(repo, "refs/heads/main refs/heads/sym") == [main, symbolic]


def test_members_are_the_fields_of_the_format(repo: Path) -> None:
    text = "%(refname:short): %(if)%(*subject)%(then)%(contents:size)%(end)%(refname:short)"
    [found] = objects(repo, f"'--format={text}' refs/tags/nested")
    assert found == {"refname:short": "nested", "*subject": "second", "contents:size": "6"}
    assert list(found) == ["refname:short", "*subject", "contents:size"]


def test_any_bytes(repo: Path) -> None:
    [found] = objects(repo, "'--format=%(raw)' refs/tags/binary")
    assert found["raw"].encode("utf-8", "surrogateescape") == b"\0a'\"\\\n\0\xff"
    assert ours(repo, "'--format=%(contents)'").stdout.isascii()


def test_goes_with_other_options(repo: Path) -> None:
    names = [one["refname"] for one in objects(repo, "--sort=-refname --count=3")]
    plain = run_git(["for-each-ref", "--sort=-refname", "--count=3"], repo).stdout.decode()
    assert names == [line.split("\t")[1] for line in plain.splitlines()]
    assert objects(repo, "refs/nothing") == []


def test_refs_list_too(repo: Path) -> None:
    for words in ([], ["--format=%(refname:short)%(objecttype)", "--count=2"]):
        listed = run_ours(["refs", "list", "--json", *words], repo)
        assert listed == run_ours(["for-each-ref", "--json", *words], repo)
        assert listed.status == 0
        assert json.loads(listed.stdout.splitlines()[0])


def test_errors(repo: Path) -> None:
    assert ours(repo, "'--format=%(nonsense)'").stderr == b"fatal: unknown field name: nonsense\n"
    assert ours(repo, "'--format=%(refname'").status == 129
    assert ours(repo, "'--format=%(authordate:x)'").status == 128


def test_help_tells(repo: Path) -> None:
    assert b"--[no-]json" in run_ours(["for-each-ref", "-h"], repo).stdout
