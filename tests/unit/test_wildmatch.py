"""Shell patterns: answers that git's own matcher gave, in its four modes."""

from __future__ import annotations

import time

import pytest

from pyreftable.refs.wildmatch import wildmatch

# Pattern, text, and whether they match: with slashes special, the same ignoring case, with
# slashes as any other byte, the same ignoring case.
CASES = [
    ("foo", "foo", "yyyy"),
    ("foo", "fo", "nnnn"),
    ("", "", "yyyy"),
    ("x?", "xy", "yyyy"),
    ("x?", "x", "nnnn"),
    ("x?", "x/", "nnyy"),
    ("*", "abc", "yyyy"),
    ("*", "a/b", "nnyy"),
    ("**", "a/b", "yyyy"),
    ("*/b", "a/b", "yyyy"),
    ("*/b", "a/x/b", "nnyy"),
    ("**/b", "a/x/b", "yyyy"),
    ("**/b", "b", "yynn"),
    ("**/b", "ab", "nnnn"),
    ("a/**", "a/", "yyyy"),
    ("a/**", "a", "nnnn"),
    ("a/**", "a/b/c", "yyyy"),
    ("a/**/c", "a/c", "yynn"),
    ("a/**/c", "a/b/b/c", "yyyy"),
    ("a**c", "abbc", "yyyy"),
    ("a**c", "a/c", "nnyy"),
    ("a/**b", "a/x/b", "nnyy"),
    ("***/b", "a/b", "yyyy"),
    ("*a*", "bab", "yyyy"),
    ("**a", "a/a", "nnyy"),
    ("a\\*b", "a*b", "yyyy"),
    ("a\\*b", "axb", "nnnn"),
    ("a\\", "a\\", "nnnn"),
    ("a\\", "a", "nnnn"),
    ("\\A", "a", "nnnn"),
    ("[ab]", "b", "yyyy"),
    ("[!ab]", "b", "nnnn"),
    ("[^ab]", "c", "yyyy"),
    ("[]a]", "]", "yyyy"),
    ("[!]a]", "b", "yyyy"),
    ("[a-c]", "b", "yyyy"),
    ("[c-a]", "b", "nnnn"),
    ("[a-]", "-", "yyyy"),
    ("[-a]", "-", "yyyy"),
    ("[a\\-c]", "b", "nnnn"),
    ("[a\\]]", "]", "yyyy"),
    ("[a-\\c]", "b", "yyyy"),
    ("[a-c-e]", "d", "nnnn"),
    ("[a-c-e]", "-", "yyyy"),
    ("[", "[", "nnnn"),
    ("[a", "a", "nnnn"),
    ("[]", "]", "nnnn"),
    ("[a]b", "ab", "yyyy"),
    ("x[/]", "x/", "nnyy"),
    ("x[!a]", "x/", "nnyy"),
    ("[[:alpha:]]", "q", "yyyy"),
    ("[[:alpha:]]", "1", "nnnn"),
    ("[[:digit:][:upper:]]", "Q", "yyyy"),
    ("[[:upper:]]", "q", "nyny"),
    ("[[:nosuch:]]", "q", "nnnn"),
    ("[[:alpha:", "q", "nnnn"),
    ("[[:]", "[", "yyyy"),
    ("[[:]", "a", "nnnn"),
    ("[[:]", "[", "yyyy"),
    ("[a[:digit:]-z]", "-", "yyyy"),
    ("[a[:digit:]-z]", "m", "nnnn"),
    ("[[:space:]]", "\t", "yyyy"),
    ("[[:punct:]]", "!", "yyyy"),
    ("[[:xdigit:]]", "g", "nnnn"),
    ("ABC", "abc", "nyny"),
    ("[A-C]", "b", "nyny"),
    ("[B]", "b", "nnnn"),
    ("[a-c]", "B", "nyny"),
    ("*.TXT", "a.txt", "nyny"),
    ("é?", "éx", "yyyy"),
    ("?", "é", "nnnn"),
    ("??", "é", "yyyy"),
    ("[[:lower:]]", "Q", "nyny"),
]


@pytest.mark.parametrize(("pattern", "text", "answers"), CASES)
def test_pattern_matches_as_in_git(pattern: str, text: str, answers: str) -> None:
    modes = [(True, False), (True, True), (False, False), (False, True)]
    for (pathname, casefold), answer in zip(modes, answers, strict=True):
        matched = wildmatch(pattern.encode(), text.encode(), pathname=pathname, casefold=casefold)
        assert matched is (answer == "y"), (pathname, casefold)


def test_unlucky_pattern_takes_no_exponential_time() -> None:
    start = time.process_time()
    assert not wildmatch(b"*a" * 30 + b"*b", b"a" * 300)
    assert time.process_time() - start < 5
