"""Point look-ups over many tables: what is asked, and that it never shows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pyreftable.format.records import RefRecord
from pyreftable.merged import Merged
from pyreftable.stack import Stack
from pyreftable.table import Table
from tests.stack_tools import PLAIN, fill_refs, set_refs

BIG = {f"refs/heads/{number:05}": number for number in range(10_000)}


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    """One big table, which is none of the small ones that get decoded."""
    stack = Stack.open(str(tmp_path), PLAIN)
    stack.add(fill_refs(BIG))
    assert stack.snapshot().tables[0].size > 1 << 18
    return stack


def look_up(merged: Merged, name: str) -> RefRecord | None:
    """The same by walking through all tables."""
    found = None
    for table in merged.tables:
        for record in table.refs(name.encode()):
            if record.refname == name.encode():
                found = record
            break
    return None if found is None or found.is_deletion else found


@pytest.mark.parametrize("count", [3, 15, 16, 17, 40])
def test_as_a_walk_through_all_tables_finds(stack: Stack, count: int) -> None:
    chosen = random.Random(count)
    names = [*chosen.sample(sorted(BIG), 60), *(f"refs/tags/{number}" for number in range(20))]
    for _ in range(count):
        values = {name: chosen.choice([None, 1, 2, 3]) for name in chosen.sample(names, 5)}
        stack.add(fill_refs(values))
        merged = stack.snapshot().merged
        for name in chosen.sample(names, 10):
            assert merged.ref(name.encode()) == look_up(merged, name)
    for name in names:
        assert merged.ref(name.encode()) == look_up(merged, name)


def test_small_tables_are_not_read_again(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, and however often one is added."""
    for number in range(100):
        set_refs(stack, **{f"refs/heads/{number:05}": None})
    merged = stack.snapshot().merged
    for _ in range(20):
        assert merged.ref(b"refs/heads/00001") is None
    asked: list[Table] = []
    ref = Table.ref

    def spy(self: Table, refname: bytes) -> RefRecord | None:
        asked.append(self)
        return ref(self, refname)

    monkeypatch.setattr(Table, "ref", spy)
    set_refs(stack, **{"refs/heads/00100": None})
    merged = stack.snapshot().merged
    for number in range(101):
        assert merged.ref(b"refs/heads/%05d" % number) is None
    assert asked == []
    assert merged.ref(b"refs/heads/00101") is not None
    assert asked == [merged.tables[0]]


def test_one_look_up_decodes_no_table(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        set_refs(stack, **{f"refs/tags/{number}": number})

    def refuse(self: Table) -> None:
        raise AssertionError("decoded")

    monkeypatch.setattr(Table, "rows", refuse)
    merged = Stack.open(stack.storage.location, PLAIN).snapshot().merged
    assert merged.ref(b"refs/tags/7") is not None
    assert merged.ref(b"refs/heads/00007") is not None


def test_old_views_stay_as_they_were(stack: Stack) -> None:
    views: list[tuple[Merged, int]] = []
    for number in range(60):
        set_refs(stack, **{"refs/heads/00000": number + 1})
        merged = stack.snapshot().merged
        for _ in range(20):
            merged.ref(b"refs/heads/00000")
        views.append((merged, number + 1))
    for merged, number in views:
        record = merged.ref(b"refs/heads/00000")
        assert record is not None
        assert record.oid == number.to_bytes(20, "big")


def test_what_was_decoded_does_not_outlive_a_compaction_of_its_tables(stack: Stack) -> None:
    for number in range(40):
        set_refs(stack, **{f"refs/tags/{number:02}": number})
    merged = stack.snapshot().merged
    for _ in range(20):
        merged.ref(b"refs/tags/00")
    stack.compact_range(1, 30)
    set_refs(stack, **{"refs/tags/00": 7})
    record = stack.snapshot().merged.ref(b"refs/tags/00")
    assert record is not None
    assert record.oid == (7).to_bytes(20, "big")
