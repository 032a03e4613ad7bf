"""Checking one block, record by record: slower than decoding it, and naming what is wrong.

Decoding proves what it needs; this proves the rest: that every entry of the restart table is the
start of a record with a whole key, that padding is zeros, that keys ascend. It shares no loop
with the decoders, so that a mistake in one of them would show.

Offsets are those in the file. In a log block, which is deflated, only the block has one; then
the text says at which inflated byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import FormatError
from . import varint
from .block import INDEX, LOG, OBJ, REF, Block


class Problem(NamedTuple):
    """One thing that is wrong: in which file, where (bytes from its start), what, at which key.

    `key` is a ref's name, or the raw key of another record; empty where no record is meant.
    """

    path: str
    offset: int | None
    what: str
    key: bytes = b""

    @classmethod
    def of(cls, error: FormatError, path: str, key: bytes = b"") -> Problem:
        """What a decoder refused."""
        return cls(error.path or path, error.offset, error.what, key)


class BlockRecord(NamedTuple):
    """One record as it lies in its block; its offsets count from the block's start."""

    at: int
    prefix_len: int
    key: bytes
    value_type: int
    value_at: int
    end: int


def check_block(block: Block, hash_size: int, problems: list[Problem]) -> list[BlockRecord]:
    """The records of `block`; what is wrong with it is added to `problems`.

    Records after one that cannot be read are missing from the result.
    """
    records: list[BlockRecord] = []
    path = block.path or ""
    try:
        for record in walk(block, hash_size):
            if records and record.key <= records[-1].key:
                what = f"key {record.key!r} is not above its predecessor {records[-1].key!r}"
                problems.append(
                    Problem.of(block.error(what, record.at), path, name_of(block, record.key))
                )
            records.append(record)
    except FormatError as error:
        last = name_of(block, records[-1].key) if records else b""
        problems.append(Problem.of(error, path, last))
        return records
    problems += _restart_problems(block, records)
    return records


def name_of(block: Block, key: bytes) -> bytes:
    """The ref's name in a key: all of it, but in logs what comes before the update index."""
    if block.type == LOG:
        return key[:-9]
    return key if block.type in (REF, INDEX) else b""


def walk(block: Block, hash_size: int) -> Iterator[BlockRecord]:
    """The records of `block` in order; raises `FormatError` at the first that cannot be read."""
    at, key = block.records, b""
    while at < block.restarts:
        start = at
        prefix_len, at = _varint(block, at)
        suffix, at = _varint(block, at)
        value_at = at + (suffix >> 3)
        if prefix_len > len(key) or value_at > block.restarts:
            what = f"record's key is {prefix_len} bytes of the last one and {suffix >> 3} more"
            raise block.error(what, start)
        key = key[:prefix_len] + block.data[at:value_at]
        if not key:
            raise block.error("record without a key", start)
        at = _value_end(block, key, suffix & 7, value_at, hash_size)
        if at > block.restarts:
            raise block.error(f"record ends at {at}, in the restart table", start)
        yield BlockRecord(start, prefix_len, key, suffix & 7, value_at, at)


def _value_end(block: Block, key: bytes, value_type: int, at: int, hash_size: int) -> int:
    if block.type == REF:
        _, at = _varint(block, at)
        if value_type == 3:
            length, at = _varint(block, at)
            return at + length
        if value_type > 3:
            raise block.error(f"unknown value type {value_type}", at)
        return at + value_type * hash_size
    if block.type == LOG:
        return _log_end(block, key, value_type, at, hash_size)
    if block.type == OBJ:
        count = value_type
        if not count:
            count, at = _varint(block, at)
        for _ in range(min(count, block.restarts)):
            _, at = _varint(block, at)
        return at
    if value_type:
        raise block.error(f"unknown index record type {value_type}", at)
    return _varint(block, at)[1]


def _log_end(block: Block, key: bytes, value_type: int, at: int, hash_size: int) -> int:
    if len(key) < 10 or key[-9]:
        raise block.error(f"log key {key!r} is no ref name, NUL and update index", at)
    if value_type > 1:
        raise block.error(f"unknown log type {value_type}", at)
    if not value_type:
        return at
    at += 2 * hash_size
    for _ in range(2):
        length, at = _varint(block, at)
        at += length
    _, at = _varint(block, at)
    length, at = _varint(block, at + 2)
    return at + length


def positions_of(block: Block, record: BlockRecord) -> list[int]:
    """The positions that an obj or index record lists; an obj record without any means "all"."""
    at, positions, last = record.value_at, [], 0
    if block.type == OBJ and not record.value_type:
        _, at = _varint(block, at)
    while at < record.end:
        delta, at = _varint(block, at)
        last += delta
        positions.append(last)
    return positions


def _restart_problems(block: Block, records: list[BlockRecord]) -> Iterator[Problem]:
    path, data, table = block.path or "", block.data, block.restarts
    whole = {record.at: record.key for record in records if not record.prefix_len}
    starts = {record.at for record in records}
    last = 0
    for at in range(table, len(data) - 2, 3):
        offset = int.from_bytes(data[at : at + 3], "big")
        what = ""
        if at == table and offset != block.records:
            what = f"first restart is {offset}, not the first record, {block.records}"
        elif offset not in starts:
            what = f"restart {offset} is not where a record starts"
        elif offset not in whole:
            what = f"restart {offset} is a record without a whole key"
        elif offset <= last:
            what = f"restart {offset} does not ascend after {last}"
        if what:
            key = name_of(block, whole.get(offset, b""))
            yield Problem.of(block.error(what, at), path, key)
        last = offset


def _varint(block: Block, at: int) -> tuple[int, int]:
    try:
        return varint.decode(block.data, at)
    except FormatError as error:
        raise block.error(error.what, at) from None
