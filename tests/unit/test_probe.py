"""Batches of names: the same answers as one by one, for many names and few."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pyreftable.format.records import RefRecord
from pyreftable.merged import Merged
from pyreftable.probe import first_ref_below, has_refs_below, refs_among
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from tests.table_tools import Bytes, build, open_table, ref

BOTH = pytest.mark.parametrize("suppress", [False, True])
#: One name is sought alone, some by seeks, many in a pass over the blocks.
FILLERS = pytest.mark.parametrize("fillers", [0, 3, 40])


def merge(*layers: Sequence[RefRecord], suppress: bool = False, block_size: int = 256) -> Merged:
    options = WriteOptions(block_size=block_size)
    tables = [open_table(build(sorted(layer), options=options)) for layer in layers]
    return Merged(tables, suppress_deletions=suppress)


def gone(name: str) -> RefRecord:
    return ref(name, 2, 0)


def padded(names: Sequence[bytes], fillers: int) -> list[bytes]:
    """The names among others that no table holds."""
    return sorted([*names, *[b"refs/m%02d" % number for number in range(fillers)]])


class TestRefsAmong:
    @BOTH
    @FILLERS
    def test_newest_live_record_of_each_name(self, suppress: bool, fillers: int) -> None:
        merged = merge(
            [ref("refs/a"), ref("refs/b"), ref("refs/z")],
            [ref("refs/b", 2), gone("refs/z"), gone("refs/n")],
            suppress=suppress,
        )
        names = [b"refs/a", b"refs/b", b"refs/c", b"refs/n", b"refs/z"]
        expected = {b"refs/a": ref("refs/a"), b"refs/b": ref("refs/b", 2)}
        assert refs_among(merged, padded(names, fillers)) == expected

    @BOTH
    @pytest.mark.parametrize("block_size", [256, 4096])
    def test_names_beyond_every_table(self, suppress: bool, block_size: int) -> None:
        merged = merge([ref("refs/a")], [], suppress=suppress, block_size=block_size)
        assert refs_among(merged, [b"zz%02d" % number for number in range(20)]) == {}
        assert refs_among(merged, [b"a%02d" % number for number in range(20)]) == {}

    @BOTH
    def test_nothing_asked_or_nothing_there(self, suppress: bool) -> None:
        assert refs_among(merge([ref("a")], suppress=suppress), []) == {}
        assert refs_among(merge(suppress=suppress), padded([b"a"], 20)) == {}

    @pytest.mark.parametrize("step", [1, 2, 37])
    def test_all_names_of_a_large_table(self, step: int) -> None:
        records = [ref(f"refs/{number:04}") for number in range(2000)]
        merged = merge(records[::3], records)
        names = [record.refname for record in records[::step]]
        expected = {record.refname: record for record in records[::step]}
        assert refs_among(merged, names) == expected


class TestBelow:
    @BOTH
    @FILLERS
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("refs/a", True),
            ("refs/a/b", True),
            ("refs/a/b/c", False),
            ("refs/dead", False),
            ("refs/half", True),
            ("refs", True),
            ("ref", False),
            ("refs/z", False),
            ("zzz", False),
        ],
    )
    def test_live_refs_below(self, suppress: bool, fillers: int, name: str, expected: bool) -> None:
        merged = merge(
            [ref("refs/a/b/c"), ref("refs/dead/x"), ref("refs/half/x"), ref("refs/half/y")],
            [gone("refs/dead/x"), gone("refs/half/x"), ref("refs/a-b"), ref("refs/a0")],
            suppress=suppress,
        )
        assert has_refs_below(merged, padded([name.encode()], fillers)) is expected

    @BOTH
    def test_a_name_next_to_the_folder_is_not_below_it(self, suppress: bool) -> None:
        """`a-b` and `a.b` sort before `a/b`, `a0` after it."""
        merged = merge([ref("a-b"), ref("a.b"), ref("a0"), ref("a")], suppress=suppress)
        assert first_ref_below(merged, b"a/") is None
        assert not has_refs_below(merged, [b"a"])

    @BOTH
    def test_first_ref_below(self, suppress: bool) -> None:
        merged = merge(
            [ref("d/a"), ref("d/b"), ref("d/c"), ref("e/x")], [gone("d/a")], suppress=suppress
        )
        assert first_ref_below(merged, b"d/") == b"d/b"
        assert first_ref_below(merged, b"d/", frozenset([b"d/b"])) == b"d/c"
        assert first_ref_below(merged, b"d/", frozenset([b"d/b", b"d/c"])) is None

    @BOTH
    @FILLERS
    def test_folder_between_two_blocks(self, suppress: bool, fillers: int) -> None:
        """The folder's name falls into the block before; its refs begin the next."""
        records = [ref(f"refs/x{number:03}/{'l' * 60}") for number in range(40)]
        merged = merge(records, suppress=suppress)
        for record in records:
            folder = record.refname.partition(b"/l")[0]
            assert has_refs_below(merged, padded([folder], fillers))
            assert not has_refs_below(merged, padded([record.refname], fillers))


class TestCost:
    """A batch in one pass: each block is read once, however many names fall into it."""

    class CountingBytes(Bytes):
        bytes_read = 0

        def read(self, offset: int, length: int) -> bytes:
            data = super().read(offset, length)
            self.bytes_read += len(data)
            return data

    RECORDS = tuple(ref(f"refs/heads/{number:05}", kind=0) for number in range(8000))

    def test_whole_table_is_read_about_once(self) -> None:
        source = self.CountingBytes(build(self.RECORDS))
        merged = Merged([Table(source, "x.ref")])
        names = [record.refname + b"!" for record in self.RECORDS]
        assert refs_among(merged, names) == {}
        assert source.bytes_read < 2.5 * source.size

    def test_probe_among_tombstones_stops_at_its_bound(self) -> None:
        source = self.CountingBytes(build(self.RECORDS))
        merged = Merged([Table(source, "x.ref")])
        assert first_ref_below(merged, b"refs/heads/00001/") is None
        assert source.bytes_read < 5 * 4200
