"""One immutable table: seek, iterate, and find the refs that hold an object id.

    file header + ref blocks | ref index | obj blocks | obj index | log blocks | log index | footer

A section ends where the footer says that the next one starts (or the footer itself), or at its
own index. An index's top level is where the footer points; its blocks may be several, and lead
to index blocks of the level below or to the section's own blocks.

Readers in several threads may share a table. Iterators hold on to it; its file is closed when
the last of them is gone. Damage raises `FormatError` with the file and the absolute offset.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Protocol

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
    decode_logs,
    decode_obj,
    decode_refs,
    parse_block,
)
from .format.header import decode_footer, decode_header, footer_size
from .format.lookup import find_ref
from .format.records import (
    OID,
    OID_AND_PEELED,
    LogRecord,
    RefRecord,
    decode_log,
)

_DEFAULT_BLOCK_SIZE = 4096
_MAX_CACHED_INDEX_BLOCKS = 256


class RangedReader(Protocol):
    """Where a table's bytes come from: a mapped file, or anything read by ranges."""

    @property
    def size(self) -> int:
        """Length in bytes."""

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on: `length` of them, or fewer at the end."""

    def close(self) -> None:
        """Give the resource back."""


class MappedFile:
    """A file read through a memory map."""

    def __init__(self, path: str) -> None:
        import mmap

        with open(path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            # An empty file cannot be mapped; the table's size check will refuse it.
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.size else None

    def read(self, offset: int, length: int) -> bytes:
        """See `RangedReader.read`."""
        return self._map[offset : offset + length] if self._map is not None else b""

    def close(self) -> None:
        """Unmap the file."""
        if self._map is not None:
            self._map.close()


class Table:
    """A table read from `source`; `path` names it in errors, `name` is its base name.

    Raises `FormatError` when header or footer are damaged.
    """

    def __init__(self, source: RangedReader, path: str) -> None:
        self.path = path
        self.name = os.path.basename(path)
        self.size = source.size
        self._source = source
        head = source.read(0, 29)
        self._header = header = decode_header(head, path)
        self._end = self.size - footer_size(header.version)
        if self._end < header.size:
            raise FormatError(f"{self.size} bytes are too few for a table", path=path, offset=0)
        self.footer = decode_footer(source.read(self._end, self.size), self._end, head, path)
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
        self._index_cache: dict[int, tuple[bytes, list[bytes], list[int], int]] = {}

    @classmethod
    def open(cls, path: str) -> Table:
        """The table in the file at `path`, memory-mapped.

        Raises `FormatError`, or `OSError` when the file cannot be read (`FileNotFoundError` when
        it is gone).
        """
        source = MappedFile(path)
        try:
            return cls(source, path)
        except FormatError:
            source.close()
            raise

    def close(self) -> None:
        """Close the file now, iterators or not; without it, garbage collection does."""
        self._source.close()

    def __repr__(self) -> str:
        return f"<Table {self.name} {self.min_update_index}..{self.max_update_index}>"

    # Refs

    def ref(self, refname: bytes) -> RefRecord | None:
        """The record of exactly that name, deletions included."""
        index, end = self.footer.ref_index, self._ref_end()
        position = self._seek(REF, 0, index, end, refname) if self.has_refs else None
        if position is None:
            return None
        block = self._block_of(REF, position, end)
        return find_ref(block, refname, self.min_update_index, self.hash.size)

    def refs(self, start: bytes = b"") -> Iterator[RefRecord]:
        """The ref records from the name `start` on, deletions included."""
        for names, types, values, indexes in self.ref_runs(start):
            yield from map(RefRecord, names, indexes, types, values)

    def ref_runs(self, start: bytes = b"") -> Iterator[Run]:
        """The same as non-empty runs; the first is short, so that a look-up decodes little."""
        if not self.has_refs:
            return
        low, size = self.min_update_index, self.hash.size
        for block, begin, end in self._spans(REF, 0, self.footer.ref_index, self._ref_end(), start):
            run = decode_refs(block, begin, end, low, size)
            if start and run.keys[0] < start:
                run = run.slice(bisect_left(run.keys, start))
            if run.keys:
                yield run

    def runs_among(self, names: Sequence[bytes]) -> Iterator[tuple[Run, int, int]]:
        """For sorted names: whole blocks, each with the slice of `names` that falls into it.

        A name falls into the first block whose last key is not below it; names past the last
        block are left out.
        """
        index, end = self.footer.ref_index, self._ref_end()
        at, count = 0, len(names) if self.has_refs else 0
        while at < count:
            position = self._seek(REF, 0, index, end, names[at])
            block = None if position is None else self._block_of(REF, position, end)
            if block is None:
                return
            run = self._decode_refs(block)
            if run.keys[-1] < names[at]:
                # Only without an index: the name lies between two blocks, or past the last.
                following = self._next_block(block, REF, index, end)
                if following is None:
                    return
                run = self._decode_refs(following)
            stop = bisect_right(names, run.keys[-1], at)
            yield run, at, stop
            at = stop

    def refs_for(self, oid: bytes) -> Iterator[RefRecord]:
        """The ref records whose object id or peeled id is `oid` (raw), in name order.

        Uses the obj section where there is one.
        """
        positions = self._obj_positions(oid)
        runs = self.ref_runs() if positions is None else map(self._ref_run_at, positions)
        size = len(oid)
        for names, types, values, indexes in runs:
            for name, index, value_type, value in zip(names, indexes, types, values, strict=True):
                if value_type in (OID, OID_AND_PEELED) and oid in (value[:size], value[size:]):
                    yield RefRecord(name, index, value_type, value)

    # Logs

    def logs(self, start: bytes = b"") -> Iterator[LogRecord]:
        """The log records from the log key `start` on, deletions included.

        A bare ref name as `start` begins at that ref's newest entry.
        """
        size = self.hash.size
        for keys, types, values, _ in self.log_runs(start):
            for key, value_type, value in zip(keys, types, values, strict=True):
                yield decode_log(key, value_type, value, size)

    def log_runs(self, start: bytes = b"") -> Iterator[Run]:
        """The same as non-empty runs of keys and undecoded values."""
        if not self.has_logs:
            return
        footer, size = self.footer, self.hash.size
        for block, begin, end in self._spans(LOG, footer.log, footer.log_index, self._end, start):
            run = decode_logs(block, begin, end, size)
            if start and run.keys[0] < start:
                run = run.slice(bisect_left(run.keys, start))
            if run.keys:
                yield run

    # Blocks

    def blocks(self) -> Iterator[Block]:
        """Every block in file order; for those who look at the file itself."""
        position = 0
        while position < self._end and (self.has_refs or self.has_logs):
            block = self._block(position, self._end)
            yield block
            position += block.full_size

    def _ref_end(self) -> int:
        return self.footer.obj or self.footer.log or self._end

    def _block(self, position: int, limit: int) -> Block:
        """The block at `position`, which ends at `limit` at the latest."""
        header_len = 0 if position else self._header.size
        guess = self.block_size or _DEFAULT_BLOCK_SIZE
        read = self._source.read
        # One byte more than the block shows whether padding follows.
        data = read(position, min(guess + 1, limit - position))
        length = int.from_bytes(data[header_len + 1 : header_len + HEADER_LEN], "big")
        if data[header_len : header_len + 1] == LOG:
            # Deflating can make what does not compress a little longer.
            length += (length >> 8) + 64
        if length + 1 > len(data):
            data = read(position, min(length + 1, limit - position))
        return parse_block(data, position, header_len, self.block_size, self.path)

    def _block_of(self, kind: bytes, position: int, limit: int) -> Block:
        block = self._block(position, limit)
        if block.type != kind:
            raise block.error(f"expected a block of type {kind.decode()!r}")
        return block

    def _spans(
        self, kind: bytes, start: int, index: int, end: int, key: bytes
    ) -> Iterator[tuple[Block, int, int]]:
        """Blocks of a section with the offsets of the records to decode, from `key` on.

        `start` and `end` bound the section, `index` is its index's position or 0. The first
        block comes in two spans: the restart interval that `key` falls into, and the rest.
        """
        position = self._seek(kind, start, index, end, key) if key else start
        if position is None:
            return
        block = self._block_of(kind, position, end)
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
        if following.type == INDEX and index and kind != INDEX:
            return None
        if kind == INDEX:
            return None
        raise following.error(f"in the section of type {kind.decode()!r}")

    def _seek(self, kind: bytes, start: int, index: int, end: int, key: bytes) -> int | None:
        """The position of the block that would hold `key`; `None` where that is past the last."""
        if index:
            return self._seek_index(index, end, key, kind)
        return self._seek_linear(kind, start, end, key)

    def _seek_linear(self, kind: bytes, start: int, end: int, key: bytes) -> int:
        """The last block whose first key is not above `key`; sections without index are short."""
        block = self._block(start, end)
        while (following := self._next_block(block, kind, 0, end)) is not None:
            if following.first_key() > key:
                break
            block = following
        return block.offset

    def _seek_index(self, position: int, end: int, key: bytes, kind: bytes) -> int | None:
        """Follow index blocks down to the section's block that may hold `key`, if any does."""
        limit = self._end
        while True:
            block_type, keys, positions, following = self._index_block(position, limit)
            if block_type != INDEX:
                return position
            at = bisect_left(keys, key)
            if at == len(keys):
                # Only the top level can end before its last block's key is reached.
                position = following
                if position >= self._end or self._source.read(position, 1) != INDEX:
                    return None
                continue
            if positions[at] >= position:
                what = f"index points forward, to {positions[at]}"
                raise FormatError(what, path=self.path, offset=position)
            position = positions[at]
            if not position:
                return position

    def _index_block(self, position: int, limit: int) -> tuple[bytes, list[bytes], list[int], int]:
        cached = self._index_cache.get(position)
        if cached is None:
            block = self._block(position, limit)
            if block.type != INDEX:
                return block.type, [], [], 0
            cached = (INDEX, *decode_index(block), position + block.full_size)
            if len(self._index_cache) >= _MAX_CACHED_INDEX_BLOCKS:
                self._index_cache.clear()
            self._index_cache[position] = cached
        return cached

    def _ref_run_at(self, position: int) -> Run:
        if position >= self._ref_end():
            what = f"obj section points to {position}, outside the refs"
            raise FormatError(what, path=self.path, offset=self.footer.obj)
        return self._decode_refs(self._block_of(REF, position, self._ref_end()))

    def _decode_refs(self, block: Block) -> Run:
        low = self.min_update_index
        return decode_refs(block, block.records, block.restarts, low, self.hash.size)

    def _obj_positions(self, oid: bytes) -> list[int] | None:
        """Positions of the ref blocks that may hold `oid`; `None` means all of them."""
        footer = self.footer
        if not footer.obj:
            return None
        prefix = oid[: footer.obj_id_len]
        end = footer.log or self._end
        position: int | None = footer.obj
        if footer.obj_index:
            position = self._seek_index(footer.obj_index, end, prefix, OBJ)
        block = None if position is None else self._block(position, end)
        while block is not None:
            keys, positions = decode_obj(block)
            at = bisect_left(keys, prefix)
            if at < len(keys):
                found = positions[at] if keys[at] == prefix else []
                return (found or None) if keys[at] == prefix else []
            block = self._next_block(block, OBJ, footer.obj_index, end)
        return []
