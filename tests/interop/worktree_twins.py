"""Twin families of work trees: a main one and two linked ones, for git and for pyreftable.

main   on branch `main`, with a ref of its own in each folder that is not shared
one    linked, on branch `topic`, with such refs of its own
two    linked, HEAD detached
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from pyreftable.format.records import LogRecord, RefRecord
from pyreftable.refs.store import RefStore
from tests.command_server import Outcome
from tests.support import git_env, init_repo, run_git
from tests.twins import run_ours, run_theirs

PLACES = ("main", "one", "two")

#: Refs that every worktree has its own of, and which commit they hold in which.
OWN_REFS = {
    "main": "refs/bisect/bad {c0}\nrefs/worktree/own {c0}\nrefs/rewritten/x {c0}",
    "one": "refs/bisect/bad {c1}\nrefs/worktree/own {c1}\nORIG_HEAD {c1}",
    "two": "refs/worktree/only-two {c1}",
}


class StackState(NamedTuple):
    """The live records of one stack."""

    refs: list[RefRecord]
    logs: list[LogRecord]


class Family:
    """The work trees in `folder`, made by git."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = git_env(folder)
        init_repo(folder / "main")
        self.commits = [self._commit(str(number)) for number in range(3)]
        self.git("main", "update-ref", "refs/heads/main", self.commits[0])
        self.git("main", "worktree", "add", "-q", "-b", "topic", "../one")
        self.git("main", "worktree", "add", "-q", "--detach", "../two")
        for place, refs in OWN_REFS.items():
            for line in self.fill(refs).splitlines():
                self.git(place, "update-ref", "--create-reflog", *line.split())

    def _commit(self, message: str) -> str:
        tree = self.git("main", "mktree")
        return self.git("main", "commit-tree", "-m", message, tree)

    def git(self, place: str, *args: str) -> str:
        """Run git, which prepares things, in one of the work trees."""
        answer = run_git(args, self.folder / place, env=self.env)
        return answer.stdout.decode().strip()

    def fill(self, text: str) -> str:
        """`text` with ids of commits put in for `{c0}` and so on."""
        for number, oid in enumerate(self.commits):
            text = text.replace(f"{{c{number}}}", oid)
        return text.replace("{zero}", "0" * 40)

    def state(self) -> dict[str, StackState]:
        """What every stack holds."""
        stacks = {}
        with RefStore.open(os.fspath(self.folder / "main"), environ=self.env) as store:
            for name in (None, "one", "two"):
                merged = store.stack(name).snapshot().merged
                stacks[name or "main"] = StackState(
                    [record for record in merged.refs() if not record.is_deletion],
                    [record for record in merged.logs() if not record.is_deletion],
                )
        return stacks


class FamilyTwins:
    """`theirs`, in which git runs, and `ours`, in which pyreftable does."""

    def __init__(self, folder: Path) -> None:
        self.theirs = Family(folder / "theirs")
        self.ours = Family(folder / "ours")
        for family in (self.theirs, self.ours):
            shutil.copytree(family.folder, self._saved(family), symlinks=True)

    def reset(self) -> None:
        """Give all stacks the content again that they had at first, and take away the hooks."""
        for family in (self.theirs, self.ours):
            git_dir = Path("main/.git")
            shutil.rmtree(family.folder / git_dir)
            shutil.copytree(self._saved(family) / git_dir, family.folder / git_dir, symlinks=True)

    def run(self, place: str, command: str, input: str = "") -> Outcome:
        """Run a command, both ways; the outcomes must agree. `command` is split at spaces."""
        outcomes = []
        for family, run in ((self.theirs, run_theirs), (self.ours, run_ours)):
            words = family.fill(command).split()
            data = family.fill(input).encode()
            outcome = run(words, family.folder / place, data, family.env)
            base = os.fsencode(family.folder)
            outcomes.append(
                outcome._replace(
                    stdout=outcome.stdout.replace(base, b"BASE"),
                    stderr=outcome.stderr.replace(base, b"BASE"),
                )
            )
        theirs, ours = outcomes
        assert ours == theirs, f"{place}: {command}"
        return ours

    def check_same_state(self) -> dict[str, StackState]:
        """All stacks hold the same on both sides; returns it."""
        ours = self.ours.state()
        assert ours == self.theirs.state()
        return ours

    @staticmethod
    def _saved(family: Family) -> Path:
        return family.folder.with_name(family.folder.name + "-saved")
