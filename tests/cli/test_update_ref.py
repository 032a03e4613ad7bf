"""`pyreftable update-ref` with arguments, as a user types it, against the same typed at git.

Messages are those of git 2.55. Where the git of the test environment (2.50.1) words them
otherwise or does not refuse yet, the case gives the message of 2.55 for pyreftable, and only the
exit status and the state are compared.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command_server import Outcome
from tests.support import git_env, run_git
from tests.twins import (
    Objects,
    Twins,
    fill,
    git_is_followed,
    read_state,
    run_ours,
    run_theirs,
)


class Case(NamedTuple):
    """One command line (its words as a shell would split them); `newer` is 2.55's message."""

    command: str
    newer: str = ""
    env: dict[str, str] = {}  # noqa: RUF012


only_sha1 = pytest.mark.parametrize("twins", ["sha1"], indirect=True)


def check(twins: Twins, objects: Objects, case: Case) -> Outcome:
    """Run the command in both repositories and compare what it says, then what they hold."""
    args = shlex.split(fill(case.command, objects))
    theirs, ours = twins.run(args, env=case.env)
    if not case.newer or git_is_followed():
        assert ours == theirs
    else:
        assert ours == theirs._replace(stderr=fill(case.newer, objects).encode())
    twins.check_same_state()
    return ours


CREATE_AND_UPDATE = [
    Case("update-ref refs/heads/new {c1}"),
    Case("update-ref -m 'a  reason\n with\ttwo lines ' refs/heads/new {c1}"),
    Case("update-ref refs/heads/new {upper}"),
    Case("update-ref refs/heads/new {short}"),
    Case("update-ref refs/heads/new HEAD"),
    Case("update-ref refs/heads/new side"),
    Case("update-ref refs/heads/new 'v1^{}'"),
    Case("update-ref refs/heads/new {c2}~2"),
    Case("update-ref refs/heads/new '@{0}'"),
    Case("update-ref refs/heads/main {c1}"),
    Case("update-ref refs/heads/main {c0}"),
    Case("update-ref HEAD {c2}"),
    Case("update-ref -m moved HEAD {c2} {c0}"),
    Case("update-ref --no-deref HEAD {c2}"),
    Case("update-ref --no-deref -m detached HEAD {c2} {c0}"),
    Case("update-ref refs/heads/sym {c2}"),
    Case("update-ref refs/meta/chain {c2} {c1}"),
    Case("update-ref --no-deref refs/meta/chain {c2} {c1}"),
    Case("update-ref refs/meta/dangling {c2}"),
    Case("update-ref --no-deref refs/meta/dangling {c2}"),
    Case("update-ref refs/tags/annotated {tag}"),
    Case("update-ref refs/tags/twice {nested}"),
    Case("update-ref refs/tags/blob2 {blob}"),
    Case("update-ref refs/meta/tree {tree}"),
    Case("update-ref ORIG_HEAD {c1}"),
    Case("update-ref refs/bisect/bad {c1}"),
    Case("update-ref refs/heads/new {c1} {zero}"),
    Case("update-ref refs/heads/new {c1} ''"),
    Case("update-ref refs/heads/main {c1} {c0}"),
    Case("update-ref refs/heads/main {c1} {short}~1"),
    Case("update-ref refs/heads/main {zero}"),
    Case("update-ref refs/heads/main {zero} {c0}"),
    Case("update-ref refs/heads/new {zero}"),
    Case("update-ref 'refs/heads/\u00fcml\u00e4ut' {c1}"),
    Case("update-ref 'refs/heads/quo\"te' {c1}"),
    Case("update-ref --create-reflog refs/meta/plain {c1}"),
    Case("update-ref --create-reflog -m logged refs/meta/new {c1}"),
    Case("update-ref --no-create-reflog refs/meta/new {c1}"),
    Case("-c core.logAllRefUpdates=always update-ref -m all refs/meta/new {c1}"),
    Case("-c core.logAllRefUpdates=false update-ref refs/heads/new {c1}"),
    Case("-c core.logAllRefUpdates=false update-ref refs/heads/main {c1}"),
    Case("update-ref --deref HEAD {c1}"),
    Case("update-ref -- refs/heads/new {c1}"),
    Case("update-ref refs/heads/new {c1} -m late"),
    Case("update-ref refs/heads/new {c1}", env={"GIT_COMMITTER_DATE": "1112911993 -0730"}),
    Case("update-ref refs/heads/new {c1}", env={"GIT_COMMITTER_NAME": " odd <name>. "}),
]

