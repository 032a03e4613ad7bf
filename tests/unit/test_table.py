"""Tables: opening, what others write differently, the obj section, and how little a look-up reads.

What every view of records must do (scan, seek, both hashes, all layouts) is in
`test_view_contract`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyreftable.errors import FormatError
from pyreftable.format.block import INDEX, OBJ, REF
from pyreftable.format.records import LogRecord, RefRecord
from pyreftable.hashes import SHA1, SHA256
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from tests.plain_format import Assembly, Item, index_item, many_positions, obj_item, ref_item
from tests.table_tools import (
    Bytes,
    build,
    footer_offset,
    log,
    make_value,
    open_table,
    ref,
    repaired,
    sorted_logs,
    splice,
)

SMALL = WriteOptions(block_size=256)
REFS = [ref(f"refs/heads/{number:03}") for number in range(200)]
LOGS = [log(record.refname, index) for record in REFS[:30] for index in (9, 5, 1)]


def oid_item(name: bytes) -> Item:
    return ref_item(name, 1, make_value(name, 1))


class CountingBytes(Bytes):
    """Counts what is read."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.count = 0
        self.bytes_read = 0

    def read(self, offset: int, length: int) -> bytes:
        self.count += 1
        data = super().read(offset, length)
        self.bytes_read += len(data)
        return data


class TestOpening:
    def test_says_what_the_header_says(self) -> None:
        data = build(REFS, LOGS, hash=SHA1, low=1, high=77, options=SMALL)
        table = open_table(data, "some/dir/x.ref")
        assert (table.path, table.name, table.size) == ("some/dir/x.ref", "x.ref", len(data))
        assert (table.version, table.hash, table.block_size) == (1, SHA1, 256)
        assert (table.min_update_index, table.max_update_index) == (1, 77)
        assert (table.has_refs, table.has_logs) == (True, True)

    def test_empty_table(self) -> None:
        table = open_table(build(hash=SHA256))
        assert (table.has_refs, table.has_logs) == (False, False)
        assert [*table.refs(), *table.logs(), *table.refs(b"a"), *table.logs(b"a")] == []
        assert [*table.blocks(), *table.refs_for(bytes(32)), *table.runs_among([b"a"])] == []
        assert table.ref(b"a") is None

    def test_refs_without_logs_and_logs_without_refs(self) -> None:
        only_refs, only_logs = open_table(build(REFS)), open_table(build(logs=LOGS))
        assert (list(only_refs.refs()), list(only_refs.logs())) == (REFS, [])
        assert (list(only_logs.refs()), list(only_logs.logs())) == ([], LOGS)
        assert only_logs.ref(REFS[0].refname) is None
        assert list(only_logs.logs(LOGS[3].refname)) == LOGS[3:]

    def test_file(self, tmp_path: Path, no_leaked_descriptors: None) -> None:
        path = tmp_path / "x.ref"
        path.write_bytes(build(REFS, LOGS))
        table = Table.open(str(path))
        assert table.name == "x.ref"
        assert list(table.refs()) == REFS
        assert list(table.logs()) == LOGS
        table.close()

    def test_iterator_keeps_a_deleted_file_readable(
        self, tmp_path: Path, no_leaked_descriptors: None
    ) -> None:
        path = tmp_path / "x.ref"
        path.write_bytes(build(REFS))
        records = Table.open(str(path)).refs()
        first = next(records)
        os.unlink(path)
        assert [first, *records] == REFS
        del records

    def test_vanished_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            Table.open(str(tmp_path / "none.ref"))

    @pytest.mark.parametrize("content", [b"", b"REFT", b"\x89PNG\r\n" * 40, bytes(200)])
    def test_foreign_file_is_named_and_closed(
        self, tmp_path: Path, no_leaked_descriptors: None, content: bytes
    ) -> None:
        path = tmp_path / "x.ref"
        path.write_bytes(content)
        with pytest.raises(FormatError) as caught:
            Table.open(str(path))
        assert caught.value.path == str(path)
        assert str(caught.value).startswith(f"{path}, offset 0: ")

    def test_first_block_of_another_kind(self) -> None:
        with pytest.raises(FormatError, match="first block is of type b'i'"):
            open_table(splice(build(REFS), 24, b"i"))


