"""Compare-and-swap increments of shared refs, by git and by pyreftable at the same time.

A ref's value is a commit of one long line of commits, so it counts: an increment reads commit
number n and sets the ref to number n + 1, provided that it still holds number n. Every worker
increments refs at random until it has done its share; whoever is too late tries again.

    python -m tests.faults.increments 500    # as much as the project promises
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pyreftable.errors import LockError, TransactionError
from pyreftable.refs.store import RefStore
from tests.support import git_env, init_repo, pyreftable_cmd, run_git
from tests.twins import compared_git

COUNTERS = tuple(f"refs/counters/{number}" for number in range(3))

#: One process for each; "api" is a program that uses the library.
WORKERS = ("git", "git", "git", "git", "api", "api", "cli", "cli")

_IS_AT = re.compile(r"is at ([0-9a-f]+) but expected")
_BUSY = re.compile(r"lock references|tables\.list")


class Tally(NamedTuple):
    """What one worker met with: increments done, refs that had moved on, locks not got."""

    kind: str
    done: int
    outdated: int
    busy: int


class Result(NamedTuple):
    """The tallies of all workers, and the time that they took together, in seconds."""

    tallies: list[Tally]
    seconds: float


#: Sets a ref from one id to another; `None` if that worked, otherwise the complaint.
Swap = Callable[[str, str, str], str | None]


class Scene:
    """A repository in `folder` with the commits for as many increments as can happen."""

    def __init__(self, folder: Path, share: int) -> None:
        self.repo = init_repo(folder / "repo")
        self.env = git_env(folder)
        self.git("config", "core.logAllRefUpdates", "always")
        self._make_commits(share * len(WORKERS) + 1)
        names = self.git("rev-list", "--reverse", "refs/line/all").split()
        (folder / "commits").write_text("\n".join(names))
        self.git("update-ref", "-d", "refs/line/all")
        self.numbers = {name: number for number, name in enumerate(names)}
        for name in ("refs/heads/main", *COUNTERS):
            self.git("update-ref", "-m", "start", name, names[0])

    def git(self, *args: str) -> str:
        """Run git, which must succeed."""
        return run_git(args, self.repo, env=self.env).stdout.decode()

    def _make_commits(self, count: int) -> None:
        stamp = "C O Mitter <committer@example.com> 1700000000 +0000"
        stream = "".join(
            f"commit refs/line/all\ncommitter {stamp}\ndata {len(str(n))}\n{n}\n"
            for n in range(count)
        )
        run_git(["fast-import", "--quiet"], self.repo, env=self.env, input=stream.encode())

    def run(self, share: int) -> Result:
        """Let all workers do their share at the same time."""
        start = time.monotonic()
        processes = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.faults.increments",
                    kind,
                    str(self.repo),
                    str(share),
                    str(seed),
                ],
                cwd=Path(__file__).parents[2],
                env=self.env,
                stdout=subprocess.PIPE,
            )
            for seed, kind in enumerate(WORKERS)
        ]
        outputs = [process.communicate()[0] for process in processes]
        seconds = time.monotonic() - start
        if any(process.returncode for process in processes):
            raise AssertionError("a worker failed")
        return Result([Tally(*json.loads(output)) for output in outputs], seconds)

    def check(self, share: int) -> None:
        """No increment is lost, none was made twice, and git finds nothing wrong."""
        total = 0
        for counter in COUNTERS:
            value = self.numbers[self.git("rev-parse", counter).strip()]
            log = self.git("reflog", "show", "--format=%H", counter).split()
            assert [self.numbers[name] for name in log] == list(range(value, -1, -1))
            total += value
        assert total == share * len(WORKERS)
        for command in (["refs", "verify"], ["fsck", "--no-progress", "--no-dangling"]):
            done = run_git(command, self.repo, env=self.env)
            assert done.stdout + done.stderr == b""
        left = [name for name in os.listdir(self.repo / ".git/reftable") if ".lock" in name]
        assert left == []


def work(kind: str, repo: str, share: int, seed: int) -> Tally:
    """Be a worker: make `share` increments."""
    names = (Path(repo).parent / "commits").read_text().split()
    numbers = {name: number for number, name in enumerate(names)}
    swap = _swapper(kind, repo)
    chance = random.Random(seed)
    known = dict.fromkeys(COUNTERS, 0)
    done = outdated = busy = 0
    while done < share:
        counter = chance.choice(COUNTERS)
        number = known[counter]
        complaint = swap(counter, names[number + 1], names[number])
        if complaint is None:
            known[counter] = number + 1
            done += 1
        elif found := _IS_AT.search(complaint):
            known[counter] = numbers[found[1]]
            outdated += 1
        elif _BUSY.search(complaint):
            busy += 1
        else:
            raise AssertionError(complaint)
    return Tally(kind, done, outdated, busy)


def _swapper(kind: str, repo: str) -> Swap:
    if kind == "api":
        return _api_swapper(RefStore.open(repo))
    program = [compared_git()] if kind == "git" else pyreftable_cmd()

    def swap(name: str, new: str, old: str) -> str | None:
        command = [*program, "update-ref", "-m", kind, name, new, old]
        done = subprocess.run(command, cwd=repo, stderr=subprocess.PIPE, text=True, check=False)
        return None if done.returncode == 0 else done.stderr

    return swap


def _api_swapper(store: RefStore) -> Swap:
    def swap(name: str, new: str, old: str) -> str | None:
        try:
            with store.transaction("api") as transaction:
                transaction.update(name, new, old)
        except (TransactionError, LockError) as error:
            return str(error)
        return None

    return swap


def _report(share: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(Path(folder), share)
        result = scene.run(share)
        scene.check(share)
    for tally in result.tallies:
        print(f"{tally.kind}: {tally.done} done, {tally.outdated} outdated, {tally.busy} busy")
    total = sum(tally.done for tally in result.tallies)
    print(f"{total} increments in {result.seconds:.1f} s: none lost, none doubled")


def _main(words: Sequence[str]) -> None:
    if len(words) == 1:
        _report(int(words[0]))
    else:
        kind, repo, share, seed = words
        print(json.dumps(work(kind, repo, int(share), int(seed))))


if __name__ == "__main__":
    _main(sys.argv[1:])
