"""What becomes of reflogs: pruned by pyreftable and by git, the logs and refs are the same.

Both are asked with the same settings in equal repositories (`tests.reflog_scene`), and the raw
records of all stacks are compared, update indices included. Where git does not do what its
manual says (seen in 2.50 and 2.55), pyreftable does, and the test says so.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pyreftable.refs.store import RefStore
from tests.reflog_scene import SceneTwins, scene_env, scene_twins, stack_states
from tests.support import FIXED_TIME, git_env, init_repo, run_git
from tests.twins import run_ours, run_theirs


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where repositories are made, once a session."""
    return tmp_path_factory.mktemp("expiry")


@pytest.fixture(params=["sha1", "sha256"])
def twins(request: pytest.FixtureRequest, home: Path) -> SceneTwins:
    """Two equal repositories."""
    twins = scene_twins(home, request.param)
    twins.reset()
    return twins


only_sha1 = pytest.mark.parametrize("twins", ["sha1"], indirect=True)

TIMES = """\
reflog expire
reflog expire --all
reflog expire --all --expire=now
reflog expire --all --expire=all --verbose
reflog expire --all --expire=never --verbose
reflog expire --all --expire=false --expire-unreachable=false --verbose
reflog expire --all --expire=1700000400 --verbose
reflog expire --all --expire=1700000400 --verbose -n
reflog expire --all --expire=1700000400 --verbose --no-dry-run
reflog expire --all --expire='2023-11-14 22:20:00 +0000' --verbose
reflog expire --all --expire=1.day.ago
reflog expire --expire=1700000400 --verbose -n main
reflog expire --expire=1700000400 --verbose main topic nosuch HEAD
reflog expire --expire=1700000250 --verbose --rewrite main topic
reflog expire --expire=1700000250 --verbose --rewrite --updateref main topic HEAD x/odd
reflog expire sym chain dual
reflog expire nosuch main
reflog expire main@{{1}} main
reflog expire @{{u}} --expire=now
"""

REACHABILITY = """\
reflog expire --all --expire=never --expire-unreachable=now --verbose
reflog expire --all --expire=1700000200 --expire-unreachable=1700000400 --verbose
reflog expire --all --expire=1700000400 --expire-unreachable=1700000200 --verbose
reflog expire --all --expire-unreachable=all --verbose
reflog expire --expire=never --expire-unreachable=now --verbose main topic HEAD x/odd sym
reflog expire --expire=never --expire-unreachable=1700000600 --verbose main topic HEAD
reflog expire --expire=never --expire-unreachable=now --updateref --verbose x/odd topic
reflog expire --expire=never --expire-unreachable=now --updateref --rewrite --all
reflog expire --stale-fix --expire=never --expire-unreachable=never --verbose --all
reflog expire --stale-fix --expire=1700000400 --expire-unreachable=now --verbose --all
"""

SETTINGS = """\
-c gc.reflogExpire=never -c gc.reflogExpireUnreachable=never reflog expire --all --verbose
-c gc.reflogExpire=false -c gc.reflogExpireUnreachable=false reflog expire --all --verbose
-c gc.reflogExpire=now reflog expire main --verbose
-c gc.reflogExpire=1700000250 -c gc.reflogExpireUnreachable=never reflog expire --all --verbose
-c gc.reflogExpire=never -c gc.refs/heads/m*.reflogExpire=now reflog expire main topic --verbose
-c gc.reflogExpire=never -c gc.*.reflogExpire=now reflog expire HEAD topic --verbose
-c gc.refs/*.reflogExpire=now -c gc.refs/heads/main.reflogExpire=never reflog expire main topic
-c gc.refs/heads/main.reflogExpire=never -c gc.refs/*.reflogExpire=now reflog expire main topic
-c gc.refs/heads/*.reflogExpireUnreachable=now reflog expire main topic --expire=never --verbose
-c gc.refs/heads/*.reflogExpire=now reflog expire main --expire=never --verbose
-c gc.REFS/heads/*.reflogExpire=now -c gc.reflogExpire=never reflog expire main --verbose
-c gc.worktrees/*.reflogExpire=now reflog expire --all --expire-unreachable=never --verbose
-C wt -c gc.HEAD.reflogExpire=now reflog expire --all --expire-unreachable=never --verbose
-C wt -c gc.main-worktree/*.reflogExpire=now reflog expire --all --expire-unreachable=1
-c gc.reflogExpire=bogus reflog expire main
-c gc.reflogExpire reflog expire main
-c gc.reflogExpireUnreachable= reflog expire main
-c gc.refs/heads/*.reflogExpire=bogus reflog expire topic
reflog expire --expire=bogus
reflog expire --expire-unreachable=bogus
reflog expire --expire
reflog expire --no-expire
reflog expire --bogus
"""

