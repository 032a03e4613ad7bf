"""Looking up one ref in a block: the same answer as decoding the block, for any way to write it."""

from __future__ import annotations

import random
from functools import partial

import pytest

from pyreftable.errors import FormatError
from pyreftable.format.block import REF, Block, parse_block
from pyreftable.format.decoding import decode_refs
from pyreftable.format.lookup import find_ref
from pyreftable.format.records import RefRecord
from tests.plain_format import Item, encode_item, frame, plain_block, plain_varint, ref_item
from tests.table_tools import attempt, make_value, splice

PATH = "some.ref"
BASE = 100


def item(name: bytes, number: int = 0) -> Item:
    """A record whose value type and update index vary with `number`."""
    kind = number % 4
    value = make_value(name, kind)
    stored = plain_varint(len(value)) + value if kind == 3 else value
    return ref_item(name, kind, stored, number * 37)


def parse(data: bytes) -> Block:
    return parse_block(data, 1000, 0, 0, PATH)


def decoded(block: Block) -> list[RefRecord]:
    names, kinds, values, indexes = decode_refs(block, block.records, block.restarts, BASE, 20)
    return [RefRecord(*fields) for fields in zip(names, indexes, kinds, values, strict=True)]


def check_agrees(block: Block) -> None:
    """Every name in the block is found, and names just beside each are not."""
    records = {record.refname: record for record in decoded(block)}
    for name in records:
        beside = (name[:-1], name + b"\0", name + b"\xff", name[:-1] + bytes([name[-1] ^ 1]))
        for probe in (name, *beside):
            assert find_ref(block, probe, BASE, 20)[0] == records.get(probe)
    for probe in (b"\0", b"a", b"\xff" * 300):
        assert find_ref(block, probe, BASE, 20)[0] == records.get(probe)


NAMES = {
    "alike": [b"refs/heads/%03d" % number for number in range(60)],
    "nested": [b"a" * length for length in range(1, 60)],
    "unlike": sorted({random.Random(number).randbytes(8) for number in range(60)}),
    "long": [b"refs/" + b"x" * 300 + b"%02d" % number for number in range(20)],
    "one": [b"HEAD"],
    "mixed": sorted([b"a", b"a-b", b"a/b", b"a/b/c", b"a0", b"ab", b"b", b"b\xff", b"b\xff\xff"]),
}


@pytest.mark.parametrize("interval", [1, 2, 3, 16, 1000])
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES.keys())
def test_lookup_finds_what_decoding_finds(names: list[bytes], interval: int) -> None:
    items = [item(name, number) for number, name in enumerate(names)]
    check_agrees(parse(plain_block(REF, items, interval)))


@pytest.mark.parametrize("seed", range(20))
def test_lookup_allows_prefixes_shorter_than_they_could_be(seed: int) -> None:
    """Other writers need not look for the longest."""
    dice = random.Random(seed)
    names = NAMES["alike"][:30]
    records, restarts, last = b"", [4], b""
    for number, name in enumerate(names):
        record = item(name, number)
        full = encode_item(record, last if number else None)
        shorter = dice.randint(0, full[0])
        suffix = name[shorter:]
        head = plain_varint(shorter) + plain_varint(len(suffix) << 3 | record.kind)
        if not shorter and number and dice.random() < 0.5:
            restarts.append(4 + len(records))
        records += head + suffix + record.payload
        last = name
    check_agrees(parse(frame(REF, records, restarts)))


def test_lookup_past_the_last_restart_that_a_block_can_count() -> None:
    """Whole keys follow there that are no restarts."""
    names = [b"%06d" % number for number in range(65_535 + 40)]
    block = parse(plain_block(REF, [ref_item(name) for name in names], 1))
    for name in (*names[:2], *names[32_000:32_003], *names[-45:]):
        assert find_ref(block, name, 0, 20)[0] == RefRecord(name, 0, 0, b"")
        assert find_ref(block, name + b"!", 0, 20)[0] is None


class TestDamage:
    ITEMS = tuple(item(name, number) for number, name in enumerate(NAMES["alike"][:12]))
    DATA = plain_block(REF, ITEMS, 3)

    @pytest.mark.parametrize("flip", [0xFF, 0x01, 0x80])
    def test_flipped_byte_gives_an_error_or_what_decoding_gives(self, flip: int) -> None:
        for at in range(4, len(self.DATA)):
            data = splice(self.DATA, at, bytes([self.DATA[at] ^ flip]))
            limit = 1000 + len(data)
            records = attempt(partial(read, data), PATH, limit)
            names = [item.key for item in self.ITEMS]
            if not isinstance(records, FormatError):
                names = [record.refname for record in records]
            for number, name in enumerate(names):
                found = attempt(partial(look_up, data, name), PATH, limit)
                if not isinstance(records, FormatError) and not isinstance(found, FormatError):
                    assert found == records[number]


def read(data: bytes) -> list[RefRecord]:
    return decoded(parse(data))


def look_up(data: bytes, name: bytes) -> RefRecord | None:
    return find_ref(parse(data), name, BASE, 20)[0]
