"""Ref names against the real git: `check-ref-format`, and what refs it stores and shortens.

A git process costs some 2 ms, so most checks put many names to one process: `update-ref --stdin`
with `verify` of a null id, which succeeds exactly for names that git accepts.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyreftable.refs.names import all_valid, check_refname, normalize_refname, shorten
from tests.support import init_repo, run_git

ALPHABET = "ab./@{}*lockHEAD -_é~\udc80"
NAMES = st.text(st.sampled_from(ALPHABET), min_size=1, max_size=10)


@settings(max_examples=60)
@given(name=NAMES, onelevel=st.booleans(), pattern=st.booleans())
def test_check_ref_format(
    name: str, onelevel: bool, pattern: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Exit codes agree, with every combination of flags."""
    folder = tmp_path_factory.getbasetemp()
    flags = ["--allow-onelevel"] * onelevel + ["--refspec-pattern"] * pattern
    # A leading dash would make the name an option.
    for text in (name.lstrip("-"), f"refs/{name}"):
        done = run_git(["check-ref-format", *flags, encoded(text)], folder, check=False)
        expected = check_refname(text, allow_onelevel=onelevel, refspec_pattern=pattern)
        assert (done.returncode == 0) == expected, text


@settings(max_examples=30)
@given(st.text(st.sampled_from("ab/"), min_size=1, max_size=8))
def test_normalize(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    """`--normalize` prints the same name, or refuses the same ones."""
    done = run_git(
        ["check-ref-format", "--normalize", name], tmp_path_factory.getbasetemp(), check=False
    )
    normal = normalize_refname(name)
    printed = f"{normal}\n" if check_refname(normal) else ""
    assert done.stdout.decode() == printed


@settings(max_examples=20)
@given(st.lists(NAMES, min_size=1, max_size=200))
def test_names_in_bulk(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    """Of many names git takes all that we take, and none of those that we refuse."""
    folder = tmp_path_factory.getbasetemp() / "bulk"
    if not folder.exists():
        init_repo(folder)
    candidates = {f"refs/heads/{name}" for name in names}
    taken = {name for name in candidates if check_refname(name)}
    assert all_valid(sorted(taken))
    run_git(["update-ref", "-z", "--stdin"], folder, input=verify(*sorted(taken)))
    for name in sorted(candidates - taken)[:3]:
        done = run_git(["update-ref", "-z", "--stdin"], folder, input=verify(name), check=False)
        assert done.returncode != 0, name


def verify(*names: str) -> bytes:
    """The lines that ask git whether none of `names` is a ref."""
    return b"".join(b"verify " + encoded(name) + b"\0\0" for name in names)


def encoded(name: str) -> bytes:
    """`name` as git gets it."""
    return name.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("strict", [False, True])
def test_shorten(repo_sha1: Path, strict: bool) -> None:
    """`%(refname:short)` in a repository full of ambiguous names."""
    tree = run_git(["write-tree"], repo_sha1).stdout.decode().strip()
    commit = run_git(["commit-tree", "-m", "x", tree], repo_sha1).stdout.decode().strip()
    places = ["refs/", "refs/tags/", "refs/heads/", "refs/remotes/", "refs/other/"]
    names = [place + name for place in places for name in ("a", "b/c", "b/HEAD", "o/HEAD", "o/x")]
    names += ["refs/heads/heads/a", "refs/tags/heads/d", "refs/heads/d", "refs/heads/only"]
    lines = "".join(f"create {name} {commit}\n" for name in names)
    run_git(["update-ref", "--stdin"], repo_sha1, input=lines.encode())
    flag = str(strict).lower()
    listed = run_git(
        [
            *("-c", f"core.warnAmbiguousRefs={flag}"),
            *("for-each-ref", "--format=%(refname) %(refname:short)"),
        ],
        repo_sha1,
    )
    by_git = dict(line.split(" ") for line in listed.stdout.decode().splitlines())
    assert by_git.keys() == set(names)
    assert {name: shorten(name, by_git.__contains__, strict=strict) for name in names} == by_git
