"""Snapshots: shared, immutable, reloaded when the list changes, and races with compactions."""

from __future__ import annotations

import gc
import re
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyreftable.errors import CallerError, FormatError, TableVanishedError
from pyreftable.hashes import SHA256
from pyreftable.stack import DirectoryStorage, Stack, StackOptions
from pyreftable.stack.storage import Listing
from pyreftable.table import Table
from tests.memory_storage import MemoryStorage
from tests.stack_tools import PLAIN, fill_refs, listed, oid, refs_of, set_refs, table_files


class TestReload:
    def test_empty_stack(self) -> None:
        snapshot = Stack(MemoryStorage()).snapshot()
        assert (snapshot.tables, snapshot.names, snapshot.next_update_index) == ((), (), 1)
        assert list(snapshot.merged.refs()) == []

    def test_opening_reads_and_changes_nothing(self, tmp_path: Path) -> None:
        """Not even whether the directory exists."""
        Stack.open(str(tmp_path / "none"))
        assert list(tmp_path.iterdir()) == []

    def test_unchanged_list_gives_the_same_object(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path))
        assert stack.snapshot() is stack.snapshot() is stack.cached
        set_refs(stack, a=1)
        assert stack.snapshot() is stack.snapshot() is stack.cached

    def test_rewritten_list_of_equal_names_gives_the_same_object(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path))
        set_refs(stack, a=1)
        before = stack.snapshot()
        stack.storage.lock(0).replace(before.names)
        assert stack.snapshot() is before
        assert stack.stats.reloads == 1 + 1

    def test_foreign_change_is_seen_by_snapshot_but_not_by_cached(self, tmp_path: Path) -> None:
        ours, theirs = (Stack.open(str(tmp_path)) for _ in range(2))
        old = ours.snapshot()
        set_refs(theirs, a=1)
        assert ours.cached is old
        assert refs_of(ours.snapshot()) == {"a": 1}
        assert ours.cached is ours.snapshot()

    def test_tables_are_shared_by_name(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), PLAIN)
        set_refs(stack, a=1)
        set_refs(stack, b=2)
        old = stack.snapshot()
        set_refs(stack, c=3)
        new = stack.snapshot()
        assert new.names[:2] == old.names
        assert all(new.tables[i] is old.tables[i] for i in range(2))

    def test_old_snapshot_is_unchanged(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), PLAIN)
        set_refs(stack, a=1, b=1)
        old = stack.snapshot()
        set_refs(stack, a=2, b=None)
        stack.compact_all()
        assert refs_of(old) == {"a": 1, "b": 1}
        assert refs_of(stack.snapshot()) == {"a": 2}

    def test_list_that_disappears_is_an_empty_stack(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path))
        set_refs(stack, a=1)
        stack.snapshot()
        (tmp_path / "tables.list").unlink()
        assert stack.snapshot().names == ()

    def test_next_update_index_is_above_the_newest_table(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), PLAIN)
        with stack.addition() as addition:
            addition.write_table(
                lambda writer: fill_refs({"a": 1})(writer, addition.snapshot),
                min_update_index=5,
                max_update_index=9,
            )
            addition.commit()
        assert stack.snapshot().next_update_index == 10

    @pytest.mark.parametrize("suppress", [False, True])
    def test_suppress_deletions_is_the_merged_views(self, tmp_path: Path, suppress: bool) -> None:
        options = PLAIN._replace(suppress_deletions=suppress)
        stack = Stack.open(str(tmp_path), options)
        set_refs(stack, a=1, b=1)
        set_refs(stack, a=None)
        names = [record.refname for record in stack.snapshot().merged.refs()]
        assert names == ([b"b"] if suppress else [b"a", b"b"])
        assert stack.snapshot().merged.ref(b"a") is None

    def test_closed_stack(self, tmp_path: Path) -> None:
        with Stack.open(str(tmp_path)) as stack:
            set_refs(stack, a=1)
            snapshot = stack.snapshot()
        assert refs_of(snapshot) == {"a": 1}
        for use in (stack.snapshot, lambda: stack.cached, stack.addition):
            with pytest.raises(CallerError, match="closed"):
                use()
        assert "tables.list.lock" not in table_files(tmp_path)


