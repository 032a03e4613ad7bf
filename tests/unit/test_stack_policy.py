"""The geometric rule, as a pure function of sizes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyreftable.stack.policy import NOTHING, Segment, suggest_segment


@pytest.mark.parametrize(
    ("sizes", "factor", "expected"),
    [
        ([], 2, NOTHING),
        ([5], 2, NOTHING),
        ([64, 32, 16, 8, 4, 2], 2, NOTHING),
        ([64, 32, 16, 8, 4, 2, 1], 2, NOTHING),
        ([512, 64, 17, 16, 9, 9, 9, 16, 2, 16], 2, Segment(1, 10)),
        ([64, 32, 16, 8, 4, 3, 1], 2, Segment(0, 6)),
        ([128, 32, 16, 8, 4, 3, 1], 2, Segment(1, 6)),
        ([1, 1], 2, Segment(0, 2)),
        ([2, 1], 2, NOTHING),
        ([2, 1], 3, Segment(0, 2)),
        ([3, 1], 3, NOTHING),
        ([100, 1, 50, 20, 10], 2, Segment(0, 3)),
        ([1000, 1, 50, 20, 10], 2, Segment(1, 3)),
        ([1, 1000, 10, 1, 1], 2, Segment(0, 5)),
        ([3000, 1000, 10, 1, 1], 2, Segment(3, 5)),
        ([1, 20, 10, 5, 5], 5, Segment(0, 5)),
    ],
)
def test_segment(sizes: list[int], factor: int, expected: Segment) -> None:
    """Nothing when in order; otherwise from the lowest table too small for the sum above it."""
    assert suggest_segment(sizes, factor) == expected


def plain_segment(sizes: list[int], factor: int) -> Segment:
    """The rule by definition: all places looked at, all sums taken anew."""
    ends = [i for i in range(1, len(sizes)) if sizes[i - 1] < sizes[i] * factor]
    if not ends:
        return NOTHING
    end = max(ends) + 1
    starts = [i for i in range(end - 1) if sizes[i] < sum(sizes[i + 1 : end]) * factor]
    return Segment(min(starts), end)


@given(st.lists(st.integers(1, 1000), max_size=12), st.integers(1, 6))
def test_segment_equals_its_definition(sizes: list[int], factor: int) -> None:
    """The single pass finds what the definition says."""
    assert suggest_segment(sizes, factor) == plain_segment(sizes, factor)


@given(st.lists(st.integers(1, 1000), max_size=12), st.integers(2, 6))
def test_merging_the_segment_restores_the_order_below_its_end(
    sizes: list[int], factor: int
) -> None:
    """With the segment as one table, no table up to it is too small for its successor."""
    start, end = suggest_segment(sizes, factor)
    merged = [*sizes[:start], sum(sizes[start:end]), *sizes[end:]] if end else sizes
    below = merged[: start + 1] if end else merged
    assert all(low >= high * factor for low, high in pairwise(below))
