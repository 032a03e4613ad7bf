"""Merging tables: ranges, deletions, log expiry, locks, and changes that happen meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pyreftable.errors import (
    CallerError,
    FormatError,
    LockError,
    OutdatedError,
    StorageError,
)
from pyreftable.format.records import LogRecord
from pyreftable.stack import DirectoryStorage, LogExpiry, Stack, StackOptions, compaction
from pyreftable.stack.files import OwnFile
from pyreftable.write_options import WriteOptions
from tests.memory_storage import MemoryStorage
from tests.stack_tools import (
    PLAIN,
    fill_logs,
    listed,
    log,
    logs_of,
    refs_of,
    set_refs,
    table_files,
)


@pytest.fixture(params=[False, True], ids=["deletions", "suppressed"])
def options(request: pytest.FixtureRequest) -> StackOptions:
    """Both settings of `suppress_deletions`."""
    return PLAIN._replace(suppress_deletions=request.param)


@pytest.fixture(params=["directory", "memory"])
def stack(request: pytest.FixtureRequest, tmp_path: Path, options: StackOptions) -> Stack:
    """An empty stack in each storage."""
    if request.param == "directory":
        return Stack.open(str(tmp_path), options)
    return Stack(MemoryStorage(), options)


def five_tables(stack: Stack) -> None:
    """Overwrites and deletions across five tables."""
    set_refs(stack, a=1, b=1, c=1)
    set_refs(stack, a=2, b=None)
    set_refs(stack, d=3, c=None)
    set_refs(stack, b=4, a=None)
    set_refs(stack, e=5, d=6)


FIVE = {"b": 4, "d": 6, "e": 5}


def ranges(stack: Stack) -> list[tuple[int, int]]:
    """The update indices that each table spans."""
    return [(t.min_update_index, t.max_update_index) for t in stack.snapshot().tables]


def records(stack: Stack, table: int) -> list[tuple[bytes, int]]:
    """Names and value types of one table's refs."""
    return [(r.refname, r.value_type) for r in stack.snapshot().tables[table].refs()]


class TestRange:
    @pytest.mark.parametrize(
        ("first", "last", "left"),
        [
            (0, 4, [(1, 5)]),
            (0, 1, [(1, 2), (3, 3), (4, 4), (5, 5)]),
            (1, 3, [(1, 1), (2, 4), (5, 5)]),
            (3, 4, [(1, 1), (2, 2), (3, 3), (4, 5)]),
        ],
    )
    def test_what_is_visible_stays(
        self, stack: Stack, first: int, last: int, left: list[tuple[int, int]]
    ) -> None:
        five_tables(stack)
        assert stack.compact_range(first, last)
        assert ranges(stack) == left
        assert refs_of(stack.snapshot()) == FIVE
        assert {name for name, _ in stack.storage.files()} == set(stack.snapshot().names)
        assert stack.snapshot().next_update_index == 6

    def test_deletions_go_at_the_base_only(self, stack: Stack) -> None:
        five_tables(stack)
        stack.compact_range(1, 2)
        assert records(stack, 1) == [(b"a", 1), (b"b", 0), (b"c", 0), (b"d", 1)]
        stack.compact_range(0, 1)
        assert records(stack, 0) == [(b"a", 1), (b"d", 1)]

    @pytest.mark.parametrize("index", [0, 2, 4])
    def test_one_table_is_left_alone(self, stack: Stack, index: int) -> None:
        five_tables(stack)
        before = stack.snapshot()
        assert not stack.compact_range(index, index)
        assert stack.snapshot() is before

    @pytest.mark.parametrize(("first", "last"), [(-1, 2), (0, 5), (3, 2), (5, 5)])
    def test_range_outside_the_stack(self, stack: Stack, first: int, last: int) -> None:
        five_tables(stack)
        with pytest.raises(CallerError):
            stack.compact_range(first, last)

    def test_range_of_an_outdated_stack(self, stack: Stack) -> None:
        """The numbers mean tables that may have moved; afterwards they mean the new ones."""
        five_tables(stack)
        set_refs(Stack(stack.storage, PLAIN), f=1)
        with pytest.raises(OutdatedError):
            stack.compact_range(0, 1)
        assert len(stack.cached.tables) == 6
        assert stack.compact_range(0, 1)
        assert len(stack.cached.tables) == 5

    def test_update_indexes_are_kept(self, stack: Stack) -> None:
        five_tables(stack)
        stack.compact_all()
        indexes = {r.refname: r.update_index for r in stack.snapshot().merged.refs()}
        assert indexes == {b"b": 4, b"d": 5, b"e": 5}


