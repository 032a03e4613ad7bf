"""Ref names: git's rules, checked one by one and in bulk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyreftable.refs.names import (
    WorktreeRef,
    all_valid,
    check_refname,
    dwim_candidates,
    is_per_worktree_ref,
    is_pseudo_ref,
    is_root_ref,
    normalize_refname,
    parse_worktree_ref,
    refname_is_safe,
    shorten,
    should_autocreate_reflog,
)

GOOD = [
    "refs/heads/main",
    "refs/heads/a.b",
    "refs/heads/a@b",
    "refs/heads/@",
    "refs/heads/-",
    "refs/heads/a.lockx",
    "refs/heads/a.lock.b",
    "refs/heads/lock",
    "refs/heads/a{b}",
    "refs/heads/a]b",
    "refs/heads/ü",
    "refs/heads/\udcff",
    "refs/h!\"#$%&'()+,;<=>_`|",
    "@/a",
    "a/b",
]
BAD = [
    "",
    "/",
    "a/",
    "/a",
    "a//b",
    ".a/b",
    "a/.b",
    "a/b.",
    "a/.",
    "a/..",
    "a..b/c",
    "a/b.lock",
    "a.lock/b",
    "a/@{b",
    "a/b\0c",
    "a/b\nc",
    "a\n/b",
    "\na/b",
    "a/b\n",
    "a/b\x1f",
    "a/b\x7f",
    "a/b c",
    "a/b~c",
    "a/b^c",
    "a/b:c",
    "a/b?c",
    "a/b*c",
    "a/b[c",
    "a/b\\c",
    "a/\ud800",
]


def rule_by_rule(name: str, *, allow_onelevel: bool = False) -> bool:
    """The plain form of `check_refname`: the rules in the order of git-check-ref-format(1)."""
    parts = name.split("/")
    return (
        all(not part.startswith(".") and not part.endswith(".lock") for part in parts)
        and (len(parts) > 1 or allow_onelevel)
        and ".." not in name
        and all(ord(char) > 0x20 and char not in "~^:?*[\\\x7f" for char in name)
        and all(parts)
        and not name.endswith(".")
        and "@{" not in name
        and name != "@"
    )


NAMES = st.text(st.sampled_from("ab./@{}*lock \n-_é\0~\udc80"), max_size=12)


class TestFormat:
    """git-check-ref-format(1)."""

    @pytest.mark.parametrize("name", GOOD)
    def test_good_names(self, name: str) -> None:
        """Names that git takes, taken alone and among others."""
        assert check_refname(name)
        assert all_valid(["refs/x/y", name, "refs/x/z"])

    @pytest.mark.parametrize("name", BAD)
    def test_bad_names(self, name: str) -> None:
        """Names that git refuses, at every place of a list."""
        assert not check_refname(name)
        assert not check_refname(name, allow_onelevel=True)
        for place in range(3):
            names = ["refs/x/y", "refs/x/z"]
            names.insert(place, name)
            assert not all_valid(names)

    def test_one_level(self) -> None:
        """A name without a slash is a matter of the flag, `@` alone is none at all."""
        for name in ("HEAD", "a", "-", "a.b"):
            assert not check_refname(name)
            assert not all_valid([name], allow_onelevel=False)
            assert check_refname(name, allow_onelevel=True)
            assert all_valid([name])
        for name in ("@", ".", ".a", "a.", "a.lock", ".lock", "a b"):
            assert not check_refname(name, allow_onelevel=True)
            assert not all_valid([name])

    def test_pattern(self) -> None:
        """One star, anywhere, if asked for."""
        for name in ("refs/*", "refs/a*b/c", "*/a", "refs/*.", "refs/.*", "a/*.lock"):
            assert not check_refname(name)
        assert check_refname("refs/*", refspec_pattern=True)
        assert check_refname("refs/a*b/c", refspec_pattern=True)
        assert check_refname("*", refspec_pattern=True, allow_onelevel=True)
        for name in ("refs/*/*", "refs/*.", "refs/.*", "a/*.lock", "*"):
            assert not check_refname(name, refspec_pattern=True)

    def test_none_is_valid(self) -> None:
        """No name at all is no fault."""
        assert all_valid([])

    def test_many_names(self) -> None:
        """More names than one batch: the last one counts as the first does."""
        names = [f"refs/heads/branch-{number}" for number in range(5000)]
        assert all_valid(names)
        for place in (0, 1023, 1024, 4999):
            assert not all_valid([*names[:place], "refs/heads/b.", *names[place + 1 :]])

    @given(NAMES)
    def test_agrees_with_the_rules(self, name: str) -> None:
        """The fast check and the rules one by one give the same answer."""
        for flag in (False, True):
            assert check_refname(name, allow_onelevel=flag) == rule_by_rule(
                name, allow_onelevel=flag
            )

    @given(st.lists(NAMES, max_size=6), st.booleans())
    def test_bulk_agrees_with_single(self, names: list[str], flag: bool) -> None:
        """Names do not influence each other."""
        assert all_valid(names, allow_onelevel=flag) == all(
            rule_by_rule(name, allow_onelevel=flag) for name in names
        )

    @pytest.mark.parametrize(
        ("name", "normal"),
        [
            ("/refs//heads///a", "refs/heads/a"),
            ("refs/heads/a", "refs/heads/a"),
            ("//", ""),
            ("a//", "a/"),
            ("", ""),
        ],
    )
    def test_normalize(self, name: str, normal: str) -> None:
        """Leading slashes go, runs of slashes become one, a trailing one stays to be refused."""
        assert normalize_refname(name) == normal


class TestKinds:
    """Root refs, pseudorefs and worktrees; gitglossary(7), git-worktree(1)."""

    def test_root_refs(self) -> None:
        """`HEAD`, whatever ends in `_HEAD`, and six irregular names; but no pseudoref."""
        for name in ("HEAD", "ORIG_HEAD", "X-Y_HEAD", "_HEAD", "AUTO_MERGE", "NOTES_MERGE_REF"):
            assert is_root_ref(name)
        for name in (
            "head",
            "MAIN",
            "FETCH_HEAD",
            "MERGE_HEAD",
            "refs/HEAD",
            "A1_HEAD",
            "",
            "XHEAD",
        ):
            assert not is_root_ref(name)

    def test_pseudo_refs(self) -> None:
        """There are two."""
        assert is_pseudo_ref("FETCH_HEAD")
        assert is_pseudo_ref("MERGE_HEAD")
        assert not is_pseudo_ref("ORIG_HEAD")

    def test_per_worktree(self) -> None:
        """Three folders under `refs/`."""
        for name in ("refs/bisect/bad", "refs/worktree/x", "refs/rewritten/x"):
            assert is_per_worktree_ref(name)
        for name in ("refs/bisect", "refs/bisected/x", "refs/heads/bisect/x", "HEAD"):
            assert not is_per_worktree_ref(name)

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("refs/heads/a", ("shared", None, "refs/heads/a")),
            ("refs/bisect/a", ("current", None, "refs/bisect/a")),
            ("HEAD", ("current", None, "HEAD")),
            ("MADE-UP_NAME", ("current", None, "MADE-UP_NAME")),
            ("lower", ("shared", None, "lower")),
            ("main-worktree/HEAD", ("main", None, "HEAD")),
            ("main-worktree/refs/bisect/x", ("main", None, "refs/bisect/x")),
            ("main-worktree/refs/heads/x", ("shared", None, "main-worktree/refs/heads/x")),
            ("worktrees/w/HEAD", ("other", "w", "HEAD")),
            ("worktrees/w/refs/worktree/x", ("other", "w", "refs/worktree/x")),
            ("worktrees/w/refs/heads/x", ("shared", None, "worktrees/w/refs/heads/x")),
            ("worktrees/w", ("other", "w", "")),
            ("worktrees/w/", ("other", "w", "")),
        ],
    )
    def test_parse_worktree_ref(self, name: str, expected: tuple[str, str | None, str]) -> None:
        """Only refs that a worktree has of its own can be named through it."""
        assert parse_worktree_ref(name) == expected
        assert isinstance(parse_worktree_ref(name), WorktreeRef)

    def test_safe_names(self) -> None:
        """What stays below `refs/`, or is made of capitals, may at least be deleted."""
        for name in ("refs/a", "refs/a b", "refs/a..b", "refs/a.lock", "HEAD", "A_B"):
            assert refname_is_safe(name)
        for name in ("refs/", "refs//a", "refs/a/", "refs/../a", "refs/a/..", "refs/./a", "a", ""):
            assert not refname_is_safe(name)
        assert not refname_is_safe("A-B")

    def test_reflogs(self) -> None:
        """Branches, remote branches, notes and HEAD are logged by default."""
        for name in ("HEAD", "refs/heads/a", "refs/remotes/o/a", "refs/notes/a"):
            assert should_autocreate_reflog(name)
            assert not should_autocreate_reflog(name, "none")
        for name in ("refs/tags/a", "ORIG_HEAD", "refs/stash", "refs/headsx"):
            assert not should_autocreate_reflog(name)
            assert should_autocreate_reflog(name, "always")


class TestShortNames:
    """gitrevisions(7), the six places, and `%(refname:short)`."""

    def test_candidates(self) -> None:
        """In git's order."""
        assert dwim_candidates("x") == [
            "x",
            "refs/x",
            "refs/tags/x",
            "refs/heads/x",
            "refs/remotes/x",
            "refs/remotes/x/HEAD",
        ]

    @pytest.mark.parametrize(
        ("name", "refs", "loose", "strict"),
        [
            ("refs/heads/a", [], "a", "a"),
            ("refs/heads/a", ["refs/tags/a"], "heads/a", "heads/a"),
            ("refs/tags/a", ["refs/heads/a"], "a", "tags/a"),
            ("refs/remotes/o/HEAD", [], "o", "o"),
            ("refs/remotes/o/HEAD", ["refs/heads/o"], "o/HEAD", "o/HEAD"),
            ("refs/remotes/o/a", [], "o/a", "o/a"),
            ("refs/other/a", [], "other/a", "other/a"),
            ("HEAD", [], "HEAD", "HEAD"),
            ("refs/heads/a", ["refs/tags/a", "heads/a"], "refs/heads/a", "refs/heads/a"),
        ],
    )
    def test_shorten(self, name: str, refs: list[str], loose: str, strict: str) -> None:
        """As short as the other refs allow."""
        there = {name, *refs}.__contains__
        assert shorten(name, there) == loose
        assert shorten(name, there, strict=True) == strict
