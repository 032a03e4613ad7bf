"""What the tests of the stack share: records, fills, and views of a stack as plain dicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from pyreftable.format.block import Run
from pyreftable.format.records import DELETION, OID, LogRecord, RefRecord
from pyreftable.stack import Snapshot, Stack, StackOptions
from pyreftable.writer import TableWriter

Fill = Callable[[TableWriter, Snapshot], None]

#: No auto-compaction: tests that count tables decide themselves when to merge.
PLAIN = StackOptions(auto_compact=False, lock_timeout_ms=0)


def oid(number: int, size: int = 20) -> bytes:
    """A raw object id made of a number."""
    return number.to_bytes(size, "big")


def log(
    name: str, index: int, *, time: int = 0, new: int = 1, message: bytes = b"m\n"
) -> LogRecord:
    """A reflog entry at an update index."""
    return LogRecord(
        name.encode(), index, oid(0), oid(new), b"A", b"a@example.com", time, 0, message
    )


def fill_refs(values: Mapping[str, int | None]) -> Fill:
    """A fill that sets refs to numbered ids, and deletes those that are `None`."""

    def fill(writer: TableWriter, snapshot: Snapshot) -> None:
        size = writer.hash.size
        for name, number in sorted(values.items()):
            kind, value = (DELETION, b"") if number is None else (OID, oid(number, size))
            writer.add_ref(RefRecord(name.encode(), writer.min_update_index, kind, value))

    return fill


def ref_run_of(stack: Stack, values: Mapping[str, int | None], index: int) -> Run:
    """Refs as `Addition.write_records` takes them."""
    size = stack.options.hash.size
    names = sorted(name.encode() for name in values)
    numbers = [values[name.decode()] for name in names]
    types = [DELETION if number is None else OID for number in numbers]
    ids = [b"" if number is None else oid(number, size) for number in numbers]
    return Run(names, types, ids, [index] * len(names))


def add_records(
    stack: Stack, values: Mapping[str, int | None], logs: Sequence[LogRecord] = ()
) -> None:
    """Set or delete refs, and add log entries, in one addition that may compact early."""
    with stack.addition() as addition:
        addition.write_records(ref_run_of(stack, values, addition.next_update_index), logs)
        addition.commit()


def fill_logs(logs: Iterable[LogRecord]) -> Fill:
    """A fill that adds reflog entries, which must be in key order."""

    def fill(writer: TableWriter, snapshot: Snapshot) -> None:
        writer.add_logs(logs)

    return fill


def set_refs(stack: Stack, **values: int | None) -> None:
    """Set or delete refs in one addition."""
    stack.add(fill_refs(values))


def refs_of(snapshot: Snapshot) -> dict[str, int]:
    """The visible refs of a snapshot, as numbers."""
    return {
        record.refname.decode(): int.from_bytes(record.value, "big")
        for record in snapshot.merged.refs()
        if not record.is_deletion
    }


def logs_of(snapshot: Snapshot) -> dict[tuple[str, int], bytes]:
    """The visible reflog entries of a snapshot: name and update index to message."""
    return {
        (record.refname.decode(), record.update_index): record.message
        for record in snapshot.merged.logs()
        if not record.is_deletion
    }


def table_files(directory: str | os.PathLike[str]) -> set[str]:
    """The names of all files in a stack's directory, the list apart."""
    return {path.name for path in Path(directory).iterdir()} - {"tables.list"}


def listed(directory: str | os.PathLike[str]) -> list[str]:
    """The names in the list."""
    return (Path(directory) / "tables.list").read_text().split()