class TestAll:
    def test_merges_everything(self, stack: Stack) -> None:
        five_tables(stack)
        assert stack.compact_all()
        assert ranges(stack) == [(1, 5)]
        assert refs_of(stack.snapshot()) == FIVE
        assert not stack.compact_all()

    def test_sees_tables_that_others_added(self, stack: Stack) -> None:
        five_tables(stack)
        set_refs(Stack(stack.storage, PLAIN), f=7)
        assert stack.compact_all()
        assert ranges(stack) == [(1, 6)]

    @pytest.mark.parametrize("tables", [0, 1])
    def test_nothing_to_do(self, stack: Stack, tables: int) -> None:
        for number in range(tables):
            set_refs(stack, a=number)
        assert not stack.compact_all()
        assert not stack.auto_compact()
        assert not stack.compaction_required(geometric=True)
        assert not stack.compaction_required(geometric=False)

    def test_required(self, stack: Stack) -> None:
        """Two tables in geometric order, then a third one of the second one's size."""
        set_refs(stack, **{f"branch{number:03}": number for number in range(50)})
        set_refs(stack, a=1)
        assert not stack.compaction_required(geometric=True)
        assert stack.compaction_required(geometric=False)
        assert not stack.auto_compact()
        set_refs(stack, a=2)
        assert stack.compaction_required(geometric=True)
        assert stack.auto_compact()
        assert ranges(stack) == [(1, 1), (2, 3)]
        assert not stack.compaction_required(geometric=True)

    def test_nothing_left_empties_the_list(self, stack: Stack) -> None:
        set_refs(stack, a=1, b=1)
        set_refs(stack, a=None, b=None)
        assert stack.compact_all()
        assert stack.snapshot().names == ()
        assert list(stack.storage.files()) == []
        assert stack.snapshot().next_update_index == 1
        set_refs(stack, a=3)
        assert refs_of(stack.snapshot()) == {"a": 3}

    def test_nothing_left_of_a_range_at_the_base(self, stack: Stack) -> None:
        set_refs(stack, a=1)
        set_refs(stack, a=None)
        set_refs(stack, b=2)
        assert stack.compact_range(0, 1)
        assert ranges(stack) == [(3, 3)]
        assert refs_of(stack.snapshot()) == {"b": 2}
        assert {name for name, _ in stack.storage.files()} == set(stack.snapshot().names)

    def test_write_options_are_those_of_now(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), PLAIN)
        five_tables(stack)
        small = PLAIN._replace(write=WriteOptions(block_size=256))
        Stack.open(str(tmp_path), small).compact_all()
        assert stack.snapshot().tables[0].block_size == 256

    def test_big_tables(self, tmp_path: Path) -> None:
        """More than one block, index and obj section, and more than one run of the merge."""
        stack = Stack.open(str(tmp_path), PLAIN._replace(fsync=False))
        expected: dict[str, int] = {}
        for number in range(6):
            change: dict[str, int | None] = {
                f"refs/heads/{i:06}": i + number if i % 7 else None
                for i in range(0, 6000, number + 1)
            }
            set_refs(stack, **change)
            expected |= {name: value for name, value in change.items() if value is not None}
            expected = {n: v for n, v in expected.items() if change.get(n, v) is not None}
        assert stack.compact_all()
        assert refs_of(stack.snapshot()) == expected
        assert stack.stats.records_compacted == len(expected)