class TestOthersTables:
    """Layouts that this writer does not choose, but that the format allows."""

    def test_version_2_with_sha1(self) -> None:
        assembly = Assembly(version=2, hash=SHA1)
        assembly.add(REF, *[oid_item(record.refname) for record in REFS[:3]])
        table = open_table(assembly.finish())
        assert (table.version, table.hash) == (2, SHA1)
        assert list(table.refs()) == REFS[:3]
        assert table.ref(REFS[1].refname) == REFS[1]

    @pytest.mark.parametrize("block_size", [256, 4096, 20_000])
    def test_block_size_zero(self, block_size: int) -> None:
        """JGit's unaligned tables say 0: any block may then have any length."""
        options = WriteOptions(block_size=block_size, unpadded=True)
        data = repaired(splice(build(REFS, LOGS, options=options), 5, bytes(3)))
        table = open_table(data)
        assert table.block_size == 0
        assert list(table.refs()) == REFS
        assert list(table.logs()) == LOGS
        assert [table.ref(record.refname) for record in REFS] == REFS
        assert [list(table.refs_for(record.value)) for record in REFS] == [[r] for r in REFS]
        assert next(table.logs(b"refs/heads/007")) == log("refs/heads/007", 9)

    def test_index_block_larger_than_the_block_size(self) -> None:
        """An index of one level, however long; padded to a multiple or not."""
        assembly = Assembly(block_size=128, interval=1)
        entries = []
        for start in range(0, 200, 2):
            position = assembly.align().add(REF, *[oid_item(r.refname) for r in REFS[start:][:2]])
            entries.append(index_item(REFS[start + 1].refname, position))
        index = assembly.align().add(INDEX, *entries)
        assert len(assembly.data) - index > 2000
        table = open_table(assembly.finish(ref_index=index))
        assert list(table.refs()) == REFS
        assert [table.ref(record.refname) for record in REFS] == REFS
        assert list(table.refs(b"refs/heads/1505")) == REFS[151:]
        assert list(table.refs(b"refs/heads/999")) == []

    def test_many_blocks_without_index(self) -> None:
        assembly = Assembly(block_size=128)
        for record in REFS:
            assembly.add(REF, oid_item(record.refname))
        table = open_table(assembly.finish())
        assert list(table.refs()) == REFS
        assert table.ref(REFS[100].refname) == REFS[100]
        assert list(table.refs(b"refs/heads/1505")) == REFS[151:]

    def test_index_of_a_single_block(self) -> None:
        assembly = Assembly()
        position = assembly.add(REF, *[oid_item(record.refname) for record in REFS[:3]])
        index = assembly.add(INDEX, index_item(REFS[2].refname, position))
        table = open_table(assembly.finish(ref_index=index))
        assert [table.ref(record.refname) for record in REFS[:4]] == [*REFS[:3], None]
        assert list(table.refs(b"refs/heads/0005")) == REFS[1:3]

    def test_block_of_the_largest_size(self) -> None:
        records = [ref(b"refs/%07d" % number + b"x" * 4000, kind=0) for number in range(6000)]
        options = WriteOptions((1 << 24) - 1, restart_interval=1, index_objects=False)
        data = build(records, options=options)
        table = open_table(data)
        sizes = [len(block.data) for block in table.blocks()]
        assert len(sizes) == 2
        assert 0 <= (1 << 24) - 1 - sizes[0] < 4020
        assert list(table.refs()) == records
        for at in (0, 3000, 5999):
            assert table.ref(records[at].refname) == records[at]
            assert table.ref(records[at].refname + b"!") is None


