"""Which blocks hold each object: against a dictionary, and over the size where buckets begin."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyreftable import object_positions
from pyreftable.format.records import OID_AND_PEELED, RefRecord
from pyreftable.hashes import SHA1, SHA256, HashAlgorithm
from pyreftable.object_positions import ObjectPositions
from pyreftable.writer import WriteOptions
from tests.table_tools import build, open_table

SIZE = 4

Block = tuple[frozenset[bytes], int]
Found = list[tuple[bytes, int | list[int]]]

# Few different bytes, at the edges of the fan-out: ids come again, and share prefixes.
oids = st.lists(st.sampled_from([0, 1, 127, 254, 255]), min_size=SIZE, max_size=SIZE).map(bytes)
positions = st.sets(st.integers(0, 2**64 - 1), max_size=20).map(sorted)
held = st.frozensets(oids, max_size=8)
blocks = positions.flatmap(lambda known: st.tuples(*[st.tuples(held, st.just(p)) for p in known]))


def collected(blocks: tuple[Block, ...]) -> ObjectPositions:
    objects = ObjectPositions(SIZE)
    for held, position in blocks:
        objects.add(held, position)
    return objects


def drained(objects: ObjectPositions) -> Found:
    batches = [list(zip(*batch, strict=True)) for batch in objects.drain()]
    return [pair for batch in batches for pair in batch]


def model(blocks: tuple[Block, ...]) -> dict[bytes, list[int]]:
    known: dict[bytes, list[int]] = {}
    for held, position in blocks:
        for oid in held:
            known.setdefault(oid, []).append(position)
    return known


def expected(blocks: tuple[Block, ...]) -> Found:
    known = sorted(model(blocks).items())
    return [(oid, found[0] if len(found) == 1 else found) for oid, found in known]


def shared(one: bytes, other: bytes) -> int:
    return next(at for at in range(SIZE) if one[at] != other[at])


def plain_longest(blocks: tuple[Block, ...]) -> int:
    known = list(model(blocks))
    pairs = [(one, other) for one in known for other in known if one != other]
    return max((shared(one, other) for one, other in pairs), default=0)


@pytest.fixture(params=[1, 5, 1 << 15], autouse=True, scope="module")
def most_recent(request: pytest.FixtureRequest) -> Iterator[int]:
    """How many ids stay out of the buckets: none, few, all."""
    most: int = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(object_positions, "_MOST_RECENT", most)
        yield most


@given(blocks)
def test_gives_what_a_dictionary_would(blocks: tuple[Block, ...]) -> None:
    objects = collected(blocks)
    assert objects.longest_shared_prefix() == plain_longest(blocks)
    assert drained(objects) == expected(blocks)
    assert drained(objects) == []


@given(blocks)
def test_can_be_drained_without_asking_for_the_prefix(blocks: tuple[Block, ...]) -> None:
    assert drained(collected(blocks)) == expected(blocks)


def test_nothing_added() -> None:
    objects = ObjectPositions(SIZE)
    assert objects.longest_shared_prefix() == 0
    assert drained(objects) == []


def test_one_id_in_every_block() -> None:
    objects = collected(tuple((frozenset([b"same"]), at) for at in range(7500)))
    assert objects.longest_shared_prefix() == 0
    assert drained(objects) == [(b"same", list(range(7500)))]


def test_many_ids_and_some_that_come_again() -> None:
    """More ids than stay out of the buckets; every tenth block repeats the one before it."""
    ids = [hashlib.sha1(b"%d" % number).digest()[:SIZE] for number in range(40_000)]
    blocks = tuple(
        (frozenset(ids[start : start + 100]), 4096 * at + step)
        for at, start in enumerate(range(0, len(ids), 100))
        for step in range(1 if at % 10 else 2)
    )
    assert drained(collected(blocks)) == expected(blocks)


@pytest.mark.parametrize("hash", [SHA1, SHA256])
def test_tables_are_the_same_at_any_size(
    hash: HashAlgorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids in one block, in two and in many; some as the peeled id of a tag."""
    ids = [hashlib.sha256(b"%d" % number).digest()[: hash.size] for number in range(2000)]
    records = [
        RefRecord(b"refs/tags/%05d" % at, 1, OID_AND_PEELED, ids[at % 1500] + ids[at % 7])
        for at in range(2000)
    ]
    data = build(records, hash=hash, options=WriteOptions(512))
    monkeypatch.setattr(object_positions, "_MOST_RECENT", 1 << 20)
    assert data == build(records, hash=hash, options=WriteOptions(512))
    table = open_table(data)
    assert list(table.refs_for(ids[3])) == [r for r in records if ids[3] in (r.oid, r.peeled)]
