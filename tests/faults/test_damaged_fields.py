"""Damage to one field at a time in a table that is otherwise right, its CRC too.

Each table is put together by hand, with one thing wrong, and read in every way (see `damage`).
What is wrong must raise, and say what, unless the reading does not need it.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from pyreftable.errors import FormatError
from pyreftable.format.block import INDEX, LOG, OBJ, REF
from pyreftable.format.records import encode_log_value
from pyreftable.table import Table
from tests.faults.damage import NAME, check_reading, intact
from tests.plain_format import (
    Assembly,
    Item,
    encode_item,
    frame,
    index_item,
    many_positions,
    obj_item,
    plain_block,
    plain_varint,
    ref_item,
)
from tests.table_tools import key_of, log, make_value, open_table, repaired, splice

NAMES = [b"refs/heads/%02d%s" % (number, b"n" * 20) for number in range(12)]
ENTRIES = [log(name, committer_name=b"C", email=b"e", message=b"m\n") for name in NAMES[:6]]

Items = list[Item]
Change = Callable[[Items], Items]


def keep(items: Items) -> Items:
    return items


class Layout(NamedTuple):
    """The positions of the blocks of `make`: what the changes are told in."""

    refs: list[int]
    low_index: list[int]
    top_index: int
    obj: int
    logs: list[int]
    log_index: int


def make(
    *,
    refs: Change = keep,
    low_index: Change = keep,
    top_index: Change = keep,
    obj: Change = keep,
    logs: Change = keep,
    log_index: Change = keep,
    footer: Mapping[str, int] | None = None,
) -> tuple[bytes, Layout]:
    """A table of six ref blocks, two index levels, an obj block, three log blocks, an index.

    Each change is given the records of all blocks of its kind, and may change, not cut, the list.
    """
    table = Assembly(block_size=192)
    items = refs([ref_item(name, 1, make_value(name, 1)) for name in NAMES])
    ref_blocks = [table.align().add(REF, *items[at : at + 2]) for at in range(0, 12, 2)]
    entries = low_index([index_item(NAMES[2 * at + 1], ref_blocks[at]) for at in range(6)])
    low = [table.align().add(INDEX, *entries[at : at + 2]) for at in range(0, 6, 2)]
    entries = top_index([index_item(NAMES[4 * at + 3], low[at]) for at in range(3)])
    top = table.align().add(INDEX, *entries)
    objects = [obj_item(make_value(n, 1)[:2], ref_blocks[at // 2]) for at, n in enumerate(NAMES)]
    obj_block = table.align().add(OBJ, *obj(sorted(objects)))
    items = logs([Item(key_of(entry), 1, encode_log_value(entry)) for entry in ENTRIES])
    log_blocks = [table.add(LOG, *items[at : at + 2]) for at in range(0, 6, 2)]
    entries = [index_item(key_of(ENTRIES[2 * at + 1]), log_blocks[at]) for at in range(3)]
    log_top = table.add(INDEX, *log_index(entries))
    layout = Layout(ref_blocks, low, top, obj_block, log_blocks, log_top)
    positions = {"ref_index": top, "obj": obj_block, "obj_id_len": 2, "log": log_blocks[0]}
    return table.finish(**{**positions, "log_index": log_top, **(footer or {})}), layout


GOOD, AT = make()
WHOLE = intact(GOOD)


def set_item(number: int, item: Item) -> Change:
    """A change of one record."""
    return lambda items: [*items[:number], item, *items[number + 1 :]]


def errors_of(data: bytes) -> str:
    """The messages of all errors that reading meets, one a line."""
    messages = set()
    readings: list[Callable[[Table], object]] = [
        lambda table: list(table.refs()),
        lambda table: list(table.logs()),
        *[lambda table, name=name: table.ref(name) for name in NAMES],
        *[lambda table, name=name: list(table.logs(name)) for name in NAMES],
        *[lambda table, name=name: list(table.refs_for(make_value(name, 1))) for name in NAMES],
    ]
    for read in readings:
        try:
            read(open_table(data, NAME))
        except FormatError as error:
            messages.add(str(error))
    return "\n".join(sorted(messages))


def test_the_table_is_right_when_nothing_is_wrong() -> None:
    assert not check_reading(GOOD, WHOLE)
    assert [record.refname for record in WHOLE.refs] == NAMES
    assert WHOLE.logs == ENTRIES
    assert errors_of(GOOD) == ""


SECOND = index_item(NAMES[3], AT.refs[1])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"low_index": set_item(0, index_item(NAMES[0], AT.refs[0]))}, "past where"),
        ({"low_index": set_item(2, index_item(NAMES[4], AT.refs[2]))}, "past where"),
        ({"low_index": set_item(1, index_item(NAMES[3], AT.refs[4]))}, "past where"),
        ({"low_index": set_item(0, index_item(NAMES[0][:-1], AT.refs[0]))}, "past where"),
        ({"low_index": set_item(1, index_item(NAMES[3], AT.refs[1] + 1))}, "no block starts here"),
        ({"low_index": set_item(1, index_item(NAMES[3], AT.low_index[0]))}, "do not ascend"),
        ({"low_index": set_item(1, index_item(NAMES[3], AT.logs[0]))}, "do not ascend"),
        ({"low_index": set_item(1, index_item(NAMES[3], 1 << 63))}, "do not ascend"),
        ({"low_index": set_item(1, index_item(NAMES[3], AT.refs[0]))}, "do not ascend"),
        ({"low_index": set_item(1, SECOND._replace(kind=2))}, "unknown index record type 2"),
        ({"low_index": set_item(1, index_item(NAMES[0], AT.refs[1]))}, "not in ascending order"),
        ({"top_index": set_item(0, index_item(NAMES[1], AT.low_index[0]))}, "past where"),
        ({"top_index": set_item(1, index_item(NAMES[7], AT.top_index))}, "do not ascend"),
        ({"top_index": set_item(2, index_item(NAMES[11], AT.top_index))}, "do not ascend"),
        ({"top_index": set_item(2, index_item(NAMES[11], AT.obj))}, "do not ascend"),
        ({"top_index": set_item(1, index_item(NAMES[7], AT.low_index[2]))}, "do not ascend"),
        ({"log_index": set_item(1, index_item(key_of(ENTRIES[2]), AT.logs[1]))}, "past where"),
        ({"log_index": set_item(0, index_item(key_of(ENTRIES[1]), AT.refs[0]))}, "expected"),
    ],
)
def test_index(change: dict[str, Change], what: str) -> None:
    """An index that points forward, at itself, or past what it should find."""
    data, _ = make(**change)  # type: ignore[arg-type]
    assert check_reading(data, WHOLE)
    assert what in errors_of(data)


@pytest.mark.parametrize(
    "change",
    [
        {"low_index": set_item(1, SECOND._replace(key=NAMES[3] + b"zz"))},
        {"low_index": set_item(1, SECOND._replace(key=NAMES[2]))},
        {"low_index": set_item(5, index_item(b"zzz", AT.refs[5]))},
        {"top_index": set_item(2, index_item(b"zzz", AT.low_index[2]))},
        {"top_index": set_item(0, index_item(NAMES[3] + b"z", AT.low_index[0]))},
        {"log_index": set_item(2, index_item(b"zzz", AT.logs[2]))},
    ],
)
def test_index_key_that_leads_nobody_astray(change: dict[str, Change]) -> None:
    """Not the last key of its block, as it should be, but right for every key sought."""
    data, _ = make(**change)  # type: ignore[arg-type]
    assert not check_reading(data, WHOLE)


@pytest.mark.parametrize(
    ("item", "what"),
    [
        (obj_item(b"\0\0", AT.refs[0] + 1), "no block starts here"),
        (obj_item(b"\0\0", AT.low_index[0]), "outside the refs|expected a block of type 'r'"),
        (obj_item(b"\0\0", AT.logs[0]), "outside the refs"),
        (obj_item(b"\0\0", 1 << 63), "outside the refs"),
        (obj_item(b"\0\0", AT.refs[0], AT.refs[5]), "says that the block at"),
        (many_positions(b"\0\0", 1 << 60, b"\0"), "obj record with 1152921504606846976 positions"),
        (many_positions(b"\0\0", 3, b"\0\0\0"), "positions of an obj record are not ascending"),
        (obj_item(b"\0", AT.refs[0]), "ids of 1 bytes, not of 2"),
        (obj_item(b"\xff\xff\xff", AT.refs[0]), "not in ascending order"),
    ],
)
def test_obj_record(item: Item, what: str) -> None:
    """The first one; where it is to have the right prefix, it is given it."""

    def change(items: Items) -> Items:
        key = items[0].key if item.key == b"\0\0" else item.key
        return [item._replace(key=key), *items[1:]]

    data, _ = make(obj=change)
    assert check_reading(data, WHOLE)
    assert any(part in errors_of(data) for part in what.split("|"))


FIRST_LOG = Item(key_of(ENTRIES[0]), 1, encode_log_value(ENTRIES[0]))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"refs": set_item(1, Item(NAMES[1], 4, b"\0"))}, "unknown value type 4"),
        ({"refs": set_item(1, Item(NAMES[1], 1, b"\0" + bytes(19)))}, "ends at"),
        ({"refs": set_item(1, Item(NAMES[0], 0, b"\0"))}, "not in ascending order"),
        ({"refs": set_item(2, Item(NAMES[0], 0, b"\0"))}, "first key is not above the last"),
        ({"refs": set_item(2, Item(NAMES[1], 0, b"\0"))}, "first key is not above the last"),
        ({"refs": set_item(1, Item(NAMES[1], 3, b"\0" + plain_varint(1 << 40)))}, "ends at"),
        ({"logs": set_item(0, FIRST_LOG._replace(kind=3))}, "unknown log type 3"),
        ({"logs": set_item(0, FIRST_LOG._replace(key=b"no-index"))}, "no ref name, NUL and"),
        ({"logs": set_item(2, FIRST_LOG)}, "first key is not above the last"),
        ({"logs": set_item(1, FIRST_LOG)}, "not in ascending order"),
    ],
)
def test_record(change: dict[str, Change], what: str) -> None:
    data, _ = make(**change)  # type: ignore[arg-type]
    assert check_reading(data, WHOLE)
    assert what in errors_of(data)


def one_block(kind: bytes, data: bytes) -> bytes:
    """A table of one block, whatever it is."""
    table = Assembly(block_size=1 << 20)
    table.add_raw(lambda header: header + data)
    return table.finish()


RECORD = encode_item(ref_item(NAMES[0], 1, bytes(20)), None)
HUGE_KEY = plain_varint(0) + plain_varint(1 << 60 | 1)
HUGE_PREFIX = plain_varint(1 << 50) + plain_varint(1 << 3)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (frame(REF, RECORD, [28], length=28 + len(RECORD) + 5), None),
        (frame(REF, RECORD, [28], length=(1 << 24) - 1), "where"),
        (frame(REF, RECORD, [28], length=28 + len(RECORD) + 4), "restart"),
        (frame(REF, RECORD, [28], length=28 + len(RECORD) + 5, count=0), "restart count 0"),
        (frame(REF, RECORD, [28], length=28 + len(RECORD) + 5, count=65_535), "restart count"),
        (frame(REF, RECORD, [29], length=28 + len(RECORD) + 5), "outside the records"),
        (frame(REF, RECORD, [1 << 23], length=28 + len(RECORD) + 5), "outside the records"),
        (frame(REF, HUGE_KEY + RECORD, [28], length=33 + len(HUGE_KEY + RECORD)), "past the end"),
        (
            frame(REF, RECORD + HUGE_PREFIX + b"x\0", [28], length=35 + len(RECORD + HUGE_PREFIX)),
            "prefix of 1125899906842624",
        ),
        (frame(REF, b"\xff" * 5000, [28], length=28 + 5005), "64 bits"),
        (frame(LOG, bytes(1 << 20), [28], length=(1 << 24) - 1), "inflates to"),
        (frame(LOG, bytes(1 << 24), [28], length=1000), "inflates to 1001 bytes or more"),
        (b"g\xff\xff\xff" + b"\x78\x9c" + bytes(100), "does not inflate|inflates to"),
        (b"g\0\1\0" + b"no deflated data at all, but text", "does not inflate"),
        (plain_block(OBJ, [obj_item(b"ab", 0)]), "first block is of type b'o'"),
    ],
)
def test_frame(data: bytes, what: str | None) -> None:
    """Lengths that claim much: no more is allocated than a block may have."""
    table = one_block(data[:1], data)
    tracemalloc.start()
    try:
        found = errors_of(table)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 << 24
    if what is None:
        assert found == ""
    else:
        assert any(part in found for part in what.split("|"))
        assert found.startswith(f"{NAME}, offset ")


FOOTER_CHANGES: list[dict[str, int]] = [
    {"ref_index": 0},
    {"ref_index": AT.low_index[1]},
    {"ref_index": AT.refs[1]},
    {"ref_index": AT.top_index + 1},
    {"obj": AT.obj + 1},
    {"obj": AT.top_index + 1},
    {"obj_id_len": 1},
    {"obj_id_len": 3},
    {"obj_id_len": 20},
    {"obj_index": AT.obj + 10},
    {"log": AT.logs[0] - 1},
    {"log": AT.logs[0] + 1},
    {"log": AT.logs[0], "log_index": 0},
    {"log_index": AT.logs[1]},
    {"log_index": AT.log_index + 1},
]


@pytest.mark.parametrize("footer", FOOTER_CHANGES, ids=str)
def test_footer(footer: dict[str, int]) -> None:
    data, _ = make(footer=footer)
    assert check_reading(data, WHOLE)


@pytest.mark.parametrize(
    "footer", [{"ref_index": AT.low_index[0]}, {"obj": 0, "obj_id_len": 0}], ids=str
)
def test_footer_that_leads_nobody_astray(footer: dict[str, int]) -> None:
    """A lower index level may serve as the top one, and a scan for objs."""
    data, _ = make(footer=footer)
    assert not check_reading(data, WHOLE)


@pytest.mark.parametrize("footer", [{"log": 0, "log_index": 0}, {"log": AT.logs[1]}], ids=str)
def test_footer_that_hides_logs(footer: dict[str, int]) -> None:
    """The CRC vouches for positions: where a whole section is left out, its records are, too.

    The refs, and the logs that are left, are right. `refs verify` would tell.
    """
    data, _ = make(footer=footer)
    table = open_table(data)
    assert list(table.refs()) == WHOLE.refs
    try:
        logs = list(table.logs())
    except FormatError:
        return
    assert logs == WHOLE.logs[len(WHOLE.logs) - len(logs) :]


@pytest.mark.parametrize("block_size", [64, 256, (1 << 24) - 1])
def test_block_size_in_the_header(block_size: int) -> None:
    """The blocks are then not where they should be."""
    assert check_reading(repaired(splice(GOOD, 5, block_size.to_bytes(3, "big"))), WHOLE)


@pytest.mark.parametrize(("offset", "new"), [(15, b"\0"), (23, b"\xff"), (16, b"\xff")])
def test_header_update_index(offset: int, new: bytes) -> None:
    """Bounds that are too wide are no damage that a reader could see."""
    table = open_table(repaired(splice(GOOD, offset, new)))
    assert [record.refname for record in table.refs()] == NAMES


def test_log_only_table_that_claims_refs() -> None:
    table = Assembly()
    table.add(LOG, FIRST_LOG)
    last = table.add(LOG, *[Item(key_of(ENTRIES[1]), 1, encode_log_value(ENTRIES[1]))])
    assert list(open_table(table.finish()).logs()) == ENTRIES[:2]
    for footer in ({"log": last}, {"ref_index": last}, {"obj": last, "obj_id_len": 2}):
        with pytest.raises(FormatError, match="sections before the logs"):
            open_table(table.finish(**footer))
