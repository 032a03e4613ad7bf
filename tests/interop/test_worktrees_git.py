"""Linked worktrees: every command, in every worktree, for every kind of name, as git has it.

A ref written under the long name of another worktree is the one thing on purpose not as in git,
which stores it under that long name, where nothing can read it: here it is stored under its name
there.
"""

from __future__ import annotations

import os
import threading
import time

import pytest

from pyreftable.errors import LockError, ReftableError
from pyreftable.refs.store import RefStore
from tests.interop.worktree_twins import PLACES, FamilyTwins
from tests.support import run_git
from tests.twins import git_is_followed, run_theirs


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> FamilyTwins:
    return FamilyTwins(tmp_path_factory.mktemp("worktrees").resolve())


@pytest.fixture
def twins(made: FamilyTwins) -> FamilyTwins:
    made.reset()
    return made


LOCAL_NAMES = (
    "HEAD",
    "ORIG_HEAD",
    "refs/heads/main",
    "refs/heads/topic",
    "refs/bisect/bad",
    "refs/worktree/own",
    "refs/worktree/only-two",
    "refs/rewritten/x",
)
LONG_NAMES = (
    "main-worktree/HEAD",
    "main-worktree/ORIG_HEAD",
    "main-worktree/refs/bisect/bad",
    "main-worktree/refs/heads/main",
    "main-worktree",
    "worktrees/one/HEAD",
    "worktrees/one/ORIG_HEAD",
    "worktrees/one/refs/bisect/bad",
    "worktrees/one/refs/heads/topic",
    "worktrees/one/refs",
    "worktrees/one",
    "worktrees/two/HEAD",
    "worktrees/two/refs/worktree/only-two",
    "worktrees/none/HEAD",
    "worktrees/main/HEAD",
    "worktrees/one/main-worktree/HEAD",
    "main-worktree/worktrees/one/HEAD",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", LOCAL_NAMES + LONG_NAMES)
def test_reading_a_name(made: FamilyTwins, place: str, name: str) -> None:
    made.reset()
    for command in (
        "show-ref --verify",
        "show-ref --exists",
        "symbolic-ref",
        "symbolic-ref --no-recurse",
        "reflog exists",
        "reflog show",
        "rev-parse",
    ):
        made.run(place, f"{command} {name}")


@pytest.mark.parametrize("place", PLACES)
def test_listings(twins: FamilyTwins, place: str) -> None:
    commands = [
        "for-each-ref",
        "for-each-ref refs/bisect",
        "for-each-ref refs/worktree/",
        "for-each-ref worktrees main-worktree",
        "for-each-ref --include-root-refs",
        "for-each-ref --format=%(refname)%20%(HEAD)",
        "for-each-ref --points-at={c1}",
        "show-ref",
        "show-ref --head",
        "show-ref bad",
        "reflog list",
        "refs verify",
    ]
    if git_is_followed():
        commands += ["refs list", "refs list --include-root-refs"]
    for command in commands:
        twins.run(place, command)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", LOCAL_NAMES)
def test_writing_a_name(made: FamilyTwins, place: str, name: str) -> None:
    for command in (
        "update-ref NAME {c2}",
        "update-ref --no-deref -m why NAME {c2}",
        "update-ref --create-reflog NAME {c2} {c1}",
        "update-ref -d NAME",
        "symbolic-ref NAME refs/heads/main",
        "symbolic-ref -d NAME",
        "reflog delete NAME@{0}",
        "reflog expire --expire=all NAME",
    ):
        made.reset()
        made.run(place, command.replace("NAME", name))
        made.check_same_state()


TRANSACTIONS = (
    "update HEAD {c2}\n",
    "update refs/heads/topic {c2}\n",
    "update refs/heads/main {c2}\n",
    "update HEAD {c2}\nupdate refs/bisect/bad {c2}\nupdate refs/heads/new {c2}\n",
    "option no-deref\nupdate HEAD {c2}\nupdate refs/heads/topic {c2}\n",
    "update HEAD {c2}\nupdate refs/heads/topic {c2}\n",
    "update HEAD {c2}\nupdate refs/heads/main {c2}\n",
    "create refs/heads/a {c2}\ncreate refs/worktree/own/x {c2}\n",
    "create refs/worktree/a {c2}\ncreate refs/worktree/a/x {c2}\n",
    "create refs/heads/main/x {c2}\n",
    "create refs/bisect {c2}\n",
    "create refs/worktree {c2}\n",
    "create refs/rewritten/x/y {c2}\n",
    "create refs/worktree/heads {c1}\ncreate refs/bisect/x/y {c1}\n",
    "create refs/worktree/only-two/x {c1}\n",
    "delete refs/bisect/bad {c1}\ndelete refs/worktree/own\n",
    "create FOO_HEAD {c1}\nupdate ORIG_HEAD {c2}\nverify HEAD {c0}\n",
    "delete ORIG_HEAD\ndelete HEAD\n",
    "update refs/heads/main {c1}\nupdate refs/bisect/bad {c1} {c2}\n",
    "start\nupdate HEAD {c2}\nprepare\ncommit\nstart\nupdate refs/bisect/bad {c0}\nabort\n",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("transaction", TRANSACTIONS)
def test_transactions(made: FamilyTwins, place: str, transaction: str) -> None:
    for options in ("", "-c core.logAllRefUpdates=always ", "-c core.logAllRefUpdates=false "):
        made.reset()
        made.run(place, f"{options}update-ref -m why --stdin", transaction)
        made.check_same_state()


@pytest.mark.parametrize("place", PLACES)
def test_symrefs_between_stacks(twins: FamilyTwins, place: str) -> None:
    update = "update-ref -m why --stdin"
    for commands in (
        "option no-deref\nsymref-create refs/worktree/sym refs/heads/main\n",
        "option no-deref\nsymref-create refs/heads/sym refs/worktree/own\n",
        "update refs/worktree/sym {c2}\n",
        "update refs/heads/sym {c2}\n",
        "option no-deref\nsymref-create refs/heads/far main-worktree/HEAD\n",
        "symref-update HEAD refs/worktree/own\n",
        "update HEAD {c1}\n",
        "update refs/worktree/own {c0}\n",
        "delete HEAD\n",
    ):
        twins.run(place, update, commands)
        twins.check_same_state()
    for name in ("refs/heads/sym", "refs/heads/far", "refs/worktree/sym", "HEAD"):
        twins.run(place, f"symbolic-ref {name}")


class TestLongNames:
    """Where we differ on purpose."""

    @pytest.mark.parametrize("place", PLACES)
    def test_what_is_written_can_be_read_back(self, twins: FamilyTwins, place: str) -> None:
        family = twins.ours
        for name, there, local in (
            ("worktrees/one/refs/bisect/bad", "one", "refs/bisect/bad"),
            ("main-worktree/refs/bisect/good", "main", "refs/bisect/good"),
            ("worktrees/two/HEAD", "two", "HEAD"),
        ):
            store = RefStore.open(os.fspath(family.folder / place), environ=family.env)
            with store, store.transaction("from afar") as transaction:
                transaction.update(name, family.commits[2])
            assert family.git(there, "rev-parse", local) == family.commits[2]
            store = RefStore.open(os.fspath(family.folder / place), environ=family.env)
            assert store.read(name) == family.commits[2]
            with store, store.transaction() as transaction:
                transaction.update(name, family.commits[1], family.commits[2])
            assert family.git(there, "rev-parse", local) == family.commits[1]

    def test_a_worktree_alone_is_no_name(self, twins: FamilyTwins) -> None:
        family = twins.ours
        outcome = twins.run("main", "update-ref worktrees/one/ {c2}")
        assert b"bad name" in outcome.stderr
        before = family.state()
        with RefStore.open(os.fspath(family.folder / "main"), environ=family.env) as store:
            for name in ("worktrees/one", "worktrees/none/HEAD"):
                with pytest.raises(ReftableError, match=r"bad name|No such file"):
                    self._update(store, name, family.commits[2])
        assert family.state() == before

    @staticmethod
    def _update(store: RefStore, name: str, oid: str) -> None:
        with store.transaction() as transaction:
            transaction.update(name, oid)


def test_git_goes_on_where_we_wrote(twins: FamilyTwins) -> None:
    family = twins.ours
    twins.run("one", "update-ref -m ours HEAD {c2}")
    family.git("one", "commit", "-q", "--allow-empty", "-m", "git's")
    outcome = run_theirs(["reflog", "show", "HEAD"], family.folder / "one", b"", family.env)
    assert outcome.stdout.count(b"\n") >= 3
    with RefStore.open(os.fspath(family.folder / "one"), environ=family.env) as store:
        assert [entry.message for entry in store.reflog("HEAD")][:2] == ["commit: git's", "ours"]
        assert store.resolve("HEAD").oid == family.git("one", "rev-parse", "HEAD")


def test_worktrees_added_and_removed(twins: FamilyTwins) -> None:
    family = twins.ours
    with RefStore.open(os.fspath(family.folder / "main"), environ=family.env) as store:
        assert [worktree.name for worktree in store.worktrees()] == [None, "one", "two"]
        family.git("main", "worktree", "add", "-q", "--detach", "../three", family.commits[2])
        assert store.read("worktrees/three/HEAD") == family.commits[2]
        assert store.worktrees()[2].path == os.fspath(family.folder / "three")
        family.git("main", "worktree", "remove", "three")
        assert [worktree.name for worktree in store.worktrees()] == [None, "one", "two"]


class TestLocks:
    """A transaction that touches two stacks has both, or neither."""

    def test_all_locks_or_none(self, twins: FamilyTwins) -> None:
        family = twins.ours
        own = family.folder / "main/.git/worktrees/one/reftable/tables.list.lock"
        shared = family.folder / "main/.git/reftable/tables.list.lock"
        before = family.state()
        with RefStore.open(os.fspath(family.folder / "one"), environ=family.env) as store:
            for held, other in ((own, shared), (shared, own)):
                held.touch()
                transaction = store.transaction()
                transaction.update("refs/heads/x", family.commits[0])
                transaction.update("refs/worktree/x", family.commits[0])
                with pytest.raises(LockError) as caught:
                    transaction.prepare()
                assert caught.value.path == os.fspath(held)
                assert not other.exists()
                held.unlink()
        assert family.state() == before

    @pytest.mark.parametrize("name", ["HEAD", "refs/heads/topic"])
    def test_both_are_locked_in_one_order(self, twins: FamilyTwins, name: str) -> None:
        """Branch and HEAD's log need both stacks, from either end, and never wait crosswise."""
        family = twins.ours
        shared = family.folder / "main/.git/reftable/tables.list.lock"
        own = family.folder / "main/.git/worktrees/one/reftable/tables.list.lock"
        run_git(["config", "reftable.lockTimeout", "20000"], family.folder / "main")
        shared.touch()
        with RefStore.open(os.fspath(family.folder / "one"), environ=family.env) as store:
            transaction = store.transaction()
            transaction.update(name, family.commits[2])
            worker = threading.Thread(target=transaction.commit)
            worker.start()
            time.sleep(0.3)
            assert not own.exists()
            shared.unlink()
            worker.join(20)
            assert store.read("refs/heads/topic") == family.commits[2]
