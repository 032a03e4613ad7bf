"""Blocks: layout against the plain oracle, seeking by restarts, and what a decoder refuses."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from pyreftable.errors import FormatError, WriteError
from pyreftable.format.block import (
    INDEX,
    LOG,
    MAX_RESTARTS,
    OBJ,
    REF,
    Block,
    Run,
    decode_index,
    decode_obj,
    parse_block,
)
from pyreftable.format.block_writer import BlockWriter
from pyreftable.format.decoding import decode_logs, decode_refs
from pyreftable.format.records import encode_log_value
from tests.plain_format import (
    Item,
    columns,
    encode_item,
    frame,
    index_item,
    many_positions,
    obj_item,
    plain_block,
    plain_size,
    plain_varint,
    ref_item,
)
from tests.table_tools import check_codec, key_of, log, splice

HEADER = b"H" * 24
A20 = b"\xaa" * 20
PATH = "some.ref"

NAMES = [b"refs/heads/%03d" % number for number in range(40)]
REFS = [ref_item(name, 1, random.Random(name).randbytes(20)) for name in NAMES]
LOGS = [Item(key_of(log(name)), 1, encode_log_value(log(name))) for name in NAMES]
INDEXES = [index_item(name, 4096 * at) for at, name in enumerate(NAMES)]
OBJS = [obj_item(bytes([at, at]), *range(0, 100 * at, 100)) for at in range(40)]
OF_KIND = {REF: REFS, LOG: LOGS, INDEX: INDEXES, OBJ: OBJS}


def write(
    kind: bytes, items: list[Item], size: int = 4096, interval: int = 16, header: bytes = b""
) -> tuple[bytes, int]:
    """A block by `BlockWriter`, and how many of the records went into it."""
    writer = BlockWriter(kind, size, interval, header)
    taken = writer.extend(*columns(items), 0)
    return writer.finish(), taken


def parse(data: bytes, header_len: int = 0, block_size: int = 0, offset: int = 1000) -> Block:
    return parse_block(data, offset, header_len, block_size, PATH)


def items_of(block: Block) -> list[Item]:
    """The records of a block, in the oracle's terms."""
    if block.type == INDEX:
        return [index_item(*pair) for pair in zip(*decode_index(block), strict=True)]
    if block.type == OBJ:
        keys, positions = decode_obj(block)
        return [obj_item(key, *at) for key, at in zip(keys, positions, strict=True)]
    if block.type == LOG:
        run = decode_logs(block, block.records, block.restarts, 20)
        return [Item(*fields) for fields in zip(run.keys, run.types, run.values, strict=True)]
    names, kinds, values, indexes = decode_refs(block, block.records, block.restarts, 0, 20)
    lengths = [plain_varint(len(v)) if k == 3 else b"" for k, v in zip(kinds, values, strict=True)]
    payloads = [plain_varint(i) + n + v for i, n, v in zip(indexes, lengths, values, strict=True)]
    return [Item(*fields) for fields in zip(names, kinds, payloads, strict=True)]


