"""Many refs as parallel lists."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class RefBatch:
    """Refs that resolve to an object, with all that is known without opening it.

    `names` are full names. `values` are what the ref finally points to: the raw object id, with
    the raw peeled id after it where the store recorded one. `targets` has, for each symbolic ref
    among the names, the name of the ref it finally leads to.
    """

    __slots__ = ("names", "targets", "values")

    def __init__(
        self, names: list[bytes], values: list[bytes], targets: dict[bytes, bytes]
    ) -> None:
        self.names = names
        self.values = values
        self.targets = targets

    def __len__(self) -> int:
        return len(self.names)

    def part(self, start: int, end: int | None = None) -> RefBatch:
        """The refs from position `start` up to `end`."""
        return RefBatch(self.names[start:end], self.values[start:end], self.targets)

    def where(self, flags: Sequence[object]) -> RefBatch:
        """The refs whose flag is true."""
        names = list(compress(self.names, flags))
        return RefBatch(names, list(compress(self.values, flags)), self.targets)

    def ordered(self, positions: Iterable[int]) -> RefBatch:
        """The refs at `positions`, in that order."""
        order = list(positions)
        names = list(map(self.names.__getitem__, order))
        return RefBatch(names, list(map(self.values.__getitem__, order)), self.targets)


def join(batches: Iterable[RefBatch]) -> RefBatch:
    """All refs of `batches` in one."""
    names: list[bytes] = []
    values: list[bytes] = []
    targets: dict[bytes, bytes] = {}
    for batch in batches:
        names += batch.names
        values += batch.values
        targets.update(batch.targets)
    return RefBatch(names, values, targets)
