"""Random sequences of operations on git and on pyreftable: state, output, exit codes agree.

With the git of the test environment (2.50.1) a sequence ends where the two may differ by the
rules that git has changed since (see `tests.twins`); with `PYREFTABLE_TEST_GIT` naming a git of
2.55 or newer, every sequence is compared to its end.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st

from tests.command_server import Outcome
from tests.ref_operations import Session, sessions
from tests.support import git_env
from tests.twins import (
    Objects,
    Twins,
    fill,
    furnished_twins,
    git_is_followed,
    is_newer,
    run_ours,
    run_theirs,
)


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def twins(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Twins, Objects]:
    """Two repositories to reset for each example, and the objects in them."""
    return furnished_twins(tmp_path_factory.mktemp("twins"), request.param)


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
    return not (is_newer(theirs) or is_newer(ours) or _is_rejected_by_old(ours))


def _is_rejected_by_old(ours: Outcome) -> bool:
    return not git_is_followed() and b"rejected " in ours.stdout


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