class TestLayout:
    @pytest.mark.parametrize("kind", [REF, OBJ, INDEX, LOG])
    @pytest.mark.parametrize("interval", [1, 3, 16, 65_535])
    @pytest.mark.parametrize("header", [b"", HEADER])
    def test_codec(self, kind: bytes, interval: int, header: bytes) -> None:
        items = OF_KIND[kind][:12]

        def decode(data: bytes) -> tuple[list[Item], int]:
            block = parse(data, len(header))
            assert block.type == kind
            return items_of(block), block.full_size

        def encode(decoded: list[Item]) -> bytes:
            return write(kind, decoded, 4096, interval, header)[0]

        assert check_codec(encode(items), decode, encode) == items

    @pytest.mark.parametrize("kind", [REF, OBJ, INDEX])
    @pytest.mark.parametrize("interval", [1, 2, 16, 1000])
    @pytest.mark.parametrize("header", [b"", HEADER])
    def test_bytes_equal_the_oracle(self, kind: bytes, interval: int, header: bytes) -> None:
        block, taken = write(kind, OF_KIND[kind], 16_384, interval, header)
        assert taken == len(OF_KIND[kind])
        assert block == plain_block(kind, OF_KIND[kind], interval, header)

    def test_log_block_inflates_to_the_oracle(self) -> None:
        block, _ = write(LOG, LOGS, 16_384)
        plain = plain_block(LOG, LOGS)
        assert parse(block).data == parse(plain).data
        assert len(parse(block).data) == int.from_bytes(block[1:4], "big") > len(block)

    @pytest.mark.parametrize("size", range(60, 400, 7))
    @pytest.mark.parametrize("interval", [1, 16])
    def test_takes_exactly_what_fits(self, size: int, interval: int) -> None:
        _, taken = write(REF, REFS, size, interval, HEADER)
        assert not taken or plain_size(REF, REFS[:taken], interval, HEADER) <= size
        assert plain_size(REF, REFS[: taken + 1], interval, HEADER) > size

    def test_record_that_shares_nothing_becomes_a_restart(self) -> None:
        items = [ref_item(name) for name in (b"a", b"ab", b"b", b"bc")]
        block = parse(write(REF, items)[0])
        assert [block.restart_key(at) for at in block.restart_offsets] == [b"a", b"b"]
        assert items_of(block) == items

    def test_restarts_end_at_65535(self) -> None:
        """Records that should be restarts then have whole keys all the same, as in git."""
        items = [ref_item(b"%06d" % number) for number in range(MAX_RESTARTS + 5)]
        data, taken = write(REF, items, (1 << 24) - 1, 1)
        assert taken == len(items)
        assert data[-2:] == b"\xff\xff"
        block = parse(data)
        assert len(block.restart_offsets) == MAX_RESTARTS
        assert items_of(block) == items
        begin, end = block.restart_interval_of(items[-1].key)
        assert decode_refs(block, begin, end, 0, 20).keys == [item.key for item in items[-6:]]

    @pytest.mark.parametrize("keys", [[b"a", b"a"], [b"b", b"a"], [b""], [b"a", b""]])
    def test_unsorted_keys_are_refused(self, keys: list[bytes]) -> None:
        with pytest.raises(WriteError, match="not above its predecessor"):
            write(REF, [ref_item(key) for key in keys])

    def test_update_index_counts_from_the_base(self) -> None:
        block = parse(plain_block(REF, [ref_item(b"a", delta=0), ref_item(b"b", delta=300)]))
        run = decode_refs(block, block.records, block.restarts, 1000, 20)
        assert run.update_indexes == [1000, 1300]


class TestPadding:
    @pytest.mark.parametrize("kind", [REF, OBJ, INDEX])
    def test_zeros_after_a_block_belong_to_it(self, kind: bytes) -> None:
        data = plain_block(kind, OF_KIND[kind][:3])
        assert parse(data + bytes(4096 - len(data)) + b"r", 0, 4096).full_size == 4096

    @pytest.mark.parametrize("follower", [b"", b"r", b"g\0\0\x20"])
    def test_another_block_may_follow_at_once(self, follower: bytes) -> None:
        data = plain_block(REF, REFS[:3])
        assert parse(data + follower, 0, 4096).full_size == len(data)

    def test_log_blocks_have_none(self) -> None:
        data = plain_block(LOG, LOGS[:3])
        assert parse(data + bytes(100), 0, 4096).full_size == len(data)

    def test_block_may_be_larger_than_the_block_size(self) -> None:
        data = plain_block(INDEX, INDEXES)
        assert parse(data + b"\0", 0, 64).full_size == len(data) > 64


class TestSeek:
    @pytest.mark.parametrize("interval", [1, 2, 3, 16, 1000])
    def test_interval_of_a_key_holds_it(self, interval: int) -> None:
        block = parse(plain_block(REF, REFS, interval))
        for name in NAMES:
            for probe in (name, name + b"!"):
                run = decode_refs(block, *block.restart_interval_of(probe), 0, 20)
                assert run.keys[0] <= name <= run.keys[-1]
                assert len(run.keys) <= interval

    def test_key_below_the_first_is_in_the_first_interval(self) -> None:
        block = parse(plain_block(REF, REFS, 4))
        begin, end = block.restart_interval_of(b"a")
        assert decode_refs(block, begin, end, 0, 20).keys == NAMES[:4]
        assert block.first_key() == NAMES[0]


class TestRun:
    RUN = Run([b"a", b"b", b"c"], [1, 0, 1], [A20, b"", A20], [3, 4, 5])

    def test_slice_cuts_every_list(self) -> None:
        assert self.RUN.slice(1) == Run([b"b", b"c"], [0, 1], [b"", A20], [4, 5])
        assert self.RUN.slice(0, 1) == Run([b"a"], [1], [A20], [3])

    def test_select_keeps_what_is_wanted(self) -> None:
        wanted = [True, False, True]
        assert self.RUN.select(wanted) == Run([b"a", b"c"], [1, 1], [A20, A20], [3, 5])

    def test_runs_of_logs_have_no_update_indexes(self) -> None:
        run = Run([b"a", b"b"], [1, 1], [b"x", b"y"], [])
        assert run.slice(1) == run.select([False, True]) == Run([b"b"], [1], [b"y"], [])


