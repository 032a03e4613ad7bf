"""Checking one table against itself: every section, and every index against what it lists.

    ref blocks | ref index | obj blocks | obj index | log blocks | log index | footer

Knows nothing of refs but that they have names in ascending order. A block that cannot be read
ends its section; the next one starts where the footer says, so one fault hides little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .errors import FormatError
from .format.block import HEADER_LEN, INDEX, LOG, OBJ, REF, Block, parse_block
from .format.check import BlockRecord, Problem, check_block, name_of, positions_of
from .format.header import footer_size, header_size
from .format.records import split_log_key
from .format.varint import decode as decode_varint
from .progress import SILENCE, Progress
from .ranged import RangedReader
from .table import Table

_GUESS = 4096
_KINDS = {REF: "ref", OBJ: "obj", LOG: "log"}


class _Obj(NamedTuple):
    """An obj record: where it is, and the positions that it lists."""

    offset: int
    positions: list[int]


class _Listed(NamedTuple):
    """A block as the index above it must list it."""

    last_key: bytes
    position: int


def check_table(source: RangedReader, path: str, progress: Progress = SILENCE) -> Iterator[Problem]:
    """What is wrong with the table in `source`, which messages call `path`; nothing if all is well.

    Reads the whole table. `progress` is told of its refs and log entries. Never raises
    `FormatError`.
    """
    try:
        table = Table(source, path)
    except FormatError as error:
        yield Problem.of(error, path)
        return
    yield from _TableCheck(source, table, progress).run()


class _TableCheck:
    def __init__(self, source: RangedReader, table: Table, progress: Progress) -> None:
        self.progress = progress
        self.read = source.read
        self.table = table
        self.path = table.path
        self.hash_size = table.hash.size
        self.first = header_size(table.version)
        self.end = source.size - footer_size(table.version)
        self.problems: list[Problem] = []
        # Object id (a prefix of it, as long as the obj section's keys) to positions of ref blocks.
        self.holders: dict[bytes, set[int]] = {}
        self.a_ref_of: dict[bytes, bytes] = {}
        self.refs_are_whole = True

    def run(self) -> Iterator[Problem]:
        footer, table = self.table.footer, self.table
        if table.has_refs:
            yield from self._section(REF, 0, footer.obj or footer.log or self.end, footer.ref_index)
        if footer.obj:
            yield from self._section(OBJ, footer.obj, footer.log or self.end, footer.obj_index)
        if table.has_logs:
            yield from self._section(LOG, footer.log, self.end, footer.log_index)
        if not (table.has_refs or table.has_logs) and self.end != self.first:
            what = f"{self.end - self.first} bytes between header and footer"
            yield Problem(self.path, self.first, what)
        if footer.obj and not table.has_refs:
            yield Problem(self.path, footer.obj, "an obj section without refs")

    def _section(self, kind: bytes, start: int, limit: int, index: int) -> Iterator[Problem]:
        """A section from `start`, with its index, whose top level is at `index` (0: none)."""
        blocks: list[_Listed] = []
        position: int | None = start
        last = b""
        objs: dict[bytes, _Obj] = {}
        while position is not None and position < limit:
            block = self._block(position, limit)
            yield from self._found()
            if block is None:
                self.refs_are_whole = self.refs_are_whole and kind != REF
                return
            if block.type != kind:
                break
            records = check_block(block, self.hash_size, self.problems)
            yield from self._found()
            if not records or records[-1].end != block.restarts:
                # The rest of the section cannot be compared with what lists it.
                self.refs_are_whole = self.refs_are_whole and kind != REF
                return
            if last and records[0].key <= last:
                what = f"key {records[0].key!r} is not above {last!r} in the block before"
                yield self._problem(block, what, records[0].at, records[0].key)
            last = records[-1].key
            if kind != OBJ:
                self.progress.advance(len(records))
            yield from self._check_records(block, records, objs)
            blocks.append(_Listed(last, position))
            position = block.offset + block.full_size
        yield from self._check_index(kind, blocks, position, limit, index)
        if kind == OBJ and self.refs_are_whole:
            yield from self._compare_objs(start, objs)

    def _block(self, position: int, limit: int) -> Block | None:
        """The block at `position`; a problem is noted, and `None` given, if there is none."""
        header_len = 0 if position else self.first
        guess = self.table.block_size or _GUESS
        data = self.read(position, min(guess + 1, limit - position))
        length = int.from_bytes(data[header_len + 1 : header_len + HEADER_LEN], "big")
        if data[header_len : header_len + 1] == LOG:
            # Deflating can make what does not compress a little longer.
            length += (length >> 8) + 64
        if length + 1 > len(data):
            data = self.read(position, min(length + 1, limit - position))
        try:
            block = parse_block(data, position, header_len, self.table.block_size, self.path)
        except FormatError as error:
            self.problems.append(Problem.of(error, self.path))
            return None
        end = position + block.full_size
        if end > limit:
            self.problems.append(self._problem(block, f"padding runs past {limit}"))
            return None
        if block.type != LOG and any(data[len(block.data) : block.full_size]):
            self.problems.append(self._problem(block, "padding is not zero", len(block.data)))
        return block

    def _found(self) -> Iterable[Problem]:
        found, self.problems = self.problems, []
        return found

    def _problem(self, block: Block, what: str, at: int = 0, key: bytes = b"") -> Problem:
        name = name_of(block, key) if key else b""
        return Problem.of(block.error(what, at), self.path, name)

    # Records

    def _check_records(
        self, block: Block, records: list[BlockRecord], objs: dict[bytes, _Obj]
    ) -> Iterator[Problem]:
        if block.type == REF:
            yield from self._check_refs(block, records)
        elif block.type == LOG:
            yield from self._check_logs(block, records)
        else:
            for record in records:
                if len(record.key) != self.table.footer.obj_id_len:
                    what = f"object id of {len(record.key)} bytes"
                    yield self._problem(block, what, record.at)
                offset = block.offset + record.at
                objs[record.key] = _Obj(offset, positions_of(block, record))

    def _check_refs(self, block: Block, records: list[BlockRecord]) -> Iterator[Problem]:
        table, size = self.table, self.hash_size
        id_len = table.footer.obj_id_len
        for record in records:
            delta, at = decode_varint(block.data, record.value_at)
            index = table.min_update_index + delta
            if index > table.max_update_index:
                what = f"update index {index} is above the table's largest"
                yield self._problem(block, what, record.at, record.key)
            if record.value_type in (1, 2) and id_len:
                for start in range(at, record.end, size):
                    prefix = block.data[start : start + id_len]
                    self.holders.setdefault(prefix, set()).add(block.offset)
                    self.a_ref_of.setdefault(prefix, record.key)

    def _check_logs(self, block: Block, records: list[BlockRecord]) -> Iterator[Problem]:
        for record in records:
            index = split_log_key(record.key)[1]
            if record.value_type and index > self.table.max_update_index:
                what = f"update index {index} is above the table's largest"
                yield self._problem(block, what, record.at, record.key)

    # Indexes

    def _check_index(
        self, kind: bytes, listed: list[_Listed], position: int | None, limit: int, top: int
    ) -> Iterator[Problem]:
        """Level by level: each must list exactly the blocks of the one below, in order."""
        level, level_start, seen = listed, position or 0, 0
        above: list[_Listed] = []
        found_top = 0
        while position is not None and position < limit:
            block = self._block(position, limit)
            yield from self._found()
            if block is None:
                return
            if block.type != INDEX:
                yield self._problem(block, f"in the {_KINDS[kind]} section")
                return
            records = check_block(block, self.hash_size, self.problems)
            yield from self._found()
            for record in records:
                what = _mismatch(block, record, level, seen)
                if what:
                    yield self._problem(block, what, record.at, record.key)
                    return
                seen += 1
            above.append(_Listed(records[-1].key if records else b"", position))
            position = block.offset + block.full_size
            if seen == len(level):
                found_top, level, above, seen = level_start, above, [], 0
                level_start = position
        if seen:
            what = f"{_KINDS[kind]} index lists {seen} of {len(level)} blocks"
            yield Problem(self.path, level_start, what)
        elif found_top != top:
            what = f"{_KINDS[kind]} index is at {found_top}, the footer says {top} (0: none)"
            yield Problem(self.path, top or found_top, what)

    def _compare_objs(self, start: int, objs: dict[bytes, _Obj]) -> Iterator[Problem]:
        """The obj section must name, for each id in the refs, the blocks that hold it."""
        for prefix in sorted(objs.keys() | self.holders.keys()):
            expected = sorted(self.holders.get(prefix, ()))
            obj = objs.get(prefix)
            what = ""
            if obj is None:
                what = f"obj section misses the id {prefix.hex()} of the refs in {expected}"
            elif not expected:
                what = f"obj section has the id {prefix.hex()}, which no ref has"
            elif obj.positions and obj.positions != expected:
                listed = obj.positions
                what = f"obj section has {prefix.hex()} in {listed}, refs have it in {expected}"
            if what:
                offset = start if obj is None else obj.offset
                yield Problem(self.path, offset, what, self.a_ref_of.get(prefix, b""))


def _mismatch(block: Block, record: BlockRecord, level: list[_Listed], seen: int) -> str:
    """How an index record differs from the block that it should list; empty if it does not."""
    positions = positions_of(block, record)
    if seen >= len(level):
        return f"index lists a block at {positions[0]} that is not in the level below"
    expected = level[seen]
    if positions[0] != expected.position:
        return f"index says {positions[0]}, the block is at {expected.position}"
    if record.key != expected.last_key:
        return f"index says last key {record.key!r}, the block ends with {expected.last_key!r}"
    return ""
