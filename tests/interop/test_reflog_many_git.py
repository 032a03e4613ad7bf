"""Many logs at once: what is pruned, told and refused is what git does with one after the other.

The scene of `tests.reflog_scene`, with 60 more branches of three entries each and a second linked
worktree. The stacks of all three are compared, update indices included.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from pyreftable.errors import LockError, ReftableError, RepositoryError
from pyreftable.format.block import LOG
from pyreftable.format.records import LogRecord
from pyreftable.refs.reflog import ReflogEntry, reflog_names_everywhere
from pyreftable.refs.repository import discover
from pyreftable.refs.settings import stack_options
from pyreftable.refs.store import RefStore
from pyreftable.stack import Stack, StackOptions
from tests.reflog_scene import SceneTwins, StackState, make_scene, scene_env, stack_states
from tests.support import git_env, init_repo, run_git
from tests.twins import run_ours

BRANCHES = [f"refs/heads/many/b{number:02}" for number in range(60)]
#: When the branches' entries were made: those of the scene are older.
TIMES = (1_700_005_000, 1_700_006_000, 1_700_007_000)
LISTS = (".git/reftable", ".git/worktrees/two/reftable", ".git/worktrees/wt/reftable")


class ManyTwins(SceneTwins):
    """Twins with two linked worktrees, `wt` and `two`."""

    _STACKS = LISTS


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where repositories are made, once a session."""
    return tmp_path_factory.mktemp("many-logs")


@pytest.fixture(params=["sha1", "sha256"])
def twins(request: pytest.FixtureRequest, home: Path) -> ManyTwins:
    """Two equal repositories."""
    twins = _twins(home, request.param)
    twins.reset()
    return twins


only_sha1 = pytest.mark.parametrize("twins", ["sha1"], indirect=True)


@functools.cache
def _twins(home: Path, object_format: str) -> ManyTwins:
    repo = home / f"many-{object_format}"
    shutil.copytree(make_scene(home, object_format), repo, symlinks=True)
    for moment, target in zip(TIMES, ("main", "topic", "main@{1}"), strict=True):
        oid = run_git(["rev-parse", target], repo).stdout.decode().strip()
        lines = "".join(f"update {name} {oid}\n" for name in BRANCHES)
        args = ["update-ref", "-m", f"to {target}", "--stdin"]
        run_git(args, repo, env=scene_env(repo, moment), input=lines.encode())
    args = ["worktree", "add", "-q", "--detach", "two", "many/b30"]
    run_git(args, repo, env=scene_env(repo, TIMES[0]))
    (repo / "two" / ".git").write_text("gitdir: ../.git/worktrees/two\n")
    (repo / ".git" / "worktrees" / "two" / "gitdir").write_text("../../../two/.git\n")
    for moment in TIMES:
        args = ["update-ref", "--create-reflog", "refs/worktree/own", f"HEAD@{{{moment}}}"]
        run_git(args, repo / "two", env=scene_env(repo, moment))
        run_git(["commit", "-q", "--allow-empty", "-m", "x"], repo / "two")
    return ManyTwins(home / f"many-twins-{object_format}", repo)


COMMANDS = """\
reflog expire --all --expire=1700005500 --expire-unreachable=never --verbose
reflog expire --all --expire=1700005500 --expire-unreachable=never --verbose -n
reflog expire --all --expire=1700006500 --expire-unreachable=never --rewrite
reflog expire --all --expire=1700006500 --expire-unreachable=never --rewrite --updateref
reflog expire --all --expire=never --expire-unreachable=now --rewrite --updateref --verbose
reflog expire --all --expire=now
reflog expire --all --expire=now --single-worktree --verbose
reflog expire --all --expire=1700005500 --expire-unreachable=never many/b07 --verbose
reflog expire --expire=1700005500 many/b07 main many/b07 HEAD many/b03 nosuch many/b09 --verbose
reflog expire --expire=1700005500 --rewrite many/b0{3,1,2} worktrees/two/HEAD wt/x --verbose
-c gc.refs/heads/many/b1*.reflogExpire=now -c gc.reflogExpire=never reflog expire --all --verbose
-C two reflog expire --all --expire=1700005500 --expire-unreachable=never --verbose
-C two reflog expire --all --expire=1700005500 --expire-unreachable=now --rewrite --updateref
-C wt reflog expire --all --expire=now --verbose
-C wt reflog expire --all --expire=1700006500 --single-worktree --verbose
-C two reflog expire --all --expire=now --updateref -n --verbose
"""


