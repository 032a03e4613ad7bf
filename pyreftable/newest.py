"""Point look-ups in many tables: the newest record of one name.

Tables are asked from the newest down. Who looks up often gets the small tables on top decoded into
dictionaries: then a look-up costs next to nothing until it comes to the big ones. Where the small
ones are many, as when commits go on without compaction, they share one dictionary. What is kept
so is bounded by the tables' sizes, and goes with the tables and their views.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .format.records import RefRecord
from .table import Row, Table

#: After so many look-ups more are to be expected.
_OFTEN = 16
#: Tables up to this size are small, and together the decoded ones have no more than that, in bytes.
_SMALL = 1 << 18
_MOST = 1 << 20
#: So many small tables are asked one by one.
_FEW = 16

_Ask = Callable[[bytes], tuple[bytes, int, int, bytes] | None]


class _Shared(NamedTuple):
    """The rows of the tables from `start` up to `end`, in one dictionary."""

    start: int
    end: int
    rows: dict[bytes, Row]


class Newest:
    """Look-ups in `tables`, oldest first; `previous` lends what it has decoded.

    Threads may share it: what they see is replaced as a whole.
    """

    __slots__ = ("_asked", "_asks", "_shared", "_tables")

    def __init__(self, tables: tuple[Table, ...], previous: Newest | None) -> None:
        self._tables = tables
        self._asks: list[_Ask] | None = None
        self._asked = 0
        self._shared: _Shared | None = None
        if previous is not None:
            self._asked = previous._asked
            shared = previous._shared
            if shared is not None:
                here, there = tables, previous._tables
                if here[shared.start : shared.end] == there[shared.start : shared.end]:
                    self._shared = shared

    def ref(self, refname: bytes) -> RefRecord | None:
        """The newest record of exactly that name, deletions included."""
        for ask in self._asks or self._get_ready():
            row = ask(refname)
            if row is not None:
                # As fast as a named tuple can be made.
                return row if isinstance(row, RefRecord) else tuple.__new__(RefRecord, row)
        return None

    def _get_ready(self) -> list[_Ask]:
        """Whom to ask; once there are many look-ups, the small tables on top are decoded."""
        tables = self._tables
        self._asked += 1
        if self._asked <= _OFTEN:
            return [table.ref for table in reversed(tables)]
        start, size = len(tables), 0
        while start and tables[start - 1].size <= min(_SMALL, _MOST - size):
            start -= 1
            size += tables[start].size
        below: list[_Ask] = [table.ref for table in reversed(tables[:start])]
        if len(tables) - start <= _FEW:
            above: list[_Ask] = [table.rows().get for table in reversed(tables[start:])]
        else:
            shared = self._share(start)
            above = [table.rows().get for table in reversed(tables[shared.end :])]
            above.append(shared.rows.get)
        self._asks = asks = [*above, *below]
        return asks

    def _share(self, start: int) -> _Shared:
        """One dictionary for the tables from `start` on, less a few if there is one already."""
        tables, old = self._tables, self._shared
        if old is not None and old.start == start:
            if len(tables) - old.end <= _FEW:
                return old
            rows, known = dict(old.rows), old.end
        else:
            rows, known = {}, start
        for table in tables[known:]:
            rows.update(table.rows())
        self._shared = _Shared(start, len(tables), rows)
        return self._shared
