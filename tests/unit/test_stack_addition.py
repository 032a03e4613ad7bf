"""Additions: all tables become visible at once, or none; nothing is left behind."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from pyreftable.errors import CallerError, FormatError, LockError, StorageError, WriteError
from pyreftable.hashes import SHA256
from pyreftable.stack import Addition, DirectoryStorage, Snapshot, Stack, StackOptions
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from pyreftable.writer import TableWriter
from tests.memory_storage import MemoryStorage
from tests.stack_tools import (
    PLAIN,
    fill_logs,
    fill_refs,
    listed,
    log,
    logs_of,
    oid,
    refs_of,
    set_refs,
    table_files,
)


@pytest.fixture(params=["directory", "memory"])
def stack(request: pytest.FixtureRequest, tmp_path: Path) -> Stack:
    """An empty stack in each storage."""
    if request.param == "directory":
        return Stack.open(str(tmp_path), PLAIN)
    return Stack(MemoryStorage(), PLAIN)


def write(addition: Addition, **values: int | None) -> None:
    """Add a table of refs."""
    addition.write_table(lambda writer: fill_refs(values)(writer, addition.snapshot))


def files_of(stack: Stack) -> set[str]:
    """All file names in the stack's storage."""
    return {name for name, _ in stack.storage.files()}


class TestAdd:
    def test_one_table(self, stack: Stack) -> None:
        set_refs(stack, a=1, b=2)
        set_refs(stack, b=3, c=4)
        snapshot = stack.snapshot()
        assert refs_of(snapshot) == {"a": 1, "b": 3, "c": 4}
        ranges = [(table.min_update_index, table.max_update_index) for table in snapshot.tables]
        assert ranges == [(1, 1), (2, 2)]

    def test_fill_sees_the_state_it_adds_to(self, stack: Stack) -> None:
        other = Stack(stack.storage, PLAIN)
        stack.snapshot()
        set_refs(other, a=1)

        def fill(writer: TableWriter, snapshot: Snapshot) -> None:
            assert refs_of(snapshot) == {"a": 1}
            assert writer.min_update_index == snapshot.next_update_index == 2
            fill_refs({"a": 2})(writer, snapshot)

        stack.add(fill)
        assert refs_of(stack.snapshot()) == {"a": 2}

    def test_logs_alone(self, stack: Stack) -> None:
        stack.add(fill_logs([log("a", 1)]))
        assert logs_of(stack.snapshot()) == {("a", 1): b"m\n"}

    def test_nothing_written_changes_nothing(self, stack: Stack) -> None:
        set_refs(stack, a=1)
        before = stack.snapshot()
        stack.add(lambda writer, snapshot: None)
        assert stack.snapshot() is before
        assert files_of(stack) == set(before.names)

    def test_fill_that_raises_changes_nothing(self, stack: Stack) -> None:
        set_refs(stack, a=1)
        before = stack.snapshot()

        def fill(writer: TableWriter, snapshot: Snapshot) -> None:
            fill_refs({"b": 1})(writer, snapshot)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            stack.add(fill)
        assert stack.snapshot() is before
        assert files_of(stack) == set(before.names)
        set_refs(stack, b=2)
        assert refs_of(stack.snapshot()) == {"a": 1, "b": 2}

    def test_unsorted_refs_change_nothing(self, stack: Stack) -> None:
        def fill(writer: TableWriter, snapshot: Snapshot) -> None:
            fill_refs({"b": 1})(writer, snapshot)
            fill_refs({"a": 1})(writer, snapshot)

        with pytest.raises(WriteError):
            stack.add(fill)
        assert files_of(stack) == set()
        assert stack.snapshot().names == ()

    def test_options_reach_the_table(self, tmp_path: Path) -> None:
        options = StackOptions(hash=SHA256, write=WriteOptions(block_size=512, unpadded=True))
        stack = Stack.open(str(tmp_path), options)
        set_refs(stack, a=1)
        (table,) = stack.snapshot().tables
        assert (table.hash, table.block_size) == (SHA256, 512)