@pytest.mark.parametrize("command", COMMANDS.splitlines())
def test_many_logs(twins: ManyTwins, command: str) -> None:
    """The same output, status, refs and logs in all stacks."""
    twins.check(command.replace("{", "{{").replace("}", "}}"))


@only_sha1
def test_again_and_again(twins: ManyTwins) -> None:
    """One expiry after the other, with changes between, and git to read the result.

    Where nothing expires git writes all logs again, and uses up update indices; ours stay behind.
    """
    for moment in (1_700_000_450, 1_700_005_500, 1_700_006_500):
        words = f"--expire={moment} --expire-unreachable=never --rewrite --verbose"
        theirs, ours = twins.run(["reflog", "expire", "--all", *words.split()])
        assert ours == theirs
        twins.prepare("update-ref", "-m", f"after {moment}", BRANCHES[3], "main")
        assert _unnumbered(twins.ours) == _unnumbered(twins.theirs)
    for repo in (twins.ours, twins.theirs):
        run_git(["refs", "verify"], repo)
    args = ["log", "-g", "--format=%H %gd %gs", BRANCHES[3], BRANCHES[20]]
    assert run_git(args, twins.ours).stdout == run_git(args, twins.theirs).stdout


# One table for each stack


@only_sha1
def test_one_table_a_stack(twins: ManyTwins) -> None:
    """All logs of a stack take one table, with what changes; where nothing does, none."""
    with _open(twins.ours) as store:
        stacks = [store.stack(name) for name in (None, "two", "wt")]
        names = reflog_names_everywhere(store)
        before = _tables(stacks)
        assert store.expire_reflogs(names, lambda _: _older_than(0)) == []
        assert _tables(stacks) == before
        assert store.expire_reflogs(names, lambda _: _older_than(TIMES[1])) == []
        after = _tables(stacks)
        assert [tables[: len(old)] for tables, old in zip(after, before, strict=True)] == before
        assert [len(tables) for tables in after] == [len(tables) + 1 for tables in before]
        written = list(stacks[0].snapshot().tables[-1].logs())
        assert written
        assert all(record.is_deletion or record.is_existence_marker for record in written)


@only_sha1
@pytest.mark.parametrize("rewrite", [False, True])
def test_judged_oldest_first_and_locked(twins: ManyTwins, rewrite: bool) -> None:
    """Each log's entries are judged oldest first, log by log in order, under the stack's lock."""
    judged: list[tuple[str, int]] = []
    lock = twins.ours / ".git" / "reftable" / "tables.list.lock"

    def judge_of(name: str) -> Callable[[ReflogEntry], bool]:
        def judge(entry: ReflogEntry) -> bool:
            assert lock.exists()
            judged.append((name, entry.update_index))
            return entry.time == TIMES[1]

        return judge

    with _open(twins.ours) as store:
        logs = {name: list(store.reflog(name)) for name in BRANCHES}
        assert store.expire_reflogs(BRANCHES, judge_of, rewrite=rewrite) == []
        for name in BRANCHES:
            third, second, first = logs[name]
            old = first.new_oid if rewrite else second.new_oid
            assert list(store.reflog(name)) == [third._replace(old_oid=old), first]
    assert judged == [(n, e.update_index) for n in BRANCHES for e in reversed(logs[n])]


# Failures


