"""A repository with reflogs of every kind, and twins of it: for the tests of `reflog`.

    main       three commits, then reset two back: its log ends at a commit it left
    topic      a commit that was amended, then one made in the linked worktree `wt`
    HEAD       checkouts between the two; `wt` has a HEAD and a `refs/worktree/own` of its own
    sym, chain symrefs to topic, with logs; dangling is one without
    dual       a branch with a log and a tag without; `a@b` has an odd name
    refs/x/odd a log that passes through a tree

Every change is a hundred seconds after the one before, from `START` on, in the zone +0130.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

from pyreftable.format.records import LogRecord, RefRecord
from pyreftable.refs.store import RefStore
from tests.command_server import Outcome
from tests.support import git_env, init_repo, run_git
from tests.twins import Twins

START = 1_700_000_000
STEP = 100

# What git does in each step; `tick` moves the clock.
_SCRIPT = """\
tick; write f1 1; write d/x 1; add .; commit -q -m c1 -m 'body 1'
tick; write f2 2; write d/x 2; add .; commit -q -m c2 -m 'body 2'
tick; write f3 3; write d/x 3; add .; commit -q -m c3 -m 'body 3'
tick; checkout -q -b topic HEAD~1
tick; write t t; add t; commit -q -m t1
tick; commit -q --amend -m t2
tick; checkout -q main
tick; update-ref --create-reflog refs/x/odd HEAD^{tree}
tick; update-ref refs/x/odd HEAD
tick; tag -a -m v1 v1; tag light
tick; symbolic-ref refs/heads/sym refs/heads/topic; symbolic-ref refs/heads/chain refs/heads/sym
tick; symbolic-ref refs/heads/dangling refs/heads/nowhere
tick; branch a@b; branch dual; update-ref refs/tags/dual HEAD~1
tick; config branch.main.remote .; config branch.main.merge refs/heads/topic
tick; reset -q --hard HEAD~2
tick; worktree add -q wt topic
tick; -C wt commit -q --allow-empty -m inwt
tick; -C wt update-ref refs/bisect/bad HEAD; -C wt update-ref --create-reflog refs/worktree/own HEAD
"""


class StackState(NamedTuple):
    """The live refs and log entries of one stack."""

    refs: list[RefRecord]
    logs: list[LogRecord]


@functools.cache
def make_scene(home: Path, object_format: str) -> Path:
    """The repository, made once."""
    repo = init_repo(home / f"scene-{object_format}", object_format=object_format)
    clock = START
    for line in _SCRIPT.splitlines():
        for command in line.split("; "):
            words = shlex.split(command)
            if words[0] == "tick":
                clock += STEP
            elif words[0] == "write":
                path = repo / words[1]
                path.parent.mkdir(exist_ok=True)
                path.write_text(words[2] + "\n")
            else:
                run_git(words, repo, env=scene_env(repo, clock))
    _make_movable(repo)
    return repo


def scene_env(repo: Path, clock: int) -> dict[str, str]:
    """The environment for a change at `clock`."""
    date = {"GIT_COMMITTER_DATE": f"@{clock} +0130", "GIT_AUTHOR_DATE": f"@{clock - 7} -0700"}
    return git_env(repo) | date


def _make_movable(repo: Path) -> None:
    """Tie the worktree by relative paths, so that a copy's worktree belongs to the copy."""
    (repo / "wt" / ".git").write_text("gitdir: ../.git/worktrees/wt\n")
    (repo / ".git" / "worktrees" / "wt" / "gitdir").write_text("../../../wt/.git\n")


class SceneTwins(Twins):
    """Two copies of the scene; both stacks are reset and compared."""

    _STACKS = (".git/reftable", ".git/worktrees/wt/reftable")

    def reset(self) -> None:
        """Give both the scene's refs and logs again, and no hooks."""
        for repo in (self.theirs, self.ours):
            shutil.rmtree(repo / ".git" / "hooks", ignore_errors=True)
            for stack in self._STACKS:
                shutil.rmtree(repo / stack)
                shutil.copytree(self._template / stack, repo / stack)

    def check(self, command: str) -> Outcome:
        """Run the command in both: same output, status, refs and logs. Returns the outcome."""
        theirs, ours = self.run(
            self.words(command), env={"GIT_TEST_DATE_NOW": str(START + 40 * 86_400)}
        )
        assert ours == theirs
        self.check_same_stacks()
        return ours

    def check_same_stacks(self) -> None:
        """Both hold the same refs and logs, update indices included."""
        assert stack_states(self.ours) == stack_states(self.theirs)

    def words(self, command: str) -> list[str]:
        """The words of a command line, with ids put in for `{zero}` and `{main}`."""
        return shlex.split(command.format(zero=self.null, main=self.id_of("main")))

    @functools.cached_property
    def null(self) -> str:
        """The null id."""
        return "0" * len(self.id_of("main"))

    @functools.cache  # noqa: B019
    def id_of(self, revision: str) -> str:
        """The id of a revision of the scene."""
        return run_git(["rev-parse", revision], self._template).stdout.decode().strip()


@functools.cache
def scene_twins(home: Path, object_format: str) -> SceneTwins:
    """Twins made once; `reset` them before each use."""
    return SceneTwins(home / f"scene-twins-{object_format}", make_scene(home, object_format))


def stack_states(repo: Path) -> dict[str, StackState]:
    """What the stacks of `repo` hold, by the worktree's name; "" is the main one."""
    with RefStore.open(os.fspath(repo), environ=git_env(repo)) as store:
        states = {}
        for name in (None, *(worktree.name for worktree in store.repository.worktrees())):
            merged = store.stack(name).snapshot().merged
            states[name or ""] = StackState(
                [record for record in merged.refs() if not record.is_deletion],
                [_plain(record) for record in merged.logs() if not record.is_deletion],
            )
        return states


def _plain(record: LogRecord) -> LogRecord:
    """`record`, but an existence marker without the line end that git's compaction gives it."""
    return record._replace(message=b"") if record.is_existence_marker else record
