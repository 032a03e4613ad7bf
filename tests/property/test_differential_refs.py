"""Random sequences of operations on git and on pyreftable: state, output, exit codes agree.

With the git of the test environment (2.50.1) a sequence ends where the two may differ by the
rules that git has changed since (see `tests.twins`); with `PYREFTABLE_TEST_GIT` naming a git of
2.55 or newer, every sequence is compared to its end.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st

from tests.command_server import Outcome
from tests.ref_history import History
from tests.ref_operations import Session, sessions
from tests.support import git_env
from tests.twins import (
    Objects,
    Twins,
    WorktreeTwins,
    fill,
    furnished_twins,
    git_is_followed,
    is_newer,
    run_ours,
    run_theirs,
    worktree_twins,
)


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def twins(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Twins, Objects]:
    """Two repositories to reset for each example, and the objects in them."""
    return furnished_twins(tmp_path_factory.mktemp("twins"), request.param)


@pytest.fixture(scope="module")
def worktrees(tmp_path_factory: pytest.TempPathFactory) -> tuple[WorktreeTwins, Objects]:
    """The same with a linked worktree."""
    return worktree_twins(tmp_path_factory.mktemp("worktrees"), "sha1")


def _run(session: Session, objects: Objects, repo: Path, *, by_git: bool, clock: int) -> Outcome:
    args = [*session.globals, *(fill(word, objects) for word in session.args)]
    stdin = fill(session.stdin, objects).encode("utf-8", "surrogateescape")
    env = git_env(repo) | {"GIT_COMMITTER_DATE": f"@{1_700_000_000 + clock} +0130"}
    return (run_theirs if by_git else run_ours)(args, repo, stdin, env)


def _comparable(theirs: Outcome, ours: Outcome) -> bool:
    """Whether the two must agree, and the sequence may go on."""
    if theirs.status < 0 or b"BUG:" in theirs.stderr:
        # Git itself fell over.
        return False
    both = theirs.stderr + ours.stderr
    if ours != theirs and any(text in both for text in _BISECTED):
        # Git looks for a transaction's names by bisection in a list to whose end it has added
        # those that symrefs lead to: it may miss one, or see the other of two first.
        return False
    rejected_by_old = not git_is_followed() and b"rejected " in ours.stdout
    return not (is_newer(theirs) or is_newer(ours) or rejected_by_old)


_BISECTED = (b"(including one via symref ", b"at the same time")


@given(steps=st.lists(sessions, min_size=1, max_size=6))
def test_twins_agree(twins: tuple[Twins, Objects], steps: list[Session]) -> None:
    """The same sessions leave twins with the same refs and logs, told in the same words."""
    pair, objects = twins
    pair.reset()
    for clock, session in enumerate(steps):
        theirs = _run(session, objects, pair.theirs, by_git=True, clock=clock)
        ours = _run(session, objects, pair.ours, by_git=False, clock=clock)
        note(f"git: {theirs}\npyreftable: {ours}")
        event(f"status {theirs.status}")
        if not _comparable(theirs, ours):
            return
        assert ours == theirs
        pair.check_same_state()
    pair.check_same_to_git()


@given(steps=st.lists(st.tuples(st.booleans(), sessions), min_size=2, max_size=6))
def test_taking_turns(twins: tuple[Twins, Objects], steps: list[tuple[bool, Session]]) -> None:
    """Git and pyreftable write to one repository in turn, and git alone to the other."""
    pair, objects = twins
    pair.reset()
    for clock, (by_git, session) in enumerate(steps):
        theirs = _run(session, objects, pair.theirs, by_git=True, clock=clock)
        mixed = _run(session, objects, pair.ours, by_git=by_git, clock=clock)
        note(f"git: {theirs}\n{'git' if by_git else 'pyreftable'}: {mixed}")
        if not _comparable(theirs, mixed):
            return
        assert mixed == theirs
    pair.check_same_state()
    pair.check_same_to_git()
    for args in (["fsck", "--no-dangling"], ["refs", "verify"]):
        assert run_theirs(args, pair.ours) == run_theirs(args, pair.theirs)


@given(steps=st.lists(st.tuples(st.sampled_from([".", "wt"]), sessions), min_size=1, max_size=6))
def test_worktrees_agree(
    worktrees: tuple[WorktreeTwins, Objects], steps: list[tuple[str, Session]]
) -> None:
    """Sessions in a main and a linked worktree, which share most refs but not all."""
    pair, objects = worktrees
    pair.reset()
    for clock, (folder, session) in enumerate(steps):
        theirs = _run(session, objects, pair.theirs / folder, by_git=True, clock=clock)
        ours = _run(session, objects, pair.ours / folder, by_git=False, clock=clock)
        note(f"git: {theirs}\npyreftable: {ours}")
        if not _comparable(theirs, ours):
            return
        assert ours == theirs
        pair.check_same_state()
    pair.check_same_to_git()


#: What `SETUP` leaves, as far as a history may touch it.
_START = {
    "HEAD": "ref:refs/heads/main",
    "refs/heads/main": "{c0}",
    "refs/heads/side": "{c1}",
    "refs/heads/dir/leaf": "{c0}",
    "refs/heads/sym": "ref:refs/heads/side",
}


@pytest.mark.parametrize("seed", range(3))
def test_thousand_operations(twins: tuple[Twins, Objects], seed: int) -> None:
    """A thousand operations of every kind that all apply, in one process each."""
    pair, objects = twins
    _start_sound(pair)
    stdin = fill(History(seed, _START).run(1000), objects).encode()
    theirs, ours = pair.run(["update-ref", "--stdin", "-m", "history"], stdin)
    assert theirs.status == 0, theirs.stderr
    assert ours == theirs
    _check_whole(pair)


@pytest.mark.parametrize("seed", range(3))
def test_thousand_in_a_batch(twins: tuple[Twins, Objects], seed: int) -> None:
    """A thousand updates of which many do not apply: those are left out, one by one."""
    pair, objects = twins
    _start_sound(pair)
    stdin = fill(_batch(random.Random(seed)), objects).encode()
    theirs, ours = pair.run(["update-ref", "--stdin", "--batch-updates"], stdin)
    assert ours.stdout == theirs.stdout
    assert ours.status == theirs.status == 0
    rejected = ours.stdout.count(b"rejected ")
    assert 100 < rejected < 900
    if git_is_followed():
        assert ours.stderr == theirs.stderr
    assert ours.stderr.count(b"error: cannot lock ref") == rejected
    _check_whole(pair)


def _batch(rng: random.Random) -> str:
    """Updates of refs that do not get into each other's way, with old values at random."""
    values = ["{c0}", "{c1}", "{tag}", "{blob}"]
    lines = [f"create refs/meta/x{number} {rng.choice(values)}" for number in range(0, 1000, 2)]
    lines = ["start", *lines, "commit", "start"]
    for number in rng.sample(range(1000), 1000):
        name, new, old = f"refs/meta/x{number}", rng.choice(values), rng.choice(values)
        form = rng.choice(
            ["create {0} {1}", "update {0} {1} {2}", "delete {0} {2}", "verify {0} {2}"]
        )
        lines.append(form.format(name, new, old))
    return "".join(line + "\n" for line in [*lines, "commit"])


def _start_sound(pair: Twins) -> None:
    """Begin without the dangling symref, to which `git fsck` would object."""
    pair.reset()
    pair.prepare("update-ref", "--no-deref", "-d", "refs/meta/dangling")


def _check_whole(pair: Twins) -> None:
    """Every ref and log is the same, and git finds the same, or no, fault with both."""
    pair.check_same_state()
    pair.check_same_to_git()
    for args in (["fsck", "--no-dangling"], ["refs", "verify"]):
        ours = run_theirs(args, pair.ours)
        assert ours == run_theirs(args, pair.theirs)
        assert ours.status == 0, ours.stderr
