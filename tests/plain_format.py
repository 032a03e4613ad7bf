"""The format once more, slowly: the oracle for the fast loops, and the tool for odd tables.

Nothing here is shared with the package but the header and footer structures, so that a table can
be put together that no `TableWriter` would write: foreign layouts, and damage.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

from pyreftable.format.header import Footer, Header, encode_footer, encode_header
from pyreftable.hashes import SHA1, HashAlgorithm

MAX_RESTARTS = 65535


class Item(NamedTuple):
    """A record as a block sees it: key, value type, and the bytes after the key."""

    key: bytes
    kind: int
    payload: bytes


def plain_varint(value: int) -> bytes:
    """The rule as the document states it, from the last byte to the first."""
    encoded = bytes([value & 127])
    while value := value >> 7:
        value -= 1
        encoded = bytes([0x80 | value & 127]) + encoded
    return encoded


def columns(items: Sequence[Item]) -> tuple[list[bytes], list[int], list[bytes]]:
    """Records as the parallel lists that `BlockWriter` takes."""
    keys = [item.key for item in items]
    return keys, [item.kind for item in items], [item.payload for item in items]


def shared_prefix(a: bytes, b: bytes) -> int:
    """How many bytes two keys have in common at their start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def encode_item(item: Item, last: bytes | None) -> bytes:
    """A record after the key `last`; `None` makes it a restart."""
    prefix = 0 if last is None else shared_prefix(last, item.key)
    suffix = item.key[prefix:]
    head = plain_varint(prefix) + plain_varint(len(suffix) << 3 | item.kind)
    return head + suffix + item.payload


def frame(
    kind: bytes,
    records: bytes,
    restarts: Sequence[int],
    header: bytes = b"",
    *,
    length: int | None = None,
    count: int | None = None,
) -> bytes:
    """A block around encoded records; offsets, length and count are what they are said to be."""
    table = b"".join(offset.to_bytes(3, "big") for offset in restarts)
    body = records + table + (len(restarts) if count is None else count).to_bytes(2, "big")
    whole = len(header) + 4 + len(body) if length is None else length
    stored = zlib.compress(body, 9) if kind == b"g" else body
    return header + kind + whole.to_bytes(3, "big") + stored


def plain_block(
    kind: bytes, items: Sequence[Item], interval: int = 16, header: bytes = b""
) -> bytes:
    """A block of these records, as git lays it out."""
    records = bytearray()
    restarts: list[int] = []
    last = b""
    for number, item in enumerate(items):
        is_restart = number % interval == 0
        if (is_restart or not shared_prefix(last, item.key)) and len(restarts) < MAX_RESTARTS:
            restarts.append(len(header) + 4 + len(records))
        records += encode_item(item, None if is_restart else last)
        last = item.key
    return frame(kind, bytes(records), restarts, header)


def plain_size(kind: bytes, items: Sequence[Item], interval: int, header: bytes = b"") -> int:
    """The length of that block before deflating."""
    return int.from_bytes(plain_block(kind, items, interval, header)[len(header) + 1 :][:3], "big")


class Assembly:
    """A table put together block by block. Positions are what `add` returned, or invented."""

    def __init__(
        self,
        *,
        block_size: int = 256,
        low: int = 1,
        high: int = 100,
        version: int = 1,
        hash: HashAlgorithm = SHA1,
        interval: int = 16,
    ) -> None:
        self.header = Header(version, block_size, low, high, hash)
        self.interval = interval
        self.data = b""

    def add(self, kind: bytes, *items: Item) -> int:
        """A well-formed block of these records; its position."""
        return self.add_raw(lambda header: plain_block(kind, items, self.interval, header))

    def add_raw(self, make: Callable[[bytes], bytes]) -> int:
        """Whatever `make` gives for the file header, which only the first block is given."""
        position = len(self.data)
        self.data += make(b"" if self.data else encode_header(self.header))
        return position

    def align(self) -> Assembly:
        """Pad to the block size."""
        self.data += bytes(-len(self.data) % self.header.block_size)
        return self

    def finish(self, **positions: int) -> bytes:
        """The table, with a footer of these positions."""
        return self.data + encode_footer(self.header, Footer(**positions))


def ref_item(name: bytes, kind: int = 0, value: bytes = b"", delta: int = 0) -> Item:
    """A ref record; `value` is raw, with a symref's length in it."""
    return Item(name, kind, plain_varint(delta) + value)


def index_item(key: bytes, position: int) -> Item:
    """An index record."""
    return Item(key, 0, plain_varint(position))


def obj_item(prefix: bytes, *positions: int) -> Item:
    """An obj record, in the form the document asks for that many positions."""
    deltas = [b - a for a, b in zip((0, *positions), positions, strict=False)]
    count = len(positions)
    payload = b"".join(map(plain_varint, deltas))
    return Item(prefix, count, payload) if 0 < count < 8 else many_positions(prefix, count, payload)


def many_positions(prefix: bytes, count: int, deltas: bytes) -> Item:
    """An obj record whose count stands before its positions, not in the value type."""
    return Item(prefix, 0, plain_varint(count) + deltas)