DELETE = [
    Case("update-ref -d refs/heads/side"),
    Case("update-ref -d refs/heads/side {c1}"),
    Case("update-ref -d refs/heads/side {zero}"),
    Case("update-ref -d refs/heads/side ''"),
    Case("update-ref -d refs/heads/side side"),
    Case("update-ref -d refs/heads/main"),
    Case("update-ref -d -m gone refs/heads/main"),
    Case("update-ref -d HEAD"),
    Case("update-ref -d --no-deref HEAD"),
    Case("update-ref -d refs/heads/sym"),
    Case("update-ref --no-deref -d refs/heads/sym"),
    Case("update-ref --no-deref -d refs/heads/sym {c1}"),
    Case("update-ref -d refs/meta/chain {c1}"),
    Case("update-ref -d refs/meta/dangling"),
    Case("update-ref --no-deref -d refs/meta/dangling"),
    Case("update-ref -d refs/heads/absent"),
    Case("update-ref -d refs/tags/v1 {tag}"),
]

REFUSED = [
    Case("update-ref refs/heads/main {c1} {c2}"),
    Case("update-ref refs/heads/main {c1} {zero}"),
    Case("update-ref refs/heads/main {c1} ''"),
    Case("update-ref refs/heads/absent {c1} {c0}"),
    Case("update-ref HEAD {c1} {c2}"),
    Case("update-ref refs/meta/chain {c2} {c0}"),
    Case("update-ref refs/meta/dangling {c2} {c0}"),
    Case("update-ref --no-deref refs/meta/dangling {c2} {c0}"),
    Case("update-ref -d refs/heads/main {c1}"),
    Case("update-ref -d refs/heads/absent {c1}"),
    Case("update-ref -d refs/heads/main/below"),
    Case("update-ref refs/heads/main/below {c1}"),
    Case("update-ref refs/heads/dir {c1}"),
    Case("update-ref refs/heads {c1}"),
    Case("update-ref refs/heads/new {missing}"),
    Case("update-ref refs/meta/new {missing}"),
    Case("update-ref refs/heads/new {blob}"),
    Case("update-ref refs/heads/new {tag}"),
    Case("update-ref HEAD {blob}"),
    Case("update-ref refs/heads/..bad {c1}"),
    Case("update-ref refs/heads/bad.lock {c1}"),
    Case("update-ref 'refs/heads/b d' {c1}"),
    Case("update-ref refs/heads/ {c1}"),
    Case("update-ref '' {c1}"),
    Case("update-ref -d ..bad"),
    Case("update-ref -d lower"),
    Case("update-ref FETCH_HEAD {c1}"),
    Case("update-ref -d MERGE_HEAD"),
    Case("update-ref refs/heads/new nonsense"),
    Case("update-ref refs/heads/new ''"),
    Case("update-ref refs/heads/new {c1} nonsense"),
    Case("update-ref -d refs/heads/main nonsense"),
    Case("update-ref refs/heads/new {c1}1"),
    Case("update-ref -m '' refs/heads/new {c1}"),
    Case("update-ref --batch-updates refs/heads/new {c1}"),
    Case("update-ref -0 refs/heads/new {c1}"),
    Case("-c core.logAllRefUpdates=perhaps update-ref refs/heads/new {c1}"),
]

USAGE = [
    Case("update-ref"),
    Case("update-ref refs/heads/new"),
    Case("update-ref refs/heads/new {c1} {c0} more"),
    Case("update-ref -d"),
    Case("update-ref -d refs/heads/main {c0} more"),
    Case("update-ref -z refs/heads/new {c1}"),
    Case("update-ref --stdin refs/heads/new"),
    Case("update-ref --stdin -d"),
    Case("update-ref --unknown"),
    Case("update-ref -m"),
    Case("update-ref --stdin=yes"),
]


