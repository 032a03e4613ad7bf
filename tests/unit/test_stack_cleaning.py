"""Deleting dead files, and only those."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pyreftable.errors import LockError
from pyreftable.stack import Stack
from pyreftable.stack.cleaning import SAFE_AGE
from tests.stack_tools import PLAIN, listed, refs_of, set_refs, table_files


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    """Two tables, up to update index 2."""
    stack = Stack.open(str(tmp_path), PLAIN)
    set_refs(stack, a=1)
    set_refs(stack, b=2)
    return stack


def age(path: Path, seconds: float) -> None:
    """Make a file look as if it was last written so long ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def foreign_table(directory: Path, name: str, *, additions: int) -> Path:
    """A table from another stack, whose update indices end at `additions`."""
    elsewhere = directory / "elsewhere"
    elsewhere.mkdir()
    other = Stack.open(str(elsewhere), PLAIN)
    for number in range(additions):
        set_refs(other, a=number)
    target = directory / name
    os.replace(elsewhere / listed(elsewhere)[-1], target)
    for path in elsewhere.iterdir():
        path.unlink()
    elsewhere.rmdir()
    return target


class TestTables:
    @pytest.mark.parametrize("additions", [1, 2])
    def test_superseded_table_goes(self, stack: Stack, tmp_path: Path, additions: int) -> None:
        dead = foreign_table(tmp_path, "x.ref", additions=additions)
        assert stack.clean() == [dead.name]
        assert table_files(tmp_path) == set(listed(tmp_path))
        assert refs_of(stack.snapshot()) == {"a": 1, "b": 2}

    def test_table_from_the_future_stays(self, stack: Stack, tmp_path: Path) -> None:
        kept = foreign_table(tmp_path, "x.ref", additions=3)
        assert stack.clean() == []
        assert kept.exists()

    def test_unreadable_table_stays(self, stack: Stack, tmp_path: Path) -> None:
        (tmp_path / "x.ref").write_bytes(b"nonsense")
        (tmp_path / "y.ref").touch()
        assert stack.clean() == []
        assert {"x.ref", "y.ref"} <= table_files(tmp_path)

    def test_list_is_read_under_the_lock(self, stack: Stack, tmp_path: Path) -> None:
        """A stack that is stale in memory does not delete what others listed meanwhile."""
        other = Stack.open(str(tmp_path), PLAIN)
        set_refs(other, c=3)
        other.compact_all()
        assert stack.clean() == []
        assert refs_of(stack.snapshot()) == {"a": 1, "b": 2, "c": 3}

    def test_locked_list(self, stack: Stack, tmp_path: Path) -> None:
        dead = foreign_table(tmp_path, "x.ref", additions=1)
        with stack.addition():
            with pytest.raises(LockError):
                stack.clean()
            assert dead.exists()
        assert stack.clean() == [dead.name]

    def test_lock_is_released(self, stack: Stack, tmp_path: Path) -> None:
        stack.clean()
        assert "tables.list.lock" not in table_files(tmp_path)

    def test_empty_stack(self, tmp_path: Path) -> None:
        assert Stack.open(str(tmp_path)).clean() == []


class TestLeftovers:
    TEMP = "0x000000000001-0x000000000002-00000000.temp.abcdef"

    def test_fresh_temporary_file_may_be_in_use(self, stack: Stack, tmp_path: Path) -> None:
        (tmp_path / self.TEMP).touch()
        assert stack.clean() == []

    def test_old_temporary_file_goes(self, stack: Stack, tmp_path: Path) -> None:
        (tmp_path / self.TEMP).touch()
        age(tmp_path / self.TEMP, SAFE_AGE + 60)
        assert stack.clean() == [self.TEMP]

    def test_temporary_file_of_a_running_compaction_survives(
        self, stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cleaned: list[list[str]] = []
        other = Stack.open(str(tmp_path), PLAIN)
        create = type(stack.storage).create_table

        def cleaning_create(self: object, low: int, high: int) -> object:
            file = create(self, low, high)  # type: ignore[arg-type]
            cleaned.append(other.clean())
            return file

        monkeypatch.setattr(type(stack.storage), "create_table", cleaning_create)
        assert stack.compact_all()
        assert cleaned == [[]]
        assert refs_of(stack.snapshot()) == {"a": 1, "b": 2}

    def test_lock_of_a_listed_table_stays_for_ever(self, stack: Stack, tmp_path: Path) -> None:
        lock = tmp_path / (listed(tmp_path)[0] + ".lock")
        lock.touch()
        age(lock, 10 * SAFE_AGE)
        assert stack.clean() == []

    def test_lock_of_a_table_that_is_gone(self, stack: Stack, tmp_path: Path) -> None:
        lock = tmp_path / "x.ref.lock"
        lock.touch()
        assert stack.clean() == []
        age(lock, SAFE_AGE + 60)
        assert stack.clean() == ["x.ref.lock"]

    def test_other_files_stay(self, stack: Stack, tmp_path: Path) -> None:
        """Whatever people and tools put there, however old."""
        names = ["garbage", "x.ref.bak", "notes.temp.txt", "tables.list~pid.lock", "x.log"]
        for name in names:
            (tmp_path / name).touch()
            age(tmp_path / name, 10 * SAFE_AGE)
        assert stack.clean() == []
        assert set(names) <= table_files(tmp_path)

    def test_crash_between_swap_and_deletion(self, stack: Stack, tmp_path: Path) -> None:
        """All that such a crash leaves is cleaned: the old tables now, their locks a day later."""
        old = {name: (tmp_path / name).read_bytes() for name in listed(tmp_path)}
        stack.compact_all()
        for name, data in old.items():
            (tmp_path / name).write_bytes(data)
            (tmp_path / (name + ".lock")).touch()
            age(tmp_path / (name + ".lock"), SAFE_AGE + 60)
        assert set(stack.clean()) == {*old, *(name + ".lock" for name in old)}
        assert table_files(tmp_path) == set(listed(tmp_path))