class TestLogs:
    def test_messages_are_kept_exactly(self, stack: Stack) -> None:
        """Also such as the options would refuse or change in new entries."""
        messages = [b"", b"no line end", b"two\nlines\n", b"x\n\n", b"\xff\n"]
        exact = stack.options._replace(write=WriteOptions(exact_log_message=True))
        writer = Stack(stack.storage, exact)
        for index, message in enumerate(messages, 1):
            writer.add(fill_logs([log("a", index, message=message)]))
        for expiry in (None, LogExpiry(min_update_index=1)):
            stack.compact_all(expiry)
            kept = logs_of(stack.snapshot())
            assert [kept["a", i] for i in range(1, 6)] == messages

    def test_deletions_of_entries(self, stack: Stack) -> None:
        stack.add(fill_logs([log("a", 1)]))
        stack.add(fill_logs([log("a", 2)]))
        stack.add(fill_logs([LogRecord.deletion(b"a", 1)]))
        stack.compact_range(1, 2)
        assert set(logs_of(stack.snapshot())) == {("a", 2)}
        assert len(list(stack.snapshot().tables[1].logs())) == 2
        stack.compact_all()
        assert set(logs_of(stack.snapshot())) == {("a", 2)}
        assert len(list(stack.snapshot().tables[0].logs())) == 1

    def test_expiry(self, stack: Stack) -> None:
        """First by time, then by update index too: both are lower bounds."""
        for number in range(1, 20):
            index = stack.snapshot().next_update_index
            stack.add(fill_logs([log(f"branch{number:02}", index, time=number)]))
        stack.compact_all()
        assert len(logs_of(stack.snapshot())) == 19
        assert stack.compact_all(LogExpiry(time=10))
        assert {index for _, index in logs_of(stack.snapshot())} == set(range(10, 20))
        assert stack.compact_all(LogExpiry(time=10, min_update_index=15))
        assert {index for _, index in logs_of(stack.snapshot())} == set(range(15, 20))
        assert ranges(stack) == [(1, 19)]

    def test_expiry_keeps_refs(self, stack: Stack) -> None:
        set_refs(stack, a=1)
        stack.add(fill_logs([log("a", 2, time=5)]))
        stack.compact_all(LogExpiry(time=100))
        assert refs_of(stack.snapshot()) == {"a": 1}
        assert logs_of(stack.snapshot()) == {}

    def test_expiry_of_everything_empties_the_list(self, stack: Stack) -> None:
        stack.add(fill_logs([log("a", 1, time=5)]))
        assert stack.compact_all(LogExpiry(time=100))
        assert stack.snapshot().names == ()
        assert not stack.compact_all(LogExpiry(time=100))

    def test_expiry_above_the_base_keeps_deletions(self, stack: Stack) -> None:
        """A tombstone has no time, but what it hides must stay hidden."""
        stack.add(fill_logs([log("a", 1, time=1000)]))
        stack.add(fill_logs([LogRecord.deletion(b"a", 1)]))
        stack.add(fill_logs([log("a", 3, time=5)]))
        assert stack.compact_range(1, 2, LogExpiry(time=100, min_update_index=2))
        assert logs_of(stack.snapshot()) == {}

    def test_expiry_of_one_table_in_a_range(self, stack: Stack) -> None:
        stack.add(fill_logs([log("a", 1, time=5)]))
        stack.add(fill_logs([log("a", 2, time=5), log("b", 2, time=200)]))
        assert stack.compact_range(1, 1, LogExpiry(time=100))
        assert set(logs_of(stack.snapshot())) == {("a", 1), ("b", 2)}