class TestRefsFor:
    """The refs that hold an id: by the obj section, by a scan where it is absent or gives up."""

    A, B, C = (bytes([letter]) * 20 for letter in b"abc")

    @pytest.mark.parametrize("index_objects", [True, False])
    def test_oid_and_peeled_are_found(self, index_objects: bool) -> None:
        records = [
            ref(b"refs/%03d" % at, kind=2, value=self.A + self.B)
            if at == 50
            else ref(b"refs/%03d" % at, kind=1, value=self.B)
            if at == 70
            else ref(b"refs/%03d" % at)
            for at in range(100)
        ]
        table = open_table(build(records, options=SMALL._replace(index_objects=index_objects)))
        assert bool(table.footer.obj) is index_objects
        assert list(table.refs_for(self.A)) == [records[50]]
        assert list(table.refs_for(self.B)) == [records[50], records[70]]
        assert list(table.refs_for(self.C)) == []

    def test_id_across_the_border_of_oid_and_peeled_is_not_one(self) -> None:
        value = self.A + self.B
        table = open_table(build([ref("t", kind=2, value=value)]))
        assert list(table.refs_for(value[10:30])) == []

    def test_symref_target_is_no_id(self) -> None:
        table = open_table(build([ref("s", kind=3, value=self.A)]))
        assert list(table.refs_for(self.A)) == []

    def test_ids_that_share_a_prefix(self) -> None:
        values = [self.A[:10] + bytes([at]) + self.A[11:] for at in range(200)]
        records = [ref(b"refs/%03d" % at, value=value) for at, value in enumerate(values)]
        table = open_table(build(records, options=SMALL))
        assert table.footer.obj_id_len == 11
        assert [list(table.refs_for(value)) for value in values] == [[r] for r in records]
        assert list(table.refs_for(self.A)) == [r for r in records if r.value == self.A]

    def test_another_id_with_the_stored_prefix_is_not_found(self) -> None:
        table = open_table(build(REFS, options=SMALL))
        stored = REFS[0].value
        assert list(table.refs_for(stored[:-1] + bytes([stored[-1] ^ 1]))) == []

    def test_reads_only_what_the_obj_section_names(self) -> None:
        source = CountingBytes(build([ref(f"r/{n:05}") for n in range(5000)], options=SMALL))
        table = Table(source, "x.ref")
        source.count = 0
        assert len(list(table.refs_for(ref("r/02500").value))) == 1
        assert source.count < 20

    def test_id_in_too_many_blocks_is_scanned_for(self) -> None:
        """An obj record that would outgrow its block is written without positions."""
        records = [ref(b"refs/%04d" % at, value=self.A if at % 2 else None) for at in range(3000)]
        source = CountingBytes(build(records, options=SMALL))
        table = Table(source, "x.ref")
        assert list(table.refs_for(self.A)) == records[1::2]
        source.count = 0
        assert list(table.refs_for(records[1000].value)) == [records[1000]]
        assert source.count < 20

    def test_obj_record_without_positions_means_scan(self) -> None:
        assembly = Assembly()
        for record in REFS[:40]:
            assembly.align().add(REF, oid_item(record.refname))
        entries = [index_item(r.refname, 256 * at) for at, r in enumerate(REFS[:40])]
        index = assembly.align().add(INDEX, *entries)
        prefixes = sorted(record.value[:2] for record in REFS[:40])
        obj = assembly.align().add(OBJ, *[many_positions(p, 0, b"") for p in prefixes])
        table = open_table(assembly.finish(ref_index=index, obj=obj, obj_id_len=2))
        assert [list(table.refs_for(r.value)) for r in REFS[:40]] == [[r] for r in REFS[:40]]
        assert list(table.refs_for(self.C)) == []

    def test_obj_section_without_index(self) -> None:
        assembly = Assembly()
        first = assembly.add(REF, oid_item(b"a"))
        second = assembly.align().add(REF, oid_item(b"b"))
        index = assembly.align().add(INDEX, index_item(b"a", first), index_item(b"b", second))
        items = sorted(
            [obj_item(make_value(b"a", 1)[:2], first), obj_item(make_value(b"b", 1)[:2], second)]
        )
        obj = assembly.align().add(OBJ, items[0])
        assembly.align().add(OBJ, items[1])
        table = open_table(assembly.finish(ref_index=index, obj=obj, obj_id_len=2))
        assert list(table.refs_for(make_value(b"a", 1))) == [ref("a")]
        assert list(table.refs_for(make_value(b"b", 1))) == [ref("b")]