@only_sha1
def test_one_log_fails(twins: ManyTwins) -> None:
    """Whatever goes wrong with one log, it stays as it was and the others are done."""

    def judge_of(name: str) -> Callable[[ReflogEntry], bool]:
        def judge(entry: ReflogEntry) -> bool:
            if name == BRANCHES[5] and entry.time == TIMES[1]:
                raise RepositoryError("no way to tell")
            return entry.time < TIMES[2]

        return judge

    with _open(twins.ours) as store:
        untouched = list(store.reflog(BRANCHES[5]))
        names = ["worktrees/../HEAD", *BRANCHES[:10]]
        failures = store.expire_reflogs(names, judge_of, update_ref=True)
        assert [name for name, _ in failures] == ["worktrees/../HEAD", BRANCHES[5]]
        assert str(failures[1].error) == "no way to tell"
        assert list(store.reflog(BRANCHES[5])) == untouched
        assert all(len(list(store.reflog(n))) == 1 for n in BRANCHES[:10] if n != BRANCHES[5])
        assert len(list(store.reflog(BRANCHES[10]))) == 3
        with pytest.raises(RepositoryError, match="no way to tell"):
            store.expire_reflog(BRANCHES[5], judge_of(BRANCHES[5]))


def test_an_entry_too_big_for_the_blocks(tmp_path: Path) -> None:
    """A log that cannot be written with the blocks of today is told of; the others are done."""
    repo = init_repo(tmp_path / "repo")
    oid = run_git(["hash-object", "-w", "--stdin"], repo, input=b"").stdout.decode().strip()
    other = run_git(["hash-object", "-w", "--stdin"], repo, input=b"2").stdout.decode().strip()
    for moment, target in ((FIXED + 2, oid), (FIXED, other), (FIXED + 3, oid)):
        for name in "abc":
            message = "long " * 100 if name == "b" else "short"
            args = ["update-ref", "--create-reflog", "-m", message, f"refs/x/{name}", target]
            run_git(args, repo, env=scene_env(repo, moment))
    before = stack_states(repo)[""]
    args = ["-c", "reftable.blockSize=400", "reflog", "expire", "--all", "--rewrite"]
    done = run_ours([*args, f"--expire={FIXED + 1}", "--expire-unreachable=never"], repo)
    assert (done.status, done.stdout) == (255, b"")
    assert done.stderr == (
        b"error: cannot expire the reflog of 'refs/x/b': "
        b"a log record of 'refs/x/b' fits in no block of 400 bytes\n"
    )
    after = stack_states(repo)[""]
    assert _log_of(after, b"refs/x/b") == _log_of(before, b"refs/x/b")
    for key in (b"refs/x/a", b"refs/x/c"):
        newest, _, oldest = _log_of(before, key)
        assert _log_of(after, key) == [newest._replace(old_oid=oldest.new_oid), oldest]


def test_a_damaged_log(tmp_path: Path) -> None:
    """A log in a spoilt block is told of; those before and after it are done."""
    repo = init_repo(tmp_path / "repo")
    names = [f"refs/heads/{letter}" for letter in "abcde"]
    _write_logs(repo, names, 200)
    with _open(repo) as store:
        table = Path(store.stack().snapshot().tables[-1].path)
        tables = len(store.stack().snapshot().tables)
        blocks = list(store.stack().snapshot().tables[-1].blocks())
        logs = [block for block in blocks if block.type == LOG]
        inside = [block for block in logs if block.first_key().startswith(b"refs/heads/c\0")]
    data = bytearray(table.read_bytes())
    data[inside[1].offset + 20] ^= 0xFF
    table.write_bytes(data)
    env = git_env(repo) | {"GIT_TEST_REFTABLE_AUTOCOMPACTION": "false"}
    args = ["reflog", "expire", "--all", f"--expire={FIXED + 100}", "--expire-unreachable=never"]
    done = run_ours(args, repo, env=env)
    assert (done.status, done.stdout) == (255, b"")
    (line,) = done.stderr.splitlines()
    assert line.startswith(b"error: cannot expire the reflog of 'refs/heads/c': ")
    with _open(repo) as store:
        written = Counter(record.refname for record in store.stack().snapshot().tables[-1].logs())
        assert written == {f"refs/heads/{letter}".encode(): 100 for letter in "abde"}
        assert len(store.stack().snapshot().tables) == tables + 1


