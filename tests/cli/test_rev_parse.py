"""`rev-parse`, as far as pyreftable has it, against git's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.twin_cases import Case, check, make_twins, ours
from tests.support import run_git
from tests.twins import Objects, Twins

AS_GIT = [
    "rev-parse",
    "rev-parse HEAD",
    "rev-parse main side v1",
    "rev-parse v1^{{}} v1^{{tree}}",
    "rev-parse ^main",
    "rev-parse nowhere",
    "rev-parse main nowhere",
    "rev-parse nowhere -- file",
    "rev-parse main -- file",
    "rev-parse --verify HEAD",
    "rev-parse --verify ^HEAD",
    "rev-parse --verify HEAD side",
    "rev-parse --verify",
    "rev-parse --verify nowhere",
    "rev-parse -q --verify nowhere",
    "rev-parse --quiet --verify HEAD",
    "rev-parse --verify --default side",
    "rev-parse --default side",
    "rev-parse --default",
    "rev-parse --verify {missing}",
    "rev-parse --verify main@{{9}}",
    "rev-parse -q --verify main@{{9}}",
    "rev-parse --short HEAD",
    "rev-parse --short=5 HEAD",
    "rev-parse --short=1 HEAD",
    "rev-parse --short=99 HEAD",
    "rev-parse --short HEAD side",
    "rev-parse --symbolic-full-name HEAD main v1 chain",
    "rev-parse --symbolic-full-name {c0}",
    "rev-parse --symbolic-full-name ^side",
    "rev-parse --symbolic side ^main",
    "rev-parse --abbrev-ref HEAD",
    "rev-parse --abbrev-ref refs/tags/v1 refs/heads/dir/leaf",
    "rev-parse --abbrev-ref=loose refs/heads/main",
    "rev-parse --abbrev-ref=strict refs/heads/main",
    "rev-parse --abbrev-ref=other HEAD",
    "rev-parse --show-ref-format",
    "rev-parse --show-object-format",
    "rev-parse --show-object-format=output",
    "rev-parse --show-object-format=nonsense",
    "rev-parse --verify --end-of-options HEAD",
]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


@pytest.fixture(params=["sha1", "sha256"])
def pair(request: pytest.FixtureRequest, tmp_path: Path, templates: Path) -> tuple[Twins, Objects]:
    return make_twins(tmp_path, templates, request.param)


@pytest.mark.parametrize("command", AS_GIT)
def test_as_git(pair: tuple[Twins, Objects], command: str) -> None:
    check(*pair, Case(command))


@pytest.mark.parametrize(
    "command",
    [
        "rev-parse main",
        "rev-parse --verify main",
        "rev-parse --symbolic-full-name main",
        "rev-parse --abbrev-ref refs/heads/main",
        "rev-parse --abbrev-ref=loose refs/heads/main",
        "rev-parse --abbrev-ref=strict refs/heads/main",
        "-c core.warnAmbiguousRefs=false rev-parse main",
        "-c core.warnAmbiguousRefs=false rev-parse --symbolic-full-name main",
        "-c core.warnAmbiguousRefs=false rev-parse --abbrev-ref refs/heads/main",
    ],
)
def test_ambiguous_names(pair: tuple[Twins, Objects], command: str) -> None:
    twins, objects = pair
    twins.prepare("update-ref", "refs/tags/main", objects.commits[1])
    check(twins, objects, Case(command))


@pytest.mark.parametrize("command", ["@{{u}}", "main@{{upstream}}", "side@{{u}}", "@", "@{{-1}}"])
@pytest.mark.parametrize("mode", ["--symbolic-full-name", "--abbrev-ref", "--verify"])
def test_short_hands(pair: tuple[Twins, Objects], command: str, mode: str) -> None:
    twins, objects = pair
    twins.prepare("config", "branch.main.remote", ".")
    twins.prepare("config", "branch.main.merge", "refs/heads/side")
    check(twins, objects, Case(f"rev-parse {mode} '{command}'"))


def test_existing_file_is_shown(pair: tuple[Twins, Objects]) -> None:
    twins, objects = pair
    for repo in (twins.ours, twins.theirs):
        (repo / "file").touch()
    check(twins, objects, Case("rev-parse main file"))
    check(twins, objects, Case("rev-parse file nofile"))


def test_files_storage(tmp_path: Path) -> None:
    run_git(["init", "-q", "-b", "main", "--ref-format=files", "repo"], tmp_path)
    outcome = ours(tmp_path / "repo", "rev-parse --show-ref-format")
    assert outcome == (0, b"files\n", b"")


def test_unsupported_option(pair: tuple[Twins, Objects]) -> None:
    outcome = ours(pair[0].ours, "rev-parse --git-dir")
    assert outcome.status == 128
    assert outcome.stderr == b"fatal: option '--git-dir' of rev-parse is not supported here\n"
