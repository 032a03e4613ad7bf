"""Reading one block.

    type(1) block_len(3) record... restart_offset(3)... restart_count(2) [padding]

`block_len` ends the restart count, and in the table's first block counts the file header too.
Restart offsets count from the block's start (in the first block: the file's). At a restart the
key is whole (prefix length 0). In a log block everything after the first four bytes is
deflated, and `block_len` is the length it inflates to.

Records are decoded (see `decoding`) into a `Run`: parallel lists, because a listing or a merge then
works on slices. Nothing here knows files; errors carry the offset in the file.

Source: git's reftable document, sections "Ref block format" to "Log block format".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import compress, islice
from operator import lt
from typing import NamedTuple

from ..errors import FormatError
from . import varint

REF, OBJ, INDEX, LOG = b"r", b"o", b"i", b"g"
HEADER_LEN = 4
MAX_RESTARTS = (1 << 16) - 1


class Run(NamedTuple):
    """Consecutive records as parallel lists, in key order.

    `values` are the raw value bytes (refs: without update index, symrefs: without length);
    `update_indexes` are absolute for refs and empty for logs (there, the key holds them).
    """

    keys: list[bytes]
    types: list[int]
    values: list[bytes]
    update_indexes: list[int]

    def slice(self, start: int, end: int | None = None) -> Run:
        """The records from `start` up to `end` (positions in the lists)."""
        return Run(
            self.keys[start:end],
            self.types[start:end],
            self.values[start:end],
            self.update_indexes[start:end],
        )

    def select(self, wanted: Sequence[bool]) -> Run:
        """The records at whose position `wanted` is true."""
        return Run(
            list(compress(self.keys, wanted)),
            list(compress(self.types, wanted)),
            list(compress(self.values, wanted)),
            list(compress(self.update_indexes, wanted)),
        )


class Block:
    """One block of a table, its bytes at hand and its frame checked.

    `offset` is its position in the file, `full_size` the distance to where the next block may
    start (without padding), `records` and `restarts` are offsets from the block's start.
    """

    __slots__ = (
        "_restart_keys",
        "_restart_offsets",
        "data",
        "full_size",
        "offset",
        "path",
        "records",
        "restarts",
        "type",
    )

    def __init__(
        self, data: bytes, offset: int, header_len: int, full_size: int, path: str | None
    ) -> None:
        self.type = data[header_len : header_len + 1]
        self.data = data
        self.offset = offset
        self.path = path
        self.full_size = full_size
        self.records = header_len + HEADER_LEN
        count = int.from_bytes(data[-2:], "big")
        self.restarts = len(data) - 2 - 3 * count
        if not count or self.restarts <= self.records:
            raise self.error(
                f"restart count {count} in a block of {len(data)} bytes", len(data) - 2
            )
        self._restart_offsets: list[int] | None = None
        self._restart_keys: list[bytes] | None = None

    def error(self, what: str, at: int = 0) -> FormatError:
        """A `FormatError` at `at` bytes from the block's start.

        In a log block those are inflated bytes, which have no offset in the file.
        """
        kind = self.type.decode("latin-1")
        at = min(at, len(self.data))
        if self.type == LOG:
            what, at = f"{what} (byte {at} when inflated)", 0
        return FormatError(f"{kind!r} block: {what}", path=self.path, offset=self.offset + at)

    @property
    def restart_offsets(self) -> list[int]:
        """The restart table, checked: ascending, within the records, the first at their start."""
        if self._restart_offsets is None:
            data, end = self.data, len(self.data) - 2
            offsets = [
                data[at] << 16 | data[at + 1] << 8 | data[at + 2]
                for at in range(self.restarts, end, 3)
            ]
            if offsets[0] != self.records or offsets[-1] >= self.restarts:
                raise self.error("restart table points outside the records", self.restarts)
            if not all(map(lt, offsets, islice(offsets, 1, None))):
                raise self.error("restart table is not ascending", self.restarts)
            self._restart_offsets = offsets
        return self._restart_offsets

    def restart_key(self, offset: int) -> bytes:
        """The whole key at a restart."""
        length, pos = self._varint(offset + 1)
        end = pos + (length >> 3)
        if self.data[offset] or end > self.restarts or end == pos:
            raise self.error("restart does not point to a record with a whole key", offset)
        return self.data[pos:end]

    def first_key(self) -> bytes:
        """The key of the first record."""
        return self.restart_key(self.restart_offsets[0])

    def restarts_within(self, start: int, end: int) -> list[int]:
        """The restarts after `start` and before `end`, and `end`: where records must end too."""
        offsets = self.restart_offsets
        if len(offsets) == 1:
            return [end]
        return [*offsets[bisect_right(offsets, start) : bisect_left(offsets, end)], end]

    @property
    def restart_keys(self) -> list[bytes]:
        """The keys at the restarts."""
        if self._restart_keys is None:
            self._restart_keys = [self.restart_key(offset) for offset in self.restart_offsets]
        return self._restart_keys

    def restart_interval_of(self, key: bytes) -> tuple[int, int]:
        """Start and end offset of the records among which `key` is, if it is here.

        They begin at the last restart whose key is not above `key`, or at the first.
        """
        offsets = self.restart_offsets
        index = bisect_right(self.restart_keys, key, lo=1)
        return offsets[index - 1], offsets[index] if index < len(offsets) else self.restarts

    def _varint(self, pos: int) -> tuple[int, int]:
        try:
            return varint.decode(self.data, pos)
        except FormatError as error:
            raise self.error(error.what, error.offset or pos) from None


def decode_index(block: Block) -> tuple[list[bytes], list[int]]:
    """The last keys and the positions (absolute, in bytes) of the blocks that an index lists."""
    keys, positions = [], []
    pos = block.records
    key = b""
    while pos < block.restarts:
        key, value_type, pos = _decode_key(block, key, pos)
        position, pos = block._varint(pos)
        if value_type:
            raise block.error(f"unknown index record type {value_type}", pos)
        keys.append(key)
        positions.append(position)
    check_end(block, keys, pos, block.restarts)
    return keys, positions


def decode_obj(block: Block) -> tuple[list[bytes], list[list[int]]]:
    """The id prefixes and, for each, the positions of ref blocks (none: scan all of them)."""
    keys, positions = [], []
    pos = block.records
    key = b""
    while pos < block.restarts:
        key, count, pos = _decode_key(block, key, pos)
        if not count:
            count, pos = block._varint(pos)
        if count > block.restarts - pos:
            raise block.error(f"obj record with {count} positions", pos)
        offsets: list[int] = []
        last = 0
        for _ in range(count):
            delta, pos = block._varint(pos)
            if not delta and offsets:
                raise block.error("positions of an obj record are not ascending", pos)
            last += delta
            offsets.append(last)
        keys.append(key)
        positions.append(offsets)
    check_end(block, keys, pos, block.restarts)
    return keys, positions


def _decode_key(block: Block, last: bytes, pos: int) -> tuple[bytes, int, int]:
    at = pos
    prefix, pos = block._varint(pos)
    suffix, pos = block._varint(pos)
    end = pos + (suffix >> 3)
    if prefix > len(last) or end > block.restarts:
        raise block.error("record's key runs past its block or its predecessor", at)
    return last[:prefix] + block.data[pos:end], suffix & 7, end


def check_end(block: Block, keys: list[bytes], pos: int, end: int) -> None:
    """Arriving anywhere but at the end, or with keys out of order, means damage."""
    if pos != end:
        raise block.error(f"last record ends at {pos}, not at {end}", pos)
    if (keys and not keys[0]) or not all(map(lt, keys, islice(keys, 1, None))):
        raise block.error("keys are not in ascending order", block.records)


def parse_block(
    data: bytes, offset: int, header_len: int, header_block_size: int, path: str | None
) -> Block:
    """The block at the start of `data`.

    `data` is what the file holds from `offset` on: at least the block, at most up to the end of
    the sections. `header_len` is the size of the file header that precedes the block's type in
    the first block, else 0; `header_block_size` the table's block size, 0 for unaligned ones.
    Raises `FormatError`.
    """
    kind = data[header_len : header_len + 1]
    length = int.from_bytes(data[header_len + 1 : header_len + HEADER_LEN], "big")
    what = None
    if len(data) < header_len + HEADER_LEN or kind not in (REF, OBJ, INDEX, LOG):
        what = f"no block starts here: type {kind!r}"
    elif length < header_len + HEADER_LEN + 2:
        what = f"{kind!r} block of {length} bytes"
    elif kind != LOG and length > len(data):
        what = f"{kind!r} block of {length} bytes where {len(data)} are left"
    if what:
        raise FormatError(what, path=path, offset=offset + header_len)
    if kind == LOG:
        data, full_size = _inflate(data, offset, header_len + HEADER_LEN, length, path)
        return Block(data, offset, header_len, full_size, path)
    full_size = length
    # Padding is zeros; no block starts with a zero, so another byte is the next block's.
    if length < header_block_size and length < len(data) and not data[length]:
        full_size = header_block_size
    return Block(data[:length], offset, header_len, full_size, path)


def _inflate(
    data: bytes, offset: int, skip: int, length: int, path: str | None
) -> tuple[bytes, int]:
    from zlib_ng import zlib_ng

    inflater = zlib_ng.decompressobj()
    try:
        body = inflater.decompress(data[skip:], length - skip + 1)
    except zlib_ng.error as error:  # type: ignore[misc]
        what = f"log block does not inflate: {error}"
        raise FormatError(what, path=path, offset=offset + skip) from error
    if not inflater.eof or len(body) != length - skip:
        what = f"log block inflates to {skip + len(body)} bytes or more, its header says {length}"
        raise FormatError(what, path=path, offset=offset)
    return data[:skip] + body, len(data) - len(inflater.unused_data)


def deflate(data: bytes) -> bytes:
    """The zlib stream of a log block's content, at git's level 9."""
    from zlib_ng import zlib_ng

    return zlib_ng.compress(data, 9)
