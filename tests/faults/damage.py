"""What reading any bytes must be like: records, or `FormatError`, and nothing else.

`check_reading` reads a table in every way there is and holds the answers against each other:

- A scan gives as many records as the intact table has, in order; or it raises. Only a record
  that is no restart can be lost: a spoilt length may make the one before swallow exactly it, and
  nothing in the format tells. With a restart interval of 1 there are none such.
- Where the scan succeeds, a look-up or seek gives what the scan gives; or it raises. So the parts
  that only look-ups use (index blocks, restart tables) can lose no record in silence.
- `refs_for` gives only refs that hold the id. It may give fewer where obj records are spoilt, or
  ids that they list: to find out would be to scan all refs.

Every error names the file and an offset in it; no read goes on for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple, TypeVar

from pyreftable.errors import FormatError
from pyreftable.format.block import INDEX, LOG, OBJ, REF
from pyreftable.format.records import LogRecord, RefRecord
from pyreftable.table import Table
from tests.table_tools import Bytes, attempt, key_of, open_table

T = TypeVar("T")

NAME = "some/where.ref"


class Intact(NamedTuple):
    """A whole table, what is in it, and how many of its refs and logs are restarts."""

    data: bytes
    refs: list[RefRecord]
    logs: list[LogRecord]
    ref_restarts: int
    log_restarts: int


class BoundedBytes(Bytes):
    """Fails the test when one reading asks for more than any honest one needs."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.allow_one_reading()

    def allow_one_reading(self) -> None:
        self.reads_left = 100 + self.size

    def read(self, offset: int, length: int) -> bytes:
        self.reads_left -= 1
        assert self.reads_left, "reads without end"
        assert offset >= 0
        return super().read(offset, length)


def intact(data: bytes) -> Intact:
    """The undamaged table."""
    table = open_table(data, NAME)
    restarts = dict.fromkeys((REF, LOG, OBJ, INDEX), 0)
    for block in table.blocks():
        restarts[block.type] += len(block.restart_offsets)
    return Intact(data, list(table.refs()), list(table.logs()), restarts[REF], restarts[LOG])


def check_reading(data: bytes, whole: Intact, *, compare: bool = True) -> bool:
    """Read damaged `data` in every way; whether any raised. Raises `AssertionError` if wrong.

    Without `compare` (the damage may be any) only errors are judged, not what is read.
    """
    source = BoundedBytes(data)
    table = attempt(lambda: Table(source, NAME), NAME, len(data))
    if isinstance(table, FormatError):
        return True
    return _Reading(table, source, whole).check(compare)


class _Reading:
    def __init__(self, table: Table, source: BoundedBytes, whole: Intact) -> None:
        self.table = table
        self.source = source
        self.whole = whole
        self.raised = False

    def attempt(self, action: Callable[[], T]) -> T | None:
        """The result, or `None` after an error; an error once is enough for the caller."""
        self.source.allow_one_reading()
        result = attempt(action, NAME, self.source.size)
        if isinstance(result, FormatError):
            self.raised = True
            return None
        return result

    def check(self, compare: bool) -> bool:
        table, whole = self.table, self.whole
        self.attempt(lambda: list(table.blocks()))
        refs = self.attempt(lambda: self.bounded(table.refs(), len(whole.refs)))
        logs = self.attempt(lambda: self.bounded(table.logs(), len(whole.logs)))
        if not compare:
            refs = logs = None
        if refs is not None:
            keys = [record.refname for record in refs]
            check_scan(keys, range(whole.ref_restarts, len(whole.refs) + 1))
        if logs is not None:
            keys = [key_of(record) for record in logs]
            check_scan(keys, range(whole.log_restarts, len(whole.logs) + 1))
        self.check_ref_lookups(refs)
        self.check_oid_lookups(refs)
        self.check_log_seeks(logs)
        return self.raised

    @staticmethod
    def bounded(records: Iterator[T], most: int) -> list[T]:
        return list(islice(records, most + 1))

    def check_ref_lookups(self, refs: list[RefRecord] | None) -> None:
        known = {record.refname: record for record in (self.whole.refs if refs is None else refs)}
        beside = [name + b"!" for name in known]
        names = sorted({*known, *beside, b"\1", b"\xff"})
        for name in (*known, *beside[::4], b"\1", b"\xff"):
            found = [self.attempt(lambda name=name: [self.table.ref(name)])]  # type: ignore[misc]
            if refs is not None and found[0] is not None:
                assert found[0] == [known.get(name)]
        for name in names[::6]:
            records = self.attempt(
                lambda name=name: self.bounded(self.table.refs(name), len(known))  # type: ignore[misc]
            )
            if refs is not None and records is not None:
                assert records == [record for record in refs if record.refname >= name]
        self.check_batch(names, refs)

    def check_batch(self, names: Sequence[bytes], refs: list[RefRecord] | None) -> None:
        runs = self.attempt(lambda: self.bounded(self.table.runs_among(names), len(names)))
        if refs is None or runs is None:
            return
        found = {
            name
            for run, start, end, _ in runs
            for name in names[start:end]
            if name in set(run.keys)
        }
        assert found == {record.refname for record in refs}
        last = max((record.refname for record in refs), default=b"")
        covered = [name for _, start, end, _ in runs for name in names[start:end]]
        assert covered == [name for name in names if name <= last]

    def check_oid_lookups(self, refs: list[RefRecord] | None) -> None:
        ids = {
            oid
            for record in (self.whole.refs if refs is None else refs)
            for oid in (record.oid, record.peeled)
            if oid
        }
        for oid in sorted(ids)[::4]:
            holders = self.attempt(
                lambda oid=oid: self.bounded(self.table.refs_for(oid), len(self.whole.refs))  # type: ignore[misc]
            )
            if refs is not None and holders is not None:
                expected = [record for record in refs if oid in (record.oid, record.peeled)]
                spoilt = refs != self.whole.refs or not self.has_intact_objs()
                assert holders == expected or (spoilt and set(holders) < set(expected))

    def has_intact_objs(self) -> bool:
        footer = open_table(self.whole.data).footer
        section = slice(footer.obj, footer.log or len(self.whole.data))
        return self.source.data[section] == self.whole.data[section] and self.table.footer == footer

    def check_log_seeks(self, logs: list[LogRecord] | None) -> None:
        records = self.whole.logs if logs is None else logs
        starts = [key_of(record) for record in records]
        for start in (*starts, *[start + b"!" for start in starts[::3]], b"\1", b"\xff"):
            found = self.attempt(
                lambda start=start: self.bounded(self.table.logs(start), len(records))  # type: ignore[misc]
            )
            if logs is not None and found is not None:
                assert found == [record for record in logs if key_of(record) >= start]


def check_scan(keys: list[bytes], counts: range) -> None:
    """Never fewer, and in order."""
    assert len(keys) in counts
    assert all(a < b for a, b in pairwise(keys))