class TestAddition:
    def test_several_tables_become_visible_at_once(self, stack: Stack) -> None:
        reader = Stack(stack.storage, PLAIN)
        with stack.addition() as addition:
            assert addition.next_update_index == 1
            write(addition, a=1)
            assert addition.next_update_index == 2
            write(addition, a=2, b=2)
            assert addition.next_update_index == 3
            assert refs_of(reader.snapshot()) == {}
            addition.commit()
        assert refs_of(reader.snapshot()) == {"a": 2, "b": 2}
        assert len(reader.snapshot().tables) == 2

    def test_without_commit_nothing_stays(self, stack: Stack) -> None:
        with stack.addition() as addition:
            write(addition, a=1)
            write(addition, b=1)
            assert len([name for name in files_of(stack) if ".lock" not in name]) == 2
        assert files_of(stack) == set()
        assert stack.snapshot().names == ()

    def test_exception_rolls_back(self, stack: Stack) -> None:
        def work() -> None:
            with stack.addition() as addition:
                write(addition, a=1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            work()
        assert files_of(stack) == set()
        stack.addition().rollback()

    def test_failed_table_leaves_the_others(self, stack: Stack) -> None:
        with stack.addition() as addition:
            write(addition, a=1)
            with pytest.raises(WriteError):
                addition.write_table(lambda writer: writer.add_log(log("a", 99)))
            assert addition.next_update_index == 2
            write(addition, b=2)
            addition.commit()
        assert refs_of(stack.snapshot()) == {"a": 1, "b": 2}
        assert files_of(stack) == set(stack.snapshot().names)

    def test_empty_table_is_left_out(self, stack: Stack) -> None:
        with stack.addition() as addition:
            write(addition, a=1)
            addition.write_table(lambda writer: None)
            assert addition.next_update_index == 2
            addition.commit()
        assert len(stack.snapshot().tables) == 1
        assert files_of(stack) == set(stack.snapshot().names)

    def test_range_of_update_indices(self, stack: Stack) -> None:
        with stack.addition() as addition:
            addition.write_table(
                lambda writer: writer.add_logs([log("a", 6), log("a", 3)]),
                min_update_index=3,
                max_update_index=6,
            )
            assert addition.next_update_index == 7
            for low in (1, 6):
                with pytest.raises(WriteError, match=f"{low} is below the next one, 7"):
                    addition.write_table(
                        fill_nothing, min_update_index=low, max_update_index=low + 5
                    )
            with pytest.raises(WriteError):
                addition.write_table(fill_nothing, min_update_index=9, max_update_index=8)
            addition.write_table(lambda w: w.add_log(log("a", 20)), min_update_index=20)
            addition.commit()
        assert stack.snapshot().next_update_index == 21
        assert files_of(stack) == set(stack.snapshot().names)

    def test_ended_addition_refuses(self, stack: Stack) -> None:
        addition = stack.addition()
        write(addition, a=1)
        addition.commit()
        addition.rollback()
        for use in (addition.commit, lambda: write(addition, b=1)):
            with pytest.raises(CallerError, match="already committed or rolled back"):
                use()
        assert refs_of(stack.snapshot()) == {"a": 1}

    def test_commit_of_nothing_writes_no_list(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path))
        with stack.addition() as addition:
            addition.commit()
        assert list(tmp_path.iterdir()) == []

    def test_stack_that_cannot_be_loaded_is_not_left_locked(self, tmp_path: Path) -> None:
        (tmp_path / "tables.list").write_text("no line end")
        with pytest.raises(FormatError):
            Stack.open(str(tmp_path)).addition()
        assert table_files(tmp_path) == set()

    def test_addition_reloads_under_the_lock(self, stack: Stack) -> None:
        other = Stack(stack.storage, PLAIN)
        stack.snapshot()
        set_refs(other, a=1)
        with stack.addition() as addition:
            assert refs_of(addition.snapshot) == {"a": 1}
            assert stack.cached is addition.snapshot


def fill_nothing(writer: TableWriter) -> None:
    """A fill without records."""