WORKTREES = """\
reflog expire --all --single-worktree --expire=now --verbose
-C wt reflog expire --all --expire=now --verbose
-C wt reflog expire --all --single-worktree --expire=now --verbose
-C wt reflog expire --expire=never --expire-unreachable=now --verbose HEAD main
-C wt reflog expire --all --expire=never --expire-unreachable=1700000900 --verbose --updateref
-C wt reflog expire --stale-fix --all --expire=never --expire-unreachable=never --verbose
reflog expire worktrees/wt/HEAD --expire=now --verbose
reflog expire worktrees/wt/refs/worktree/own --expire=now --verbose
-C wt reflog expire main-worktree/HEAD --expire=now --verbose
-C wt reflog expire refs/worktree/own --expire=now --verbose
"""


@pytest.mark.parametrize("command", TIMES.splitlines())
def test_expiry_by_time(twins: SceneTwins, command: str) -> None:
    """Entries from before a time go."""
    twins.check(command)


@pytest.mark.parametrize("command", REACHABILITY.splitlines())
def test_expiry_by_reachability(twins: SceneTwins, command: str) -> None:
    """Entries whose commits the ref (for HEAD: any ref) does not lead to go earlier."""
    twins.check(command)


@only_sha1
@pytest.mark.parametrize("command", SETTINGS.splitlines())
def test_expiry_by_configuration(twins: SceneTwins, command: str) -> None:
    """The first pattern that matches the ref says when; what the command line says wins."""
    twins.check(command)


@pytest.mark.parametrize("command", WORKTREES.splitlines())
def test_expiry_in_worktrees(twins: SceneTwins, command: str) -> None:
    """Each worktree's logs are in its own stack; `--all` reaches all of them."""
    twins.check(command)


@only_sha1
def test_packed_objects(twins: SceneTwins, tmp_path: Path) -> None:
    """History is followed in packs too."""
    pair = SceneTwins(tmp_path, twins.ours)
    pair.prepare("repack", "-adq")
    for command in (*REACHABILITY.splitlines(), *WORKTREES.splitlines()):
        pair.reset()
        pair.check(command)


# Broken history


