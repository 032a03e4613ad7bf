"""Which tables of a stack auto-compaction merges: a pure function of their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..format.header import footer_size, header_size
from ..hashes import SHA1

if TYPE_CHECKING:
    from .options import StackOptions
    from .snapshot import Snapshot


class Segment(NamedTuple):
    """Tables `start` up to, not including, `end`; empty when both are equal."""

    start: int
    end: int


NOTHING = Segment(0, 0)


def suggest_segment(sizes: Sequence[int], factor: int) -> Segment:
    """The tables to merge so that each is `factor` times as big as the next; maybe none.

    `sizes` in bytes, oldest table first. The end is found from the newest table down: the first
    one whose predecessor is too small for it. The tables above that are in order already, and in
    a geometric sequence their sum cannot upset it. The start is the lowest table that is too small
    for the sum of those between it and the end, since these will be one table by then.
    Source: git's `suggest_compaction_segment`.
    """
    end = len(sizes)
    while end > 1 and sizes[end - 2] >= sizes[end - 1] * factor:
        end -= 1
    if end <= 1:
        return NOTHING
    start = end
    merged = sizes[end - 1]
    for index in range(end - 2, -1, -1):
        if sizes[index] < merged * factor:
            start = index
        merged += sizes[index]
    return Segment(start, end)


def weights(snapshot: Snapshot, options: StackOptions) -> list[int]:
    """What each table counts, in bytes: less the footer and all of the header but a byte, as git
    has it. Small tables should differ by their records, and no weight be 0."""
    version = 1 if options.hash is SHA1 else 2
    overhead = header_size(version) - 1 + footer_size(version)
    return [table.size - overhead for table in snapshot.tables]


def geometric_segment(snapshot: Snapshot, options: StackOptions) -> Segment:
    """What auto-compaction would merge."""
    return suggest_segment(weights(snapshot, options), options.geometric_factor or 2)


def compaction_required(snapshot: Snapshot, options: StackOptions, *, geometric: bool) -> bool:
    """Whether there is anything to merge: by the geometric rule, or at all."""
    if not geometric:
        return len(snapshot.tables) > 1
    return geometric_segment(snapshot, options) != NOTHING
