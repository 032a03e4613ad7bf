"""Early compaction: the table that auto-compaction would leave, written at the commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyreftable.errors import EntryTooLargeError, FormatError, StorageError, WriteError
from pyreftable.format.block import Run
from pyreftable.stack import Stack, StackOptions
from tests.memory_storage import MemoryStorage
from tests.stack_tools import (
    PLAIN,
    add_records,
    fill_refs,
    listed,
    log,
    logs_of,
    ref_run_of,
    refs_of,
    set_refs,
    table_files,
)

AUTO = StackOptions(fsync=False, lock_timeout_ms=0)


def open_plain(path: Path) -> Stack:
    """The same stack, without auto-compaction."""
    return Stack.open(str(path), PLAIN)


def test_same_bytes_as_commit_and_compaction(tmp_path: Path) -> None:
    tables = []
    for early in (True, False):
        folder = tmp_path / str(early)
        folder.mkdir()
        stack = Stack.open(str(folder), AUTO)
        refs = {f"refs/{number:04}": number for number in range(1000)}
        stack.add(fill_refs({"refs/0500": 7, "refs/x": 8, "refs/y": None}))
        if early:
            add_records(stack, refs, [log("refs/x", 2)])
        else:
            with stack.addition() as addition:
                run = ref_run_of(stack, refs, 2)
                addition.write_table(
                    lambda w, r=run: (w.add_ref_run(r), w.add_log(log("refs/x", 2)))
                )  # type: ignore[misc]
                addition.commit()
        assert stack.stats.compactions == 1
        (name,) = listed(folder)
        tables.append((folder / name).read_bytes())
        assert name.startswith("0x000000000001-0x000000000002-")
    assert tables[0] == tables[1]


@pytest.mark.parametrize("memory", [False, True])
def test_one_table_is_written_and_the_old_ones_go(tmp_path: Path, memory: bool) -> None:
    stack = Stack(MemoryStorage(), AUTO) if memory else Stack.open(str(tmp_path), AUTO)
    add_records(stack, {"a": 1})
    before = stack.snapshot()
    add_records(stack, {"a": None, "b": 2}, [log("b", 2)])
    after = stack.snapshot()
    assert refs_of(after) == {"b": 2}
    assert list(logs_of(after)) == [("b", 2)]
    assert len(after.tables) == 1
    # At the stack's base a deletion has nothing to hide.
    assert [record.refname for record in after.merged.refs()] == [b"b"]
    assert refs_of(before) == {"a": 1}
    assert {file.name for file in stack.storage.files()} == set(after.names)
    assert stack.stats.reloads == 3


def test_tombstones_stay_above_other_tables(tmp_path: Path) -> None:
    big = {f"refs/{number:04}": number for number in range(1000)}
    open_plain(tmp_path).add(fill_refs(big))
    open_plain(tmp_path).add(fill_refs({"refs/0001": 5}))
    stack = Stack.open(str(tmp_path), AUTO)
    add_records(stack, {"refs/0001": None})
    assert len(stack.snapshot().tables) == 2
    del big["refs/0001"]
    assert refs_of(stack.snapshot()) == big


def test_nothing_left_is_an_empty_list(tmp_path: Path) -> None:
    # A lone deletion weighs little.
    stack = Stack.open(str(tmp_path), AUTO._replace(geometric_factor=20))
    add_records(stack, {"a": 1})
    add_records(stack, {"a": None})
    assert listed(tmp_path) == []
    assert table_files(tmp_path) == set()
    add_records(stack, {"a": 2})
    assert refs_of(stack.snapshot()) == {"a": 2}


def test_no_option_no_compaction(tmp_path: Path) -> None:
    stack = open_plain(tmp_path)
    add_records(stack, {"a": 1})
    add_records(stack, {"b": 1})
    assert len(listed(tmp_path)) == 2


def test_second_table_of_an_addition_goes_on_top(tmp_path: Path) -> None:
    stack = Stack.open(str(tmp_path), AUTO)
    add_records(stack, {"a": 1})
    with stack.addition() as addition:
        for number in (2, 3):
            index = addition.next_update_index
            addition.write_records(ref_run_of(stack, {"a": number}, index), [log("a", index)])
        addition.commit()
    assert refs_of(stack.snapshot()) == {"a": 3}
    assert list(logs_of(stack.snapshot())) == [("a", 3), ("a", 2)]


def test_rolled_back_it_leaves_no_trace(tmp_path: Path) -> None:
    stack = Stack.open(str(tmp_path), AUTO)
    add_records(stack, {"a": 1})
    files = sorted(path.name for path in tmp_path.iterdir())
    with stack.addition() as addition:
        addition.write_records(ref_run_of(stack, {"a": 2}, 2))
        assert len(list(tmp_path.glob("*.ref"))) == 2
        assert len(list(tmp_path.glob("*.ref.lock"))) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    assert refs_of(stack.snapshot()) == {"a": 1}


class TestAlone:
    """Where the tables below cannot be merged, the addition writes its own table."""

    def test_locked_by_a_rival(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), AUTO)
        add_records(stack, {"a": 1})
        rival = stack.storage.lock_table(listed(tmp_path)[0])
        add_records(stack, {"a": 2})
        rival.release()
        assert len(listed(tmp_path)) == 2
        assert refs_of(stack.snapshot()) == {"a": 2}
        assert not list(tmp_path.glob("*.lock"))

    def test_damaged_below(self, tmp_path: Path) -> None:
        plain = open_plain(tmp_path)
        set_refs(plain, **{f"r{number:03}": number for number in range(500)})
        path = tmp_path / listed(tmp_path)[0]
        data = bytearray(path.read_bytes())
        assert data[4096:4097] == b"r"
        data[4096] = 0xFF
        path.write_bytes(data)
        stack = Stack.open(str(tmp_path), AUTO)
        add_records(stack, {f"s{number:03}": number for number in range(500)})
        assert len(listed(tmp_path)) == 2
        assert stack.stats.failed_compactions == 1
        with pytest.raises(FormatError):
            refs_of(stack.snapshot())

    def test_too_much_below(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The list is not to stay locked for long: that is left to auto-compaction."""
        monkeypatch.setattr("pyreftable.stack.early_compaction._FREE_SHARE", 0)
        plain = open_plain(tmp_path)
        for number in range(5):
            set_refs(plain, **{f"r{number}": number})
        stack = Stack.open(str(tmp_path), AUTO)
        add_records(stack, {"s": 1})
        assert len(listed(tmp_path)) == 1
        assert listed(tmp_path)[0].startswith("0x000000000001-0x000000000006-")
        assert stack.stats.reloads == 3

    def test_what_no_table_holds(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), AUTO)
        add_records(stack, {"a": 1})
        files = sorted(path.name for path in tmp_path.iterdir())
        with pytest.raises(EntryTooLargeError):
            add_records(stack, {"b" * 5000: 1})
        with pytest.raises(WriteError), stack.addition() as addition:
            addition.write_records(Run([b"b", b"a"], [1, 1], [bytes(20)] * 2, [2, 2]))
        logs = [log("a", 2)._replace(message=b"two\nlines")]
        with pytest.raises(WriteError), stack.addition() as addition:
            addition.write_records(Run([], [], [], []), logs)
        assert sorted(path.name for path in tmp_path.iterdir()) == files

    def test_disk_full(self) -> None:
        for allowed in range(12):
            storage = MemoryStorage()
            stack = Stack(storage, AUTO)
            add_records(stack, {"a": 1})
            storage.fail_after = allowed
            try:
                add_records(stack, {"a": 2})
                expected = [{"a": 2}]
            except StorageError:
                # The last step, making names durable, comes when the list is new.
                expected = [{"a": 1}, {"a": 2}]
            storage.fail_after = None
            assert refs_of(stack.snapshot()) in expected
            assert not storage.locks
