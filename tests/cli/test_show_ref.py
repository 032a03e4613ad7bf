"""`show-ref` in all its modes, against git's."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyreftable.format.records import RefRecord
from pyreftable.refs.store import RefStore
from tests.cli.twin_cases import Case, check, make_twins
from tests.support import git_env, run_git
from tests.twins import Objects, Twins

LISTING = [
    "show-ref",
    "show-ref --head",
    "show-ref -d",
    "show-ref --head -d v1",
    "show-ref --dereference --hash",
    "show-ref --tags",
    "show-ref --branches",
    "show-ref --heads",
    "show-ref --tags --branches --head",
    "show-ref --no-tags",
    "show-ref main",
    "show-ref heads/main",
    "show-ref refs/heads/main",
    "show-ref ain",
    "show-ref leaf side v1",
    "show-ref sym chain dangling",
    "show-ref nowhere",
    "show-ref -q main",
    "show-ref -q nowhere",
    "show-ref -s",
    "show-ref -s8 main",
    "show-ref -s2 main",
    "show-ref --hash=100 main",
    "show-ref --hash= main",
    "show-ref --hash=x main",
    "show-ref --abbrev",
    "show-ref --abbrev=9 -d v1",
    "show-ref --abbrev=0",
    "show-ref --no-abbrev --abbrev=5x",
    "-c core.abbrev=12 show-ref --abbrev",
    "show-ref --exclude-existing --verify --exists",
    "show-ref --verify --exists",
    "show-ref --nonsense",
    "show-ref -h main",
    "show-ref -h other",
]

VERIFY = [
    "show-ref --verify",
    "show-ref --verify refs/heads/main",
    "show-ref --verify refs/heads/main HEAD -d refs/tags/v1",
    "show-ref --verify main",
    "show-ref --verify heads/main",
    "show-ref --verify -q main",
    "show-ref --verify -q refs/heads/main",
    "show-ref --verify refs/heads/main refs/heads/nowhere refs/heads/side",
    "show-ref --verify refs/meta/dangling",
    "show-ref --verify refs/meta/chain",
    "show-ref --verify refs/heads/../heads/main",
    "show-ref --verify -s HEAD",
]

EXISTS = [
    "show-ref --exists",
    "show-ref --exists HEAD",
    "show-ref --exists refs/heads/main",
    "show-ref --exists main",
    "show-ref --exists refs/heads",
    "show-ref --exists refs/heads/dir",
    "show-ref --exists refs/meta/dangling",
    "show-ref --exists FETCH_HEAD",
    "show-ref --exists HEAD refs/heads/main",
]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


@pytest.fixture(params=["sha1", "sha256"])
def pair(request: pytest.FixtureRequest, tmp_path: Path, templates: Path) -> tuple[Twins, Objects]:
    return make_twins(tmp_path, templates, request.param)


@pytest.mark.parametrize("command", LISTING + VERIFY + EXISTS)
def test_as_git(pair: tuple[Twins, Objects], command: str) -> None:
    check(*pair, Case(command))


def test_exclude_existing(pair: tuple[Twins, Objects]) -> None:
    lines = b"".join(
        (
            b"refs/heads/main\n",
            b"some id  refs/heads/new\n",
            b"\trefs/tags/v1^{}\n",
            b"x refs/tags/v2^{}\n",
            b"refs/bad..name\n",
            b"HEAD\n",
            b"trailing \n",
            b"\n",
            b"x" * 2000 + b" refs/long\n",
            b"refs/heads/no-line-end",
        )
    )
    check(*pair, Case("show-ref --exclude-existing", input=lines))
    check(*pair, Case("show-ref --exclude-existing=refs/tags/", input=lines))


def test_objects_that_are_missing(pair: tuple[Twins, Objects]) -> None:
    """The listing tells of each and leaves it out; a look at the very one is fatal."""
    twins, objects = pair
    victim = objects.commits[1]
    for repo in (twins.ours, twins.theirs):
        (repo / ".git" / "objects" / victim[:2] / victim[2:]).unlink()
    for command in (
        "show-ref",
        "show-ref main",
        "show-ref side",
        "show-ref --verify refs/heads/side",
        "show-ref --exists refs/heads/side",
    ):
        check(twins, objects, Case(command))


def test_objects_that_are_missing_without_paranoia(pair: tuple[Twins, Objects]) -> None:
    twins, objects = pair
    victim = objects.commits[1]
    for repo in (twins.ours, twins.theirs):
        (repo / ".git" / "objects" / victim[:2] / victim[2:]).unlink()
    theirs, ours = twins.run(["show-ref"], env={"GIT_REF_PARANOIA": "0"})
    assert ours == theirs
    assert b"refs/heads/side does not point to a valid object!" in ours.stderr


def test_bad_names(pair: tuple[Twins, Objects]) -> None:
    """A table may hold them; they are shown to be bad, or refused."""
    twins, objects = pair
    for name in (b"refs/heads/bad..name", b"refs/heads/../../bad"):
        for repo in (twins.ours, twins.theirs):
            with RefStore.open(str(repo), environ=git_env(repo)) as store:
                oid = bytes.fromhex(objects.commits[0])
                store.stack().add(
                    lambda writer, _, name=name, oid=oid: writer.add_ref(  # type: ignore[misc]
                        RefRecord(name, writer.min_update_index, 1, oid)
                    )
                )
        for command in (
            "show-ref",
            "show-ref main",
            "show-ref name",
            "show-ref --exists " + name.decode(),
        ):
            check(twins, objects, Case(command))


def test_tag_whose_object_is_missing(pair: tuple[Twins, Objects]) -> None:
    twins, objects = pair
    for repo in (twins.ours, twins.theirs):
        (repo / ".git" / "objects" / objects.tag[:2] / objects.tag[2:]).unlink()
    check(twins, objects, Case("show-ref --verify refs/tags/v1"))


def test_pseudo_refs(pair: tuple[Twins, Objects]) -> None:
    twins, objects = pair
    for repo in (twins.ours, twins.theirs):
        (repo / ".git" / "FETCH_HEAD").write_text(f"{objects.commits[0]}\t\tbranch 'x' of y\n")
    check(twins, objects, Case("show-ref --exists FETCH_HEAD"))
    check(twins, objects, Case("show-ref --verify FETCH_HEAD"))


def test_packed_objects(pair: tuple[Twins, Objects]) -> None:
    twins, objects = pair
    for repo in (twins.ours, twins.theirs):
        run_git(["repack", "-adq"], repo)
    for command in ("show-ref -d --head", "show-ref --abbrev=7"):
        check(twins, objects, Case(command))
