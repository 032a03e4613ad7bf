"""The parts of `for-each-ref` that have rules of their own: globs, padding, escapes, names."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyreftable.refs.names import check_refname
from pyreftable.refs.wildmatch import wildmatch
from pyreftable_cli.refformat.align import display_width, pad
from pyreftable_cli.refformat.batch import RefBatch, join
from pyreftable_cli.refformat.globs import compile_globs, has_wildcard, literal_prefix
from pyreftable_cli.refformat.listing import _all_valid
from pyreftable_cli.refformat.parser import unescape
from pyreftable_cli.refformat.patterns import RefPatterns

_PIECES = [b"a", b"b", b"A", b"/", b"*", b"**", b"**/", b"/**", b"?", b"[ab]", b"[!a]", b"[A-C]"]
_PIECES += [b"[", b"]", b"\\a", b"\\", b"[[:upper:]]", b"[[:x:]]", b"[]a]", b"[a-]", b".", b"-"]
_patterns = st.lists(st.sampled_from(_PIECES), max_size=7).map(b"".join)
_names = st.lists(st.sampled_from([b"a", b"b", b"A", b"/", b"-", b"ab", b"."]), max_size=9).map(
    b"".join
)


class TestGlobs:
    @given(st.lists(_patterns, min_size=1, max_size=3), st.lists(_names, max_size=5), st.booleans())
    def test_same_as_the_plain_matcher(
        self, patterns: list[bytes], names: list[bytes], ignore_case: bool
    ) -> None:
        match = compile_globs(patterns, ignore_case=ignore_case)
        for name in names:
            text = name.lower() if ignore_case else name
            found = match is not None and bool(match(text))
            assert found == any(
                wildmatch(pattern, name, pathname=True, casefold=ignore_case)
                for pattern in patterns
            )

    @given(_patterns, _names)
    def test_matches_begin_with_the_literal_prefix(self, pattern: bytes, name: bytes) -> None:
        prefix = literal_prefix(pattern)
        assert not has_wildcard(prefix)
        if wildmatch(pattern, name, pathname=True):
            assert name.startswith(prefix)

    @pytest.mark.parametrize("star", [b"*a", b"**/a*", b"*a*/"])
    def test_time_stays_bounded(self, star: bytes) -> None:
        """Twenty stars against a name that almost matches would take years by backtracking."""
        match = compile_globs([star * 20 + b"b"])
        assert match is not None
        before = time.perf_counter()
        assert not match(b"a" * 300)
        assert not match(b"a/" * 150)
        assert time.perf_counter() - before < 1


class TestPatterns:
    names = sorted(
        [b"HEAD", b"refs/a", b"refs/a/b", b"refs/a-b", b"refs/a0", b"refs/ab", b"refs/b"]
    )

    def select(self, *wanted: bytes, excluded: tuple[bytes, ...] = ()) -> list[bytes]:
        """The names that are asked for."""
        flags = RefPatterns(wanted, excluded).flags(self.names)
        if flags is None:
            return self.names
        return [name for name, flag in zip(self.names, flags, strict=True) if flag]

    def test_folder_is_the_ref_itself_and_all_below(self) -> None:
        assert self.select(b"refs/a") == [b"refs/a", b"refs/a/b"]
        assert self.select(b"refs/a/") == [b"refs/a/b"]

    def test_excluding(self) -> None:
        kept = [b"HEAD", b"refs/a-b", b"refs/a0", b"refs/ab", b"refs/b"]
        assert self.select(excluded=(b"refs/a",)) == kept
        assert self.select(b"refs", excluded=(b"refs/a*",)) == [b"refs/a/b", b"refs/b"]

    @pytest.mark.parametrize(
        ("wanted", "prefixes"),
        [
            ([], [b""]),
            ([b"refs/a"], [b"refs/a"]),
            ([b"refs/b", b"refs/a/*", b"refs/a/b"], [b"refs/a/", b"refs/b"]),
            ([b"refs/a", b"refs/ab"], [b"refs/a"]),
            ([b"*", b"refs/a"], [b""]),
            ([b"r\\efs/a"], [b"r"]),
        ],
    )
    def test_prefixes(self, wanted: list[bytes], prefixes: list[bytes]) -> None:
        assert RefPatterns(wanted).prefixes() == prefixes

    def test_no_prefix_where_case_does_not_count(self) -> None:
        assert RefPatterns([b"refs/a"], ignore_case=True).prefixes() == [b""]


class TestNameCheck:
    """The check of many names at once may doubt a good name, but never passes a bad one."""

    _letters = st.sampled_from(["a", "/", ".", "..", "@", "{", ".lock", "-", " ", "\n", "~", "é"])
    _name = st.lists(_letters, min_size=1, max_size=6).map("".join)

    @given(st.lists(_name, min_size=1, max_size=4))
    def test_no_bad_name_passes(self, names: list[str]) -> None:
        if _all_valid([name.encode() for name in names]):
            assert all(check_refname(name, allow_onelevel=True) for name in names)

    @given(
        st.lists(st.from_regex(r"refs/[a-z0-9_-]+(/v[0-9]\.[0-9])?", fullmatch=True), min_size=1)
    )
    def test_ordinary_names_pass(self, names: list[str]) -> None:
        assert _all_valid([name.encode() for name in names])


class TestUnescape:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (b"", b""),
            (b"plain", b"plain"),
            (b"%41", b"A"),
            (b"%0a%00", b"\n\0"),
            (b"%%41", b"%41"),
            (b"%%%41", b"%A"),
            (b"%%%%", b"%%"),
            (b"%", b"%"),
            (b"100%", b"100%"),
            (b"%4", b"%4"),
            (b"%zz%4g", b"%zz%4g"),
            (b"%4\xc3\xa9", b"%4\xc3\xa9"),
        ],
    )
    def test_literals(self, text: bytes, expected: bytes) -> None:
        assert unescape(text) == expected


class TestAlign:
    @pytest.mark.parametrize(
        ("text", "width"),
        [("", 0), ("abc", 3), ("é", 1), ("e\u0301", 1), ("漢字", 4), ("a\tb", 2), ("\xad", 1)],
    )
    def test_display_width(self, text: str, width: int) -> None:
        assert display_width(text.encode()) == width

    def test_width_of_what_is_no_text(self) -> None:
        assert display_width(b"\xff\xfe") == 2

    @pytest.mark.parametrize(
        ("position", "padded"), [("left", b"ab   "), ("right", b"   ab"), ("middle", b" ab  ")]
    )
    def test_pad(self, position: str, padded: bytes) -> None:
        assert pad(b"ab", 5, position) == padded
        assert pad(b"abcdef", 5, position) == b"abcdef"


class TestBatch:
    def test_parts_keep_their_columns_together(self) -> None:
        batch = RefBatch([b"a", b"b", b"c"], [b"1", b"2", b"3"], {b"b": b"x"})
        assert (batch.part(1).names, batch.part(0, 1).values) == ([b"b", b"c"], [b"1"])
        assert batch.where([1, 0, 1]).values == [b"1", b"3"]
        assert batch.ordered([2, 0]).names == [b"c", b"a"]
        whole = join([batch.part(0, 2), batch.part(2)])
        assert (whole.names, whole.values, whole.targets) == (
            batch.names,
            batch.values,
            batch.targets,
        )