def ref_frame(
    records: bytes,
    restarts: list[int] | None = None,
    length: int | None = None,
    count: int | None = None,
) -> bytes:
    offsets = [4] if restarts is None else restarts
    return frame(REF, records, offsets, length=length, count=count)


ONE = encode_item(ref_item(b"refs/a", 1, A20), None)
TWO = encode_item(ref_item(b"refs/b", 1, A20), b"refs/a")
THREE = encode_item(ref_item(b"refs/c", 1, A20), None)
GOOD = ref_frame(ONE + TWO + THREE, [4, 4 + len(ONE + TWO)])


def seek(data: bytes) -> object:
    block = parse(data)
    return decode_refs(block, *block.restart_interval_of(b"refs/b"), 0, 20)


class TestFrameDamage:
    @pytest.mark.parametrize(
        ("data", "offset", "what"),
        [
            (b"", 1000, "no block starts here"),
            (b"r\0\0", 1000, "no block starts here"),
            (b"x" + GOOD[1:], 1000, "no block starts here: type b'x'"),
            (bytes(100), 1000, "no block starts here: type b'.x00'"),
            (ref_frame(ONE, length=5), 1000, "block of 5 bytes"),
            (ref_frame(ONE, length=1000), 1000, "1000 bytes where"),
            (ref_frame(ONE, [], count=0), 1000 + 4 + len(ONE), "restart count 0"),
            (ref_frame(ONE, count=100), 1000 + 7 + len(ONE), "restart count 100"),
        ],
    )
    def test_parsing(self, data: bytes, offset: int, what: str) -> None:
        with pytest.raises(FormatError, match=what) as caught:
            parse(data)
        assert (caught.value.path, caught.value.offset) == (PATH, offset)

    @pytest.mark.parametrize(
        ("restarts", "what"),
        [
            ([5], "points outside the records"),
            ([3], "points outside the records"),
            ([4, 1 << 20], "points outside the records"),
            ([4, 4], "not ascending"),
            ([4, 34, 32], "not ascending"),
            ([4, 32], "no.* whole key|ends at"),
            ([4, 31], "no.* whole key|ends at"),
            ([4, 4 + len(ONE)], "no.* whole key|prefix of 5 bytes after a 0 byte name"),
            ([4, 4 + len(ONE + TWO) - 1], "no.* whole key|ends at"),
        ],
    )
    @pytest.mark.parametrize("read", [seek, lambda data: items_of(parse(data))])
    def test_wrong_restart_table(
        self, restarts: list[int], what: str, read: Callable[[bytes], object]
    ) -> None:
        """Seeks use it; scans check it, as it tells of records that swallowed the next."""
        assert read(GOOD)
        data = ref_frame(ONE + TWO + THREE, restarts)
        with pytest.raises(FormatError, match=what) as caught:
            read(data)
        assert caught.value.path == PATH
        assert 1000 < (caught.value.offset or 0) < 1000 + len(data)

    def test_record_that_swallows_a_restart(self) -> None:
        """The bytes still make records, and the last still ends where it should."""
        target = plain_varint(len(THREE)) + THREE
        records = ONE + encode_item(ref_item(b"refs/b", 3, target), b"refs/a")
        assert len(items_of(parse(ref_frame(records)))) == 2
        with pytest.raises(FormatError, match=f"ends at {4 + len(records)}, not at"):
            items_of(parse(ref_frame(records, [4, 4 + len(records) - len(THREE)])))


UNKNOWN_TYPE = Item(b"refs/b", 5, b"\0")


