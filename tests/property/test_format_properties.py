"""The rules of the format for whatever records and options Hypothesis draws, a class per rule."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from pyreftable.format import varint
from pyreftable.format.block import LOG, REF, parse_block
from pyreftable.format.block_writer import BlockWriter
from pyreftable.format.decoding import decode_refs
from pyreftable.format.lookup import find_ref
from pyreftable.format.records import LogRecord, RefRecord
from pyreftable.hashes import SHA1, HashAlgorithm
from pyreftable.merged import Merged
from pyreftable.probe import first_ref_below, has_refs_below, refs_among
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from tests.plain_format import columns, plain_block, plain_size, plain_varint, ref_item
from tests.property import strategies as own
from tests.table_tools import build, check_codec, footer_offset, key_of, open_table

Layers = list[tuple[list[RefRecord], list[LogRecord], Table]]


class TestVarints:
    """Each number has one encoding, and it is the one that the document's rule gives."""

    @given(own.varints)
    def test_round_trip(self, value: int) -> None:
        encoded = varint.encode(value)
        assert encoded == plain_varint(value)
        assert check_codec(encoded, lambda data: varint.decode(data, 0), varint.encode) == value

    @given(st.binary(max_size=12))
    def test_any_bytes_decode_to_what_encodes_to_them(self, data: bytes) -> None:
        try:
            value, end = varint.decode(data, 0)
        except ValueError:
            return
        assert varint.encode(value) == data[:end]

    @given(own.varints, own.varints)
    def test_greater_numbers_are_never_shorter(self, a: int, b: int) -> None:
        assert (len(varint.encode(a)) - len(varint.encode(b))) * (a - b) >= 0


class TestBlocks:
    """A block takes as many records as fit, and is what the plain encoder makes of them."""

    @given(st.sets(own.refnames, min_size=1), st.integers(300, 900), st.integers(1, 20))
    def test_fast_writer_is_the_plain_one(self, names: set[bytes], size: int, every: int) -> None:
        items = [ref_item(name, 1, bytes(20), 300) for name in sorted(names)]
        writer = BlockWriter(REF, size, every, b"")
        taken = writer.extend(*columns(items), 0)
        assert writer.finish() == plain_block(REF, items[:taken], every)
        if taken < len(items):
            assert plain_size(REF, items[: taken + 1], every) > size

    @given(st.sets(own.refnames, min_size=1), st.integers(1, 20), own.refnames)
    def test_look_up_is_decoding(self, names: set[bytes], every: int, other: bytes) -> None:
        items = [ref_item(name, 1, bytes(20), 300) for name in sorted(names)]
        block = parse_block(plain_block(REF, items, every), 0, 0, 0, None)
        run = decode_refs(block, block.records, block.restarts, 5, 20)
        assert run.keys == sorted(names)
        for name in (*names, other):
            expected = RefRecord(name, 305, 1, bytes(20)) if name in names else None
            assert find_ref(block, name, 5, 20)[0] == expected


class TestTables:
    """What is written is read again: whole, from any key on, and by object id."""

    @given(st.data(), own.hashes, own.options)
    def test_round_trip(
        self, data: st.DataObject, hash: HashAlgorithm, options: WriteOptions
    ) -> None:
        refs = data.draw(own.ref_lists(hash))
        logs = data.draw(own.log_lists(hash))
        encoded = build(refs, logs, options=options, hash=hash, low=own.LOW, high=own.HIGH)
        table = open_table(encoded)
        assert list(table.refs()) == refs
        assert list(table.logs()) == logs
        assert table.hash == hash
        self.check_layout(table, options, encoded)

    @staticmethod
    def check_layout(table: Table, options: WriteOptions, encoded: bytes) -> None:
        """Blocks lie end to end, no longer than allowed, padded where options say so."""
        blocks = list(table.blocks())
        ends = [block.offset + block.full_size for block in blocks]
        assert [block.offset for block in blocks] == [0, *ends][: len(blocks)]
        if blocks:
            assert ends[-1] == footer_offset(encoded)
        for block in blocks:
            length = len(block.data)
            assert length <= options.block_size
            if block.type != LOG:
                padded = length if options.unpadded else options.block_size
                assert block.full_size in (length, padded)

    @given(st.data(), own.options, own.refnames)
    def test_seek(self, data: st.DataObject, options: WriteOptions, start: bytes) -> None:
        refs = data.draw(own.ref_lists(SHA1))
        logs = data.draw(own.log_lists(SHA1))
        table = open_table(build(refs, logs, options=options, low=own.LOW, high=own.HIGH))
        records = {record.refname: record for record in refs}
        for at in (start, *list(records)[::5]):
            assert list(table.refs(at)) == [record for record in refs if record.refname >= at]
            assert table.ref(at) == records.get(at)
        for at in (start, *[key_of(record) for record in logs[::3]]):
            assert list(table.logs(at)) == [record for record in logs if key_of(record) >= at]

    @given(st.data(), own.hashes, own.options)
    def test_refs_for(
        self, data: st.DataObject, hash: HashAlgorithm, options: WriteOptions
    ) -> None:
        refs = data.draw(own.ref_lists(hash))
        table = open_table(build(refs, options=options, hash=hash, low=own.LOW, high=own.HIGH))
        for number in range(10):
            oid = bytes([number]) * hash.size
            expected = [record for record in refs if oid in (record.oid, record.peeled)]
            assert list(table.refs_for(oid)) == expected