def _named(cases: list[Case]) -> list[object]:
    return [pytest.param(case, id=case.command) for case in cases]


@pytest.mark.parametrize("case", _named(CREATE_AND_UPDATE))
def test_update(twins: tuple[Twins, Objects], case: Case) -> None:
    """What succeeds does the same as git, silently."""
    assert check(*twins, case) == Outcome(0, b"", b"")
    twins[0].check_same_to_git()


@pytest.mark.parametrize("case", _named(DELETE))
def test_delete(twins: tuple[Twins, Objects], case: Case) -> None:
    """Deleting takes the reflog along, and minds symrefs and old values as git does."""
    assert check(*twins, case) == Outcome(0, b"", b"")
    twins[0].check_same_to_git()


@only_sha1
@pytest.mark.parametrize("case", _named(REFUSED))
def test_refused(twins: tuple[Twins, Objects], case: Case) -> None:
    """What git refuses is refused in its words, and changes nothing."""
    before = read_state(twins[0].ours)
    assert check(*twins, case).status in (1, 128)
    assert read_state(twins[0].ours) == before


@only_sha1
@pytest.mark.parametrize("case", _named(USAGE))
def test_usage(twins: tuple[Twins, Objects], case: Case) -> None:
    """A wrong command line shows git's usage."""
    before = read_state(twins[0].ours)
    assert check(*twins, case).status == 129
    assert read_state(twins[0].ours) == before


def test_help(tmp_path: Path) -> None:
    """`-h` needs no repository. Git 2.55 succeeds, 2.50.1 still called it a wrong command line."""
    env = _outside(tmp_path)
    theirs, ours = (run(["update-ref", "-h"], tmp_path, env=env) for run in (run_theirs, run_ours))
    assert ours == (theirs if git_is_followed() else theirs._replace(status=0))


@only_sha1
def test_ambiguous_option(twins: tuple[Twins, Objects]) -> None:
    """Git 2.50.1 leaves the usage text out."""
    theirs, ours = twins[0].run(["update-ref", "--no"])
    message = b"error: ambiguous option: no (could be --no-create-reflog or --no-batch-updates)\n"
    assert ours.status == theirs.status == 129
    assert ours.stderr.startswith(message + b"usage: ")
    if git_is_followed():
        assert ours == theirs


@pytest.mark.parametrize("words", [["refs/heads/a", "b"], ["--unknown"]])
def test_outside_a_repository(tmp_path: Path, words: list[str]) -> None:
    """The missing repository comes before anything that is wrong with the command line."""
    env = _outside(tmp_path)
    args = ["update-ref", *words]
    assert run_ours(args, tmp_path, env=env) == run_theirs(args, tmp_path, env=env)


def _outside(folder: Path) -> dict[str, str]:
    return git_env(folder) | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}


def test_several_commands(twins: tuple[Twins, Objects]) -> None:
    """A day's work: a branch made, moved, named by HEAD, deleted, made again, left behind."""
    pair, objects = twins
    for command in (
        "update-ref -m start refs/heads/work {c0}",
        "update-ref -m step refs/heads/work {c1} {c0}",
        "symbolic-ref HEAD refs/heads/work",
        "update-ref -m jump HEAD {c2} {c1}",
        "update-ref -d HEAD {c2}",
        "update-ref -m again HEAD {c0} {zero}",
        "update-ref -m detach --no-deref HEAD {c1}",
        "update-ref -d refs/heads/work",
    ):
        args = shlex.split(fill(command, objects))
        if args[0] == "symbolic-ref":
            pair.prepare(*args)
        else:
            theirs, ours = pair.run(args)
            assert ours == theirs == Outcome(0, b"", b"")
        pair.check_same_state()
    pair.check_same_to_git()
    run_git(["refs", "verify"], pair.ours)
