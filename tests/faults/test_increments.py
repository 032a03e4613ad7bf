"""Many writers at once, with git among them, and writers that are killed.

Nothing that was acknowledged may be lost, nothing may happen twice, and what a killed writer
leaves behind must hinder nobody but with a message that says which file is in the way.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyreftable.errors import LockError
from pyreftable.refs.store import RefStore
from tests.faults.increments import WORKERS, Scene
from tests.support import git_env, init_repo, run_git, run_pyreftable

SHARE = int(os.environ.get("PYREFTABLE_INCREMENTS", "15"))
ROUNDS = int(os.environ.get("PYREFTABLE_KILLS", "6"))


def test_increments_by_eight_processes(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SHARE)
    result = scene.run(SHARE)
    assert [(tally.kind, tally.done) for tally in result.tallies] == [
        (kind, SHARE) for kind in WORKERS
    ]
    scene.check(SHARE)


#: Makes refs `refs/kill/ROUND/NUMBER` until it is killed, and says which are made.
_WRITER = """\
import itertools, sys
from pyreftable import RefStore
repo, round, oid = sys.argv[1:]
store = RefStore.open(repo)
for number in itertools.count():
    with store.transaction("made") as transaction:
        for part in "ab":
            transaction.create(f"refs/kill/{round}/{number}/{part}", oid)
    print(number, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_writers_leave_a_readable_store(tmp_path: Path) -> None:
    repo, oid = _repo_with_commit(tmp_path)
    chance = random.Random(3)
    acknowledged: set[str] = set()
    for number in range(ROUNDS):
        made = _kill_a_writer(repo, str(number), oid, chance.uniform(0, 0.2))
        acknowledged |= {f"refs/kill/{number}/{line}/{part}" for line in made for part in "ab"}
        _remove_stale_lock(repo)
        with RefStore.open(os.fspath(repo)) as store:
            ours = [ref.name for ref in store.refs("refs/kill/")]
        listing = run_git(["for-each-ref", "--format=%(refname)", "refs/kill/"], repo).stdout
        assert ours == listing.decode().split()
        assert acknowledged <= set(ours)
        # A transaction is there as a whole or not at all.
        assert {name[:-1] + "a" for name in ours} == {name for name in ours if name[-1] == "a"}
        assert {name[:-1] + "b" for name in ours} == {name for name in ours if name[-1] == "b"}
    assert acknowledged
    run_git(["refs", "verify"], repo)
    # A table that was named but not yet listed may be a live writer's: git sweeps it away only
    # once the list has reached its update index.
    run_git(["update-ref", "refs/kill/last", oid], repo)
    run_git(["pack-refs"], repo)
    tables = (repo / ".git/reftable/tables.list").read_text().split()
    files = os.listdir(repo / ".git/reftable")
    assert sorted(tables) == sorted(name for name in files if name.endswith(".ref"))


def _kill_a_writer(repo: Path, name: str, oid: str, seconds: float) -> list[str]:
    """Start a writer and kill it so long after its first commit; the numbers it printed."""
    command = [sys.executable, "-c", _WRITER, os.fspath(repo), name, oid]
    with subprocess.Popen(command, env=git_env(repo), stdout=subprocess.PIPE, text=True) as writer:
        if writer.stdout is None:
            raise AssertionError("no pipe")
        first = writer.stdout.readline()
        time.sleep(seconds)
        writer.kill()
        rest = writer.stdout.read()
    return [line for line in (first + rest).split("\n")[:-1] if line]


def _remove_stale_lock(repo: Path) -> None:
    for path in (repo / ".git/reftable").glob("*.lock"):
        path.unlink()


def _by_git(repo: Path, oid: str) -> tuple[int, str]:
    done = run_git(["update-ref", "refs/heads/new", oid], repo, check=False)
    return done.returncode, done.stderr.decode()


def _by_command(repo: Path, oid: str) -> tuple[int, str]:
    done = run_pyreftable(["update-ref", "refs/heads/new", oid], repo, check=False)
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("run", [_by_git, _by_command])
def test_a_lock_left_behind_is_reported(
    tmp_path: Path, run: Callable[[Path, str], tuple[int, str]]
) -> None:
    repo, oid = _repo_with_commit(tmp_path)
    lock = repo / ".git/reftable/tables.list.lock"
    lock.touch()
    status, message = run(repo, oid)
    assert status == 128
    assert message.startswith(
        "fatal: update_ref failed for ref 'refs/heads/new': cannot lock references"
    )
    if run is _by_command:
        # Git does not say where to look.
        assert os.fspath(lock) in message
    assert lock.exists()
    assert run_git(["for-each-ref"], repo).stdout
    lock.unlink()
    assert run(repo, oid) == (0, "")


def test_a_lock_left_behind_names_its_path(tmp_path: Path) -> None:
    repo, oid = _repo_with_commit(tmp_path)
    lock = repo / ".git/reftable/tables.list.lock"
    lock.touch()
    with RefStore.open(os.fspath(repo)) as store:
        with pytest.raises(LockError) as caught, store.transaction() as transaction:
            transaction.create("refs/heads/new", oid)
        assert caught.value.path == os.fspath(lock)
        assert store.read("refs/heads/main") == oid
        lock.unlink()
        with store.transaction() as transaction:
            transaction.create("refs/heads/new", oid)
        assert store.read("refs/heads/new") == oid


def _repo_with_commit(folder: Path) -> tuple[Path, str]:
    repo = init_repo(folder / "repo")
    run_git(["commit", "-q", "--allow-empty", "-m", "x"], repo)
    return repo, run_git(["rev-parse", "HEAD"], repo).stdout.decode().strip()
