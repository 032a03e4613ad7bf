"""`check-ref-format`, against git's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.twin_cases import Case, check, make_twins, ours
from tests.twins import Objects, Twins, run_theirs

NAMES = [
    "heads/foo",
    "foo",
    "/",
    "/heads/foo",
    "heads/foo/",
    "heads//foo",
    "///heads///foo",
    "heads/foo.lock",
    "heads/foo.lock/bar",
    "heads/.foo",
    "heads/foo..bar",
    "heads/foo.",
    "heads/v@{{ation",
    "heads/f?oo",
    "heads/foo*",
    "heads/*/foo*",
    "heads/foo~1",
    "heads/fo o",
    "heads/foo\\\\",
    "@",
    "heads/@",
    "heads/f\u00fcr",
    "refs/heads/./x",
    "''",
]
FLAGS = [
    "",
    "--normalize",
    "--print",
    "--allow-onelevel",
    "--allow-onelevel --no-allow-onelevel",
    "--refspec-pattern",
    "--refspec-pattern --allow-onelevel --normalize",
]
OTHERS = [
    "check-ref-format",
    "check-ref-format --nonsense heads/x",
    "check-ref-format heads/x heads/y",
    "check-ref-format heads/x --normalize",
    "check-ref-format --branch",
    "check-ref-format --branch main extra",
]
BRANCHES = [
    "main",
    "a..b",
    "-dash",
    "HEAD",
    "@",
    "@{{-1}}",
    "@{{-2}}",
    "@{{-9}}",
    "@{{-1}}more",
    "@{{u}}",
    "main@{{upstream}}",
    "remote@{{u}}",
    "side@{{u}}",
    "refs/heads/main",
    "main@{{1}}",
]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


@pytest.fixture
def pair(tmp_path: Path, templates: Path) -> tuple[Twins, Objects]:
    return make_twins(tmp_path, templates, "sha1")


@pytest.mark.parametrize("flags", FLAGS)
def test_names(pair: tuple[Twins, Objects], flags: str) -> None:
    for name in NAMES:
        check(*pair, Case(f"check-ref-format {flags} {name}"))


@pytest.mark.parametrize("command", OTHERS)
def test_arguments(pair: tuple[Twins, Objects], command: str) -> None:
    check(*pair, Case(command))


def test_branches(pair: tuple[Twins, Objects]) -> None:
    twins, objects = pair
    for remote, branch, target in ((".", "main", "side"), ("origin", "remote", "main")):
        twins.prepare("config", f"branch.{branch}.remote", remote)
        twins.prepare("config", f"branch.{branch}.merge", f"refs/heads/{target}")
    twins.prepare("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    twins.prepare("update-ref", "refs/heads/remote", objects.commits[0])
    for message in ("moving from side to main", "moving from main to dir/leaf"):
        twins.prepare(
            "update-ref", "-m", f"checkout: {message}", "--no-deref", "HEAD", objects.commits[0]
        )
        twins.prepare("update-ref", "-m", "x", "--no-deref", "HEAD", objects.commits[1])
    twins.prepare("symbolic-ref", "HEAD", "refs/heads/main")
    for name in BRANCHES:
        check(twins, objects, Case(f"check-ref-format --branch '{name}'"))


def test_outside_of_a_repository(tmp_path: Path) -> None:
    for name in ("main", "@{-1}", "a..b"):
        args = ["check-ref-format", "--branch", name]
        outcome = ours(tmp_path, f"check-ref-format --branch {name}")
        assert outcome == run_theirs(args, tmp_path)