class TestAutoCompaction:
    def test_commit_keeps_the_stack_short_and_the_work_low(self, tmp_path: Path) -> None:
        """Logarithmic in the number of additions, both; counted, not timed."""
        stack = Stack.open(str(tmp_path), StackOptions(fsync=False))
        for number in range(1, 129):
            set_refs(stack, **{f"branch{number:04}": number})
            assert len(stack.snapshot().tables) <= 2 * number.bit_length()
        assert stack.stats.records_compacted <= 128 * 7
        assert len(refs_of(stack.snapshot())) == 128
        assert table_files(tmp_path) == set(listed(tmp_path))

    def test_factor(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), StackOptions(fsync=False, geometric_factor=5))
        for number in range(1, 101):
            set_refs(stack, **{f"branch{number:04}": number})
        assert len(stack.snapshot().tables) <= 5
        sizes = [table.size - 24 - 68 + 1 for table in stack.snapshot().tables]
        assert all(low >= 5 * high for low, high in pairwise(sizes))

    def test_can_be_off(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), PLAIN)
        for number in range(5):
            set_refs(stack, a=number)
        assert len(listed(tmp_path)) == 5
        assert stack.auto_compact()
        assert len(listed(tmp_path)) == 1

    def test_locked_tables_do_not_fail_the_commit(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path))
        set_refs(stack, a=1)
        (tmp_path / (listed(tmp_path)[0] + ".lock")).touch()
        set_refs(stack, a=2)
        assert len(listed(tmp_path)) == 2
        assert refs_of(stack.snapshot()) == {"a": 2}
        assert stack.stats.failed_compactions == 1
        assert isinstance(stack.stats.compaction_error, LockError)

    def test_full_disk_does_not_fail_the_commit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stack = Stack.open(str(tmp_path))
        set_refs(stack, a=1)
        with stack.addition() as addition:
            write(addition, a=2)
            monkeypatch.setattr(DirectoryStorage, "create_table", refuse)
            addition.commit()
        assert refs_of(stack.snapshot()) == {"a": 2}
        assert isinstance(stack.stats.compaction_error, StorageError)
        assert table_files(tmp_path) == set(listed(tmp_path))

    def test_damaged_table_does_not_fail_the_commit(self, tmp_path: Path) -> None:
        """Its footer is whole, so that the stack loads; merging it meets the damage."""
        stack = Stack.open(str(tmp_path), PLAIN)
        set_refs(stack, a=1)
        path = tmp_path / listed(tmp_path)[0]
        data = bytearray(path.read_bytes())
        data[24:28] = b"r\xff\xff\xff"
        path.write_bytes(data)
        stack = Stack.open(str(tmp_path))
        set_refs(stack, b=1)
        assert len(listed(tmp_path)) == 2
        assert isinstance(stack.stats.compaction_error, FormatError)
        assert table_files(tmp_path) == set(listed(tmp_path))

    def test_vanished_new_table_does_not_fail_the_commit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The list names it, so it is committed; the next reader is told."""
        stack = Stack.open(str(tmp_path))

        def missing(self: DirectoryStorage, name: str) -> Table:
            raise FileNotFoundError(name)

        with monkeypatch.context() as patch:
            patch.setattr(DirectoryStorage, "open_table", missing)
            set_refs(stack, a=1)
        assert stack.stats.failed_compactions == 1
        assert refs_of(stack.snapshot()) == {"a": 1}


def refuse(*arguments: object) -> None:
    """What a full disk says."""
    raise StorageError("full") from OSError(errno.ENOSPC, "No space left on device")


class TestInterruptedCommit:
    """Whether the list was replaced decides what happens to the tables, not how far we got."""

    @pytest.fixture
    def stack(self, tmp_path: Path) -> Iterator[Stack]:
        stack = Stack.open(str(tmp_path), PLAIN)
        set_refs(stack, a=1)
        yield stack
        assert table_files(tmp_path) == set(listed(tmp_path))
        set_refs(stack, z=1)

    def interrupt(
        self, monkeypatch: pytest.MonkeyPatch, *, before: bool, of: str = "tables.list"
    ) -> None:
        replace = os.replace

        def interrupted(source: str, target: str) -> None:
            hit = target.endswith(of)
            if not (hit and before):
                replace(source, target)
            if hit:
                raise KeyboardInterrupt

        monkeypatch.setattr(os, "replace", interrupted)

    def test_before_the_list_is_replaced(
        self, stack: Stack, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            self.interrupt(patch, before=True)
            with pytest.raises(KeyboardInterrupt):
                set_refs(stack, a=2)
        assert refs_of(stack.snapshot()) == {"a": 1}

    def test_after_the_list_is_replaced(
        self, stack: Stack, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            self.interrupt(patch, before=False)
            with pytest.raises(KeyboardInterrupt):
                set_refs(stack, a=2)
        assert refs_of(stack.snapshot()) == {"a": 2}

    @pytest.mark.parametrize("before", [True, False])
    def test_around_the_naming_of_the_table(
        self, stack: Stack, monkeypatch: pytest.MonkeyPatch, before: bool
    ) -> None:
        with monkeypatch.context() as patch:
            self.interrupt(patch, before=before, of=".ref")
            with pytest.raises(KeyboardInterrupt):
                set_refs(stack, a=2)
        assert refs_of(stack.snapshot()) == {"a": 1}

    def test_when_the_list_cannot_be_read_no_table_is_deleted(
        self, stack: Stack, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            self.interrupt(patch, before=False)
            patch.setattr(DirectoryStorage, "read_list", refuse)
            with pytest.raises(KeyboardInterrupt):
                set_refs(stack, a=2)
        assert refs_of(stack.snapshot()) == {"a": 2}

    def test_directory_that_cannot_be_synced_is_told_but_the_tables_stay(
        self, stack: Stack, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(DirectoryStorage, "sync", refuse)
            with pytest.raises(StorageError):
                set_refs(stack, a=2)
        assert refs_of(stack.snapshot()) == {"a": 2}


def test_memory_storage_leaves_nothing_unfinished() -> None:
    """Every kind of end discards the file being written."""
    storage = MemoryStorage()
    stack = Stack(storage)
    for number in range(20):
        set_refs(stack, a=number)
    with pytest.raises(WriteError), stack.addition() as addition:
        addition.write_table(lambda writer: writer.add_log(log("a", 10**6, new=1)))
    assert storage.unfinished == set()
    assert storage.locks == set()
    assert storage.names == tuple(storage.tables)
    record = stack.snapshot().merged.ref(b"a")
    assert record is not None
    assert record.value == oid(19)
