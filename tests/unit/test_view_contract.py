"""One contract for all views of records: table, merged tables, and a stack's snapshot.

Each is held against a sorted list, over both hashes, restart intervals that make every record a
restart, the usual number, or only the first of a block, small, usual and unaligned blocks, zero
to two index levels, and with deletions yielded and suppressed.
"""

from __future__ import annotations

import functools
import random
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import NamedTuple, Protocol

import pytest

from pyreftable.format.block import INDEX, decode_index
from pyreftable.format.records import LogRecord, RefRecord
from pyreftable.hashes import SHA1, SHA256, HashAlgorithm
from pyreftable.merged import Merged
from pyreftable.stack import Snapshot, Stack, StackOptions
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from pyreftable.writer import TableWriter
from tests.memory_storage import MemoryStorage
from tests.table_tools import build, key_of, log, make_value, open_table, sorted_logs

LAYERS = 3
SHOWN = 20


class Layout(NamedTuple):
    """Blocks, the length of names, and how many refs, and how many of them with a log, make
    zero, one and two index levels."""

    block_size: int
    unpadded: bool
    name_len: int
    refs: tuple[int, int, int]
    logged: tuple[int, int, int]


LAYOUTS = {
    "256": Layout(256, False, 60, (1, 12, 60), (1, 5, 40)),
    "4096": Layout(4096, False, 220, (25, 120, 1300), (14, 60, 700)),
    "unaligned": Layout(1024, True, 100, (4, 16, 160), (1, 12, 100)),
}


class Shape(NamedTuple):
    hash: HashAlgorithm
    interval: int
    layout: str
    levels: int


class Layer(NamedTuple):
    """What one table holds; in a table of its own, or as one of several."""

    refs: list[RefRecord]
    logs: list[LogRecord]


class View(Protocol):
    def refs(self, start: bytes = b"") -> Iterator[RefRecord]: ...
    def logs(self, start: bytes = b"") -> Iterator[LogRecord]: ...
    def ref(self, refname: bytes) -> RefRecord | None: ...
    def refs_for(self, oid: bytes) -> Iterator[RefRecord]: ...


class Case(NamedTuple):
    """A view, the records of the model, and what it does with deletions."""

    view: View
    model: Layer
    suppresses: bool
    ref_hides_deletions: bool

    def visible_refs(self) -> list[RefRecord]:
        return [r for r in self.model.refs if not (self.suppresses and r.is_deletion)]

    def visible_logs(self) -> list[LogRecord]:
        return [r for r in self.model.logs if not (self.suppresses and r.is_deletion)]


