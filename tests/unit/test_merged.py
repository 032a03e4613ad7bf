"""Merged tables: the newest record wins, deletions are yielded or not, and little is read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from pyreftable.format.block import Run
from pyreftable.format.records import LogRecord, RefRecord
from pyreftable.merged import Merged, merge_runs, without_deletions
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from tests.table_tools import Bytes, build, key_of, log, open_table, ref, sorted_logs

A, B, C = (bytes([letter]) * 20 for letter in b"abc")


def table(*records: RefRecord, logs: tuple[LogRecord, ...] = (), block_size: int = 256) -> Table:
    options = WriteOptions(block_size=block_size)
    return open_table(build(sorted(records), sorted_logs(logs), options=options))


def gone(name: str, index: int) -> RefRecord:
    return ref(name, index, 0)


class TestRefs:
    def test_no_tables(self) -> None:
        merged = Merged([])
        assert [*merged.refs(), *merged.logs(), *merged.refs(b"a"), *merged.refs_for(A)] == []
        assert merged.ref(b"a") is None

    def test_newest_table_wins(self) -> None:
        merged = Merged([table(ref("a", 1)), table(ref("a", 3)), table(ref("a", 2))])
        assert list(merged.refs()) == [ref("a", 2)]
        assert merged.ref(b"a") == ref("a", 2)

    def test_names_of_all_tables_in_order(self) -> None:
        merged = Merged([table(ref("b"), ref("e")), table(ref("a"), ref("d")), table(ref("c"))])
        assert [record.refname for record in merged.refs()] == [b"a", b"b", b"c", b"d", b"e"]
        assert [record.refname for record in merged.refs(b"c")] == [b"c", b"d", b"e"]

    def test_empty_tables_change_nothing(self) -> None:
        merged = Merged([table(), table(ref("a")), table()])
        assert list(merged.refs()) == [ref("a")]

    def test_deletion_hides_and_recreation_shows(self) -> None:
        tables = [
            table(ref("a", 1), ref("b", 1)),
            table(gone("a", 2), gone("b", 2)),
            table(ref("b", 3)),
        ]
        assert list(Merged(tables).refs()) == [gone("a", 2), ref("b", 3)]
        suppressing = Merged(tables, suppress_deletions=True)
        assert list(suppressing.refs()) == [ref("b", 3)]
        for merged in (Merged(tables), suppressing):
            assert merged.ref(b"a") is None
            assert merged.ref(b"b") == ref("b", 3)

    def test_suppressed_deletion_does_not_bare_the_older_record(self) -> None:
        tables = [table(ref("a", 1)), table(gone("a", 2))]
        assert list(Merged(tables, suppress_deletions=True).refs()) == []

    def test_iterators_do_not_disturb_each_other(self) -> None:
        records = [ref(f"{number:03}") for number in range(100)]
        merged = Merged([table(*records[::2]), table(*records[1::2])])
        first, second = merged.refs(), merged.refs(b"050")
        assert list(islice(first, 10)) == records[:10]
        assert list(second) == records[50:]
        assert list(first) == records[10:]

    def test_runs_are_never_empty(self) -> None:
        tables = [
            table(*[gone(f"{number:04}", 1) for number in range(3000)]),
            table(ref("0005"), ref("2000")),
        ]
        for merged in (Merged(tables), Merged(tables, suppress_deletions=True)):
            assert all(run.keys for run in merged.ref_runs())


class TestLogs:
    def test_same_key_in_a_newer_table_replaces(self) -> None:
        """That is how git rewrites a reflog."""
        old, new = log("a", 1), log("a", 1, message=b"rewritten\n")
        assert list(Merged([table(logs=(old,)), table(logs=(new,))]).logs()) == [new]

    def test_deletion_hides_one_entry(self) -> None:
        tombstone = LogRecord.deletion(b"a", 1)
        tables = [table(logs=(log("a", 1), log("a", 2))), table(logs=(tombstone,))]
        assert list(Merged(tables).logs()) == [log("a", 2), tombstone]
        assert list(Merged(tables, suppress_deletions=True).logs()) == [log("a", 2)]

    def test_entries_of_one_ref_from_all_tables_newest_first(self) -> None:
        tables = [table(logs=(log("a", index), log("b", index))) for index in (1, 2, 3)]
        records = list(Merged(tables).logs(b"b"))
        assert records == [log("b", 3), log("b", 2), log("b", 1)]


class TestRefsFor:
    def test_moved_ref_is_not_found_by_its_old_id(self) -> None:
        tables = [table(ref("a", 1, value=A)), table(ref("a", 2, value=B))]
        merged = Merged(tables)
        assert list(merged.refs_for(A)) == []
        assert list(merged.refs_for(B)) == [ref("a", 2, value=B)]

    @pytest.mark.parametrize("suppress", [False, True])
    def test_deleted_ref_is_not_found(self, suppress: bool) -> None:
        tables = [table(ref("a", 1, value=A), ref("b", 1, value=A)), table(gone("a", 2))]
        merged = Merged(tables, suppress_deletions=suppress)
        assert list(merged.refs_for(A)) == [ref("b", 1, value=A)]

    def test_each_ref_once_in_name_order(self) -> None:
        tables = [
            table(ref("z", 1, value=A), ref("m", 1, value=A)),
            table(ref("m", 2, 2, A + B), ref("a", 2, 2, B + A)),
        ]
        assert [record.refname for record in Merged(tables).refs_for(A)] == [b"a", b"m", b"z"]
        assert [record.refname for record in Merged(tables).refs_for(B)] == [b"a", b"m"]


class CountingTable(Table):
    """Counts the records that its runs hold."""

    decoded = 0

    def ref_runs(self, start: bytes = b"") -> Iterator[Run]:
        for run in super().ref_runs(start):
            self.decoded += len(run.keys)
            yield run


class TestCost:
    """What `suppress_deletions` costs, counted in records decoded."""

    def tombstones(self) -> CountingTable:
        records = [gone(f"refs/heads/{number:05}", 1) for number in range(5000)]
        return CountingTable(Bytes(build(records, options=WriteOptions(256))), "x.ref")

    def test_yielded_tombstones_let_a_seek_stop_at_the_first(self) -> None:
        deleted = self.tombstones()
        merged = Merged([deleted, table(ref("refs/x", 2))])
        assert next(merged.refs(b"refs/heads/00100/")).refname == b"refs/heads/00101"
        assert deleted.decoded < 100

    def test_suppressed_tombstones_are_all_walked_through(self) -> None:
        deleted = self.tombstones()
        merged = Merged([deleted, table(ref("refs/x", 2))], suppress_deletions=True)
        assert next(merged.refs(b"refs/heads/00100/")).refname == b"refs/x"
        assert deleted.decoded > 4800


def run_of(*keys: bytes, kind: int = 1) -> Run:
    count = len(keys)
    return Run(list(keys), [kind] * count, [b"v"] * count, [1] * count)


class TestRuns:
    def test_of_equal_keys_the_newest_source_stays(self) -> None:
        sources = [[run_of(b"a", b"b", kind=age)] for age in range(1, 4)]
        merged = list(merge_runs([iter(source) for source in sources]))
        assert [key for run in merged for key in run.keys] == [b"a", b"b"]
        assert [kind for run in merged for kind in run.types] == [3, 3]

    def test_keys_that_meet_at_the_ends_of_runs(self) -> None:
        old = [run_of(b"a", b"c"), run_of(b"d"), run_of(b"f", b"g")]
        new = [run_of(b"c"), run_of(b"d", b"g", kind=2)]
        merged = list(merge_runs([iter(old), iter(new)]))
        assert [key for run in merged for key in run.keys] == [b"a", b"c", b"d", b"f", b"g"]
        assert [kind for run in merged for kind in run.types] == [1, 1, 2, 1, 2]

    def test_last_source_left_is_passed_on_as_it_is(self) -> None:
        """Most refs sit in one base table: its runs are not copied once the others end."""
        base = [run_of(b"b", b"c"), run_of(b"d")]
        merged = list(merge_runs([iter(base), iter([run_of(b"a")])]))
        assert merged[-1] is base[-1]

    def test_without_deletions(self) -> None:
        runs = [run_of(b"a"), run_of(b"b", kind=0), Run([b"c", b"d"], [0, 2], [b"", b"x"], [5, 6])]
        kept = list(without_deletions(iter(runs)))
        assert kept == [run_of(b"a"), Run([b"d"], [2], [b"x"], [6])]


def test_log_keys_of_two_tables_interleave() -> None:
    logs = [log(name, index) for name in ("a", "b") for index in range(1, 30)]
    merged = Merged([table(logs=tuple(logs[::2])), table(logs=tuple(logs[1::2]))])
    assert list(merged.logs()) == sorted(logs, key=key_of)