def newest(layers: Layers) -> dict[bytes, RefRecord]:
    """The model: each name's record in the newest table that has one."""
    return {record.refname: record for refs, _, _ in layers for record in refs}


def live(layers: Layers) -> dict[bytes, RefRecord]:
    return {name: record for name, record in newest(layers).items() if not record.is_deletion}


class TestMerged:
    """Tables merge as dicts update: newest wins, and deletions are yielded unless suppressed."""

    @given(st.data(), own.hashes, own.refnames)
    def test_refs(self, data: st.DataObject, hash: HashAlgorithm, start: bytes) -> None:
        layers = data.draw(own.layers(hash))
        tables = [table for _, _, table in layers]
        for suppress, model in ((False, newest(layers)), (True, live(layers))):
            merged = Merged(tables, suppress_deletions=suppress)
            expected = [model[name] for name in sorted(model)]
            assert list(merged.refs()) == expected
            assert list(merged.refs(start)) == [r for r in expected if r.refname >= start]
            for name in (start, *islice(model, 0, None, 5)):
                assert merged.ref(name) == live(layers).get(name)

    @given(st.data())
    def test_logs(self, data: st.DataObject) -> None:
        layers = data.draw(own.layers(SHA1))
        tables = [table for _, _, table in layers]
        model = {key_of(record): record for _, logs, _ in layers for record in logs}
        expected = [model[key] for key in sorted(model)]
        assert list(Merged(tables).logs()) == expected
        suppressing = Merged(tables, suppress_deletions=True)
        assert list(suppressing.logs()) == [r for r in expected if not r.is_deletion]

    @given(st.data(), st.booleans())
    def test_refs_for(self, data: st.DataObject, suppress: bool) -> None:
        layers = data.draw(own.layers(SHA1))
        merged = Merged([table for _, _, table in layers], suppress_deletions=suppress)
        for number in range(9):
            oid = bytes([number]) * 20
            found = (record for record in live(layers).values())
            expected = sorted(record for record in found if oid in (record.oid, record.peeled))
            assert list(merged.refs_for(oid)) == expected


class TestProbe:
    """A batch of names gets the answers that each name gets alone."""

    @given(st.data(), st.booleans(), st.sets(own.refnames, max_size=30))
    def test_answers(self, data: st.DataObject, suppress: bool, asked: set[bytes]) -> None:
        layers = data.draw(own.layers(SHA1))
        merged = Merged([table for _, _, table in layers], suppress_deletions=suppress)
        model = live(layers)
        names = sorted(asked | set(islice(model, 0, None, 3)))
        assert refs_among(merged, names) == {n: model[n] for n in names if n in model}
        below = {n: sorted(r for r in model if r.startswith(n + b"/")) for n in names}
        assert has_refs_below(merged, names) == any(below.values())
        for name in names[:6]:
            refs = below[name]
            assert has_refs_below(merged, [name]) == bool(refs)
            assert first_ref_below(merged, name + b"/") == (refs[0] if refs else None)
            skip = frozenset(refs[:1])
            assert first_ref_below(merged, name + b"/", skip) == (refs[1] if refs[1:] else None)
