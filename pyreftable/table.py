"""One immutable table: seek, iterate, and find the refs that hold an object id.

Readers in several threads may share a table. Iterators hold on to it; its file is closed when
the last of them is gone. Damage raises `FormatError` with the file and the absolute offset.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from .errors import FormatError
from .format.block import (
    LOG,
    OBJ,
    REF,
    Block,
    Run,
    decode_obj,
)
from .format.lookup import Finding, find_ref, holders
from .format.records import (
    LogRecord,
    RefRecord,
    decode_log,
)
from .ranged import RangedReader, open_file
from .table_blocks import TableBlocks

#: After so many look-ups it pays to know a table's first and last name.
_OFTEN = 4
#: Decoding a block costs about as much as so many look-ups in it.
_WORTH_DECODING = 8
#: So many answers are remembered at most, some 300 bytes each: the same few names are often asked
#: again. An answer's place follows from the name's hash, and the next one for that place takes it.
_ANSWERS = 1 << 13
_PLACE = _ANSWERS - 1

#: The fields of a `RefRecord`.
Row = tuple[bytes, int, int, bytes]


class Table(TableBlocks):
    """A table read from `source`; `path` names it in errors, `name` is its base name.

    Raises `FormatError` when header or footer are damaged.
    """

    def __init__(self, source: RangedReader, path: str) -> None:
        super().__init__(source, path)
        self._asked = 0
        self._answers: list[tuple[bytes, RefRecord | None] | None] = []
        self._hits: dict[int, int] = {}
        self._rows: dict[bytes, Row] | None = None
        self._bounds: tuple[bytes, bytes] | None = None

    @classmethod
    def open(cls, path: str) -> Table:
        """The table in the file at `path`, memory-mapped.

        Raises `FormatError`, or `OSError` when the file cannot be read (`FileNotFoundError` when
        it is gone).
        """
        source = open_file(path)
        try:
            return cls(source, path)
        except FormatError:
            source.close()
            raise

    def __repr__(self) -> str:
        return f"<Table {self.name} {self.min_update_index}..{self.max_update_index}>"

    # Refs

    def ref(self, refname: bytes) -> RefRecord | None:
        """The record of exactly that name, deletions included."""
        answers = self._answers
        if not answers:
            return self._first_answers(refname)
        place = hash(refname) & _PLACE
        known = answers[place]
        if known is not None and known[0] == refname:
            return known[1]
        record = self._look_up(refname) if self._may_hold(refname) else None
        answers[place] = refname, record
        return record

    def _first_answers(self, refname: bytes) -> RefRecord | None:
        """What `ref` answers while it is not yet asked often, and remembers nothing."""
        if not self.has_refs:
            return None
        if self._asked < _OFTEN:
            self._asked += 1
        else:
            self._answers = [None] * _ANSWERS
        return self._look_up(refname)

    def _look_up(self, refname: bytes) -> RefRecord | None:
        index, end = self.footer.ref_index, self._ref_end()
        position = self._seek(REF, 0, index, end, refname)[0]
        if self._keeps_decoded and self._is_worth_decoding(position):
            record, within = self._look_up_decoded(position, refname)
        else:
            block = self._block_of(REF, position, end)
            record, within = find_ref(block, refname, self.min_update_index, self.hash.size)
        if within or not index:
            return record
        # A miss at a block's edge may be the index's fault: seek the way that would tell.
        record = next(self.refs(refname), None)
        return record if record is not None and record.refname == refname else None

    def _is_worth_decoding(self, position: int) -> bool:
        """Whether the block there is decoded already, or is asked so often that it should be."""
        hits = self._hits.get(position, 0)
        if hits >= _WORTH_DECODING or position in self._decoded:
            return True
        self._hits[position] = hits + 1
        return False

    def _look_up_decoded(self, position: int, refname: bytes) -> Finding:
        """What `find_ref` would find, in a block that stays decoded for the next look-up."""
        run = self._decoded.get(position)
        if run is None:
            run = self._decode_whole(self._block_of(REF, position, self._ref_end()))
        keys, types, values, indexes = run
        at = bisect_left(keys, refname)
        if at < len(keys) and keys[at] == refname:
            return RefRecord(refname, indexes[at], types[at], values[at]), True
        return None, 0 < at < len(keys)

    def rows(self) -> dict[bytes, Row]:
        """All its refs by name. They are kept: for small tables only."""
        rows = self._rows
        if rows is None:
            rows = {}
            for names, types, values, indexes in self._whole_runs():
                # The columns of a run are of one length.
                rows.update(zip(names, zip(names, indexes, types, values)))  # noqa: B905
            self._rows = rows
        return rows

    def _whole_runs(self) -> Iterable[Run]:
        """The same as `ref_runs`, and at once where the refs are one block, as in new tables."""
        end = self._ref_end()
        if self.has_refs and not self.footer.ref_index:
            block = self._block_of(REF, 0, end)
            if block.full_size == end:
                return (self._decode_whole(block),)
        return self.ref_runs()

    def _may_hold(self, refname: bytes) -> bool:
        """Whether `refname` is within the table's first and last name, which are read once."""
        if self._bounds is None:
            index, end = self.footer.ref_index, self._ref_end()
            first = last = self._block_of(REF, 0, end)
            following: Block | None = self._land(REF, 0, index, end, b"\xff")
            # What the index calls the last block is only believed where none follows.
            while following is not None:
                last, following = following, self._next_block(following, REF, index, end)
            # Decoded whole, so that their keys are known to be in order.
            first_run, last_run = (self._decode_whole(block) for block in (first, last))
            self._bounds = first_run.keys[0], last_run.keys[-1]
        return self._bounds[0] <= refname <= self._bounds[1]

    def refs(self, start: bytes = b"") -> Iterator[RefRecord]:
        """The ref records from the name `start` on, deletions included."""
        for names, types, values, indexes in self.ref_runs(start):
            yield from map(RefRecord, names, indexes, types, values)

    def ref_runs(self, start: bytes = b"") -> Iterator[Run]:
        """The same as non-empty runs; the first is short, so that a look-up decodes little."""
        if not self.has_refs:
            return iter(())
        return self._runs(REF, 0, self.footer.ref_index, self._ref_end(), start)

    def runs_among(self, names: Sequence[bytes]) -> Iterator[tuple[Run, int, int, bool]]:
        """For sorted names: whole blocks, each with the slice of `names` that falls into it.

        A name falls into the first block whose last key is not below it; names past the last
        block are left out. The fourth item says whether the block follows the one before at once.
        """
        index, end = self.footer.ref_index, self._ref_end()
        at, count = 0, len(names) if self.has_refs else 0
        after = -1
        while at < count:
            block = self._land(REF, 0, index, end, names[at])
            run = self._decode_whole(block)
            while run.keys[-1] < names[at]:
                # The name lies between two blocks, or past the last.
                following = self._next_block(block, REF, index, end)
                if following is None:
                    return
                block = following
                run = self._decode_whole(block)
            stop = bisect_right(names, run.keys[-1], at)
            yield run, at, stop, block.offset == after
            after = block.offset + block.full_size
            at = stop

    def refs_for(self, oid: bytes) -> Iterator[RefRecord]:
        """The ref records whose object id or peeled id is `oid` (raw), in name order.

        Uses the obj section where there is one.
        """
        positions = self._obj_positions(oid)
        if positions is None:
            for run in self.ref_runs():
                yield from holders(run, oid, len(oid))
            return
        prefix = oid[: self.footer.obj_id_len]
        for position in positions:
            run = self._ref_run_at(position)
            alike = holders(run, prefix, len(oid))
            if not alike:
                what = f"obj section says that the block at {position} holds {prefix.hex()}"
                raise FormatError(what, path=self.path, offset=self.footer.obj)
            yield from (record for record in alike if oid in (record.oid, record.peeled))

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
            return iter(())
        return self._runs(LOG, self.footer.log, self.footer.log_index, self._end, start)

    def _ref_run_at(self, position: int) -> Run:
        if position >= self._ref_end():
            what = f"obj section points to {position}, outside the refs"
            raise FormatError(what, path=self.path, offset=self.footer.obj)
        block = self._block_of(REF, position, self._ref_end())
        return self._decode_whole(block)

    def _obj_positions(self, oid: bytes) -> list[int] | None:
        """Positions of the ref blocks that may hold `oid`; `None` means all of them."""
        footer = self.footer
        if not footer.obj:
            return None
        prefix = oid[: footer.obj_id_len]
        end = footer.log or self._end
        block: Block | None = self._land(OBJ, footer.obj, footer.obj_index, end, prefix)
        while block is not None:
            keys, positions = decode_obj(block)
            if len(keys[0]) != footer.obj_id_len:
                raise block.error(f"ids of {len(keys[0])} bytes, not of {footer.obj_id_len}")
            at = bisect_left(keys, prefix)
            if at < len(keys):
                found = positions[at] if keys[at] == prefix else []
                return (found or None) if keys[at] == prefix else []
            block = self._next_block(block, OBJ, footer.obj_index, end)
        return []