@pytest.mark.parametrize(
    "missing", ["topic^", "main@{1}:f3", "topic@{1}:t", "main@{1}^{tree}", "main@{2}", "topic:d"]
)
def test_stale_fix(twins: SceneTwins, tmp_path: Path, missing: str) -> None:
    """With `--stale-fix` entries go whose commits lack objects, unless a ref leads to them."""
    pair = SceneTwins(tmp_path, twins.ours)
    oid = pair.id_of(missing)
    for repo in (pair.theirs, pair.ours):
        (repo / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    for words in ("--all", "-n --all", "main topic HEAD", "--all --updateref --rewrite"):
        pair.reset()
        pair.check(f"reflog expire --stale-fix --expire=never --expire-unreachable=never {words}")
    pair.reset()
    # Git also complains of each commit that it cannot read; what it keeps is the same.
    args = ["reflog", "expire", "--expire=never", "--expire-unreachable=now", "--verbose", "--all"]
    theirs, ours = pair.run(args)
    assert ours.stdout == theirs.stdout
    pair.check_same_stacks()


# Where git departs from its manual


def test_default_times_are_those_of_the_manual(tmp_path: Path) -> None:
    """Unset, entries expire after 90 days and unreachable ones after 30.

    Git (2.50 to 2.55) has the two mixed up: whatever is older than 30 days goes.
    """
    repo = init_repo(tmp_path / "ours")
    now = int(time.time())
    for days in (100, 60, 40, 20):
        env = scene_env(repo, now - days * 86_400)
        run_git(["commit", "-q", "--allow-empty", "-m", str(days)], repo, env=env)
        if days == 60:
            run_git(["reset", "-q", "--soft", "HEAD~1"], repo, env=env)
    twin = SceneTwinCopy(repo)
    assert run_ours(["reflog", "expire", "main"], repo).status == 0
    assert run_theirs(["reflog", "expire", "main"], twin.path).status == 0
    assert _messages(repo, "main") == ["commit: 20", "commit: 40"]
    assert _messages(twin.path, "main") == ["commit: 20"]


class SceneTwinCopy:
    """A copy of a repository, beside it."""

    def __init__(self, repo: Path) -> None:
        import shutil

        self.path = repo.with_name(f"{repo.name}-copy")
        shutil.copytree(repo, self.path, symlinks=True)


def _messages(repo: Path, ref: str) -> list[str]:
    args = ["reflog", "show", "--format=%gs", ref]
    return run_git(args, repo).stdout.decode().splitlines()


# Git reads what pyreftable wrote


def test_git_reads_and_goes_on(twins: SceneTwins) -> None:
    """After pruning, git reads the logs, finds nothing wrong and appends to them."""
    args = ["reflog", "expire", "--all", "--expire=1700000400", "--rewrite", "--updateref"]
    for repo, run in ((twins.ours, run_ours), (twins.theirs, run_theirs)):
        assert run(args, repo, env=git_env(repo)).status == 0
        run_git(["refs", "verify"], repo)
        run_git(["commit", "-q", "--allow-empty", "-m", "after"], repo)
        run_git(["pack-refs", "--all"], repo)
    twins.check_same_stacks()
    twins.check_same_to_git()


def test_expired_entries_are_gone_after_compaction(twins: SceneTwins) -> None:
    """The tombstones go with a compaction, by whichever of the two."""
    for repo in (twins.ours, twins.theirs):
        run_ours(["reflog", "expire", "--all", "--expire=now"], repo)
    run_ours(["pack-refs", "--all"], twins.ours)
    run_git(["pack-refs", "--all"], twins.theirs)
    twins.check_same_stacks()
    logs = stack_states(twins.ours)[""].logs
    assert all(record.is_existence_marker for record in logs)


# The library


def test_the_library_does_the_same(twins: SceneTwins) -> None:
    """`RefStore` has the same by Python."""
    with RefStore.open(os.fspath(twins.ours), environ=git_env(twins.ours)) as store:
        store.expire_reflog("refs/heads/main", lambda entry: entry.message == "commit: c2")
        store.expire_reflog(
            "refs/heads/topic", lambda entry: entry.time > FIXED_TIME + 500, update_ref=True
        )
        store.delete_reflog("refs/x/odd")
        store.create_reflog("refs/x/other")
        store.set_symbolic_ref("HEAD", "refs/heads/dual", "by Python")
        assert store.symbolic_ref("HEAD") == "refs/heads/dual"
        assert store.symbolic_ref("refs/heads/chain") == "refs/heads/topic"
        assert store.symbolic_ref("refs/heads/chain", recurse=False) == "refs/heads/sym"
        assert store.symbolic_ref("refs/heads/main") is None
    theirs = twins.theirs
    run_git(["reflog", "delete", "main@{2}"], theirs)
    for _ in range(2):
        run_git(["reflog", "delete", "--updateref", "topic@{0}"], theirs)
    run_git(["reflog", "drop", "refs/x/odd"], theirs)
    run_git(["symbolic-ref", "-m", "by Python", "HEAD", "refs/heads/dual"], theirs)
    names = run_git(["reflog", "list"], twins.ours).stdout.decode().split()
    assert "refs/x/other" in names
    for name in names:
        if name != "refs/x/other":
            args = ["log", "-g", "--format=%H %gd %gs %gn", name]
            assert run_git(args, twins.ours).stdout == run_git(args, theirs).stdout
    args = ["for-each-ref", "--include-root-refs", "--format=%(refname) %(objectname) %(symref)"]
    assert run_git(args, twins.ours).stdout == run_git(args, theirs).stdout


def test_the_library_expires_by_configuration(repo: Path) -> None:
    """Without a judge of its own, `expire_reflog` goes by `gc.reflogExpire`."""
    for number in range(3):
        env = scene_env(repo, FIXED_TIME + number)
        run_git(["commit", "-q", "--allow-empty", "-m", str(number)], repo, env=env)
    run_git(["config", "gc.reflogExpire", str(FIXED_TIME + 2)], repo)
    with RefStore.open(os.fspath(repo), environ=git_env(repo)) as store:
        store.expire_reflog("refs/heads/main", dry_run=True)
        assert len(list(store.reflog("refs/heads/main"))) == 3
        store.expire_reflog("refs/heads/main")
        (entry,) = store.reflog("refs/heads/main")
    assert entry.message == "commit: 2"
    assert _messages(repo, "main") == ["commit: 2"]
