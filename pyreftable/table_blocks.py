"""The blocks of one table: its sections, read block by block and sought through their indexes.

    file header + ref blocks | ref index | obj blocks | obj index | log blocks | log index | footer

A section ends where the footer says that the next one starts (or the footer itself), or at its
own index. An index's top level is where the footer points; its blocks may be several, and lead
to index blocks of the level below or to the section's own blocks.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator
from operator import lt

from .errors import FormatError
from .format.block import (
    HEADER_LEN,
    INDEX,
    LOG,
    OBJ,
    REF,
    Block,
    Run,
    decode_index,
    decode_obj,
    parse_block,
)
from .format.decoding import decode_logs, decode_refs
from .format.header import decode_footer, decode_header, footer_size
from .ranged import RangedReader

_DEFAULT_BLOCK_SIZE = 4096
_MAX_CACHED_INDEX_BLOCKS = 256
#: Bytes up to which a table's blocks stay decoded, which takes about seven times as many: what a
#: transaction has looked through is often merged at its end.
_SMALL = 1 << 20


class TableBlocks:
    """What `Table` stands on: the file, its header and footer, and its blocks."""

    def __init__(self, source: RangedReader, path: str) -> None:
        self.path = path
        self.size = source.size
        self._source = source
        head = source.read(0, 29)
        self._header = header = decode_header(head, path)
        self._end = self.size - footer_size(header.version)
        if self._end < header.size:
            raise FormatError(f"{self.size} bytes are too few for a table", path=path, offset=0)
        footer = source.read(self._end, self.size)
        self.footer = decode_footer(footer, self._end, head, header, path)
        self.version = header.version
        self.hash = header.hash
        self.block_size = header.block_size
        self.min_update_index = header.min_update_index
        self.max_update_index = header.max_update_index
        first = head[header.size : header.size + 1] if self._end > header.size else b""
        self.has_refs = first == REF
        self.has_logs = first == LOG or self.footer.log > 0
        if first not in (b"", REF, LOG):
            raise FormatError(f"first block is of type {first!r}", path=path, offset=header.size)
        if first == LOG and any(self.footer[:5]):
            what = "footer knows of sections before the logs, with which the table starts"
            raise FormatError(what, path=path, offset=self._end)
        self._keeps_decoded = self.size <= _SMALL
        self._decoded: dict[int, Run] = {}
        self._index_cache: dict[int, tuple[list[bytes], list[int], int]] = {}

    @property
    def name(self) -> str:
        """The file's base name."""
        return os.path.basename(self.path)

    def close(self) -> None:
        """Close the file now, iterators or not; without it, garbage collection does."""
        self._source.close()

    def blocks(self, position: int = 0) -> Iterator[Block]:
        """Every block from `position` on, in file order; for who looks at the file itself."""
        while position < self._end and (self.has_refs or self.has_logs):
            block = self._block(position, self._end)
            yield block
            position += block.full_size

    def _ref_end(self) -> int:
        return self.footer.obj or self.footer.log or self._end

    def _block(self, position: int, limit: int) -> Block:
        """The block at `position`, which ends at `limit` at the latest."""
        header_len = 0 if position else self._header.size
        # One byte more than the block shows whether padding follows.
        size = self.block_size or _DEFAULT_BLOCK_SIZE
        room = limit - position
        data = self._source.read(position, size + 1 if size < room else room)
        length = int.from_bytes(data[header_len + 1 : header_len + HEADER_LEN], "big")
        if data[header_len : header_len + 1] == LOG:
            # Deflating can make what does not compress a little longer.
            length += (length >> 8) + 64
        if length >= len(data):
            data = self._source.read(position, min(length + 1, room))
        return parse_block(data, position, header_len, self.block_size, self.path)

    def _block_of(self, kind: bytes, position: int, limit: int) -> Block:
        block = self._block(position, limit)
        if block.type != kind:
            raise block.error(f"expected a block of type {kind.decode()!r}")
        return block

    def _runs(self, kind: bytes, start: int, index: int, end: int, key: bytes) -> Iterator[Run]:
        """The records of a section from `key` on; see `_spans`."""
        last = b""
        for block, begin, stop in self._spans(kind, start, index, end, key):
            is_whole = begin == block.records and stop == block.restarts
            run = self._decode_whole(block) if is_whole else self._decode(block, begin, stop)
            if run.keys[0] <= last:
                raise block.error("first key is not above the last of the records before", begin)
            last = run.keys[-1]
            if run.keys[0] < key:
                run = run.slice(bisect_left(run.keys, key))
            if run.keys:
                yield run

    def _decode_whole(self, block: Block) -> Run:
        """All records of a block: kept where the table is small, and so never to be changed."""
        run = self._decoded.get(block.offset)
        if run is None:
            run = self._decode(block, block.records, block.restarts)
            if self._keeps_decoded:
                self._decoded[block.offset] = run
        return run

    def _decode(self, block: Block, begin: int, stop: int) -> Run:
        if block.type == LOG:
            return decode_logs(block, begin, stop, self.hash.size)
        return decode_refs(block, begin, stop, self.min_update_index, self.hash.size)

    def _spans(
        self, kind: bytes, start: int, index: int, end: int, key: bytes
    ) -> Iterator[tuple[Block, int, int]]:
        """Blocks of a section with the offsets of the records to decode, from `key` on.

        `start` and `end` bound the section, `index` is its index's position or 0. The first
        block comes in two spans: the restart interval that `key` falls into, and the rest.
        """
        block = (
            self._land(kind, start, index, end, key) if key else self._block_of(kind, start, end)
        )
        if key:
            begin, stop = block.restart_interval_of(key)
            yield block, begin, stop
            if stop < block.restarts:
                yield block, stop, block.restarts
        else:
            yield block, block.records, block.restarts
        while (block_after := self._next_block(block, kind, index, end)) is not None:
            block = block_after
            yield block, block.records, block.restarts

    def _next_block(self, block: Block, kind: bytes, index: int, end: int) -> Block | None:
        position = block.offset + block.full_size
        if position >= end:
            if position > end:
                raise block.error(f"padding runs past the section's end at {end}")
            return None
        following = self._block(position, end)
        if following.type == kind:
            return following
        if following.type == INDEX and index:
            return None
        raise following.error(f"in the section of type {kind.decode()!r}")

    def _land(self, kind: bytes, start: int, index: int, end: int, key: bytes) -> Block:
        """The last block of a section whose first key is not above `key`, or the first block.

        What an index says is held against the blocks, so that damage to it hides no record. Where
        the block that it leads to begins after `key`, the block before has to end before `key`.
        """
        position, before = self._seek(kind, start, index, end, key)
        block = self._block_of(kind, position, end)
        if index and position != start and key < block.first_key():
            previous = None if before is None else self._last_block(kind, before, end)
            if (
                previous is None
                or previous.offset + previous.full_size != position
                or self._last_key(previous) >= key
            ):
                raise block.error(f"the index leads here, past where {key!r} should be")
        return block

    def _last_block(self, kind: bytes, position: int, end: int) -> Block:
        """The last block of a section's part to which an index record leads."""
        while self._is_index(position):
            position = self._index_block(position)[1][-1]
        return self._block_of(kind, position, end)

    def _last_key(self, block: Block) -> bytes:
        if block.type == OBJ:
            return decode_obj(block)[0][-1]
        return self._decode(block, block.restart_offsets[-1], block.restarts).keys[-1]

    def _seek(
        self, kind: bytes, start: int, index: int, end: int, key: bytes
    ) -> tuple[int, int | None]:
        """The position of the block that should hold `key`, and the index's entry before that.

        Past the last key that is the last block.
        """
        if not index:
            return self._seek_linear(kind, start, end, key), None
        position = index
        before = None
        on_top = True
        while self._is_index(position):
            keys, positions, following = self._index_block(position)
            at = bisect_left(keys, key)
            if at == len(keys):
                if on_top and following < self._end and self._is_index(following):
                    before, position = positions[-1], following
                    continue
                at -= 1
            if at:
                before = positions[at - 1]
            position = positions[at]
            on_top = False
        return position, before

    def _seek_linear(self, kind: bytes, start: int, end: int, key: bytes) -> int:
        """The last block whose first key is not above `key`; sections without index are short."""
        block = self._block(start, end)
        while (following := self._next_block(block, kind, 0, end)) is not None:
            if following.first_key() > key:
                break
            block = following
        return block.offset

    def _is_index(self, position: int) -> bool:
        # The table's first block begins with the file header, and is none.
        return position in self._index_cache or self._source.read(position, 1) == INDEX

    def _index_block(self, position: int) -> tuple[list[bytes], list[int], int]:
        """Keys and positions in an index block, and where it ends.

        The positions ascend and lie before the block, so that no walk down goes on for ever.
        """
        cached = self._index_cache.get(position)
        if cached is None:
            block = self._block_of(INDEX, position, self._end)
            keys, positions = decode_index(block)
            if not all(map(lt, positions, [*positions[1:], position])):
                raise block.error("positions do not ascend, or not from before the index")
            cached = (keys, positions, position + block.full_size)
            if len(self._index_cache) >= _MAX_CACHED_INDEX_BLOCKS:
                self._index_cache.clear()
            self._index_cache[position] = cached
        return cached
