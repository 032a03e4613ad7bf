"""Finding one ref in a block without decoding the block.

The restarts are searched by bisection; then the records of one restart interval are walked. No
name is built on the way: with `shared`, the bytes that the wanted name has in common with the
last record's (which is smaller), a record's prefix length alone says most of the time

    prefix > shared    it still differs where its predecessor did: smaller, go on
    otherwise          compare its suffix with the rest of the wanted name

A prefix may be shorter than it could be: other writers need not look for the longest, and past
the last restart that a block can count, git stores whole keys that are no restarts.

An interval that does not end exactly where the next restart (or the restart table) begins is
damaged: a miss is only believed when the walk arrives there.
"""

from __future__ import annotations

from ..errors import FormatError
from . import varint
from .block import Block, Run
from .records import DELETION, OID, OID_AND_PEELED, SYMREF, RefRecord


def find_ref(block: Block, name: bytes, base: int, hash_size: int) -> RefRecord | None:
    """The record of exactly `name` in a ref block; `base` is the table's smallest update index.

    Raises `FormatError`.
    """
    try:
        start, end = _interval(block, name)
        return _walk(block, name, start, end, base, hash_size)
    except IndexError:
        raise block.error("record runs past the end of its block", block.records) from None
    except FormatError as error:
        if error.path is not None or error.what.startswith("'"):
            raise
        raise block.error(error.what, error.offset or block.records) from None


def _interval(block: Block, name: bytes) -> tuple[int, int]:
    """The offsets between which `name` lies, by bisection over the restarts' whole keys."""
    data, table = block.data, block.restarts
    low, high = 0, (len(data) - 2 - table) // 3
    start, end = block.records, table
    while high - low > 1:
        middle = (low + high) >> 1
        at = table + 3 * middle
        offset = data[at] << 16 | data[at + 1] << 8 | data[at + 2]
        if not start < offset < end or data[offset]:
            raise block.error("restart table does not point to whole keys in order", at)
        length, pos = varint.decode(data, offset + 1)
        if data[pos : pos + (length >> 3)] <= name:
            low, start = middle, offset
        else:
            high, end = middle, offset
    return start, end


def _walk(
    block: Block, name: bytes, pos: int, end: int, base: int, hash_size: int
) -> RefRecord | None:
    # One flat loop on purpose: a look-up spends most of its time here.
    data, decode = block.data, varint.decode
    shared = 0
    passed = False
    if data[pos]:
        raise block.error("restart does not point to a record with a whole key", pos)
    while pos < end:
        prefix = data[pos]
        pos += 1
        if prefix > 127:
            prefix, pos = decode(data, pos - 1)
        suffix = data[pos]
        pos += 1
        if suffix > 127:
            suffix, pos = decode(data, pos - 1)
        value_type = suffix & 7
        stop = pos + (suffix >> 3)
        found = False
        if prefix <= shared and not passed:
            key = data[pos:stop]
            rest = name[prefix:]
            if key == rest:
                found = True
            elif key > rest:
                passed = True
            else:
                shared = prefix
                for ours, theirs in zip(key, rest, strict=False):
                    if ours != theirs:
                        break
                    shared += 1
        index = data[stop]
        pos = stop + 1
        if index > 127:
            index, pos = decode(data, stop)
        if value_type == OID:
            stop = pos + hash_size
        elif value_type == DELETION:
            stop = pos
        elif value_type == OID_AND_PEELED:
            stop = pos + 2 * hash_size
        elif value_type == SYMREF:
            length, pos = decode(data, pos)
            stop = pos + length
        else:
            raise block.error(f"unknown value type {value_type}", pos)
        if found and stop <= end:
            return RefRecord(name, base + index, value_type, data[pos:stop])
        pos = stop
    if pos != end:
        raise block.error(f"last record ends at {pos}, not at {end}", pos)
    return None


def holders(run: Run, prefix: bytes, size: int) -> list[RefRecord]:
    """The records whose object id or peeled id, of `size` bytes, starts with `prefix`."""
    found = []
    for name, value_type, value, index in zip(*run, strict=True):
        if value_type in (OID, OID_AND_PEELED) and (
            value.startswith(prefix) or value.startswith(prefix, size)
        ):
            found.append(RefRecord(name, index, value_type, value))
    return found