@functools.cache
def layers(shape: Shape) -> tuple[list[Layer], Layer]:
    """Records spread over layers, oldest first, and the model: each key's newest record."""
    layout = LAYOUTS[shape.layout]
    dice = random.Random(str(shape))
    spread: list[dict[bytes, RefRecord]] = [{} for _ in range(LAYERS)]
    spread_logs: list[dict[bytes, LogRecord]] = [{} for _ in range(LAYERS)]
    for number in range(layout.refs[shape.levels]):
        name = b"refs/" + dice.randbytes(layout.name_len // 2 - 2).hex().encode()
        newest = dice.randrange(LAYERS)
        for age in {newest, dice.randint(0, newest)}:
            kind = dice.choice([0, 1, 1, 2, 3])
            value = make_value(name, kind, shape.hash.size)
            spread[age][name] = RefRecord(name, age + 1, kind, value)
            if number >= layout.logged[shape.levels]:
                continue
            entry = log(name, age + 1, size=shape.hash.size, message=b"update\n")
            spread_logs[age][key_of(entry)] = entry
            if dice.random() < 0.3:
                gone = LogRecord.deletion(name, dice.randint(1, age + 1))
                spread_logs[age][key_of(gone)] = gone
    tables = [
        Layer(sorted(refs.values()), sorted_logs(logs.values()))
        for refs, logs in zip(spread, spread_logs, strict=True)
    ]
    newest_refs = {record.refname: record for table in tables for record in table.refs}
    newest_logs = {key_of(record): record for table in tables for record in table.logs}
    return tables, Layer(sorted(newest_refs.values()), sorted_logs(newest_logs.values()))


def options_of(shape: Shape) -> WriteOptions:
    layout = LAYOUTS[shape.layout]
    return WriteOptions(layout.block_size, shape.interval, layout.unpadded)


@functools.cache
def tables_of(shape: Shape, alone: bool) -> list[Table]:
    spread, model = layers(shape)
    contents = [model] if alone else spread
    return [
        open_table(build(refs, logs, options=options_of(shape), hash=shape.hash))
        for refs, logs in contents
    ]


@functools.cache
def snapshot_of(shape: Shape, suppress: bool) -> Snapshot:
    options = StackOptions(
        hash=shape.hash, suppress_deletions=suppress, write=options_of(shape), auto_compact=False
    )
    stack = Stack(MemoryStorage(), options)
    with stack.addition() as addition:
        for index, layer in enumerate(layers(shape)[0], 1):
            write = functools.partial(fill, layer)
            addition.write_table(write, min_update_index=index, max_update_index=index)
        addition.commit()
    return stack.snapshot()


def fill(layer: Layer, writer: TableWriter) -> None:
    writer.add_refs(layer.refs)
    writer.add_logs(layer.logs)


def make_case(kind: str, shape: Shape) -> Case:
    model = layers(shape)[1]
    suppresses = kind.endswith("suppressing")
    if kind == "table":
        return Case(tables_of(shape, True)[0], model, False, False)
    if kind.startswith("merged"):
        merged = Merged(tables_of(shape, False), suppress_deletions=suppresses)
        return Case(merged, model, suppresses, True)
    return Case(snapshot_of(shape, suppresses).merged, model, suppresses, True)


SHAPES = [Shape(*fields) for fields in product((SHA1, SHA256), (1, 16, 1000), LAYOUTS, range(3))]
CASES = [
    *product(["table"], SHAPES),
    # The other views see tables only through that one's interface.
    *product(
        ["merged", "merged-suppressing", "snapshot", "snapshot-suppressing"],
        [shape for shape in SHAPES if shape.interval == 16],
    ),
]


def shape_id(shape: Shape) -> str:
    return f"{shape.hash.name}-every{shape.interval}-{shape.layout}-{shape.levels}levels"


@pytest.fixture(params=CASES, ids=lambda param: f"{param[0]}-{shape_id(param[1])}")
def case(request: pytest.FixtureRequest) -> Case:
    return make_case(*request.param)


def some(keys: Sequence[bytes]) -> list[bytes]:
    """Some of the sorted keys: the first, the last, and a number in between."""
    return [*keys[:: max(1, len(keys) // 6)], *keys[-1:]]


def seeks(keys: Sequence[bytes]) -> Iterator[bytes]:
    """Before the first, past the last, and to, below and above some of the keys."""
    yield from (b"\0", b"a", b"refs/", b"refs0", b"\xff")
    for key in some(keys):
        yield from (key, key[:-1], key + b"\0", key[:8] + b"\xff", key[:-1] + bytes([key[-1] ^ 1]))


def check_seeks(
    keys: Sequence[bytes],
    model: Sequence[RefRecord] | Sequence[LogRecord],
    seek: Callable[[bytes], Iterator[RefRecord] | Iterator[LogRecord]],
) -> None:
    for start in seeks(keys):
        at = bisect_left(keys, start)
        assert list(islice(seek(start), SHOWN)) == list(model[at : at + SHOWN])


def test_refs_scan(case: Case) -> None:
    assert list(case.view.refs()) == case.visible_refs()


def test_logs_scan(case: Case) -> None:
    assert list(case.view.logs()) == case.visible_logs()


def test_refs_seek(case: Case) -> None:
    records = case.visible_refs()
    check_seeks([record.refname for record in records], records, case.view.refs)
    if records:
        middle = len(records) // 2
        assert list(case.view.refs(records[middle].refname)) == records[middle:]


def test_logs_seek(case: Case) -> None:
    records = case.visible_logs()
    check_seeks([key_of(record) for record in records], records, case.view.logs)
    if records:
        middle = len(records) // 2
        assert list(case.view.logs(key_of(records[middle]))) == records[middle:]


def test_logs_seek_by_name_begins_at_the_newest_entry(case: Case) -> None:
    records = case.visible_logs()
    for name in some([record.refname for record in records]):
        expected = [record for record in records if record.refname == name]
        assert list(islice(case.view.logs(name), len(expected))) == expected


def test_ref_looks_up_exactly_that_name(case: Case) -> None:
    for record in case.model.refs[:: max(1, len(case.model.refs) // 40)]:
        hidden = case.ref_hides_deletions and record.is_deletion
        assert case.view.ref(record.refname) == (None if hidden else record)
        for other in (record.refname + b"\0", record.refname[:-1], record.refname + b"/x"):
            assert case.view.ref(other) is None
    for other in (b"\0", b"a", b"refs/", b"\xff"):
        assert case.view.ref(other) is None


def test_refs_for_finds_what_holds_an_id(case: Case) -> None:
    live = [record for record in case.model.refs if record.oid]
    for record in live[:: max(1, len(live) // 10)]:
        for oid in filter(None, (record.oid, record.peeled)):
            expected = [r for r in live if oid in (r.oid, r.peeled)]
            assert list(case.view.refs_for(oid)) == expected
    assert list(case.view.refs_for(b"\x17" * len(case.model.refs[0].value or 20 * b"x"))) == []


@pytest.mark.parametrize("shape", SHAPES, ids=shape_id)
def test_shapes_have_their_index_levels(shape: Shape) -> None:
    """Else this module would not test what it says."""
    (table,) = tables_of(shape, True)
    blocks = {block.offset: block for block in table.blocks()}
    for position in (table.footer.ref_index, table.footer.log_index):
        levels = 0
        while position and blocks[position].type == INDEX:
            levels += 1
            position = decode_index(blocks[position])[1][0]
        assert min(levels, 2) == shape.levels
