"""Which ref names a command line asks for.

A pattern matches a name that equals it, a name below it as a folder (`refs/heads` and
`refs/heads/` match `refs/heads/main`), and a name that matches it as a glob. The first two are
ranges of the sorted names, found by bisection; only globs look at each name.

Source: `git-for-each-ref`, option `<pattern>`.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import gt
from typing import TYPE_CHECKING

from .globs import compile_globs, has_wildcard, literal_prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .globs import Matcher

# Between `x/` and this lie all names below the folder `x`.
_AFTER_SLASH = b"0"


class RefPatterns:
    """Wanted and excluded patterns; no wanted pattern means all names.

    `ignore_case` concerns globs and equality; folders compare by case all the same, as in git.
    """

    def __init__(
        self,
        wanted: Sequence[bytes] = (),
        excluded: Sequence[bytes] = (),
        *,
        ignore_case: bool = False,
    ) -> None:
        self._wanted = _PatternSet(wanted, ignore_case) if wanted else None
        self._excluded = _PatternSet(excluded, ignore_case) if excluded else None
        self._prefixes = [b""]
        if wanted and not ignore_case:
            self._prefixes = _outermost(literal_prefix(pattern) for pattern in wanted)

    def prefixes(self) -> list[bytes]:
        """Prefixes that every wanted name begins with: sorted, none a prefix of another."""
        return self._prefixes

    def flags(self, names: Sequence[bytes]) -> Sequence[object] | None:
        """For each of the sorted `names`, whether it is wanted; `None` if all are."""
        wanted = self._wanted.flags(names) if self._wanted else None
        excluded = self._excluded.flags(names) if self._excluded else None
        if excluded is not None:
            wanted = bytearray(map(gt, wanted or b"\1" * len(names), excluded))
        if wanted is not None and 0 not in wanted:
            return None
        return wanted


class _PatternSet:
    def __init__(self, patterns: Sequence[bytes], ignore_case: bool) -> None:
        self._folders = [p for p in patterns if p and not has_wildcard(p)]
        globs = list(patterns) if ignore_case else [p for p in patterns if has_wildcard(p)]
        self._ignore_case = ignore_case
        self._match: Matcher | None = None
        if globs:
            self._match = compile_globs(globs, ignore_case=ignore_case)

    def flags(self, names: Sequence[bytes]) -> bytearray:
        """One byte a name: 1 if a pattern matches it, else 0."""
        if self._match is None:
            flags = bytearray(len(names))
        else:
            texts = map(bytes.lower, names) if self._ignore_case else names
            flags = bytearray(map(bool, map(self._match, texts)))
        for folder in self._folders:
            self._mark(folder, names, flags)
        return flags

    @staticmethod
    def _mark(folder: bytes, names: Sequence[bytes], flags: bytearray) -> None:
        bare = folder.removesuffix(b"/")
        if bare == folder:
            at = bisect_left(names, folder)
            if at < len(names) and names[at] == folder:
                flags[at] = 1
        start = bisect_left(names, bare + b"/")
        end = bisect_left(names, bare + _AFTER_SLASH, start)
        flags[start:end] = b"\1" * (end - start)


def _outermost(prefixes: Iterable[bytes]) -> list[bytes]:
    result: list[bytes] = []
    for prefix in sorted(prefixes):
        if not result or not prefix.startswith(result[-1]):
            result.append(prefix)
    return result