class TestLocks:
    def lock_table(self, directory: Path, index: int) -> Path:
        lock = directory / (listed(directory)[index] + ".lock")
        lock.touch()
        return lock

    @pytest.fixture
    def stack(self, tmp_path: Path) -> Stack:
        stack = Stack.open(str(tmp_path), PLAIN)
        for name in "abcde":
            set_refs(stack, **{name: 1})
        return stack

    def test_held_list_lock(self, stack: Stack, tmp_path: Path) -> None:
        lock = tmp_path / "tables.list.lock"
        lock.touch()
        for compact in (stack.compact_all, stack.auto_compact, lambda: stack.compact_range(0, 1)):
            with pytest.raises(LockError) as caught:
                compact()
            assert caught.value.path == str(lock)
        assert len(listed(tmp_path)) == 5

    def test_locked_table_stops_a_whole_compaction(self, stack: Stack, tmp_path: Path) -> None:
        lock = self.lock_table(tmp_path, 2)
        before = listed(tmp_path)
        with pytest.raises(LockError) as caught:
            stack.compact_all()
        assert caught.value.path == str(lock)
        assert listed(tmp_path) == before
        assert table_files(tmp_path) == {*before, lock.name}

    def test_auto_compaction_takes_what_it_can_lock(self, stack: Stack, tmp_path: Path) -> None:
        """Of five equal tables the middle one is locked: the newest two are merged."""
        lock = self.lock_table(tmp_path, 2)
        before = listed(tmp_path)
        assert stack.auto_compact()
        assert listed(tmp_path)[:3] == before[:3]
        assert ranges(stack) == [(1, 1), (2, 2), (3, 3), (4, 5)]
        assert table_files(tmp_path) == {*listed(tmp_path), lock.name}

    def test_deletions_stay_when_the_base_was_locked(self, tmp_path: Path) -> None:
        """The range chosen starts at the base, the range compacted does not."""
        stack = Stack.open(str(tmp_path), PLAIN)
        set_refs(stack, a=1)
        set_refs(stack, a=None)
        set_refs(stack, b=1)
        self.lock_table(tmp_path, 0)
        assert stack.auto_compact()
        assert ranges(stack) == [(1, 1), (2, 3)]
        assert refs_of(stack.snapshot()) == {"b": 1}

    @pytest.mark.parametrize("index", [3, 4])
    def test_auto_compaction_needs_two_tables(
        self, stack: Stack, tmp_path: Path, index: int
    ) -> None:
        lock = self.lock_table(tmp_path, index)
        before = listed(tmp_path)
        with pytest.raises(LockError):
            stack.auto_compact()
        assert table_files(tmp_path) == {*before, lock.name}

    def test_tables_are_locked_from_the_last_to_the_first(
        self, stack: Stack, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        locked: list[str] = []
        lock_table = DirectoryStorage.lock_table

        def noting(self: DirectoryStorage, name: str) -> object:
            locked.append(name)
            return lock_table(self, name)

        monkeypatch.setattr(DirectoryStorage, "lock_table", noting)
        names = stack.snapshot().names
        stack.compact_range(1, 3)
        assert locked == [names[3], names[2], names[1]]

    def test_many_tables_need_few_descriptors(self, tmp_path: Path) -> None:
        resource = pytest.importorskip("resource")
        stack = Stack.open(str(tmp_path), PLAIN._replace(fsync=False))
        for number in range(200):
            set_refs(stack, a=number)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        used = max(int(name) for name in os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, limits[1]))
        try:
            stack.compact_all()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert len(listed(tmp_path)) == 1


class TestMeanwhile:
    """What others do between the two times that the list is locked."""

    @pytest.fixture
    def stack(self, tmp_path: Path) -> Stack:
        stack = Stack.open(str(tmp_path), PLAIN)
        five_tables(stack)
        return stack

    @pytest.fixture
    def other(self, tmp_path: Path) -> Stack:
        return Stack.open(str(tmp_path), PLAIN)

    @pytest.fixture
    def meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
        """Register what happens once, when the next merged table has been written."""
        finish = OwnFile.finish

        def register(work: Callable[[], object]) -> None:
            waiting = [work]

            def racing_finish(self: OwnFile, *, sync: bool) -> None:
                finish(self, sync=sync)
                if ".temp." in self.path and waiting:
                    waiting.pop()()

            monkeypatch.setattr(OwnFile, "finish", racing_finish)

        return register

    def test_a_writer_adds_a_table(
        self, stack: Stack, other: Stack, meanwhile: Callable[[Callable[[], object]], None]
    ) -> None:
        meanwhile(lambda: set_refs(other, f=9))
        stack.compact_range(1, 3)
        assert ranges(stack) == [(1, 1), (2, 4), (5, 5), (6, 6)]
        assert refs_of(stack.snapshot()) == {**FIVE, "f": 9}

    def test_tables_below_are_merged(
        self,
        stack: Stack,
        other: Stack,
        tmp_path: Path,
        meanwhile: Callable[[Callable[[], object]], None],
    ) -> None:
        meanwhile(lambda: other.compact_range(0, 1))
        stack.compact_range(2, 3)
        assert ranges(stack) == [(1, 2), (3, 4), (5, 5)]
        assert refs_of(stack.snapshot()) == FIVE
        assert table_files(tmp_path) == set(listed(tmp_path))

    def test_tables_below_become_nothing(
        self,
        other: Stack,
        tmp_path: Path,
        meanwhile: Callable[[Callable[[], object]], None],
    ) -> None:
        directory = tmp_path / "apart"
        directory.mkdir()
        stack, other = (Stack.open(str(directory), PLAIN) for _ in range(2))
        for change in ({"a": 1}, {"a": None}, {"b": 1}, {"c": 1}):
            set_refs(stack, **change)
        other.snapshot()
        meanwhile(lambda: other.compact_range(0, 1))
        stack.compact_range(2, 3)
        assert ranges(stack) == [(3, 4)]
        assert refs_of(stack.snapshot()) == {"b": 1, "c": 1}

    def test_the_same_tables_cannot_be_compacted(
        self, stack: Stack, other: Stack, meanwhile: Callable[[Callable[[], object]], None]
    ) -> None:
        outcome: list[object] = []

        def rival() -> None:
            try:
                other.compact_range(2, 4)
            except LockError as error:
                outcome.append(error)

        meanwhile(rival)
        stack.compact_range(1, 3)
        assert len(outcome) == 1
        assert ranges(stack) == [(1, 1), (2, 4), (5, 5)]

    @pytest.mark.parametrize("change", ["reorder", "remove one", "remove all"])
    def test_a_list_that_somebody_edited(
        self,
        stack: Stack,
        tmp_path: Path,
        meanwhile: Callable[[Callable[[], object]], None],
        change: str,
    ) -> None:
        """The tables are not where they were, nor in order: nothing is replaced or deleted."""
        before = listed(tmp_path)
        edited = {
            "reorder": [before[0], before[2], before[1], *before[3:]],
            "remove one": [*before[:2], *before[3:]],
            "remove all": [before[0]],
        }[change]

        def edit() -> None:
            (tmp_path / "tables.list").write_text("".join(name + "\n" for name in edited))

        meanwhile(edit)
        with pytest.raises(OutdatedError):
            stack.compact_range(1, 3)
        assert listed(tmp_path) == edited
        assert table_files(tmp_path) == set(before)

    def test_the_list_stays_locked(
        self, stack: Stack, tmp_path: Path, meanwhile: Callable[[Callable[[], object]], None]
    ) -> None:
        lock = tmp_path / "tables.list.lock"
        before = listed(tmp_path)
        meanwhile(lock.touch)
        with pytest.raises(LockError):
            stack.compact_range(1, 3)
        assert table_files(tmp_path) == {*before, lock.name}
        lock.unlink()
        assert stack.compact_range(1, 3)

    def test_the_list_is_free_while_merging(
        self, stack: Stack, tmp_path: Path, meanwhile: Callable[[Callable[[], object]], None]
    ) -> None:
        seen: list[set[str]] = []
        meanwhile(lambda: seen.append(table_files(tmp_path)))
        names = stack.snapshot().names
        stack.compact_range(1, 3)
        (files,) = seen
        assert {name for name in files if name.endswith(".lock")} == {
            name + ".lock" for name in names[1:4]
        }


