"""`refs exists`, `create`, `update`, `delete`, `rename`, `list`.

The git of the test environment does not have these yet, so each case says what git 2.55 answers,
and what `update-ref` (or `branch -m`) does that leaves the same state. Where the git compared
with does have them, it is asked too.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.twin_cases import make_twins, ours
from tests.support import git_env
from tests.twins import Objects, Twins, fill, git_is_followed, read_state, run_ours, run_theirs


class Case(NamedTuple):
    """A command, its status and stderr, and the `git` command that has the same effect."""

    command: str
    status: int = 0
    stderr: str = ""
    same_as: str = ""


EXISTS = [
    Case("refs exists HEAD"),
    Case("refs exists refs/heads/main"),
    Case("refs exists refs/meta/dangling"),
    Case("refs exists refs/meta/chain"),
    Case("refs exists main", 2, "error: reference does not exist\n"),
    Case("refs exists refs/heads/dir", 2, "error: reference does not exist\n"),
    Case("refs exists FETCH_HEAD", 2, "error: reference does not exist\n"),
    Case("refs exists", 128, "fatal: 'git refs exists' requires a reference\n"),
    Case("refs exists a b", 128, "fatal: 'git refs exists' requires a reference\n"),
    Case(
        "refs exists --nonsense",
        129,
        "error: unknown option `nonsense'\nusage: git refs exists <ref>\n\n",
    ),
]

CREATE = [
    Case("refs create refs/heads/new {c1}", same_as="update-ref refs/heads/new {c1}"),
    Case("refs create refs/heads/new side", same_as="update-ref refs/heads/new side"),
    Case(
        "refs create --message='a reason' refs/heads/new {c1}",
        same_as="update-ref -m 'a reason' refs/heads/new {c1}",
    ),
    Case(
        "refs create --create-reflog refs/meta/new {c1}",
        same_as="update-ref --create-reflog refs/meta/new {c1}",
    ),
    Case("refs create refs/meta/dangling {c1}", same_as="update-ref refs/meta/dangling {c1}"),
    Case(
        "refs create refs/heads/main {c1}",
        1,
        "error: update_ref failed for ref 'refs/heads/main': cannot lock ref 'refs/heads/main': "
        "reference already exists\n",
    ),
    Case(
        "refs create refs/heads/main/sub {c1}",
        1,
        "error: update_ref failed for ref 'refs/heads/main/sub': 'refs/heads/main' exists; "
        "cannot create 'refs/heads/main/sub'\n",
    ),
    Case(
        "refs create refs/heads/new {tree}",
        1,
        "error: update_ref failed for ref 'refs/heads/new': trying to write non-commit object "
        "{tree} to branch 'refs/heads/new'\n",
    ),
    Case(
        "refs create refs/heads/bad..name {c1}",
        1,
        "error: update_ref failed for ref 'refs/heads/bad..name': "
        "refusing to update ref with bad name 'refs/heads/bad..name'\n",
    ),
    Case("refs create refs/heads/new nowhere", 128, "fatal: invalid object ID: 'nowhere'\n"),
    Case(
        "refs create refs/heads/new {zero}",
        128,
        "fatal: cannot create reference with null new object ID\n",
    ),
    Case(
        "refs create --message= refs/heads/new {c1}",
        128,
        "fatal: refusing to perform update with empty message\n",
    ),
    Case("refs create one", 129, "usage: create requires reference name and an object ID\n"),
    Case("refs create a b c", 129, "usage: create requires reference name and an object ID\n"),
]

UPDATE = [
    Case("refs update refs/heads/main {c1}", same_as="update-ref refs/heads/main {c1}"),
    Case("refs update refs/heads/new {c1}", same_as="update-ref refs/heads/new {c1}"),
    Case("refs update HEAD {c1} {c0}", same_as="update-ref HEAD {c1} {c0}"),
    Case("refs update --no-deref HEAD {c1}", same_as="update-ref --no-deref HEAD {c1}"),
    Case("refs update refs/heads/side {zero}", same_as="update-ref -d refs/heads/side"),
    Case("refs update refs/heads/new {c1} {zero}", same_as="update-ref refs/heads/new {c1} {zero}"),
    Case(
        "refs update --message=why refs/heads/sym {c2}",
        same_as="update-ref -m why refs/heads/sym {c2}",
    ),
    Case(
        "refs update refs/heads/main {c1} {c2}",
        1,
        "error: update_ref failed for ref 'refs/heads/main': cannot lock ref 'refs/heads/main': "
        "is at {c0} but expected {c2}\n",
    ),
    Case(
        "refs update refs/heads/new {c1} {c2}",
        1,
        "error: update_ref failed for ref 'refs/heads/new': cannot lock ref 'refs/heads/new': "
        "unable to resolve reference 'refs/heads/new'\n",
    ),
    Case("refs update refs/x nowhere", 128, "fatal: invalid new object ID: 'nowhere'\n"),
    Case("refs update refs/x {c1} nowhere", 128, "fatal: invalid old object ID: 'nowhere'\n"),
    Case(
        "refs update --message= refs/x {c1}",
        128,
        "fatal: refusing to perform update with empty message\n",
    ),
    Case(
        "refs update one",
        129,
        "usage: update requires reference name, new value and an optional old value\n",
    ),
]

DELETE = [
    Case("refs delete refs/heads/side", same_as="update-ref -d refs/heads/side"),
    Case("refs delete refs/heads/side {c1}", same_as="update-ref -d refs/heads/side {c1}"),
    Case(
        "refs delete --no-deref refs/heads/sym",
        same_as="update-ref --no-deref -d refs/heads/sym",
    ),
    Case("refs delete refs/heads/sym", same_as="update-ref -d refs/heads/sym"),
    Case(
        "refs delete --message=gone refs/heads/main",
        same_as="update-ref -m gone -d refs/heads/main",
    ),
    Case(
        "refs delete refs/heads/side {c2}",
        1,
        "error: cannot lock ref 'refs/heads/side': is at {c1} but expected {c2}\n",
    ),
    Case("refs delete refs/x nowhere", 128, "fatal: invalid old object ID: 'nowhere'\n"),
    Case(
        "refs delete refs/heads/side {zero}",
        128,
        "fatal: cannot delete reference with null old object ID\n",
    ),
    Case(
        "refs delete", 129, "usage: delete requires reference name and an optional old object ID\n"
    ),
]

RENAME = [
    Case(
        "refs rename refs/meta/nowhere refs/x/y",
        128,
        "fatal: reference does not exist: 'refs/meta/nowhere'\n",
    ),
    Case(
        "refs rename refs/heads/main refs/heads/side",
        128,
        "fatal: reference already exists: 'refs/heads/side'\n",
    ),
    Case(
        "refs rename refs/heads/sym refs/heads/other",
        1,
        "error: refname refs/heads/sym is a symbolic ref, copying it is not supported\n",
    ),
    Case("refs rename bad..name refs/x", 128, "fatal: invalid ref format: 'bad..name'\n"),
    Case("refs rename HEAD refs/x", 128, "fatal: invalid ref format: 'HEAD'\n"),
    Case("refs rename refs/heads/main main", 128, "fatal: invalid ref format: 'main'\n"),
    Case(
        "refs rename refs/heads/side refs/heads/dir",
        1,
        "error: 'refs/heads/dir/leaf' exists; cannot create 'refs/heads/dir'\n",
    ),
    Case(
        "refs rename --message= refs/heads/side refs/x",
        128,
        "fatal: refusing to perform update with empty message\n",
    ),
    Case("refs rename one", 129, "usage: rename requires old and new reference name\n"),
]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


@pytest.fixture(params=["sha1", "sha256"])
def pair(request: pytest.FixtureRequest, tmp_path: Path, templates: Path) -> tuple[Twins, Objects]:
    return make_twins(tmp_path, templates, request.param)


@pytest.mark.parametrize(
    "case", EXISTS + CREATE + UPDATE + DELETE + RENAME, ids=lambda c: c.command
)
def test_as_git_2_55(pair: tuple[Twins, Objects], case: Case) -> None:
    twins, objects = pair
    args = shlex.split(fill(case.command, objects))
    before = read_state(twins.ours)
    outcome = run_ours(args, twins.ours, env=git_env(twins.ours))
    expected_stderr = fill(case.stderr, objects).encode()
    assert (outcome.status, outcome.stdout, outcome.stderr) == (case.status, b"", expected_stderr)
    if git_is_followed():
        assert run_theirs(args, twins.theirs) == outcome
    elif case.same_as:
        run_theirs(shlex.split(fill(case.same_as, objects)), twins.theirs)
    if case.same_as:
        assert read_state(twins.ours) == read_state(twins.theirs) != before
    else:
        assert read_state(twins.ours) == before


def test_rename_as_branch_m(pair: tuple[Twins, Objects]) -> None:
    """With a message like its own, `branch -m` leaves the same refs and logs."""
    twins, objects = pair
    twins.prepare("update-ref", "-m", "logged", "refs/heads/side", objects.commits[2])
    message = "Branch: renamed refs/heads/side to refs/heads/other"
    outcome = ours(
        twins.ours, f"refs rename --message='{message}' refs/heads/side refs/heads/other"
    )
    assert outcome == (0, b"", b"")
    run_theirs(["branch", "-m", "side", "other"], twins.theirs)
    twins.check_same_state()


def test_list_is_for_each_ref(pair: tuple[Twins, Objects]) -> None:
    twins, _ = pair
    for options in ("", "--count=2 --format='%(refname)'", "--include-root-refs refs/heads"):
        outcome = ours(twins.ours, f"refs list {options}")
        assert outcome == ours(twins.ours, f"for-each-ref {options}")
        assert outcome.stdout


def test_list_names_itself_in_its_usage(pair: tuple[Twins, Objects]) -> None:
    outcome = ours(pair[0].ours, "refs list --nonsense")
    assert outcome.status == 129
    assert b"usage: git refs list [--count=<count>]" in outcome.stderr


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("refs", b"error: need a subcommand\n"),
        ("refs nonsense", b"error: unknown subcommand: `nonsense'\n"),
        ("refs --nonsense", b"error: unknown option `nonsense'\n"),
    ],
)
def test_usage(pair: tuple[Twins, Objects], command: str, first: bytes) -> None:
    outcome = ours(pair[0].ours, command)
    assert outcome.status == 129
    assert outcome.stderr.startswith(first + b"usage: git refs migrate --ref-format=<format>")
    assert outcome.stderr.count(b"\n   or: git refs ") == 8


def test_exists_on_a_damaged_stack(pair: tuple[Twins, Objects]) -> None:
    repo = pair[0].ours
    (repo / ".git" / "reftable" / "tables.list").write_text("nowhere.ref\n")
    outcome = ours(repo, "refs exists refs/heads/main")
    assert outcome.status == 1
    assert outcome.stderr.startswith(b"error: failed to look up reference: ")
    assert b"nowhere.ref" in outcome.stderr


def test_exists_imports_little(pair: tuple[Twins, Objects]) -> None:
    """Scripts ask this in loops: what it does not need must not be loaded."""
    program = (
        "import sys; from pyreftable_cli.main import main; main(['refs', 'exists', 'HEAD']);"
        "print(' '.join(sys.modules))"
    )
    repo = pair[0].ours
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=repo,
        env=git_env(repo),
        capture_output=True,
        check=True,
    )
    loaded = set(done.stdout.decode().split())
    heavy = {"argparse", "asyncio", "dataclasses", "git", "gitdb", "inspect", "json", "pathlib"}
    heavy |= {"random", "rich", "shutil", "subprocess", "tempfile", "typer", "zlib_ng.zlib_ng"}
    assert loaded & heavy == set()
    assert not {name for name in loaded if name.startswith("pyreftable_cli.parsing")}
