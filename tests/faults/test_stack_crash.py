"""Crashes, refusals and interrupts at every step of a write: the old state or the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pyreftable.errors import FormatError, LockError, ReftableError, StorageError
from pyreftable.stack import LogExpiry, Stack, StackOptions
from tests.faults.disk import (
    Disk,
    Event,
    Failure,
    State,
    crash_states,
    disk_broken,
    disk_full,
    read_state,
    write_state,
)
from tests.stack_tools import (
    PLAIN,
    add_records,
    fill_logs,
    fill_refs,
    listed,
    log,
    logs_of,
    refs_of,
    set_refs,
    table_files,
)

Visible = tuple[dict[str, int], dict[tuple[str, int], bytes]]


class Scenario(NamedTuple):
    """An operation on a stack that `prepare` made."""

    prepare: Callable[[Stack], None]
    operate: Callable[[Stack], object]
    options: StackOptions = PLAIN


def three_tables(stack: Stack) -> None:
    """Refs and logs, with deletions."""
    set_refs(stack, a=1, b=1)
    stack.add(fill_logs([log("a", 2, time=10)]))
    set_refs(stack, b=None, c=3)


def big_table(stack: Stack) -> None:
    """Too much for one write to the disk."""
    values: dict[str, int | None] = {f"refs/heads/{number:06}": number for number in range(9000)}
    stack.add(fill_refs(values))


def two_tables_at_once(stack: Stack) -> None:
    """One addition."""
    with stack.addition() as addition:
        for number in (4, 5):
            fill, snapshot = fill_refs({"d": number, f"e{number}": 1}), addition.snapshot
            addition.write_table(lambda writer, f=fill, s=snapshot: f(writer, s))  # type: ignore[misc]
        addition.commit()


def cancel_out(stack: Stack) -> None:
    """Nothing is left to be seen."""
    set_refs(stack, a=1)
    set_refs(stack, a=None)


def leave_garbage(stack: Stack) -> None:
    """An old table that nothing lists."""
    three_tables(stack)
    old = stack.snapshot().names[0]
    data = Path(stack.storage.location, old).read_bytes()
    stack.compact_all()
    Path(stack.storage.location, old).write_bytes(data)


AUTO = StackOptions(lock_timeout_ms=0)
EAGER = AUTO._replace(geometric_factor=20)
MODES = PLAIN._replace(file_mode=0o660)
SCENARIOS = {
    "first commit": Scenario(lambda stack: None, lambda stack: set_refs(stack, a=1)),
    "commit": Scenario(three_tables, lambda stack: set_refs(stack, a=2, d=4)),
    "big commit": Scenario(three_tables, big_table),
    "two tables": Scenario(three_tables, two_tables_at_once),
    "shared": Scenario(three_tables, lambda stack: set_refs(stack, a=2, d=4), MODES),
    "auto-compaction": Scenario(three_tables, lambda stack: set_refs(stack, a=2, d=4), AUTO),
    "early compaction": Scenario(three_tables, lambda stack: add_records(stack, {"a": 2}), AUTO),
    "early compaction, nothing left": Scenario(
        lambda stack: set_refs(stack, a=1), lambda stack: add_records(stack, {"a": None}), EAGER
    ),
    "compaction": Scenario(three_tables, lambda stack: stack.compact_all()),
    "range": Scenario(three_tables, lambda stack: stack.compact_range(1, 2)),
    "nothing left": Scenario(cancel_out, lambda stack: stack.compact_all()),
    "expiry": Scenario(three_tables, lambda stack: stack.compact_all(LogExpiry(time=99))),
    "cleaning": Scenario(leave_garbage, lambda stack: stack.clean()),
}


def visible(directory: Path) -> Visible:
    """What a new process sees."""
    snapshot = Stack.open(str(directory), PLAIN).snapshot()
    return refs_of(snapshot), logs_of(snapshot)


class Recorded(NamedTuple):
    """A scenario that ran to its end."""

    start: State
    events: list[Event]
    old: Visible
    new: Visible


def record(scenario: Scenario, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """Run the scenario and note all changes of the disk."""
    directory.mkdir()
    scenario.prepare(Stack.open(str(directory), PLAIN))
    start, old = read_state(directory), visible(directory)
    disk = Disk()
    with monkeypatch.context() as patch:
        disk.install(patch)
        scenario.operate(Stack.open(str(directory), scenario.options))
    return Recorded(start, disk.events, old, visible(directory))


def crashes(recorded: Recorded) -> Iterator[tuple[int, State]]:
    """Every state that a crash may leave, with the number of changes before it; each once."""
    seen: set[tuple[bool, frozenset[tuple[str, bytes]]]] = set()
    durable = durable_after(recorded.events)
    for count in range(len(recorded.events) + 1):
        for state in crash_states(recorded.start, recorded.events[:count]):
            key = (count >= durable, frozenset(state.items()))
            if key not in seen:
                seen.add(key)
                yield count, state


def durable_after(events: list[Event]) -> int:
    """How many changes it takes until the first new list cannot be lost any more."""
    renamed = [i for i, event in enumerate(events) if event.names[1:] == ("tables.list",)]
    if not renamed:
        return len(events) + 1
    synced = [i for i, event in enumerate(events) if event.kind == "sync names" and i > renamed[0]]
    return synced[0] + 1 if synced else len(events) + 1


class TestCrash:
    @pytest.mark.parametrize("name", SCENARIOS)
    def test_old_state_or_new(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And the new one for sure, once the directory was synced after the list."""
        recorded = record(SCENARIOS[name], tmp_path / "stack", monkeypatch)
        durable = durable_after(recorded.events)
        assert name == "cleaning" or durable <= len(recorded.events)
        for count, state in crashes(recorded):
            write_state(tmp_path / "after", state)
            seen = visible(tmp_path / "after")
            assert seen == recorded.new or (count < durable and seen == recorded.old)

    @pytest.mark.parametrize("name", SCENARIOS)
    def test_life_goes_on(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A person removes the dead locks; then all operations work, and see the same."""
        recorded = record(SCENARIOS[name], tmp_path / "stack", monkeypatch)
        directory = tmp_path / "after"
        for _, state in crashes(recorded):
            write_state(directory, state)
            stack = Stack.open(str(directory), AUTO._replace(fsync=False))
            if "tables.list.lock" in state:
                with pytest.raises(LockError):
                    set_refs(stack, z=26)
            for path in directory.glob("*.lock"):
                path.unlink()
            set_refs(stack, z=26)
            stack.compact_all()
            stack.clean()
            refs, logs = visible(directory)
            assert refs.pop("z") == 26
            assert (refs, logs) in (recorded.old, recorded.new)
            assert_only_kept(stack)

    def test_without_syncing_a_crash_loses_more(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The twin: the model of the disk does notice when nothing is synced."""
        scenario = SCENARIOS["commit"]._replace(options=PLAIN._replace(fsync=False))
        recorded = record(scenario, tmp_path / "stack", monkeypatch)
        broken = 0
        for _, state in crashes(recorded):
            write_state(tmp_path / "after", state)
            try:
                broken += visible(tmp_path / "after") not in (recorded.old, recorded.new)
            except ReftableError:
                broken += 1
        assert broken > 0

    @pytest.mark.parametrize(
        ("kind", "number"), [("sync bytes", 0), ("sync bytes", 1), ("sync names", 0)]
    )
    def test_each_sync_is_needed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, number: int
    ) -> None:
        """Take one away from the record of a commit: some crash then breaks the promise."""
        recorded = record(SCENARIOS["commit"], tmp_path / "stack", monkeypatch)
        durable = durable_after(recorded.events)
        events = list(recorded.events)
        events[[i for i, event in enumerate(events) if event.kind == kind][number]] = Event("none")

        def is_kept(count: int, state: State) -> bool:
            write_state(tmp_path / "after", state)
            try:
                seen = visible(tmp_path / "after")
            except ReftableError:
                return False
            return seen == recorded.new or (count < durable and seen == recorded.old)

        assert not all(
            is_kept(count, state)
            for count in range(len(events) + 1)
            for state in crash_states(recorded.start, events[:count])
        )


