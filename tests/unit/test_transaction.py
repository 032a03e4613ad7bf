"""Transactions as a program sees them: states, border checks, refusals one by one, hooks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from pyreftable.errors import (
    CallerError,
    HookError,
    LockError,
    Rejection,
    StorageError,
    TransactionError,
)
from pyreftable.format.block import Run
from pyreftable.format.records import LogRecord
from pyreftable.refs.store import Ref, RefStore
from pyreftable.refs.transaction import Transaction
from pyreftable.stack import Addition
from tests.support import git_env, run_git
from tests.twins import Objects, make_furnished

Queue = Callable[[Transaction, Objects], None]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Objects]:
    return make_furnished(tmp_path_factory.mktemp("furnished"), "sha1")


@pytest.fixture
def repo(furnished: tuple[Path, Objects], tmp_path: Path) -> Path:
    return Path(shutil.copytree(furnished[0], tmp_path / "repo", symlinks=True))


@pytest.fixture
def objects(furnished: tuple[Path, Objects]) -> Objects:
    return furnished[1]


@pytest.fixture
def store(repo: Path) -> Iterator[RefStore]:
    with RefStore.open(os.fspath(repo), environ=git_env(repo)) as opened:
        yield opened


def names(store: RefStore) -> list[str]:
    return [ref.name for ref in store.refs()]


def lock_of(repo: Path) -> Path:
    return repo / ".git/reftable/tables.list.lock"


class TestStates:
    def test_leaving_the_block_commits(self, store: RefStore, objects: Objects) -> None:
        with store.transaction("why") as transaction:
            transaction.create("refs/heads/new", objects.commits[0])
            assert store.read("refs/heads/new") is None
        assert store.read("refs/heads/new") == objects.commits[0]
        assert [entry.message for entry in store.reflog("refs/heads/new")] == ["why"]

    def test_an_exception_rolls_back(self, store: RefStore, repo: Path, objects: Objects) -> None:
        def fail() -> None:
            with store.transaction() as transaction:
                transaction.create("refs/heads/new", objects.commits[0])
                transaction.prepare()
                assert lock_of(repo).exists()
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        assert not lock_of(repo).exists()
        assert store.read("refs/heads/new") is None

    def test_prepare_locks_and_commit_publishes(
        self, store: RefStore, repo: Path, objects: Objects
    ) -> None:
        transaction = store.transaction()
        transaction.update("refs/heads/main", objects.commits[2], objects.commits[0])
        transaction.prepare()
        assert lock_of(repo).exists()
        assert store.read("refs/heads/main") == objects.commits[0]
        transaction.commit()
        assert not lock_of(repo).exists()
        assert store.read("refs/heads/main") == objects.commits[2]

    def test_abort_changes_nothing(self, store: RefStore, repo: Path, objects: Objects) -> None:
        before = sorted(os.listdir(repo / ".git/reftable"))
        transaction = store.transaction()
        transaction.delete("refs/heads/main")
        transaction.prepare()
        transaction.abort()
        assert store.read("refs/heads/main") == objects.commits[0]
        assert sorted(os.listdir(repo / ".git/reftable")) == before

    def test_an_empty_transaction_writes_nothing(self, store: RefStore, repo: Path) -> None:
        before = (repo / ".git/reftable/tables.list").read_bytes()
        with store.transaction():
            pass
        assert (repo / ".git/reftable/tables.list").read_bytes() == before

    @pytest.mark.parametrize("end", ["commit", "abort", "prepare"])
    def test_it_ends_once(self, store: RefStore, objects: Objects, end: str) -> None:
        transaction = store.transaction()
        transaction.commit()
        with pytest.raises(CallerError):
            getattr(transaction, end)()
        with pytest.raises(CallerError):
            transaction.create("refs/heads/late", objects.commits[0])

    def test_what_is_prepared_takes_no_more_updates(
        self, store: RefStore, objects: Objects
    ) -> None:
        with store.transaction() as transaction:
            transaction.prepare()
            with pytest.raises(CallerError, match="prepared"):
                transaction.create("refs/heads/late", objects.commits[0])

    def test_ending_inside_the_block_is_all_right(self, store: RefStore, objects: Objects) -> None:
        with store.transaction() as transaction:
            transaction.create("refs/heads/new", objects.commits[0])
            transaction.commit()
        with store.transaction() as transaction:
            transaction.delete("refs/heads/new")
            transaction.abort()
        assert store.read("refs/heads/new") == objects.commits[0]

    def test_two_at_once_do_not_both_get_the_lock(self, store: RefStore) -> None:
        first, second = store.transaction(), store.transaction()
        first.delete("refs/heads/main")
        second.delete("refs/heads/side")
        first.prepare()
        with pytest.raises(LockError, match="cannot lock references"):
            second.prepare()
        first.commit()
        assert "refs/heads/main" not in names(store)
        assert "refs/heads/side" in names(store)


class TestBorderChecks:
    @pytest.mark.parametrize(
        ("queue", "message"),
        [
            (lambda t, o: t.create("refs/heads/a..b", o.commits[0]), "bad name"),
            (lambda t, o: t.create("refs/../HEAD", o.commits[0]), "bad name"),
            (lambda t, o: t.create("", o.commits[0]), "bad name"),
            (lambda t, o: t.delete("refs/heads/../../x"), "bad name"),
            (lambda t, o: t.update("worktrees/one", o.commits[0]), "bad name"),
            (lambda t, o: t.create("FETCH_HEAD", o.commits[0]), "pseudoref"),
            (lambda t, o: t.delete("MERGE_HEAD"), "pseudoref"),
            (lambda t, o: t.create("refs/heads/x", "1" * 40), "nonexistent object"),
            (lambda t, o: t.create("refs/heads/x", o.blob), "non-commit object"),
            (lambda t, o: t.update("HEAD", o.tree), "non-commit object"),
            (lambda t, o: t.create("refs/heads/x", "0" * 40), "neither a valid OID"),
        ],
    )
    def test_what_is_refused_at_once(
        self, store: RefStore, objects: Objects, queue: Queue, message: str
    ) -> None:
        transaction = store.transaction()
        with pytest.raises(TransactionError, match=message):
            queue(transaction, objects)
        assert transaction.updates == []

    @pytest.mark.parametrize("value", ["xyz", "12", b"12", "1" * 64])
    def test_what_is_no_object_id(self, store: RefStore, value: str | bytes) -> None:
        with pytest.raises(CallerError, match="object id"):
            store.transaction().update("refs/heads/x", value)

    def test_names_and_ids_may_be_bytes(self, store: RefStore, objects: Objects) -> None:
        with store.transaction(b"why") as transaction:
            transaction.create(b"refs/meta/\xff", bytes.fromhex(objects.blob))
        assert store.read("refs/meta/\udcff") == objects.blob

    def test_a_tag_is_stored_with_what_it_leads_to(self, store: RefStore, objects: Objects) -> None:
        with store.transaction() as transaction:
            transaction.create("refs/tags/nested", objects.nested_tag)
        ref = store.get("refs/tags/nested")
        assert ref == Ref("refs/tags/nested", objects.nested_tag, None, objects.commits[0])

    def test_deleting_an_id_of_zeros_makes_no_sense(self, store: RefStore) -> None:
        with pytest.raises(CallerError):
            store.transaction().delete("refs/heads/main", "0" * 40)


REFUSALS: list[tuple[Queue, Rejection]] = [
    (lambda t, o: t.create("refs/heads/main", o.commits[1]), Rejection.CREATE_EXISTS),
    (
        lambda t, o: t.update("refs/heads/main", o.commits[1], o.commits[2]),
        Rejection.INCORRECT_OLD_VALUE,
    ),
    (
        lambda t, o: t.update("refs/heads/none", o.commits[1], o.commits[2]),
        Rejection.NONEXISTENT_REF,
    ),
    (lambda t, o: t.delete("refs/heads/none", o.commits[0]), Rejection.NONEXISTENT_REF),
    (lambda t, o: t.verify("refs/heads/main", ""), Rejection.CREATE_EXISTS),
    (lambda t, o: t.create("refs/heads/main/x", o.commits[1]), Rejection.NAME_CONFLICT),
    (lambda t, o: t.create("refs/heads/dir", o.commits[1]), Rejection.NAME_CONFLICT),
    (
        lambda t, o: t.symref_update("refs/heads/main", "refs/x", old_target="refs/y", deref=False),
        Rejection.EXPECTED_SYMREF,
    ),
    (
        lambda t, o: t.symref_delete("refs/heads/sym", "refs/heads/main"),
        Rejection.INCORRECT_OLD_VALUE,
    ),
    (lambda t, o: t.symref_verify("refs/heads/sym"), Rejection.CREATE_EXISTS),
    (
        lambda t, o: t.create("refs/meta/dangling", o.commits[0], deref=False),
        Rejection.CREATE_EXISTS,
    ),
]


class TestRefusals:
    @pytest.mark.parametrize(("queue", "reason"), REFUSALS)
    def test_one_refusal_refuses_all(
        self, store: RefStore, repo: Path, objects: Objects, queue: Queue, reason: Rejection
    ) -> None:
        transaction = store.transaction()
        transaction.create("refs/heads/good", objects.commits[0])
        queue(transaction, objects)
        with pytest.raises(TransactionError) as caught:
            transaction.commit()
        assert caught.value.reason is reason
        assert store.read("refs/heads/good") is None
        assert not lock_of(repo).exists()

    @pytest.mark.parametrize(("queue", "reason"), REFUSALS)
    def test_in_batch_mode_only_the_refused_are_left_out(
        self, store: RefStore, objects: Objects, queue: Queue, reason: Rejection
    ) -> None:
        before = list(store.refs())
        with store.transaction(batch=True) as transaction:
            transaction.create("refs/heads/good", objects.commits[0])
            queue(transaction, objects)
            transaction.delete("refs/tags/v1")
        (rejected,) = transaction.rejected
        assert rejected.rejection is reason
        assert rejected.rejection_details
        after = [ref for ref in before if ref.name != "refs/tags/v1"]
        after.append(Ref("refs/heads/good", objects.commits[0]))
        assert sorted(store.refs()) == sorted(after)

    def test_a_name_may_come_once(self, store: RefStore, objects: Objects) -> None:
        for batch in (False, True):
            transaction = store.transaction(batch=batch)
            transaction.update("refs/heads/main", objects.commits[1])
            transaction.delete("refs/heads/main")
            with pytest.raises(TransactionError, match="multiple updates"):
                transaction.commit()

    def test_a_name_and_the_symref_to_it_are_one(self, store: RefStore, objects: Objects) -> None:
        transaction = store.transaction()
        transaction.update("refs/heads/sym", objects.commits[1])
        transaction.update("refs/heads/side", objects.commits[1])
        with pytest.raises(TransactionError, match="via symref"):
            transaction.commit()

    def test_long_and_short_name_are_one(self, store: RefStore, objects: Objects) -> None:
        transaction = store.transaction()
        transaction.update("refs/worktree/x", objects.commits[1])
        transaction.update("main-worktree/refs/worktree/x", objects.commits[1])
        with pytest.raises(TransactionError, match="multiple updates"):
            transaction.commit()
        transaction = store.transaction()
        transaction.update("refs/worktree/x/y", objects.commits[1])
        transaction.update("main-worktree/refs/worktree/x", objects.commits[1])
        with pytest.raises(TransactionError, match="at the same time"):
            transaction.commit()

    def test_no_updates_in_quarantine(self, repo: Path, objects: Objects) -> None:
        environ = git_env(repo) | {"GIT_QUARANTINE_PATH": "/somewhere"}
        with RefStore.open(os.fspath(repo), environ=environ) as store:
            transaction = store.transaction()
            transaction.delete("refs/heads/main")
            with pytest.raises(TransactionError, match="quarantine"):
                transaction.commit()
            assert store.read("refs/heads/main") == objects.commits[0]


class TestSymrefs:
    def test_an_update_goes_to_the_target(self, store: RefStore, objects: Objects) -> None:
        with store.transaction("moved") as transaction:
            transaction.update("refs/meta/chain", objects.commits[2], objects.commits[1])
        assert store.read("refs/heads/side") == objects.commits[2]
        assert store.symbolic_ref("refs/meta/chain", recurse=False) == "refs/heads/sym"

    def test_without_deref_the_symref_is_replaced(self, store: RefStore, objects: Objects) -> None:
        with store.transaction() as transaction:
            transaction.update("refs/heads/sym", objects.commits[2], deref=False)
        assert store.get("refs/heads/sym") == Ref("refs/heads/sym", objects.commits[2])
        assert store.read("refs/heads/side") == objects.commits[1]

    def test_writing_through_a_dangling_symref_creates(
        self, store: RefStore, objects: Objects
    ) -> None:
        with store.transaction() as transaction:
            transaction.create("refs/meta/dangling", objects.commits[2])
        assert store.read("refs/heads/nowhere") == objects.commits[2]

    def test_symrefs_are_made_moved_and_deleted(self, store: RefStore) -> None:
        with store.transaction() as transaction:
            transaction.symref_create("refs/meta/new", "refs/heads/main")
            transaction.symref_update("refs/heads/sym", "refs/heads/main", deref=False)
            transaction.symref_delete("refs/meta/dangling", "refs/heads/nowhere")
            transaction.symref_verify("refs/meta/chain", "refs/heads/sym")
        assert store.symbolic_ref("refs/meta/new") == "refs/heads/main"
        assert store.symbolic_ref("refs/meta/chain") == "refs/heads/main"
        assert store.get("refs/meta/dangling") is None


def install_hook(repo: Path, body: str) -> None:
    hook = repo / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{body}\n")
    hook.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="hooks are shell scripts")
class TestHook:
    @pytest.mark.parametrize("phase", ["preparing", "prepared"])
    def test_it_may_refuse(self, store: RefStore, repo: Path, objects: Objects, phase: str) -> None:
        install_hook(repo, f'echo "$1" >>log; test "$1" != {phase}')
        transaction = store.transaction()
        transaction.delete("refs/heads/main")
        with pytest.raises(HookError, match=f"in '{phase}' phase, update aborted"):
            transaction.commit()
        assert store.read("refs/heads/main") == objects.commits[0]
        assert not lock_of(repo).exists()
        phases = ["preparing", "prepared"][: 1 + (phase == "prepared")]
        assert (repo / "log").read_text().split() == [*phases, "aborted"]

    def test_it_may_not_refuse_what_is_done(self, store: RefStore, repo: Path) -> None:
        install_hook(repo, 'echo "$1" >>log; test "$1" != committed')
        with store.transaction() as transaction:
            transaction.delete("refs/heads/main")
        assert store.read("refs/heads/main") is None
        assert (repo / "log").read_text().split() == ["preparing", "prepared", "committed"]

    def test_it_hears_of_an_abort(self, store: RefStore, repo: Path) -> None:
        install_hook(repo, 'echo "$1" >>log; cat >>log')
        transaction = store.transaction()
        transaction.delete("refs/heads/main")
        transaction.abort()
        zero = "0" * 40
        assert (repo / "log").read_text() == f"aborted\n{zero} {zero} refs/heads/main\n"

    def test_a_big_batch_is_told_whole(self, store: RefStore, repo: Path, objects: Objects) -> None:
        install_hook(repo, 'test "$1" = committed && cat >log; exit 0')
        oid = bytes.fromhex(objects.commits[0])
        refs = [f"refs/many/{number:06}" for number in range(5000)]
        transaction = store.transaction()
        assert transaction.queue_many(refs, [oid] * 5000, [None] * 5000)
        transaction.commit()
        told = (repo / "log").read_text().splitlines()
        assert told == [f"{'0' * 40} {oid.hex()} {name}" for name in refs]


def test_a_full_disk_changes_nothing(
    store: RefStore, repo: Path, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction = store.transaction()
    transaction.delete("refs/heads/main")
    before = sorted(os.listdir(repo / ".git/reftable"))

    def full(*args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        transaction.commit()
    monkeypatch.undo()
    assert sorted(os.listdir(repo / ".git/reftable")) == before
    assert store.read("refs/heads/main") == objects.commits[0]
    assert (
        run_git(["rev-parse", "refs/heads/main"], repo).stdout.decode().strip()
        == (objects.commits[0])
    )


def test_what_fits_in_no_block(repo: Path, objects: Objects) -> None:
    settings = ["reftable.blockSize=256"]
    with RefStore.open(os.fspath(repo), environ=git_env(repo), config=settings) as store:
        transaction = store.transaction()
        transaction.create(f"refs/heads/{'x' * 300}", objects.commits[0])
        with pytest.raises(TransactionError, match="transaction failure: entry too large"):
            transaction.commit()
        assert not lock_of(repo).exists()
        with store.transaction() as transaction:
            transaction.create("refs/heads/x", objects.commits[0])
        assert store.read("refs/heads/x") == objects.commits[0]


def test_all_tables_are_written_before_the_first_list_is_swapped(
    repo: Path, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(["worktree", "add", "-q", "--detach", "../one", objects.commits[0]], repo)
    events: list[str] = []
    write_records, commit = Addition.write_records, Addition.commit

    def log_write(self: Addition, refs: Run, logs: Sequence[LogRecord] = ()) -> None:
        events.append("write")
        write_records(self, refs, logs)

    def log_commit(self: Addition) -> None:
        events.append("commit")
        commit(self)

    monkeypatch.setattr(Addition, "write_records", log_write)
    monkeypatch.setattr(Addition, "commit", log_commit)
    with RefStore.open(os.fspath(repo.parent / "one"), environ=git_env(repo)) as store:
        with store.transaction() as transaction:
            transaction.create("refs/heads/new", objects.commits[0])
            transaction.create("refs/worktree/new", objects.commits[0])
        assert names(store)[-1] == "refs/worktree/new"
    assert events == ["write", "write", "commit", "commit"]
