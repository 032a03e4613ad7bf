"""The writer: section layout, options, and every limit with an error that says so."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from pyreftable.errors import WriteError
from pyreftable.format.block import LOG, OBJ, REF, Run
from pyreftable.format.header import MAX_BLOCK_SIZE, decode_header
from pyreftable.format.records import LogRecord, RefRecord, encode_log_value, log_key
from pyreftable.hashes import SHA1, SHA256, HashAlgorithm
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from pyreftable.writer import TableWriter
from tests.plain_format import Item, plain_block, plain_size, ref_item
from tests.table_tools import build, key_of, log, make_value, open_table, ref

SMALL = WriteOptions(block_size=256)


def make_writer(options: WriteOptions = WriteOptions(), **changes: object) -> TableWriter:
    arguments = {"min_update_index": 5, "max_update_index": 9, **changes}
    return TableWriter(io.BytesIO().write, options=options, **arguments)  # type: ignore[arg-type]


def kinds(table: Table) -> str:
    """The types of all blocks, in file order."""
    return b"".join(block.type for block in table.blocks()).decode()


def many(count: int, *, kind: int = 1) -> list[RefRecord]:
    return [ref(f"refs/heads/{number:05}", kind=kind) for number in range(count)]


class TestOptions:
    @pytest.mark.parametrize("size", [-1, MAX_BLOCK_SIZE + 1, 1 << 40])
    def test_block_size_out_of_range(self, size: int) -> None:
        with pytest.raises(WriteError, match=f"block size {size} is not in 0 to 16777215"):
            make_writer(WriteOptions(block_size=size))

    @pytest.mark.parametrize("interval", [-1, 65_536])
    def test_restart_interval_out_of_range(self, interval: int) -> None:
        with pytest.raises(WriteError, match=f"restart interval {interval} is not in 0 to 65535"):
            make_writer(WriteOptions(restart_interval=interval))

    @pytest.mark.parametrize(("low", "high"), [(2, 1), (-1, 1), (0, 1 << 64)])
    def test_update_indices_out_of_range(self, low: int, high: int) -> None:
        with pytest.raises(WriteError, match=f"update indices {low} to {high}: no range"):
            make_writer(min_update_index=low, max_update_index=high)

    @pytest.mark.parametrize(("low", "high"), [(0, 0), (0, (1 << 64) - 1), (1 << 63, 1 << 63)])
    def test_update_indices_within_range(self, low: int, high: int) -> None:
        table = open_table(build([ref("a", high)], [log("a", high, time=high)], low=low, high=high))
        assert (table.min_update_index, table.max_update_index) == (low, high)
        assert list(table.refs()) == [ref("a", high)]
        assert list(table.logs()) == [log("a", high, time=high)]

    def test_zero_means_the_default(self) -> None:
        zero = build(many(500), options=WriteOptions(block_size=0, restart_interval=0))
        assert zero == build(many(500), options=WriteOptions(4096, 16))

    @pytest.mark.parametrize("interval", [1, 2, 16, 65_535])
    def test_restart_interval_counts_records(self, interval: int) -> None:
        data = build(many(90), options=WriteOptions(restart_interval=interval))
        block = next(open_table(data).blocks())
        assert len(block.restart_offsets) == -(-90 // interval)

    @pytest.mark.parametrize("size", [512, 4096, 65_536, MAX_BLOCK_SIZE])
    def test_no_block_exceeds_the_block_size(self, size: int) -> None:
        records = many(2000)
        table = open_table(build(records, options=WriteOptions(block_size=size)))
        assert max(len(block.data) for block in table.blocks()) <= size
        assert list(table.refs()) == records


class TestSmallestBlock:
    """Blocks may be as small as one record and the frame around it, and no smaller."""

    NAME = b"refs/heads/main"
    ITEM = Item(NAME, 1, b"\0" + make_value(NAME, 1))
    SIZE = plain_size(REF, [ITEM], 16, bytes(24))

    def test_holds_a_record(self) -> None:
        options = WriteOptions(block_size=self.SIZE)
        data = build([ref(self.NAME)], options=options)
        assert len(data) == self.SIZE + 68
        assert list(open_table(data).refs()) == [ref(self.NAME)]

    def test_one_byte_less_does_not(self) -> None:
        size = self.SIZE - 1
        with pytest.raises(WriteError, match=f"main' fits in no block of {size} bytes"):
            build([ref(self.NAME)], options=WriteOptions(block_size=size))

    @pytest.mark.parametrize("unpadded", [False, True])
    def test_many_blocks_of_so_few_records(self, unpadded: bool) -> None:
        records = [ref(b"refs/heads/%04d" % number, kind=1) for number in range(150)]
        options = WriteOptions(block_size=self.SIZE, unpadded=unpadded)
        table = open_table(build(records, options=options))
        assert kinds(table).count("r") > 70
        assert list(table.refs()) == records
        assert all(table.ref(record.refname) == record for record in records)

    def test_later_blocks_have_room_for_more(self) -> None:
        """The first block shares its size with the file header."""
        options = WriteOptions(block_size=self.SIZE)
        long = self.NAME + b"x" * 23
        assert list(open_table(build([ref("a"), ref(long)], options=options)).refs())[1].oid
        with pytest.raises(WriteError, match="fits in no block"):
            build([ref("a"), ref(long + b"x")], options=options)

    def test_log_that_fits_no_block(self) -> None:
        options = WriteOptions(block_size=256)
        with pytest.raises(WriteError, match="fits in no block of 256 bytes"):
            build(logs=[log("a", message=b"m" * 256)], options=options)

    def test_index_record_that_fits_no_block(self) -> None:
        """A deletion needs less room than the index record that names it."""
        header = bytes(24)
        size = plain_size(REF, [ref_item(b"a")], 16, header)
        name = b"n" * (size - 4 - 5 - 3 - 1)
        records = [ref(name[:-1] + bytes([end]), kind=0) for end in b"abcdefgh"]
        with pytest.raises(WriteError, match="fits in no block"):
            build(records, options=WriteOptions(block_size=size, restart_interval=1))


class TestRefLimits:
    @pytest.mark.parametrize("names", ["ba", "aa", ["b", "c", "bb"], ["", "a"]])
    def test_unsorted_names(self, names: str | list[str]) -> None:
        with pytest.raises(WriteError, match="not above its predecessor"):
            build([ref(name) for name in names])

    def test_unsorted_between_calls(self) -> None:
        writer = make_writer()
        writer.add_ref(ref("b", 5))
        for name in ("b", "a"):
            with pytest.raises(WriteError, match=f"key b'{name}' is not above its predecessor b'b"):
                writer.add_ref(ref(name, 5))

    def test_unsorted_across_blocks(self) -> None:
        """The first record of a new block is held against the last of the one before."""
        records = many(20)
        for at in range(1, 20):
            wrong = [*records[:at], records[at - 1], *records[at:]]
            with pytest.raises(WriteError, match="not above its predecessor"):
                build(wrong, options=WriteOptions(block_size=130))

    @pytest.mark.parametrize("index", [4, 10, -1, 1 << 70])
    def test_update_index_out_of_range(self, index: int) -> None:
        with pytest.raises(WriteError, match="update index outside 5 to 9"):
            make_writer().add_ref(ref("a", index))

    @pytest.mark.parametrize("index", [5, 9])
    def test_update_index_at_the_bounds(self, index: int) -> None:
        make_writer().add_ref(ref("a", index))

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            (1, b"x" * 19),
            (1, b"x" * 21),
            (1, b"x" * 32),
            (1, b""),
            (2, b"x" * 20),
            (2, b"x" * 39),
            (2, b"x" * 64),
            (0, b"x"),
            (4, b""),
            (7, b""),
            (-1, b""),
        ],
    )
    def test_value_not_of_its_type(self, kind: int, value: bytes) -> None:
        with pytest.raises(WriteError, match=f"is not of type {kind} for sha1"):
            build([ref("a", kind=kind, value=value)])

    def test_value_of_the_other_hash(self) -> None:
        with pytest.raises(WriteError, match="is not of type 1 for sha256"):
            build([ref("a")], hash=SHA256)

    def test_refs_after_logs(self) -> None:
        writer = make_writer()
        writer.add_log(log("a", 5))
        with pytest.raises(WriteError, match="ref b'b' comes after logs"):
            writer.add_ref(ref("b", 5))

    @pytest.mark.parametrize("add", ["refs", "logs"])
    def test_records_after_the_end(self, add: str) -> None:
        writer = make_writer()
        writer.finish()
        with pytest.raises(WriteError, match=r"table's end|is finished"):
            writer.add_refs([ref("a", 5)]) if add == "refs" else writer.add_logs([log("a", 5)])


class TestLogLimits:
    @pytest.mark.parametrize(
        "records",
        [
            [log("a", 1), log("a", 2)],
            [log("b"), log("a")],
            [log("a", 2), log("a", 2)],
            [log("a/b"), log("a")],
        ],
    )
    def test_unsorted(self, records: list[LogRecord]) -> None:
        with pytest.raises(WriteError, match="not above its predecessor"):
            build(logs=records)

    def test_update_index_above_the_table(self) -> None:
        with pytest.raises(WriteError, match="update index above 9"):
            make_writer().add_log(log("a", 10))

    @pytest.mark.parametrize("index", [-1, 1 << 64])
    @pytest.mark.parametrize("make", [log, LogRecord.deletion])
    def test_update_index_that_no_key_holds(
        self, index: int, make: Callable[[bytes, int], LogRecord]
    ) -> None:
        with pytest.raises(WriteError, match=f"at update index {index}"):
            make_writer().add_log(make(b"a", index))

    def test_update_index_below_the_table(self) -> None:
        """Rewriting a reflog reuses old update indices; deletions may name any."""
        records = [LogRecord.deletion(b"a", 50), log("a", 3)]
        data = build(logs=records, low=10, high=12)
        assert list(open_table(data).logs()) == records

    @pytest.mark.parametrize("name", [b"", b"a\0b"])
    def test_name_that_no_key_holds(self, name: bytes) -> None:
        with pytest.raises(WriteError, match="log for the name"):
            build(logs=[log(name)])

    @pytest.mark.parametrize("size", [0, 19, 21, 32])
    @pytest.mark.parametrize("field", ["old_oid", "new_oid"])
    def test_ids_of_the_wrong_length(self, field: str, size: int) -> None:
        with pytest.raises(WriteError, match="ids that are not sha1"):
            build(logs=[log("a")._replace(**{field: b"x" * size})])  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "fields", [{"time": -1}, {"time": 1 << 64}, {"tz_offset": 32_768}, {"tz_offset": -32_769}]
    )
    def test_time_that_no_record_holds(self, fields: dict[str, int]) -> None:
        with pytest.raises(WriteError, match="time"):
            build(logs=[log("a", **fields)])

    def test_message_of_several_lines(self) -> None:
        with pytest.raises(WriteError, match="more than one line"):
            build(logs=[log("a", message=b"one\ntwo\n")])
        exact = WriteOptions(exact_log_message=True)
        record = log("a", message=b"one\ntwo")
        assert list(open_table(build(logs=[record], options=exact)).logs()) == [record]

    @pytest.mark.parametrize("message", [b"m", b"m\n", b"m\n\n\n", b"", b"\n"])
    def test_message_gets_one_line_end(self, message: bytes) -> None:
        (stored,) = open_table(build(logs=[log("a", message=message)])).logs()
        assert stored.message == message.rstrip(b"\n") + b"\n"


class TestSections:
    def test_empty_table(self) -> None:
        writer = make_writer()
        assert writer.is_empty
        writer.finish()
        assert writer.size == 24 + 68
        data = build()
        assert data[:24] == data[24:48]
        assert data[48:-4] == bytes(40)
        assert len(build(hash=SHA256)) == 28 + 72

    @pytest.mark.parametrize(("algorithm", "version"), [(SHA1, 1), (SHA256, 2)])
    def test_hash_decides_the_version(self, algorithm: HashAlgorithm, version: int) -> None:
        header = decode_header(build(hash=algorithm))
        assert (header.version, header.hash) == (version, algorithm)

    def test_log_only_table_starts_with_a_log_block(self) -> None:
        data = build(logs=[log("a")])
        table = open_table(data)
        assert data[24:25] == LOG
        assert (table.has_refs, table.has_logs, table.footer.log) == (False, True, 0)

    def test_logs_follow_the_last_ref_block_without_padding(self) -> None:
        data = build([ref("a")], [log("a")])
        refs = plain_block(REF, [Item(b"a", 1, b"\0" + make_value(b"a", 1))], 16, data[:24])
        assert data.startswith(refs + LOG)
        assert open_table(data).footer.log == len(refs)

    def test_padding_stands_between_blocks_only(self) -> None:
        table = open_table(build(many(25), options=SMALL))
        blocks = list(table.blocks())
        assert [block.offset for block in blocks] == [256 * at for at in range(len(blocks))]
        assert table.size - 68 == blocks[-1].offset + len(blocks[-1].data)

    def test_unpadded_blocks_follow_at_once(self) -> None:
        options = WriteOptions(block_size=256, unpadded=True)
        blocks = list(open_table(build(many(100), options=options)).blocks())
        assert all(block.full_size == len(block.data) for block in blocks)

    @pytest.mark.parametrize(("unpadded", "most"), [(False, 3), (True, 1)])
    def test_index_when_a_section_has_more_blocks(self, unpadded: bool, most: int) -> None:
        for count in range(1, 60):
            options = WriteOptions(256, unpadded=unpadded, index_objects=False)
            written = kinds(open_table(build(many(count), options=options)))
            blocks = written.count("r")
            assert written == "r" * blocks + "i" * (blocks > most)

    @pytest.mark.parametrize("unpadded", [False, True])
    def test_index_levels_until_the_top_one_is_short(self, unpadded: bool) -> None:
        options = WriteOptions(256, unpadded=unpadded, index_objects=False)
        table = open_table(build(many(3000), options=options))
        written = [block for block in table.blocks() if block.type == b"i"]
        top = [block for block in written if block.offset >= table.footer.ref_index]
        assert 1 <= len(top) <= (1 if unpadded else 3)
        assert len(written) > len(top)

    @pytest.mark.parametrize(("count", "index_objects"), [(3, True), (500, False)])
    def test_no_obj_section_without_ref_index_or_wish(
        self, count: int, index_objects: bool
    ) -> None:
        options = WriteOptions(256, index_objects=index_objects)
        table = open_table(build(many(count), options=options))
        assert (table.footer.obj, table.footer.obj_id_len, table.footer.obj_index) == (0, 0, 0)
        assert "o" not in kinds(table)

    def test_obj_section_lists_every_id_by_its_shortest_prefix(self) -> None:
        values = [bytes([7, 7, number]) + bytes(17) for number in range(60)]
        records = [ref(b"refs/%02d" % at, value=value) for at, value in enumerate(values)]
        table = open_table(build(records, options=SMALL))
        assert table.footer.obj_id_len == 3
        assert b"o" in {block.type for block in table.blocks()}

    def test_no_obj_section_where_its_ids_would_not_fit_the_footer(self) -> None:
        """Five bits hold their length: two SHA-256 ids that share 31 bytes need one more."""
        for shared, has_objs in ((30, True), (31, False)):
            values = [(bytes(shared) + bytes([at]) * 32)[:32] for at in range(60)]
            records = [ref(b"refs/%02d" % at, value=value) for at, value in enumerate(values)]
            table = open_table(build(records, [log("a", size=32)], hash=SHA256, options=SMALL))
            assert bool(table.footer.obj) is has_objs
            assert [list(table.refs_for(value)) for value in values] == [[r] for r in records]
            assert len(list(table.logs())) == 1

    @pytest.mark.parametrize("kind", [0, 3])
    def test_no_obj_blocks_without_ids(self, kind: int) -> None:
        """Deletions and symrefs hold none; an index of objects then has nothing to list."""
        table = open_table(build(many(200, kind=kind), options=SMALL))
        assert table.footer.ref_index
        assert table.footer.obj == 0
        assert OBJ.decode() not in kinds(table)


class TestBulk:
    def test_runs_and_records_give_the_same(self) -> None:
        records = many(3000, kind=2)
        logs = [log(record.refname) for record in records]
        out = io.BytesIO()
        writer = TableWriter(out.write, hash=SHA1, min_update_index=1, max_update_index=100)
        names, indexes, types, values = (list(column) for column in zip(*records, strict=True))
        for start in range(0, 3000, 700):
            writer.add_ref_run(Run(names, types, values, indexes).slice(start, start + 700))
        keys = list(map(key_of, logs))
        writer.add_log_run(Run(keys, [1] * len(keys), list(map(encode_log_value, logs)), []))
        writer.add_ref_run(Run([], [], [], []))
        writer.add_log_run(Run([], [], [], []))
        writer.finish()
        assert (writer.refs_written, writer.logs_written) == (3000, 3000)
        assert not writer.is_empty
        assert out.getvalue() == build(records, logs)

    def test_log_run_checks_what_its_keys_say(self) -> None:
        with pytest.raises(WriteError, match="update index above 9"):
            make_writer().add_log_run(Run([log_key(b"a", 10)], [1], [b""], []))

    def test_one_at_a_time_gives_the_same(self) -> None:
        out = io.BytesIO()
        writer = TableWriter(out.write, min_update_index=1, max_update_index=100, options=SMALL)
        for record in many(50):
            writer.add_ref(record)
        for record in many(50):
            writer.add_log(log(record.refname))
        writer.finish()
        logs = [log(record.refname) for record in many(50)]
        assert out.getvalue() == build(many(50), logs, options=SMALL)
        assert writer.size == len(out.getvalue())
