"""Hypothesis strategies for the formats: records, options, and tables in memory.

Names come from small alphabets, so that they share prefixes, lie in each other's folders, and
meet in several tables.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pyreftable.format.records import DELETION, OID, OID_AND_PEELED, SYMREF, LogRecord, RefRecord
from pyreftable.hashes import SHA1, SHA256, HashAlgorithm
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from tests.table_tools import build, key_of, open_table

#: Every table's update indices; far apart, so that varints of several bytes are met.
LOW, HIGH = 1 << 20, (1 << 20) + (1 << 33)

varints = st.integers(0, (1 << 64) - 1)
hashes: SearchStrategy[HashAlgorithm] = st.sampled_from([SHA1, SHA256])

_parts = st.text(st.sampled_from("ab-./0"), min_size=1, max_size=6).map(str.encode)
_any_bytes = st.binary(min_size=1, max_size=40).map(lambda name: name.replace(b"\0", b"\1"))
refnames: SearchStrategy[bytes] = st.one_of(
    _parts,
    st.lists(_parts, min_size=1, max_size=6).map(b"/".join),
    st.integers(0, 300).map(lambda number: b"refs/heads/%03d" % number),
    _any_bytes,
)

#: The fewest bytes that hold any record drawn here, header and restart table included.
SMALLEST_BLOCK = 320

options: SearchStrategy[WriteOptions] = st.builds(
    WriteOptions,
    block_size=st.one_of(
        st.just(SMALLEST_BLOCK), st.integers(SMALLEST_BLOCK, 1024), st.sampled_from([4096, 1 << 20])
    ),
    restart_interval=st.sampled_from([1, 2, 3, 16, 1000, 65_535]),
    unpadded=st.booleans(),
    index_objects=st.booleans(),
    exact_log_message=st.just(True),
)


@st.composite
def ref_values(draw: DrawFn, size: int) -> tuple[int, bytes]:
    """A value type and a value of that type. Ids are few, so that refs share them."""
    kind = draw(st.sampled_from([DELETION, OID, OID, OID_AND_PEELED, SYMREF]))
    if kind == SYMREF:
        return kind, draw(refnames)
    ids = st.integers(0, 8).map(lambda number: bytes([number]) * size)
    return kind, b"".join(draw(st.lists(ids, min_size=kind, max_size=kind)))


@st.composite
def ref_lists(
    draw: DrawFn, hash: HashAlgorithm, *, low: int = LOW, high: int = HIGH, most: int = 60
) -> list[RefRecord]:
    """Refs in name order, each name once."""
    names = sorted(draw(st.sets(refnames, max_size=most)))
    indexes = st.integers(low, high)
    return [RefRecord(name, draw(indexes), *draw(ref_values(hash.size))) for name in names]


@st.composite
def log_lists(
    draw: DrawFn, hash: HashAlgorithm, *, high: int = HIGH, most: int = 25
) -> list[LogRecord]:
    """Reflog entries and their deletions in key order, each key once."""
    indexes = st.one_of(st.integers(0, 4), st.integers(0, high))
    keys = draw(st.sets(st.tuples(refnames, indexes), max_size=most))
    return sorted((draw(_logs(name, index, hash.size)) for name, index in keys), key=key_of)


@st.composite
def _logs(draw: DrawFn, name: bytes, index: int, size: int) -> LogRecord:
    if draw(st.integers(0, 4)) == 0:
        return LogRecord.deletion(name, index)
    short = st.binary(max_size=12)
    ids = st.binary(min_size=size, max_size=size)
    zones = st.one_of(st.sampled_from([0, 130, -800]), st.integers(-32_768, 32_767))
    message = draw(st.binary(max_size=40))
    return LogRecord(
        name, index, draw(ids), draw(ids), draw(short), draw(short), draw(varints), draw(zones),
        message,
    )  # fmt: skip


@st.composite
def layers(
    draw: DrawFn, hash: HashAlgorithm, most: int = 5
) -> list[tuple[list[RefRecord], list[LogRecord], Table]]:
    """Tables, oldest first, with their records."""
    made = []
    for number in range(draw(st.integers(0, most))):
        low = LOW + number
        refs = draw(ref_lists(hash, low=low, high=low, most=40))
        logs = draw(log_lists(hash, high=low, most=12))
        data = build(refs, logs, options=draw(options), hash=hash, low=low, high=low)
        made.append((refs, logs, open_table(data)))
    return made
