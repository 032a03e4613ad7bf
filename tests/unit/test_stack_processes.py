"""Several processes on one stack: writers, compactors and readers, none of which may lose."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyreftable.errors import LockError, OutdatedError
from pyreftable.stack import Stack, StackOptions
from pyreftable.writer import TableWriter
from tests.stack_tools import PLAIN, fill_refs, listed, refs_of, set_refs, table_files

PATIENT = StackOptions(fsync=False, lock_timeout_ms=-1)
WRITERS = 3
ROUNDS = 40
BASE: dict[str, int | None] = {f"base{number:02}": number for number in range(50)}


def write(directory: str, who: int) -> None:
    """Count up a shared ref, and move an own one with it; delete and re-create another."""
    stack = Stack.open(directory, PATIENT)
    for number in range(1, ROUNDS + 1):
        with stack.addition() as addition:
            refs = refs_of(addition.snapshot)
            change = {f"own{who}": number, "shared": refs.get("shared", 0) + 1}
            toggled = None if number % 2 else number
            fill = fill_refs({**change, f"toggle{who}": toggled})

            def fill_table(writer: TableWriter, fill=fill, snapshot=addition.snapshot) -> None:  # type: ignore[no-untyped-def]
                fill(writer, snapshot)

            addition.write_table(fill_table)
            addition.commit()


def compact(directory: str, _: int) -> None:
    """Merge everything, again and again, until the writers are done."""
    stack = Stack.open(directory, PATIENT)
    while refs_of(stack.snapshot()).get("shared", 0) < WRITERS * ROUNDS:
        try:
            stack.compact_all()
            stack.clean()
        except (LockError, OutdatedError):
            pass  # The other compactor was quicker.
        time.sleep(0.005)


def read(directory: str, _: int) -> None:
    """Never miss a base ref, never see a counter fall, never see half an addition."""
    stack = Stack.open(directory, PATIENT)
    last = 0
    while last < WRITERS * ROUNDS:
        refs = refs_of(stack.snapshot())
        assert {name: refs.get(name) for name in BASE} == BASE
        shared = refs.get("shared", 0)
        assert shared >= last
        assert shared == sum(refs.get(f"own{who}", 0) for who in range(WRITERS))
        last = shared


def run_all(works: list[tuple[Callable[[str, int], None], int]], directory: Path) -> None:
    """Each work in a process of its own; all must end well."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=work, args=(str(directory), who)) for work, who in works]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
    codes = [process.exitcode for process in processes]
    for process in processes:
        if process.is_alive():
            process.kill()
            process.join()
        process.close()
    assert codes == [0] * len(works)


def test_writers_compactors_and_readers(tmp_path: Path) -> None:
    """No update lost, none doubled, and no reader ever sees a gap."""
    stack = Stack.open(str(tmp_path), PATIENT)
    set_refs(stack, **BASE)
    writers = [(write, who) for who in range(WRITERS)]
    run_all([*writers, (compact, 0), (compact, 1), (read, 0), (read, 1)], tmp_path)
    refs = refs_of(stack.snapshot())
    assert refs.pop("shared") == WRITERS * ROUNDS
    assert {name: refs.pop(name) for name in BASE} == BASE
    assert refs == {f"own{who}": ROUNDS for who in range(WRITERS)} | {
        f"toggle{who}": ROUNDS for who in range(WRITERS)
    }
    stack.compact_all()
    stack.clean()
    assert table_files(tmp_path) == set(listed(tmp_path))


def test_a_killed_compaction_leaves_the_stack_readable(tmp_path: Path) -> None:
    """Its locks stay for a person; its tables are as they were; commits go on."""
    stack = Stack.open(str(tmp_path), PLAIN)
    for number in range(4):
        set_refs(stack, a=number)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=die_while_compacting, args=(str(tmp_path), 0))
    process.start()
    process.join(60)
    assert process.exitcode == 9
    process.close()
    locks = {name for name in table_files(tmp_path) if name.endswith(".lock")}
    assert locks == {name + ".lock" for name in listed(tmp_path)}
    set_refs(stack, a=5)
    assert refs_of(stack.snapshot()) == {"a": 5}
    with pytest.raises(LockError):
        stack.compact_all()


def die_while_compacting(directory: str, _: int) -> None:
    """End without any clean-up, as by SIGKILL, when the tables are locked."""
    import os

    from pyreftable.stack import DirectoryStorage

    DirectoryStorage.create_table = lambda *arguments: os._exit(9)  # type: ignore[method-assign]
    Stack.open(directory, PLAIN).compact_all()
