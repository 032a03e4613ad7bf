"""Random histories of a stack against plain dicts, and what each snapshot said at its time."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyreftable.format.records import LogRecord
from pyreftable.hashes import SHA1, SHA256
from pyreftable.stack import LogExpiry, Snapshot, Stack, StackOptions
from pyreftable.write_options import WriteOptions
from tests.stack_tools import (
    add_records,
    fill_logs,
    fill_refs,
    listed,
    logs_of,
    refs_of,
    table_files,
)

NAMES = st.sampled_from([f"refs/heads/{name}" for name in ("a", "a-b", "a/b", "b", "é", "z" * 40)])
CHANGES = st.dictionaries(NAMES, st.none() | st.integers(1, 1000), min_size=1)


class StackMachine(RuleBasedStateMachine):
    """Two `Stack` objects on one directory take turns."""

    @initialize(
        suppress=st.booleans(),
        algorithm=st.sampled_from([SHA1, SHA256]),
        factor=st.integers(2, 5),
        auto=st.booleans(),
        block_size=st.sampled_from([256, 4096]),
    )
    def start(
        self, suppress: bool, algorithm: object, factor: int, auto: bool, block_size: int
    ) -> None:
        self.directory = Path(tempfile.mkdtemp())
        options = StackOptions(
            hash=algorithm,  # type: ignore[arg-type]
            suppress_deletions=suppress,
            write=WriteOptions(block_size=block_size),
            geometric_factor=factor,
            auto_compact=auto,
            fsync=False,
        )
        self.stacks = [Stack.open(str(self.directory), options) for _ in range(2)]
        self.refs: dict[str, int] = {}
        self.logs: dict[tuple[str, int], int] = {}
        self.history: list[tuple[Snapshot, dict[str, int]]] = []

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            shutil.rmtree(self.directory)

    @property
    def stack(self) -> Stack:
        self.stacks.reverse()
        return self.stacks[0]

    @rule(changes=CHANGES, early=st.booleans())
    def change_refs(self, changes: dict[str, int | None], early: bool) -> None:
        if early:
            add_records(self.stack, changes)
        else:
            ordered = dict(sorted(changes.items(), key=lambda item: item[0].encode()))
            self.stack.add(fill_refs(ordered))
        for name, number in changes.items():
            if number is None:
                self.refs.pop(name, None)
            else:
                self.refs[name] = number

    @rule(name=NAMES, time=st.integers(1, 100), early=st.booleans())
    def add_log(self, name: str, time: int, early: bool) -> None:
        stack = self.stack
        index = stack.snapshot().next_update_index
        size = stack.options.hash.size
        record = LogRecord(
            name.encode(), index, bytes(size), b"\1" * size, b"N", b"e", time, 0, b"m\n"
        )
        if early:
            add_records(stack, {}, [record])
        else:
            stack.add(fill_logs([record]))
        self.logs[name, index] = time

    @rule(data=st.data())
    def delete_log(self, data: st.DataObject) -> None:
        if self.logs:
            name, index = data.draw(st.sampled_from(sorted(self.logs)))
            add_records(self.stack, {}, [LogRecord.deletion(name.encode(), index)])
            del self.logs[name, index]

    @rule(data=st.data())
    def compact_range(self, data: st.DataObject) -> None:
        stack = self.stack
        count = len(stack.snapshot().tables)
        if count:
            first = data.draw(st.integers(0, count - 1))
            last = data.draw(st.integers(first, count - 1))
            assert stack.compact_range(first, last) == (first < last)

    @rule()
    def compact_all(self) -> None:
        stack = self.stack
        stack.compact_all()
        assert len(stack.snapshot().tables) <= 1

    @rule(time=st.integers(1, 100))
    def expire(self, time: int) -> None:
        self.stack.compact_all(LogExpiry(time=time))
        self.logs = {key: value for key, value in self.logs.items() if value >= time}

    @rule()
    def compact_automatically(self) -> None:
        stack = self.stack
        required = stack.compaction_required(geometric=True)
        assert stack.auto_compact() == required

    @rule()
    def clean(self) -> None:
        assert self.stack.clean() == []

    @rule()
    def remember(self) -> None:
        self.history.append((self.stack.snapshot(), dict(self.refs)))

    @invariant()
    def both_see_the_model(self) -> None:
        if hasattr(self, "directory"):
            for stack in self.stacks:
                snapshot = stack.snapshot()
                assert refs_of(snapshot) == self.refs
                assert set(logs_of(snapshot)) == set(self.logs)

    @invariant()
    def old_snapshots_say_what_they_said(self) -> None:
        for snapshot, refs in getattr(self, "history", []):
            assert refs_of(snapshot) == refs

    @invariant()
    def no_file_is_left_over(self) -> None:
        if hasattr(self, "directory") and (self.directory / "tables.list").exists():
            assert table_files(self.directory) == set(listed(self.directory))


def test_tombstones_are_seen_or_not(tmp_path: Path) -> None:
    """The model hides the difference between the two settings; here it is."""
    for suppress, expected in ((False, 2), (True, 1)):
        directory = tmp_path / str(suppress)
        directory.mkdir()
        options = StackOptions(auto_compact=False, suppress_deletions=suppress)
        stack = Stack.open(str(directory), options)
        stack.add(fill_refs({"a": 1, "b": 1}))
        stack.add(fill_refs({"a": None}))
        assert len(list(stack.snapshot().merged.refs())) == expected


TestStackMachine = StackMachine.TestCase
TestStackMachine.settings = settings(stateful_step_count=30)