class TestLifetime:
    def test_iterator_outlives_compaction_and_stack(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), PLAIN)
        stack.add(fill_refs({f"r{i:04}": i for i in range(3000)}))
        set_refs(stack, z=1)
        iterator = stack.snapshot().merged.refs()
        assert next(iterator).refname == b"r0000"
        set_refs(stack, r0001=None)
        stack.compact_all()
        stack.close()
        del stack
        gc.collect()
        assert [record.refname for record in iterator][-1] == b"z"

    def test_tables_that_nobody_holds_are_let_go(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), PLAIN)
        set_refs(stack, a=1)
        set_refs(stack, b=1)
        watched = [weakref.ref(table) for table in stack.snapshot().tables]
        iterator = stack.snapshot().merged.refs()
        next(iterator)
        stack.compact_all()
        gc.collect()
        assert all(table() is not None for table in watched)
        del iterator
        gc.collect()
        assert all(table() is None for table in watched)

    def test_no_descriptor_is_left(self, tmp_path: Path, no_leaked_descriptors: None) -> None:
        with Stack.open(str(tmp_path)) as stack:
            for number in range(10):
                set_refs(stack, a=number)
            stack.compact_all()
            stack.clean()
            stack.snapshot()
        del stack


class TestVanishedTables:
    def stale(self, directory: Path) -> Stack:
        """A stack of two tables whose list names a third one that is not there."""
        stack = Stack.open(str(directory), PLAIN)
        set_refs(stack, a=1)
        set_refs(stack, b=2)
        stack.snapshot()
        stack.storage.lock(0).replace([*listed(directory), "gone.ref"])
        return stack

    def test_a_lost_table_is_an_error_and_the_old_tables_stay(self, tmp_path: Path) -> None:
        stack = self.stale(tmp_path)
        old = stack.cached
        iterator = old.merged.refs()
        with pytest.raises(TableVanishedError, match=re.escape(str(tmp_path / "gone.ref"))):
            stack.snapshot()
        assert stack.cached is old
        assert [record.refname for record in iterator] == [b"a", b"b"]
        assert refs_of(old) == {"a": 1, "b": 2}
        assert stack.stats.vanished == 1

    def test_a_lost_table_is_an_error_on_opening(self, tmp_path: Path) -> None:
        self.stale(tmp_path)
        with pytest.raises(TableVanishedError):
            Stack.open(str(tmp_path)).snapshot()

    def test_nothing_is_added_to_a_stack_that_lost_a_table(self, tmp_path: Path) -> None:
        stack = self.stale(tmp_path)
        with pytest.raises(TableVanishedError):
            set_refs(stack, c=3)
        assert "tables.list.lock" not in table_files(tmp_path)

    def test_a_compaction_between_list_and_table(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The race itself: the list is read, then its tables are merged and deleted."""
        writer = Stack.open(str(tmp_path), PLAIN)
        set_refs(writer, a=1)
        set_refs(writer, b=2)
        races: list[Callable[[], object]] = [
            writer.compact_all,
            lambda: set_refs(writer, c=3),
            writer.compact_all,
        ]
        open_table = DirectoryStorage.open_table

        def racing_open(self: DirectoryStorage, name: str) -> Table:
            while races and self is reader.storage:
                races.pop(0)()
            return open_table(self, name)

        monkeypatch.setattr(DirectoryStorage, "open_table", racing_open)
        reader = Stack.open(str(tmp_path))
        assert refs_of(reader.snapshot()) == {"a": 1, "b": 2, "c": 3}
        assert reader.stats.vanished == 1

    def test_tables_opened_before_the_race_are_not_opened_again(self) -> None:
        storage = RacingStorage()
        stack = Stack(storage, PLAIN)
        for name in "abc":
            set_refs(stack, **{name: 1})
        storage.opened.clear()
        first, second, third = storage.names
        storage.lists = [(first, second, "gone"), (first, second, third), (first, second, third)]
        snapshot = Stack(storage, PLAIN).snapshot()
        assert snapshot.names == (first, second, third)
        assert storage.opened == [first, second, "gone", third]

    def test_losing_every_race_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """After three tries at least, and three seconds; never the old tables."""
        clock = [0.0]
        waits: list[float] = []

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            clock[0] += seconds

        monkeypatch.setattr(time, "monotonic", lambda: clock[0])
        monkeypatch.setattr(time, "sleep", sleep)
        storage = RacingStorage()
        stack = Stack(storage, PLAIN)
        set_refs(stack, a=1)
        old = stack.snapshot()
        storage.lists = [(f"gone-{i}",) for i in range(10_000)]
        with pytest.raises(TableVanishedError, match=r"after \d+ tries"):
            stack.snapshot()
        assert 3.0 <= sum(waits) < 9.0
        assert len(waits) >= 3
        assert stack.cached is old

    def test_even_when_all_is_slow_there_are_three_tries(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = iter(range(0, 1_000_000, 10))
        monkeypatch.setattr(time, "monotonic", lambda: next(clock))
        storage = RacingStorage()
        storage.lists = [(f"gone-{i}",) for i in range(100)]
        with pytest.raises(TableVanishedError, match="after 3 tries"):
            Stack(storage).snapshot()
        assert [name for name in storage.opened if name.startswith("gone")] == [
            "gone-0",
            "gone-1",
            "gone-3",
        ]


class RacingStorage(MemoryStorage):
    """Answers with the prepared lists, one after the other, and notes what is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.lists: list[tuple[str, ...]] = []
        self.opened: list[str] = []

    def read_list(self) -> Listing:
        if self.lists:
            return Listing(self.lists.pop(0), object())
        return super().read_list()

    def is_current(self, listing: Listing) -> bool:
        return not self.lists and super().is_current(listing)

    def open_table(self, name: str) -> Table:
        self.opened.append(name)
        return super().open_table(name)


class TestDamage:
    def test_table_that_is_no_table(self, tmp_path: Path) -> None:
        (tmp_path / "x.ref").write_bytes(b"nonsense")
        (tmp_path / "tables.list").write_text("x.ref\n")
        with pytest.raises(FormatError) as caught:
            Stack.open(str(tmp_path)).snapshot()
        assert caught.value.path == str(tmp_path / "x.ref")

    def test_empty_table_file(self, tmp_path: Path) -> None:
        (tmp_path / "x.ref").touch()
        (tmp_path / "tables.list").write_text("x.ref\n")
        with pytest.raises(FormatError):
            Stack.open(str(tmp_path)).snapshot()

    def test_table_of_another_hash(self, tmp_path: Path) -> None:
        set_refs(Stack.open(str(tmp_path), StackOptions(hash=SHA256)), a=1)
        with pytest.raises(FormatError, match=r"\.ref, offset 0: object ids are sha256") as caught:
            Stack.open(str(tmp_path)).snapshot()
        assert caught.value.path == str(tmp_path / listed(tmp_path)[0])

    def test_its_twin_of_the_same_hash(self, tmp_path: Path) -> None:
        options = StackOptions(hash=SHA256)
        set_refs(Stack.open(str(tmp_path), options), a=1)
        record = Stack.open(str(tmp_path), options).snapshot().merged.ref(b"a")
        assert record is not None
        assert record.value == oid(1, 32)


class TestThreads:
    @pytest.fixture(autouse=True)
    def eager_switching(self) -> Iterator[None]:
        """More interleavings, and no writer that waits 5 ms for each system call's return."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        yield
        sys.setswitchinterval(before)

    def test_readers_during_writes_and_compactions(self, tmp_path: Path) -> None:
        """Each reader sees whole states only, and never an older one than before."""
        stack = Stack.open(str(tmp_path), StackOptions(fsync=False, lock_timeout_ms=-1))
        set_refs(stack, a=0, b=0)
        done = threading.Event()
        problems: list[object] = []

        def read() -> None:
            seen = 0
            while not done.is_set():
                refs = refs_of(stack.snapshot())
                if refs["a"] != refs["b"] or refs["a"] < seen:
                    problems.append(refs)
                seen = refs["a"]

        def write() -> None:
            for number in range(1, 60):
                set_refs(stack, a=number, b=number)

        run_threads(
            [guarded(read, problems) for _ in range(4)],
            write,
            done,
        )
        assert problems == []
        assert refs_of(stack.snapshot()) == {"a": 59, "b": 59}

    def test_writers_take_turns(self, tmp_path: Path) -> None:
        """Compare-and-swap inside `add`: no increment is lost."""
        stack = Stack.open(str(tmp_path), StackOptions(fsync=False, lock_timeout_ms=-1))
        problems: list[object] = []

        def increment() -> None:
            for _ in range(20):
                with stack.addition() as addition:
                    value = refs_of(addition.snapshot).get("n", 0) + 1
                    fill, snapshot = fill_refs({"n": value}), addition.snapshot
                    addition.write_table(lambda writer, f=fill, s=snapshot: f(writer, s))  # type: ignore[misc]
                    addition.commit()

        run_threads([guarded(increment, problems) for _ in range(4)])
        assert problems == []
        assert refs_of(stack.snapshot()) == {"n": 80}


def guarded(work: Callable[[], None], problems: list[object]) -> Callable[[], None]:
    """Report what the thread raises."""

    def run() -> None:
        try:
            work()
        except Exception as error:
            problems.append(error)

    return run


def run_threads(
    works: list[Callable[[], None]],
    meanwhile: Callable[[], object] = lambda: None,
    done: threading.Event | None = None,
) -> None:
    """Run all in threads, and `meanwhile` in this one."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    try:
        meanwhile()
    finally:
        if done is not None:
            done.set()
        for thread in threads:
            thread.join()