class TestRunsAmong:
    """Sorted names, each with the whole block it falls into."""

    @pytest.mark.parametrize("size", [256, 1024, 4096, 65_536])
    @pytest.mark.parametrize("step", [1, 7, 60])
    def test_every_name_meets_its_block(self, size: int, step: int) -> None:
        table = open_table(build(REFS, options=WriteOptions(block_size=size)))
        names = sorted(
            [record.refname for record in REFS[::step]]
            + [record.refname + b"!" for record in REFS[::step]]
            + [b"a", b"refs/heads/1"]
        )
        covered = []
        for run, start, end, _ in table.runs_among(names):
            assert start < end
            assert all(name <= run.keys[-1] for name in names[start:end])
            for name in names[start:end]:
                record = table.ref(name)
                assert (name in run.keys) is (record is not None)
            covered += names[start:end]
        assert covered == [name for name in names if name <= REFS[-1].refname]

    def test_no_names(self) -> None:
        assert list(open_table(build(REFS)).runs_among([])) == []

    def test_names_past_the_last(self) -> None:
        for size in (256, 4096):
            table = open_table(build(REFS, options=WriteOptions(block_size=size)))
            assert list(table.runs_among([b"refs/heads/200", b"z"])) == []


class TestCost:
    """How much a look-up reads, counted: the depth of the index, not the size of the table."""

    RECORDS = tuple(ref(f"refs/heads/{number:06}", kind=0) for number in range(12_000))
    DATA = build(RECORDS, options=WriteOptions(512, index_objects=False))

    def fresh(self) -> tuple[CountingBytes, Table]:
        source = CountingBytes(self.DATA)
        return source, Table(source, "x.ref")

    def test_opening_reads_header_and_footer(self) -> None:
        source, _ = self.fresh()
        assert (source.count, source.bytes_read) == (2, 29 + 68)

    @pytest.mark.parametrize("at", [0, 1, 6000, 11_999])
    def test_look_up_reads_one_block_a_level(self, at: int) -> None:
        """Two index levels, whose top one may be three blocks, and the block looked for."""
        source, table = self.fresh()
        assert table.ref(self.RECORDS[at].refname) == self.RECORDS[at]
        assert source.bytes_read < 8 * 520

    def test_what_is_asked_often_is_read_no_more(self) -> None:
        """Blocks of a small table stay decoded once they are asked often, and answer the same."""
        source, table = self.fresh()
        probes = [(record.refname, record) for record in self.RECORDS[5000:5100]]
        probes += [(name + b"-", None) for name, _ in probes]
        read = []
        for _ in range(10):
            table._answers.clear()
            before = source.bytes_read
            assert [(name, table.ref(name)) for name, _ in probes] == probes
            read.append(source.bytes_read - before)
        assert read[0] > 16 * 512
        assert read[-1] < read[0] / 10

    def test_seek_decodes_a_short_first_run(self) -> None:
        _, table = self.fresh()
        assert len(next(table.ref_runs(b"refs/heads/006000")).keys) <= 16

    def test_scan_reads_each_block_once(self) -> None:
        source, table = self.fresh()
        assert sum(len(run.keys) for run in table.ref_runs()) == 12_000
        assert source.bytes_read < footer_offset(self.DATA) * 1.2


def test_blocks_are_all_blocks_in_order() -> None:
    data = build(REFS, LOGS, options=SMALL)
    blocks = list(open_table(data).blocks())
    kinds = b"".join(block.type for block in blocks)
    assert sorted(set(kinds)) == sorted(b"riog")
    ends = [block.offset + block.full_size for block in blocks]
    assert ends[:-1] == [block.offset for block in blocks[1:]]
    assert ends[-1] == footer_offset(data)


def test_log_seek_by_key_and_by_name() -> None:
    records: list[LogRecord] = sorted_logs(
        log(name, index) for name in ("a", "a-b", "a/b", "b") for index in (1, 2, 300)
    )
    table = open_table(build(logs=records, high=300))
    assert list(table.logs(b"a")) == records
    assert next(table.logs(b"a/b")) == log("a/b", 300)
    assert list(table.logs(b"b\0")) == records[-3:]
    assert list(table.logs(b"c")) == []


def test_records_compare_as_tuples() -> None:
    assert ref("a") == RefRecord(b"a", 1, 1, make_value(b"a", 1))
