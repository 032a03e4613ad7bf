"""How long work tells whoever waits for it how far it has come.

The library only counts; what is shown, where and when is the listener's business. Totals are
estimates where nobody knows better: a table does not say how many records it holds.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from .errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .format.block import Block, Run
    from .table import Table

# Four blocks hold some 400 refs: enough for an average name, and read in a millisecond.
_SAMPLED_BLOCKS = 4


_Item = TypeVar("_Item")


class Progress(Protocol):
    """Whom long work tells how far it is. Its methods are called often, and must be quick."""

    def start(self, what: str, total: int | None = None) -> None:
        """A stretch of work begins: `what` is done to about `total` items (`None`: unknown)."""

    def advance(self, count: int) -> None:
        """`count` more items are done."""


class _Silence:
    def start(self, what: str, total: int | None = None) -> None:
        pass

    def advance(self, count: int) -> None:
        pass


#: For work that nobody watches.
SILENCE: Progress = _Silence()


def counted(runs: Iterable[Run], progress: Progress) -> Iterator[Run]:
    """The runs; each counts as done when the next one is asked for."""
    for run in runs:
        yield run
        progress.advance(len(run.keys))


def counted_one_by_one(items: Iterable[_Item], progress: Progress) -> Iterator[_Item]:
    """The items; each counts as done when the next one is asked for."""
    for item in items:
        yield item
        progress.advance(1)


def estimated_refs(tables: Iterable[Table]) -> int:
    """About how many ref records `tables` hold; never raises `FormatError`."""
    return sum(_estimate(table.ref_runs(), table.blocks(), _refs_end(table)) for table in tables)


def estimated_logs(tables: Iterable[Table]) -> int:
    """About how many log records `tables` hold; never raises `FormatError`."""
    return sum(
        _estimate(
            table.log_runs(),
            table.blocks(table.footer.log),
            table.footer.log_index or table.size,
        )
        for table in tables
    )


def _refs_end(table: Table) -> int:
    footer = table.footer
    return footer.ref_index or footer.obj or footer.log or table.size


def _estimate(runs: Iterator[Run], blocks: Iterator[Block], end: int) -> int:
    """The records of a section that ends at about `end`, from its first blocks.

    What is wrong with a table is for those to report who read it.
    """
    try:
        # Runs first: they end with the section, the blocks only with the table.
        sample = [
            (len(run.keys), block)
            for run, block in islice(zip(runs, blocks, strict=False), _SAMPLED_BLOCKS)
        ]
    except FormatError:
        return 0
    records = sum(count for count, _ in sample)
    if len(sample) < _SAMPLED_BLOCKS:
        return records
    start, last = sample[0][1].offset, sample[-1][1]
    return records * (end - start) // (last.offset + last.full_size - start)
