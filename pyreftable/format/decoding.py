"""Decoding the records of one block into a `Run`: refs and logs.

    ref     prefix_len suffix_len<<3|type suffix update_index-base value
    log     prefix_len suffix_len<<3|type suffix value

All numbers are varints. Bounds are checked once a run, not once a byte: slices never raise, and
the end position tells whether any ran over. Damage raises `FormatError`.

Source: git's reftable document, sections "ref record" and "log record".
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from struct import error as StructError

from ..errors import FormatError
from . import varint
from .block import Block, Run, check_end
from .records import DELETION, OID, OID_AND_PEELED, SYMREF

_Unpack = Callable[[bytes, int], tuple[int, int, bytes, int, bytes]]
_Forms = tuple[list[_Unpack | None], list[int]]
_forms_by_hash_size: dict[int, _Forms] = {}


def short_forms(hash_size: int) -> _Forms:
    """By a ref record's second byte: what unpacks it, and its size in bytes.

    That is for records whose numbers all take one byte, with a suffix and a value of fixed size:
    the fields are prefix length, that byte itself, suffix, update index and value. For others
    there is `None`, and 0.
    """
    known = _forms_by_hash_size.get(hash_size)
    if known is not None:
        return known
    unpackers: list[_Unpack | None] = [None] * 256
    sizes = [0] * 256
    value_sizes = {DELETION: 0, OID: hash_size, OID_AND_PEELED: 2 * hash_size}
    for head in range(8, 128):
        value_size = value_sizes.get(head & 7)
        if value_size is not None:
            form = Struct(f"=BB{head >> 3}sB{value_size}s")
            unpackers[head], sizes[head] = form.unpack_from, form.size
    return _forms_by_hash_size.setdefault(hash_size, (unpackers, sizes))


def decode_refs(block: Block, start: int, end: int, base: int, hash_size: int) -> Run:
    """The ref records of `block` from offset `start` (a restart) to `end`.

    `base` is the table's smallest update index. Raises `FormatError`.
    """
    # One flat loop on purpose: every listing, merge and compaction spends its time here. Most
    # records are unpacked in one call, and share the prefix of their name with the one before.
    data = block.data
    pos = start
    names: list[bytes] = []
    types: list[int] = []
    values: list[bytes] = []
    indexes: list[int] = []
    unpackers, sizes = short_forms(hash_size)
    decode = varint.decode
    try:
        for restart in block.restarts_within(start, end):
            name = stem = b""
            stem_len = 0
            while pos < restart:
                head = data[pos + 1]
                unpack = unpackers[head]
                if unpack is not None and data[pos] < 128:
                    prefix, _, suffix, index, value = unpack(data, pos)
                    if prefix != stem_len and prefix <= len(name):
                        stem = name[:prefix]
                        stem_len = prefix
                    if prefix == stem_len and index < 128:
                        name = stem + suffix
                        names.append(name)
                        types.append(head & 7)
                        values.append(value)
                        indexes.append(index)
                        pos += sizes[head]
                        continue
                prefix, at = decode(data, pos)
                length, at = decode(data, at)
                if prefix > len(name):
                    raise block.error(f"prefix of {prefix} bytes after a {len(name)} byte name", at)
                value_type = length & 7
                stop = at + (length >> 3)
                stem, stem_len = name[:prefix], prefix
                name = stem + data[at:stop]
                index, at = data[stop], stop + 1
                if index > 127:
                    index, at = decode(data, stop)
                if value_type == OID:
                    pos = at + hash_size
                elif value_type == DELETION:
                    pos = at
                elif value_type == OID_AND_PEELED:
                    pos = at + 2 * hash_size
                elif value_type == SYMREF:
                    length, at = decode(data, at)
                    pos = at + length
                else:
                    raise block.error(f"unknown value type {value_type}", at)
                names.append(name)
                types.append(value_type)
                values.append(data[at:pos])
                indexes.append(index)
            if pos != restart:
                break
    except (IndexError, StructError, FormatError) as error:
        raise _damaged(block, pos, error) from None
    check_end(block, names, pos, restart)
    return Run(names, types, values, [base + index for index in indexes] if base else indexes)


def decode_logs(block: Block, start: int, end: int, hash_size: int) -> Run:
    """The log records of `block` from offset `start` (a restart) to `end`; values stay raw."""
    # Flat like `decode_refs`, whose twin it is: it must find each value's end.
    data = block.data
    pos = start
    keys: list[bytes] = []
    types: list[int] = []
    values: list[bytes] = []
    decode = varint.decode
    try:
        for restart in block.restarts_within(start, end):
            key = b""
            while pos < restart:
                at = pos
                prefix, pos = decode(data, pos)
                suffix, pos = decode(data, pos)
                stop = pos + (suffix >> 3)
                if prefix > len(key):
                    raise block.error(f"prefix of {prefix} bytes after a {len(key)} byte key", at)
                key = key[:prefix] + data[pos:stop]
                if len(key) < 10 or key[-9]:
                    raise block.error(f"log key {key!r} is no ref name, NUL and update index", at)
                pos = stop
                if suffix & 7 == 1:
                    pos += 2 * hash_size
                    length, pos = decode(data, pos)
                    length, pos = decode(data, pos + length)
                    _, pos = decode(data, pos + length)
                    length, pos = decode(data, pos + 2)
                    pos += length
                elif suffix & 7:
                    raise block.error(f"unknown log type {suffix & 7}", at)
                keys.append(key)
                types.append(suffix & 7)
                values.append(data[stop:pos])
            if pos != restart:
                break
    except (IndexError, FormatError) as error:
        raise _damaged(block, pos, error) from None
    check_end(block, keys, pos, restart)
    return Run(keys, types, values, [])


def _damaged(block: Block, pos: int, error: Exception) -> FormatError:
    if not isinstance(error, FormatError):
        return block.error("record runs past the end of its block", pos)
    if error.path is not None or error.what.startswith("'"):
        return error
    return block.error(error.what, error.offset if error.offset is not None else pos)