class TestFailures:
    def test_at_each_step_in_memory(self) -> None:
        """The n-th change is refused: what is visible stays, and no lock or file is left."""
        failures = 0
        for step in range(100):
            storage = MemoryStorage()
            stack = Stack(storage, PLAIN)
            five_tables(stack)
            storage.fail_after = step
            try:
                stack.compact_range(1, 3)
            except StorageError:
                failures += 1
            else:
                break
            finally:
                storage.fail_after = None
            assert refs_of(stack.snapshot()) == FIVE
            assert storage.locks == set()
            assert storage.unfinished == set()
            assert set(storage.names) <= set(storage.tables)
        assert failures > 8
        assert len(storage.names) == 3

    def test_damage_found_while_merging(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), PLAIN)
        five_tables(stack)
        path = tmp_path / listed(tmp_path)[2]
        data = bytearray(path.read_bytes())
        data[24] = ord("x")
        data[28] ^= 0xFF
        before = set(listed(tmp_path))
        path.write_bytes(data)
        with pytest.raises(FormatError):
            Stack.open(str(tmp_path), PLAIN).compact_all()
        assert table_files(tmp_path) == before

    def test_old_tables_that_cannot_be_deleted_do_not_matter(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As on Windows, while a reader has them open; cleaning finds them later."""
        stack = Stack.open(str(tmp_path), PLAIN)
        five_tables(stack)
        old = set(listed(tmp_path))
        with monkeypatch.context() as patch:
            patch.setattr(DirectoryStorage, "remove", lambda self, name: False)
            assert stack.compact_all()
        assert table_files(tmp_path) == old | set(listed(tmp_path))
        assert set(stack.clean()) == old

    def test_interrupt_while_merging(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        stack = Stack.open(str(tmp_path), PLAIN)
        five_tables(stack)
        before = set(listed(tmp_path))

        def interrupt(*arguments: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(compaction, "_copy_records", interrupt)
        with pytest.raises(KeyboardInterrupt):
            stack.compact_all()
        assert table_files(tmp_path) == before
