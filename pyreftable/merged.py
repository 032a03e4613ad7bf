"""Many tables read as one: the newest record of a key hides the older ones.

The tables' runs meet in a priority queue. The smallest key's run is emitted up to the next
smallest key of any other table at once, found by bisection: most records sit in one big base
table, so runs are long and the queue is seldom touched. Where tables are closely woven (a table of
creations over one of the same names' deletions), whole windows are merged instead.

Deletion records are yielded unless `suppress_deletions` is set. Call sites then skip them after
their own bounds check (is the name still equal, still under the prefix?), so that a look-up that
lands among tombstones stops at the first record past its bound. Suppressing them here, as git
once did, makes such a look-up scan every tombstone that follows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import repeat

from .format.block import Run
from .format.records import DELETION, LogRecord, RefRecord, decode_log
from .newest import Newest
from .table import Table

_RUN_LENGTH = 512
_WORTH_A_SLICE = 16


class Merged:
    """The merged view of `tables`, oldest first; immutable and shared, like the tables.

    `previous`, a view of much the same tables, lends what it has got ready for look-ups.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        *,
        suppress_deletions: bool = False,
        previous: Merged | None = None,
    ) -> None:
        self.tables = tuple(tables)
        self.suppress_deletions = suppress_deletions
        self._newest: Newest = Newest(self.tables, previous._newest if previous else None)

    def ref(self, refname: bytes) -> RefRecord | None:
        """The newest record of exactly that name; `None` where that is a deletion, or absent."""
        record = self._newest.ref(refname)
        return None if record is None or record.value_type == DELETION else record

    def refs(self, start: bytes = b"") -> Iterator[RefRecord]:
        """The ref records from the name `start` on."""
        for names, types, values, indexes in self.ref_runs(start):
            yield from map(RefRecord, names, indexes, types, values)

    def ref_runs(self, start: bytes = b"") -> Iterator[Run]:
        """The same as non-empty runs."""
        return self._visible(merge_runs([table.ref_runs(start) for table in self.tables]))

    def logs(self, start: bytes = b"") -> Iterator[LogRecord]:
        """The log records from the log key `start` on; a bare ref name starts at its newest."""
        for keys, types, values, _ in self.log_runs(start):
            for key, value_type, value in zip(keys, types, values, strict=True):
                yield decode_log(key, value_type, value, self.tables[0].hash.size)

    def log_runs(self, start: bytes = b"") -> Iterator[Run]:
        """The same as non-empty runs of keys and undecoded values."""
        return self._visible(merge_runs([table.log_runs(start) for table in self.tables]))

    def refs_for(self, oid: bytes) -> Iterator[RefRecord]:
        """The refs whose object id or peeled id is `oid` (raw), in name order."""
        found: dict[bytes, RefRecord] = {}
        for table in self.tables:
            names = sorted(found)
            # What an older table says of a name counts only if the newer ones do not know it.
            for run, start, end, _ in table.runs_among(names):
                for name in set(run.keys).intersection(names[start:end]):
                    del found[name]
            found.update((record.refname, record) for record in table.refs_for(oid))
        yield from map(found.__getitem__, sorted(found))

    def _visible(self, runs: Iterator[Run]) -> Iterator[Run]:
        return without_deletions(runs) if self.suppress_deletions else runs


def without_deletions(runs: Iterator[Run]) -> Iterator[Run]:
    """The runs less their deletion records."""
    for run in runs:
        if DELETION not in run.types:
            yield run
            continue
        alive = [value_type != DELETION for value_type in run.types]
        if any(alive):
            yield run.select(alive)


class _Cursor:
    """One table's place in the merge. Newer tables (higher `age`) win for equal keys."""

    __slots__ = ("age", "key", "position", "run", "runs")

    def __init__(self, runs: Iterator[Run], age: int) -> None:
        self.runs = runs
        self.age = age
        self.run: Run
        self.position = 0
        self.key = b""

    def next_run(self) -> bool:
        run = next(self.runs, None)
        if run is None:
            return False
        self.run = run
        self.position = 0
        self.key = run.keys[0]
        return True

    def move(self, position: int) -> bool:
        """Go to that position in the run, or to the next run; False at the end."""
        if position == len(self.run.keys):
            return self.next_run()
        self.position = position
        self.key = self.run.keys[position]
        return True

    def __lt__(self, other: _Cursor) -> bool:
        return self.key < other.key or (self.key == other.key and self.age > other.age)


def merge_runs(sources: Sequence[Iterator[Run]]) -> Iterator[Run]:
    """Merge sorted runs, oldest source first; of equal keys the newest source's record stays."""
    queue = [c for age, runs in enumerate(sources) if (c := _Cursor(runs, age)).next_run()]
    heapify(queue)
    merged = Run([], [], [], [])
    # A look-up wants the first record only; a listing wants few, long runs.
    enough = 1
    while len(queue) > 1:
        cursor = queue[0]
        # The other tables' smallest key is a child of the queue's root.
        bound = min(queue[1].key, queue[2].key) if len(queue) > 2 else queue[1].key
        run, start = cursor.run, cursor.position
        end = len(run.keys) if run.keys[-1] < bound else bisect_left(run.keys, bound, start)
        if end == len(run.keys) or end - start >= _WORTH_A_SLICE:
            _extend(merged, run.slice(start, end))
            if cursor.move(end):
                heapreplace(queue, cursor)
            else:
                heappop(queue)
        else:
            _merge_window(queue, merged)
        if len(merged.keys) >= enough:
            yield merged
            merged = Run([], [], [], [])
            enough = min(4 * enough, _RUN_LENGTH)
    if merged.keys:
        yield merged
    if queue:
        last = queue[0]
        yield last.run.slice(last.position)
        yield from last.runs


def _merge_window(queue: list[_Cursor], merged: Run) -> None:
    """Merge what the cursors have up to the first end of a run, where they are closely woven.

    Going from slice to slice would cost more than one dictionary of all: the oldest table's
    records go in first, newer ones replace them.
    """
    high = min(cursor.run.keys[-1] for cursor in queue if cursor.key <= queue[0].run.keys[-1])
    parts = []
    left = []
    for cursor in sorted(queue, key=lambda cursor: cursor.age):
        end = bisect_right(cursor.run.keys, high, cursor.position)
        if end > cursor.position:
            parts.append(cursor.run.slice(cursor.position, end))
        if cursor.move(end):
            left.append(cursor)
    newest = parts[-1]
    same = all(part.keys == newest.keys for part in parts)
    _extend(merged, newest if same else _woven(parts))
    queue[:] = left
    heapify(queue)


def _woven(parts: Sequence[Run]) -> Run:
    """One run of several that overlap, oldest first."""
    rows: dict[bytes, tuple[int, bytes, int]] = {}
    for keys, types, values, indexes in parts:
        rows.update(zip(keys, zip(types, values, indexes or repeat(0)), strict=True))  # noqa: B905
    ordered = sorted(rows)
    columns = zip(*map(rows.__getitem__, ordered), strict=True)
    types, values, indexes = (list(column) for column in columns)
    return Run(ordered, types, values, indexes if parts[0].update_indexes else [])


def _extend(merged: Run, run: Run) -> None:
    merged.keys.extend(run.keys)
    merged.types.extend(run.types)
    merged.values.extend(run.values)
    merged.update_indexes.extend(run.update_indexes)
