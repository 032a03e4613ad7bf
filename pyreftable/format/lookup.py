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
from .decoding import short_forms
from .records import DELETION, OID, OID_AND_PEELED, SYMREF, RefRecord

#: A record, if there is one, and whether the name is known to lie within the block: that is, there
#: it is, or between two of its keys.
Finding = tuple[RefRecord | None, bool]


def find_ref(block: Block, name: bytes, base: int, hash_size: int) -> Finding:
    """Look for exactly `name` in a ref block; `base` is the table's smallest update index.

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
        length = data[offset + 1]
        pos = offset + 2
        if length > 127:
            if data[pos] < 128:
                length = (length - 127 << 7) + data[pos]
                pos += 1
            else:
                length, pos = varint.decode(data, offset + 1)
        if data[pos : pos + (length >> 3)] <= name:
            low, start = middle, offset
        else:
            high, end = middle, offset
    return start, end


def _walk(block: Block, name: bytes, pos: int, end: int, base: int, hash_size: int) -> Finding:
    # One flat loop on purpose: a look-up spends most of its time here. `rest` is what of the name
    # follows a prefix; `shared` is -1 once a key above the name was seen: then nothing needs to be
    # compared. First come the records that are passed over after a glance.
    data, decode = block.data, varint.decode
    sizes = short_forms(hash_size)[1]
    value_sizes = (0, hash_size, 2 * hash_size)
    above_first = pos != block.records
    below_last = end != block.restarts
    shared = 0
    rest, rest_from, rest_first = name, 0, name[0] if name else -1
    if data[pos]:
        raise block.error("restart does not point to a record with a whole key", pos)
    while pos < end:
        start = pos
        prefix = data[pos]
        length = data[pos + 1]
        size = sizes[length]
        if size and prefix < 128 and data[pos + 2 + (length >> 3)] < 128:
            if prefix > shared:
                pos += size
                continue
            if prefix == rest_from and data[pos + 2] < rest_first and above_first:
                shared = prefix
                pos += size
                continue
        pos += 2
        if length > 127:
            if data[pos] < 128:
                length = (length - 127 << 7) + data[pos]
                pos += 1
            else:
                prefix = 128
        value_type = length & 7
        stop = pos + (length >> 3)
        if prefix < 128 and value_type < SYMREF and data[stop] < 128:
            index = data[stop]
            value = stop + 1
            after = value + value_sizes[value_type]
        else:
            prefix, pos = decode(data, start)
            length, pos = decode(data, pos)
            value_type = length & 7
            stop = pos + (length >> 3)
            index, value = decode(data, stop)
            value, after = _value(block, value_type, value, hash_size)
        if prefix <= shared:
            if prefix != rest_from:
                rest, rest_from = name[prefix:], prefix
                rest_first = rest[0] if rest else -1
            first = data[pos] if pos < stop else -1
            if first < rest_first:
                above_first = True
                shared = prefix
            elif first > rest_first:
                below_last = True
                shared = -1
            else:
                key = data[pos:stop]
                if key == rest:
                    if after <= end:
                        row = name, base + index, value_type, data[value:after]
                        # As fast as a named tuple can be made.
                        return tuple.__new__(RefRecord, row), True
                elif key > rest:
                    below_last = True
                    shared = -1
                else:
                    above_first = True
                    shared = prefix + _common_length(key, rest)
        pos = after
    if pos != end:
        raise block.error(f"last record ends at {pos}, not at {end}", pos)
    return None, above_first and below_last


def _common_length(one: bytes, other: bytes) -> int:
    """How many bytes two keys have in common at their start: up to the highest bit of their XOR."""
    length = min(len(one), len(other))
    differs = int.from_bytes(one[:length], "big") ^ int.from_bytes(other[:length], "big")
    return length - (differs.bit_length() + 7 >> 3)


def _value(block: Block, value_type: int, pos: int, hash_size: int) -> tuple[int, int]:
    """Where the value at `pos` begins, past its length if it has one, and where it ends."""
    if value_type == OID:
        return pos, pos + hash_size
    if value_type == DELETION:
        return pos, pos
    if value_type == OID_AND_PEELED:
        return pos, pos + 2 * hash_size
    if value_type == SYMREF:
        length, pos = varint.decode(block.data, pos)
        return pos, pos + length
    raise block.error(f"unknown value type {value_type}", pos)


def holders(run: Run, prefix: bytes, size: int) -> list[RefRecord]:
    """The records whose object id or peeled id, of `size` bytes, starts with `prefix`."""
    found = []
    for name, value_type, value, index in zip(*run, strict=True):
        if value_type in (OID, OID_AND_PEELED) and (
            value.startswith(prefix) or value.startswith(prefix, size)
        ):
            found.append(RefRecord(name, index, value_type, value))
    return found
