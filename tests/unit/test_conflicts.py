"""Directory/file conflicts: what is in a new name's way, and how that is said."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pyreftable.errors import Rejection, TransactionError
from pyreftable.refs.conflicts import check_available, check_name_available, parents
from pyreftable.refs.store import RefStore
from pyreftable.refs.update import Update
from tests.support import git_env, init_repo, run_git

EXISTING = ("refs/heads/a/b", "refs/heads/a/c/d", "refs/heads/main", "refs/heads/x-y", "refs/s")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RefStore:
    repo = init_repo(tmp_path_factory.mktemp("conflicts") / "repo")
    run_git(["commit", "-q", "--allow-empty", "-m", "x"], repo)
    for name in EXISTING:
        run_git(["update-ref", name, "HEAD"], repo)
    run_git(["update-ref", "refs/gone/inside", "HEAD"], repo)
    run_git(["update-ref", "-d", "refs/gone/inside"], repo)
    return RefStore.open(os.fspath(repo), environ=git_env(repo))


def conflicts(store: RefStore, new: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """The messages of the conflicts that `new` names have, in a transaction with `others`."""
    found: list[str] = []

    def collect(update: Update, error: TransactionError) -> None:
        assert error.reason is Rejection.NAME_CONFLICT
        assert error.refname == update.refname
        found.append(str(error))

    check_available(store, [Update(name) for name in new], {*new, *others}, collect)
    return found


def test_the_directories_of_a_name() -> None:
    assert list(parents("refs/heads/a/b")) == ["refs", "refs/heads", "refs/heads/a"]
    assert list(parents("HEAD")) == []


@pytest.mark.parametrize(
    "name",
    [
        "refs/heads/a/bc",
        "refs/heads/a/c/e",
        "refs/heads/mai",
        "refs/heads/main2",
        "refs/heads/x",
        "refs/heads/x-y-z",
        "refs/gone",
        "refs/gone/inside/more",
        "refs/tags/v",
        "ORIG_HEAD",
    ],
)
def test_names_that_are_free(store: RefStore, name: str) -> None:
    assert conflicts(store, [name]) == []
    check_name_available(store, name)


@pytest.mark.parametrize(
    ("name", "in_the_way"),
    [
        ("refs/heads/main/x", "refs/heads/main"),
        ("refs/heads/a/b/x/y", "refs/heads/a/b"),
        ("refs/heads/a", "refs/heads/a/b"),
        ("refs/heads/a/c", "refs/heads/a/c/d"),
        ("refs/heads", "refs/heads/a/b"),
        ("refs/s/t/u", "refs/s"),
    ],
)
def test_names_that_are_not(store: RefStore, name: str, in_the_way: str) -> None:
    message = f"'{in_the_way}' exists; cannot create '{name}'"
    assert conflicts(store, [name]) == [message]
    with pytest.raises(TransactionError, match=message) as caught:
        check_name_available(store, name)
    assert caught.value.reason is Rejection.NAME_CONFLICT


def test_names_of_one_transaction(store: RefStore) -> None:
    assert conflicts(store, ["refs/new/a", "refs/new/a/b", "refs/new/ab"]) == [
        "cannot process 'refs/new/a' and 'refs/new/a/b' at the same time",
        "cannot process 'refs/new/a/b' and 'refs/new/a' at the same time",
    ]
    # What is deleted in the same transaction is in the way all the same.
    assert conflicts(store, ["refs/heads/main/x"], ["refs/heads/main"]) == [
        "'refs/heads/main' exists; cannot create 'refs/heads/main/x'"
    ]


def test_only_the_conflicting_are_refused(store: RefStore) -> None:
    names = [f"refs/many/{number}" for number in range(300)]
    names.insert(150, "refs/heads/main/x")
    assert conflicts(store, names) == [
        "'refs/heads/main' exists; cannot create 'refs/heads/main/x'"
    ]


def test_a_ref_about_to_be_renamed_is_not_in_the_way(store: RefStore) -> None:
    check_name_available(store, "refs/heads/main/x", frozenset({"refs/heads/main"}))
    check_name_available(store, "refs/heads/a/c", frozenset({"refs/heads/a/c/d"}))
    with pytest.raises(TransactionError, match="'refs/heads/a/c/d' exists"):
        check_name_available(store, "refs/heads/a", frozenset({"refs/heads/a/b"}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worktrees")
    repo = init_repo(folder / "main")
    run_git(["commit", "-q", "--allow-empty", "-m", "x"], repo)
    run_git(["worktree", "add", "-q", "--detach", "../one"], repo)
    run_git(["update-ref", "refs/bisect/bad", "HEAD"], repo)
    run_git(["update-ref", "refs/worktree/own", "HEAD"], folder / "one")
    return folder


class TestWorktrees:
    def open(self, folder: Path, place: str) -> RefStore:
        return RefStore.open(os.fspath(folder / place), environ=git_env(folder))

    def test_each_has_only_its_own_in_the_way(self, folder: Path) -> None:
        with self.open(folder, "main") as store:
            assert conflicts(store, ["refs/worktree/own/x"]) == []
            assert conflicts(store, ["refs/worktree"]) == []
            assert conflicts(store, ["refs/bisect"]) == [
                "'refs/bisect/bad' exists; cannot create 'refs/bisect'"
            ]
        with self.open(folder, "one") as store:
            assert conflicts(store, ["refs/bisect", "refs/bisect/bad/x"], ["refs/y"]) == [
                "cannot process 'refs/bisect' and 'refs/bisect/bad/x' at the same time",
                "cannot process 'refs/bisect/bad/x' and 'refs/bisect' at the same time",
            ]
            assert conflicts(store, ["refs/bisect"]) == []
            assert conflicts(store, ["refs/bisect/bad/x"]) == []
            assert conflicts(store, ["refs/worktree"]) == [
                "'refs/worktree/own' exists; cannot create 'refs/worktree'"
            ]

    def test_long_names_are_checked_where_they_lead(self, folder: Path) -> None:
        with self.open(folder, "main") as store:
            for prefix, own, foreign in (
                ("worktrees/one/", "refs/worktree/own", "refs/bisect/bad"),
                ("main-worktree/", "refs/bisect/bad", "refs/worktree/own"),
            ):
                name = f"{prefix}{own}/x"
                assert conflicts(store, [name]) == [
                    f"'{prefix}{own}' exists; cannot create '{name}'"
                ]
                assert conflicts(store, [f"{prefix}{foreign}/x"]) == []

    def test_below_a_long_name(self, folder: Path) -> None:
        run_git(["update-ref", "refs/rewritten/a/b", "HEAD"], folder / "one")
        with self.open(folder, "main") as store:
            name = "worktrees/one/refs/rewritten/a"
            assert conflicts(store, [name]) == [f"'{name}/b' exists; cannot create '{name}'"]