def assert_only_kept(stack: Stack) -> None:
    """Besides listed tables there is only what cleaning must keep: temporary files, which are
    young enough to be somebody's, and tables that are newer than the stack, or no tables."""
    directory = Path(stack.storage.location)
    next_update_index = stack.snapshot().next_update_index
    for name in table_files(directory) - set(listed(directory)):
        if ".temp." not in name:
            try:
                table = stack.storage.open_table(name)
            except FormatError:
                continue
            assert table.max_update_index >= next_update_index
            table.close()


INTERRUPT_BEFORE = Failure(KeyboardInterrupt)
INTERRUPT_AFTER = Failure(KeyboardInterrupt, after=True)


class TestFailingCall:
    """The n-th call to the system fails, for each n."""

    @pytest.mark.parametrize("error", [disk_full, disk_broken])
    @pytest.mark.parametrize("name", SCENARIOS)
    def test_error(
        self,
        name: str,
        error: Callable[[], OSError],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for directory, disk, raised in self.runs(
            SCENARIOS[name], Failure(error), tmp_path, monkeypatch
        ):
            # Where deleting is refused, what was to be deleted stays, our own locks included.
            undeleted = disk.calls[disk.fail_at] in ("unlink", "lstat")
            if raised is not None and not (undeleted and isinstance(raised, LockError)):
                assert isinstance(raised, StorageError)
                assert isinstance(raised.__cause__, OSError)
                assert str(directory) in str(raised)
            self.check_left(directory, allow=undeleted)

    @pytest.mark.parametrize("failure", [INTERRUPT_BEFORE, INTERRUPT_AFTER])
    @pytest.mark.parametrize("name", SCENARIOS)
    def test_interrupt(
        self, name: str, failure: Failure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between a system call and the note of its result there is no defence but for `open`'s
        descriptor: it is lost, and with it the knowledge that the file is ours (git's lock code
        has that gap too). Clean-up that is itself interrupted leaves what it did not reach."""
        for directory, disk, _ in self.runs(SCENARIOS[name], failure, tmp_path, monkeypatch):
            call = disk.calls[disk.fail_at]
            self.check_left(directory, allow=call in ("open", "unlink", "lstat", "close"))

    def runs(
        self, scenario: Scenario, failure: Failure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[tuple[Path, Disk, BaseException | None]]:
        """Run the scenario with the failure at call 0, 1, 2 ... until it is past the last one."""
        recorded = record(scenario, tmp_path / "good", monkeypatch)
        for number in range(10_000):
            directory = tmp_path / "stack"
            write_state(directory, recorded.start)
            disk = Disk()
            disk.failure, disk.fail_at = failure, number
            stack = Stack.open(str(directory), scenario.options)
            raised = None
            with monkeypatch.context() as patch:
                disk.install(patch)
                try:
                    scenario.operate(stack)
                except (ReftableError, KeyboardInterrupt) as error:
                    raised = error
            if len(disk.calls) <= number:
                return
            seen = visible(directory)
            assert seen in (recorded.old, recorded.new)
            assert raised is not None or seen == recorded.new
            yield directory, disk, raised
            for path in directory.glob("*.lock"):
                path.unlink()
            set_refs(stack, z=26)
            assert refs_of(stack.snapshot()) == {**seen[0], "z": 26}
        pytest.fail("the scenario has no end")

    def check_left(self, directory: Path, *, allow: bool) -> None:
        """No lock and no unfinished file; old tables may be left for cleaning."""
        rest = [name for name in table_files(directory) if not name.endswith(".ref")]
        assert allow or rest == []


class TestFullDisk:
    def test_real_refusal(self, tmp_path: Path) -> None:
        """The system itself refuses, after a part was written."""
        resource = pytest.importorskip("resource")
        stack = Stack.open(str(tmp_path), PLAIN)
        three_tables(stack)
        before = read_state(tmp_path)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        try:
            with pytest.raises(StorageError, match="File too large"):
                big_table(stack)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert read_state(tmp_path) == before
        big_table(stack)
        assert len(refs_of(stack.snapshot())) == 9002
