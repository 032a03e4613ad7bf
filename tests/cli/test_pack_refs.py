"""`pack-refs` and `refs optimize` on reftable repositories."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from pyreftable.refs.store import RefStore
from tests.cli.twin_cases import Case, check, make_twins, ours
from tests.stack_tools import listed, table_files
from tests.support import git_env, run_git
from tests.twins import Objects, Twins, read_state, run_ours, run_theirs

COMMANDS = ["pack-refs", "refs optimize"]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


@pytest.fixture
def pair(tmp_path: Path, templates: Path) -> tuple[Twins, Objects]:
    """Twins with three tables each, none of which a commit has merged."""
    twins, objects = make_twins(tmp_path, templates, "sha1")
    for repo in (twins.ours, twins.theirs):
        env = git_env(repo) | {"GIT_TEST_REFTABLE_AUTOCOMPACTION": "false"}
        for number in range(3):
            run_git(["update-ref", f"refs/heads/n{number}", objects.commits[0]], repo, env=env)
    return twins, objects


def tables(repo: Path) -> list[str]:
    return listed(repo / ".git" / "reftable")


@pytest.mark.parametrize(
    "options",
    ["", "--all", "--no-prune", "--auto", "--all --auto", "--include 'refs/tags/*'", "--exclude x"],
)
def test_as_git(pair: tuple[Twins, Objects], options: str) -> None:
    """Same refs, same number of tables of the same size; patterns change nothing."""
    twins, objects = pair
    check(twins, objects, Case(f"pack-refs {options}"))
    sizes = [
        [os.stat(repo / ".git" / "reftable" / name).st_size for name in tables(repo)]
        for repo in (twins.ours, twins.theirs)
    ]
    assert sizes[0] == sizes[1]
    assert table_files(twins.ours / ".git" / "reftable") == set(tables(twins.ours))


@pytest.mark.parametrize("command", COMMANDS)
def test_all_tables_become_one(pair: tuple[Twins, Objects], command: str) -> None:
    repo = pair[0].ours
    before = read_state(repo)
    assert len(tables(repo)) > 2
    assert ours(repo, command) == (0, b"", b"")
    assert len(tables(repo)) == 1
    assert read_state(repo) == before
    assert ours(repo, f"{command} --auto") == (0, b"", b"")


@pytest.mark.parametrize("command", COMMANDS)
def test_dead_files_go(pair: tuple[Twins, Objects], command: str) -> None:
    folder = pair[0].ours / ".git" / "reftable"
    dead = folder / "0x000000000001-0x000000000001-0badcafe.ref"
    dead.write_bytes((folder / listed(folder)[0]).read_bytes())
    ours(pair[0].ours, command)
    assert not dead.exists()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("lock", ["tables.list.lock", "a table's"])
def test_held_locks(pair: tuple[Twins, Objects], command: str, lock: str) -> None:
    repo = pair[0].ours
    folder = repo / ".git" / "reftable"
    before = tables(repo)
    names = [lock] if lock.endswith(".lock") else [f"{name}.lock" for name in before]
    for name in names:
        (folder / name).touch()
    outcome = ours(repo, command)
    assert outcome == (255, b"", b"error: unable to compact stack: data is locked\n")
    assert tables(repo) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_damaged_table(pair: tuple[Twins, Objects], command: str) -> None:
    repo = pair[0].ours
    path = repo / ".git" / "reftable" / tables(repo)[0]
    path.write_bytes(path.read_bytes()[:-1])
    outcome = ours(repo, command)
    assert outcome.status == 255
    assert outcome.stderr.startswith(b"error: unable to compact stack: ")
    assert os.fsencode(path.name) in outcome.stderr


def test_arguments(pair: tuple[Twins, Objects]) -> None:
    twins, _ = pair
    outcome = ours(twins.ours, "pack-refs more")
    assert outcome.status == 129
    assert outcome.stderr.startswith(b"usage: git pack-refs [--all] [--no-prune] [--auto]")
    outcome = ours(twins.ours, "refs optimize --nonsense")
    assert outcome.stderr.startswith(b"error: unknown option `nonsense'\nusage: git refs optimize ")


def test_in_a_linked_worktree_its_own_stack(tmp_path: Path, templates: Path) -> None:
    twins, objects = make_twins(tmp_path, templates, "sha1")
    repo = twins.ours
    run_git(["worktree", "add", "-q", "--detach", "../linked", objects.commits[0]], repo)
    linked = tmp_path / "linked"
    env = git_env(linked) | {"GIT_TEST_REFTABLE_AUTOCOMPACTION": "false"}
    for number in range(3):
        run_git(["update-ref", f"refs/bisect/n{number}", objects.commits[0]], linked, env=env)
    main = tables(repo)
    assert ours(linked, "pack-refs") == (0, b"", b"")
    with RefStore.open(str(linked), environ=env) as store:
        assert store.worktree_stack is not None
        assert len(store.worktree_stack.snapshot().names) == 1
    assert tables(repo) == main


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--all",
        "--all --no-prune",
        "--all --auto",
        "--all --exclude 'refs/heads/n*'",
        "--include 'refs/heads/n1*'",
        "--include 'refs/heads/*' --no-include",
    ],
)
def test_files_storage_as_git(tmp_path: Path, options: str) -> None:
    """The other storage is packed, too: the same `packed-refs`, the same loose files left."""
    left = []
    for name in ("theirs", "ours"):
        repo = tmp_path / name
        repo.mkdir()
        run_git(["init", "-q", "-b", "main", "--ref-format=files"], repo)
        run_git(["commit", "-q", "--allow-empty", "-m", "one"], repo)
        run_git(["tag", "-a", "-m", "tag", "v1"], repo)
        run_git(["pack-refs", "--all"], repo)
        for number in range(12):
            run_git(["update-ref", f"refs/heads/n{number}/x", "HEAD"], repo)
        run_git(["update-ref", "refs/bisect/bad", "HEAD"], repo)
        run_git(["symbolic-ref", "refs/heads/sym", "refs/heads/main"], repo)
        run_git(["tag", "-a", "-m", "tag", "v2"], repo)
        words = shlex.split(f"pack-refs {options}")
        outcome = run_theirs(words, repo) if name == "theirs" else run_ours(words, repo)
        assert outcome == (0, b"", b"")
        git_dir = repo / ".git"
        loose = {str(path.relative_to(git_dir)) for path in (git_dir / "refs").rglob("*")}
        left.append((loose, (git_dir / "packed-refs").read_bytes()))
    assert left[0] == left[1]


def test_files_storage_locked(tmp_path: Path) -> None:
    run_git(["init", "-q", "-b", "main", "--ref-format=files"], tmp_path)
    lock = tmp_path / ".git" / "packed-refs.lock"
    lock.touch()
    outcome = ours(tmp_path, "-c core.packedRefsTimeout=0 pack-refs --all")
    assert outcome.status == 128
    assert outcome.stderr.startswith(b"fatal: Unable to create '" + os.fsencode(lock))