class TestRecordDamage:
    @pytest.mark.parametrize(
        ("second", "what"),
        [
            (plain_varint(9) + TWO[1:], "prefix of 9 bytes after a 6 byte name"),
            (plain_varint(1 << 60) + TWO[1:], "prefix of"),
            (b"\5" + plain_varint(1 << 40) + TWO[2:], "past the end|ends at"),
            (b"\xff" * 30, "64 bits"),
            (encode_item(UNKNOWN_TYPE, b"refs/a"), "unknown value type 5"),
            (encode_item(ref_item(b"refs/b", 7), b"refs/a"), "unknown value type 7"),
            (encode_item(ref_item(b"refs/Z"), b"refs/a"), "not in ascending order"),
            (encode_item(ref_item(b"refs/a"), b"refs/a"), "not in ascending order"),
            (encode_item(ref_item(b""), None), "not in ascending order"),
            (encode_item(ref_item(b"refs/b", 3, plain_varint(1 << 50)), b"refs/a"), "ends at"),
            (TWO[:-1], "ends at"),
            (TWO + b"\0", "past the end|ends at"),
        ],
    )
    def test_refs(self, second: bytes, what: str) -> None:
        block = parse(ref_frame(ONE + second))
        with pytest.raises(FormatError, match=what) as caught:
            decode_refs(block, block.records, block.restarts, 0, 20)
        assert caught.value.path == PATH
        assert 1000 < (caught.value.offset or 0) <= 1000 + len(block.data)

    @pytest.mark.parametrize(
        ("second", "what"),
        [
            (Item(LOGS[1].key, 2, LOGS[1].payload), "unknown log type 2"),
            (Item(b"short", 0, b""), "no ref name, NUL and update index"),
            (Item(b"\0" + bytes(8), 0, b""), "no ref name, NUL and update index"),
            (Item(LOGS[0].key, 0, b""), "not in ascending order"),
            (Item(LOGS[1].key, 1, LOGS[1].payload[:-1]), "ends at"),
            (Item(LOGS[1].key, 1, LOGS[1].payload + b"x"), "prefix of 120 bytes"),
            (Item(LOGS[1].key, 1, b"\0" * 40 + plain_varint(1 << 50)), "past the end"),
        ],
    )
    def test_logs(self, second: Item, what: str) -> None:
        records = encode_item(LOGS[0], None) + encode_item(second, LOGS[0].key)
        block = parse(frame(LOG, records, [4]))
        with pytest.raises(FormatError, match=what) as caught:
            decode_logs(block, block.records, block.restarts, 20)
        assert caught.value.path == PATH
        assert caught.value.offset == 1000

    @pytest.mark.parametrize(
        ("item", "what"),
        [
            (Item(b"refs/b", 1, b"\0"), "index record type 1"),
            (Item(b"refs/b", 0, b"\0\0"), "past|ends at"),
            (Item(b"refs/b", 0, b""), "past|ends at"),
            (index_item(b"refs/a", 4096), "not in ascending order"),
            (Item(b"refs/b", 0, plain_varint(1 << 64)), "64 bits"),
        ],
    )
    def test_index(self, item: Item, what: str) -> None:
        self.check_refused(INDEX, index_item(b"refs/a", 0), item, decode_index, what)

    @pytest.mark.parametrize(
        ("item", "what"),
        [
            (many_positions(b"bb", 1 << 60, b"\0"), "obj record with 1152921504606846976"),
            (many_positions(b"bb", 4, b"\1" * 3), "obj record with 4 positions"),
            (many_positions(b"bb", 2, b"\1" * 3), "runs past|ends at"),
            (obj_item(b"aa", 1), "not in ascending order"),
            (Item(b"bb", 2, b"\1\0"), "positions of an obj record are not ascending"),
        ],
    )
    def test_obj(self, item: Item, what: str) -> None:
        self.check_refused(OBJ, obj_item(b"aa", 1, 2), item, decode_obj, what)

    @staticmethod
    def check_refused(
        kind: bytes, first: Item, second: Item, decode: Callable[[Block], object], what: str
    ) -> None:
        records = encode_item(first, None) + encode_item(second, first.key)
        with pytest.raises(FormatError, match=what) as caught:
            decode(parse(frame(kind, records, [4])))
        assert caught.value.path == PATH
        assert (caught.value.offset or 0) > 1000

    @pytest.mark.parametrize("kind", [REF, OBJ, INDEX, LOG])
    def test_block_without_records(self, kind: bytes) -> None:
        """No writer makes one, and a reader that seeks in it would find no key to stand at."""
        with pytest.raises(FormatError, match="restart count 1 in a block of 9 bytes"):
            parse(frame(kind, b"", [4]))


class TestInflating:
    DATA = plain_block(LOG, LOGS[:5])
    LENGTH = int.from_bytes(DATA[1:4], "big")

    @pytest.mark.parametrize("change", [-1, 1, 100, (1 << 24) - 1 - LENGTH])
    def test_length_must_be_what_the_header_says(self, change: int) -> None:
        length = (self.LENGTH + change).to_bytes(3, "big")
        with pytest.raises(FormatError, match="inflates to") as caught:
            parse(splice(self.DATA, 1, length))
        assert caught.value.offset == 1000

    @pytest.mark.parametrize("at", range(4, len(DATA)))
    def test_flipped_byte_is_seen(self, at: int) -> None:
        with pytest.raises(FormatError, match="inflate"):
            parse(splice(self.DATA, at, bytes([self.DATA[at] ^ 0x44])))

    def test_bomb_is_inflated_no_further_than_its_header_says(self) -> None:
        data = frame(LOG, bytes(1 << 24), [4], length=1000)
        with pytest.raises(FormatError, match="inflates to 1001 bytes or more"):
            parse(data)
