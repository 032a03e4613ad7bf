"""Which ref blocks hold each object id, for a table's obj section: little memory, ids in order.

Most tables name few objects: a dictionary, id -> positions, serves them as it is. When it has grown
to `_MOST_RECENT` ids it is emptied into 256 buckets by the ids' first byte, as in the fan-out of a
pack's index. A bucket holds no objects but bytes: ids one after the other and, beside them, their
positions; 28 bytes an id (SHA-1), where a dictionary takes over 150. In the end one bucket at a
time becomes a dictionary again.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import islice, repeat
from operator import xor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    # Most ids are in one block only: a number is much smaller than a list, and no burden to the
    # garbage collector.
    Positions = int | list[int]

_MOST_RECENT = 1 << 15
_FAN_OUT = 256
_CHUNK = 1024


class ObjectPositions:
    """Collects the positions of ref blocks by the raw ids in them, of `hash_size` bytes each."""

    def __init__(self, hash_size: int) -> None:
        self._hash_size = hash_size
        self._recent: dict[bytes, Positions] = {}
        self._buckets: list[_Bucket] = []

    def add(self, oids: Collection[bytes], position: int) -> None:
        """Note that the block at `position`, which is above those before it, holds `oids`.

        `oids` are distinct, `position` is in bytes and below 2^64.
        """
        recent = self._recent
        if recent.keys().isdisjoint(oids):
            recent.update(dict.fromkeys(oids, position))
        else:
            _note(recent, oids, repeat(position))
        if len(recent) >= _MOST_RECENT:
            self._spill()

    def longest_shared_prefix(self) -> int:
        """Bytes that the two most alike of the ids share; 0 where there are not two."""
        if not self._buckets:
            return _longest_shared_prefix(sorted(self._recent))
        self._spill()
        # Each bucket is put in order here and once more to be drained. It is a row of sorted
        # stretches: sorting it again costs less than storing it sorted would.
        return max(_longest_shared_prefix(sorted(set(each.oids()))) for each in self._buckets)

    def drain(self) -> Iterator[tuple[list[bytes], list[Positions]]]:
        """The ids in ascending order and their positions, each id's ascending, as parallel lists,
        some at a time. They are forgotten meanwhile.
        """
        if self._buckets:
            self._spill()
        recent, self._recent = self._recent, {}
        yield from _in_order(recent)
        self._buckets.reverse()
        while self._buckets:
            yield from _in_order(self._buckets.pop().positions_of())

    def _spill(self) -> None:
        """Move the recent ids to the buckets, behind those of earlier blocks."""
        if not self._buckets:
            self._buckets = [_Bucket(self._hash_size) for _ in range(_FAN_OUT)]
        recent, self._recent = self._recent, {}
        oids, positions = _one_by_one(recent)
        ends = [bisect_left(oids, bytes((first,))) for first in range(1, _FAN_OUT)]
        start = 0
        for bucket, end in zip(self._buckets, (*ends, len(oids)), strict=True):
            bucket.extend(oids[start:end], positions[start:end])
            start = end


class _Bucket:
    """Ids with a position each; an id may come again, with a higher position."""

    __slots__ = ("_hash_size", "_oids", "_positions")

    def __init__(self, hash_size: int) -> None:
        self._hash_size = hash_size
        self._oids = bytearray()
        self._positions = array("Q")

    def extend(self, oids: Sequence[bytes], positions: Iterable[int]) -> None:
        self._oids += b"".join(oids)
        self._positions.extend(positions)

    def oids(self) -> list[bytes]:
        data, size = bytes(self._oids), self._hash_size
        return [data[start : start + size] for start in range(0, len(data), size)]

    def positions_of(self) -> dict[bytes, Positions]:
        oids = self.oids()
        found: dict[bytes, Positions] = dict(zip(oids, self._positions, strict=True))
        if len(found) < len(oids):
            found = {}
            _note(found, oids, self._positions)
        return found


def _note(
    positions_of: dict[bytes, Positions], oids: Iterable[bytes], positions: Iterable[int]
) -> None:
    """Add to what is known of each of `oids` the position beside it."""
    for oid, position in zip(oids, positions, strict=False):
        known = positions_of.get(oid)
        if known is None:
            positions_of[oid] = position
        elif isinstance(known, list):
            known.append(position)
        else:
            positions_of[oid] = [known, position]


def _one_by_one(positions_of: dict[bytes, Positions]) -> tuple[list[bytes], list[int]]:
    """The ids in order, each as often as it has positions, and those positions."""
    oids = sorted(positions_of)
    known = list(map(positions_of.__getitem__, oids))
    single = [position for position in known if isinstance(position, int)]
    if len(single) == len(oids):
        return oids, single
    all_oids: list[bytes] = []
    all_positions: list[int] = []
    for oid, positions in zip(oids, known, strict=True):
        each = positions if isinstance(positions, list) else [positions]
        all_oids += repeat(oid, len(each))
        all_positions += each
    return all_oids, all_positions


def _in_order(
    positions_of: dict[bytes, Positions],
) -> Iterator[tuple[list[bytes], list[Positions]]]:
    oids = sorted(positions_of)
    for start in range(0, len(oids), _CHUNK):
        chunk = oids[start : start + _CHUNK]
        yield chunk, list(map(positions_of.__getitem__, chunk))


def _longest_shared_prefix(oids: Sequence[bytes]) -> int:
    """Bytes that the two most alike of the sorted ids share: the smallest XOR tells."""
    numbers = [int.from_bytes(oid, "big") for oid in oids]
    smallest = min(map(xor, numbers, islice(numbers, 1, None)), default=None)
    return 0 if smallest is None else len(oids[0]) - (smallest.bit_length() + 7 >> 3)