@only_sha1
@pytest.mark.parametrize("where", ["", "wt"])
@pytest.mark.parametrize("held", LISTS)
def test_lock_contention(twins: ManyTwins, where: str, held: str) -> None:
    """The logs of a stack that somebody else has locked are told of, and stay; others are done.

    (Git says nothing, and exits with another status.)
    """
    before = stack_states(twins.ours)
    lock = twins.ours / held / "tables.list.lock"
    lock.touch()
    args = ["-C", where or ".", "-c", "reftable.lockTimeout=0"]
    args += ["reflog", "expire", "--all", "--expire=now"]
    done = run_ours(args, twins.ours)
    lock.unlink()
    after = stack_states(twins.ours)
    assert (done.status, done.stdout) == (255, b"")
    locked = {".git/reftable": ""}.get(held, Path(held).parent.name)
    assert {name for name, state in after.items() if state == before[name]} == {locked}
    told = [line for line in done.stderr.decode().splitlines() if line.startswith("error: ")]
    logs = {record.refname for record in before[locked].logs}
    assert len(told) == len(logs)
    for line in told:
        assert line.startswith("error: cannot expire the reflog of '")
        assert line.endswith(f"': Unable to create '{os.path.realpath(lock)}': File exists.")


@only_sha1
def test_lock_contention_in_the_library(twins: ManyTwins) -> None:
    """Each log of the stack is among the failures, with the reason."""
    (twins.ours / ".git" / "reftable" / "tables.list.lock").touch()
    with _open(twins.ours) as store:
        failures = store.expire_reflogs(BRANCHES, lambda _: _older_than(TIMES[2]))
        with pytest.raises(LockError):
            store.expire_reflog(BRANCHES[0], _older_than(TIMES[2]))
    (twins.ours / ".git" / "reftable" / "tables.list.lock").unlink()
    assert [name for name, _ in failures] == BRANCHES
    assert all(isinstance(error, LockError) for _, error in failures)
    twins.check_same_stacks()


@only_sha1
def test_a_failed_commit_keeps_all_back(twins: ManyTwins, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the table cannot be written every log of the stack has failed."""

    def refuse(*args: object) -> None:
        raise ReftableError("disk full")

    with _open(twins.ours) as store:
        monkeypatch.setattr(store.stack().storage, "create_table", refuse)
        failures = store.expire_reflogs(
            [*BRANCHES, "worktrees/two/HEAD"], lambda _: _older_than(TIMES[2])
        )
        assert [name for name, _ in failures] == BRANCHES
        assert len(list(store.reflog("worktrees/two/HEAD"))) < 4
        assert all(len(list(store.reflog(name))) == 3 for name in BRANCHES)
    assert not list((twins.ours / ".git" / "reftable").glob("*.lock"))


FIXED = 1_700_000_000


def _open(repo: Path) -> RefStore:
    """The store, without auto-compaction, and with a short wait for locks."""
    found = discover(os.fspath(repo), environ=git_env(repo))
    settings: StackOptions = stack_options(found)
    return RefStore(found, settings._replace(auto_compact=False, lock_timeout_ms=0))


def _unnumbered(repo: Path) -> dict[str, StackState]:
    """What the stacks hold, update indices apart."""
    return {
        name: StackState(
            [record._replace(update_index=0) for record in state.refs],
            [record._replace(update_index=0) for record in state.logs],
        )
        for name, state in stack_states(repo).items()
    }


def _tables(stacks: Iterable[Stack]) -> list[tuple[str, ...]]:
    return [stack.snapshot().names for stack in stacks]


def _older_than(moment: int) -> Callable[[ReflogEntry], bool]:
    return lambda entry: entry.time < moment


def _log_of(state: StackState, key: bytes) -> list[LogRecord]:
    return [record for record in state.logs if record.refname == key]


def _write_logs(repo: Path, names: list[str], count: int) -> None:
    """One table with logs of `count` entries, each a second after the one before."""
    with _open(repo) as store, store.stack().addition() as addition:
        ids = [os.urandom(store.hash.size) for _ in range(count + 1)]
        low = addition.next_update_index
        records = [
            LogRecord(
                name.encode(), low + n, ids[n], ids[n + 1], b"C", b"c@x", FIXED + n, 0, b"m\n"
            )
            for name in names
            for n in reversed(range(count))
        ]
        addition.write_table(
            lambda writer: writer.add_logs(records),
            min_update_index=low,
            max_update_index=low + count,
        )
        addition.commit()
