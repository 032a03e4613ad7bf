"""The order of version numbers, as `--sort=version:refname` has it.

Runs of digits compare as numbers, except that leading zeros make a fraction: the rules are those
of glibc's strverscmp. `versionsort.suffix` lists suffixes (`-rc`, `-beta`) that put a version in
front of the one without, in the order of the list.

Source: `git-config`, `versionsort.suffix`; strverscmp(3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.refs.text import as_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyreftable.refs.config import Config

_DIGITS = frozenset(b"0123456789")


def configured_suffixes(config: Config, warn: Callable[[str], None]) -> list[bytes]:
    """The suffixes that the configuration lists."""
    new = config.get_all("versionsort.suffix")
    old = config.get_all("versionsort.prereleaseSuffix")
    if new and old:
        warn("ignoring versionsort.prereleasesuffix because versionsort.suffix is set")
    return [as_bytes(suffix) for suffix in new or old]


class VersionOrder:
    """Compares versions; `suffixes` are those of the configuration."""

    def __init__(self, suffixes: Sequence[bytes]) -> None:
        self._suffixes = suffixes

    def compare(self, one: bytes, other: bytes) -> int:
        """Negative if `one` comes first, positive if `other` does, 0 if they are equal."""
        if one == other:
            return 0
        at = _common_length(one, other)
        by_suffix = self._by_suffix(one, other, at)
        return by_suffix or _compare_at(one, other, at)

    def _by_suffix(self, one: bytes, other: bytes, at: int) -> int:
        first, second = self._suffix_around(one, at), self._suffix_around(other, at)
        if first == second:
            return 0
        if first is None:
            return 1
        return -1 if second is None else first - second

    def _suffix_around(self, text: bytes, at: int) -> int | None:
        """The suffix (its place in the list) that holds position `at` of `text` or ends there.

        The one that starts first counts; of several there, the longest.
        """
        best: tuple[int, int] | None = None
        found = None
        for index, suffix in enumerate(self._suffixes):
            start = max(at - len(suffix), 0)
            where = text.find(suffix, start, at + len(suffix))
            if where >= 0 and (best is None or (where, -len(suffix)) < best):
                best, found = (where, -len(suffix)), index
        return found


def _common_length(one: bytes, other: bytes) -> int:
    at = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        at += 1
    return at


def _compare_at(one: bytes, other: bytes, at: int) -> int:
    """Which of two texts that first differ at `at` comes first."""
    start = at
    while start and one[start - 1] in _DIGITS:
        start -= 1
    first, second = one[at : at + 1], other[at : at + 1]
    difference = (first[0] if first else 0) - (second[0] if second else 0)
    digits = _digits_from(one, at), _digits_from(other, at)
    if start == at:
        # No digits in common: numbers, unless one begins with a zero.
        both_numbers = all(digits) and b"0" not in (first, second)
        return _by_length(digits, difference) if both_numbers else difference
    if one[start : start + 1] != b"0":
        # Inside a number: the longer one is greater.
        return _by_length(digits, difference) if any(digits) else difference
    # Inside a fraction: it ends sooner, or has a digit that is not zero, to be greater.
    in_zeros = not one[start:at].strip(b"0")
    if in_zeros and bool(digits[0]) != bool(digits[1]):
        return 1 if digits[1] else -1
    return difference


def _digits_from(text: bytes, at: int) -> int:
    end = at
    while end < len(text) and text[end] in _DIGITS:
        end += 1
    return end - at


def _by_length(digits: tuple[int, int], difference: int) -> int:
    return digits[0] - digits[1] or difference
