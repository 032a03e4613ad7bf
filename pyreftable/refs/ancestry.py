"""Questions about ancestors: which commits hold others, how far two are apart, who branched off.

All of them walk the commits of a `History`, which reads each once. Walks that can tell from dates
that nothing is left to find go by committer date, newest first, as git does without a
commit-graph; answers that must not depend on clocks are found without them.

Source: `git-for-each-ref`, `--contains`, `ahead-behind` and `is-base`.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from ..errors import ObjectMissingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .history import History

# How many commits are looked at beyond those that dates say may matter: clocks are not exact.
_SLOP = 5


class Contains:
    """Whether the history of a commit holds any of `wanted`; remembers what it found out."""

    def __init__(self, history: History, wanted: Iterable[str]) -> None:
        self._history = history
        self._known = dict.fromkeys(wanted, True)

    def __call__(self, tip: str) -> bool:
        """Whether `tip` is one of the wanted commits or descends from one.

        Raises `ObjectMissingError` at an ancestor that is missing: it might have been one. The
        message ends with its id.
        """
        known, pending = self._known, [tip]
        # Replaced commits can make history run in circles.
        path: set[str] = set()
        while pending:
            oid = pending[-1]
            if oid in known:
                path.discard(pending.pop())
                continue
            path.add(oid)
            commit = self._history.commit(oid)
            if commit is None:
                raise ObjectMissingError(f"could not parse commit {oid}")
            if any(known.get(parent) for parent in commit.parents):
                known[oid] = True
                continue
            unknown = (p for p in commit.parents if p not in known and p not in path)
            parent = next(unknown, None)
            if parent is None:
                known[oid] = False
            else:
                pending.append(parent)
        return known[tip]


def ahead_behind(
    history: History, bases: Sequence[str], tips: Sequence[str]
) -> list[list[tuple[int, int]]]:
    """For each tip, and each base: how many commits only the tip has, and only the base."""
    if not tips or not bases:
        return [[] for _ in tips]
    masks = Counter(_Painter(history, [*bases, *tips]).masks.values())
    positions = range(len(bases), len(bases) + len(tips))
    columns = [_differences(masks, base, positions) for base in range(len(bases))]
    return [list(row) for row in zip(*columns, strict=True)]


def _differences(masks: Counter[int], base: int, tips: Iterable[int]) -> list[tuple[int, int]]:
    """For each of the bits `tips`: how many commits have it and not `base`, and the reverse."""
    total = 0
    common, apart = _BitCounts(), _BitCounts()
    for mask, count in masks.items():
        if mask >> base & 1:
            total += count
            common.add(mask, count)
        else:
            apart.add(mask, count)
    return [(apart.count(tip), total - common.count(tip)) for tip in tips]


class _BitCounts:
    """How often each bit was set, in all bits at once: plane `n` has digit `n` of each count.

    Adding a mask takes two operations on long integers on average, however many bits it has.
    """

    def __init__(self) -> None:
        self._planes: list[int] = []

    def add(self, mask: int, count: int) -> None:
        """Count each bit of `mask` that often."""
        for digit in range(count.bit_length()):
            if count >> digit & 1:
                self._carry(mask, digit)

    def _carry(self, mask: int, digit: int) -> None:
        planes = self._planes
        while mask:
            while len(planes) <= digit:
                planes.append(0)
            planes[digit], mask = planes[digit] ^ mask, planes[digit] & mask
            digit += 1

    def count(self, bit: int) -> int:
        """How often the bit was set."""
        return sum((plane >> bit & 1) << digit for digit, plane in enumerate(self._planes))


class _Painter:
    """Gives each commit a mask: bit `n` is set if tip `n` has it in its history.

    Commits that all tips have are followed only as long as they may lead to others: `masks` is
    right for all commits that some tip does not have.
    """

    def __init__(self, history: History, tips: Sequence[str]) -> None:
        self._history = history
        self._everyone = (1 << len(tips)) - 1
        self.masks: dict[str, int] = {}
        self._queue: list[tuple[int, str]] = []
        self._queued: set[str] = set()
        self._unfinished = 0
        for at, tip in enumerate(tips):
            self._paint(tip, 1 << at)
        self._walk()

    def _paint(self, oid: str, mask: int) -> None:
        old = self.masks.get(oid, 0)
        new = old | mask
        if new == old:
            return
        self.masks[oid] = new
        if oid not in self._queued:
            self._queued.add(oid)
            heappush(self._queue, (-self._date(oid), oid))
            self._unfinished += new != self._everyone
        elif new == self._everyone:
            self._unfinished -= 1

    def _date(self, oid: str) -> int:
        commit = self._history.commit(oid)
        return 0 if commit is None else commit.date

    def _walk(self) -> None:
        # The date of the oldest commit that some tip lacks; what is younger may lead to it.
        oldest = None
        slop = _SLOP
        while self._queue and slop:
            date, oid = heappop(self._queue)
            self._queued.remove(oid)
            mask = self.masks[oid]
            if mask != self._everyone:
                self._unfinished -= 1
                oldest = -date if oldest is None else min(oldest, -date)
                slop = _SLOP
            elif not self._unfinished and (oldest is None or -date < oldest):
                slop -= 1
            commit = self._history.commit(oid)
            for parent in commit.parents if commit is not None else ():
                self._paint(parent, mask)


def nearest_base(history: History, tip: str, bases: Sequence[str | None]) -> int | None:
    """The position in `bases` of the one that `tip` most likely branched off from.

    Only first parents count: that base is chosen whose line of first parents meets the one of
    `tip` soonest, the first of them if there are several; `None` if no base does. A base that is
    `tip` itself comes before all others.
    """
    if tip in bases:
        return bases.index(tip)
    # How far from `tip` the line of a commit meets that of `tip`; `None` where it never does.
    distances: dict[str, int | None] = {}
    for at, oid in enumerate(_first_parents(history, tip)):
        distances[oid] = at
    best: tuple[int, int] | None = None
    for index, base in enumerate(bases):
        if base is None:
            continue
        line: list[str] = []
        distance = None
        for oid in _first_parents(history, base):
            if oid in distances:
                distance = distances[oid]
                break
            line.append(oid)
        # Bases share most of their lines: none is walked twice.
        distances.update(dict.fromkeys(line, distance))
        if distance is not None and (best is None or (distance, index) < best):
            best = distance, index
    return None if best is None else best[1]


def _first_parents(history: History, oid: str) -> Iterable[str]:
    met: set[str] = set()
    while oid not in met:
        met.add(oid)
        yield oid
        commit = history.commit(oid)
        if commit is None or not commit.parents:
            return
        oid = commit.parents[0]
