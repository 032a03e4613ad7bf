"""One stack, written and read by git and by pyreftable in turn, and at once."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from pyreftable.format.records import OID, RefRecord
from pyreftable.hashes import BY_NAME
from pyreftable.stack import Snapshot, Stack, StackOptions
from pyreftable.writer import TableWriter
from tests.stack_tools import listed, table_files
from tests.support import find_git, git_env, init_repo, run_git


def stack_of(repo: Path) -> Stack:
    """The repository's stack."""
    algorithm = run_git(["rev-parse", "--show-object-format"], repo).stdout.decode().strip()
    options = StackOptions(hash=BY_NAME[algorithm], lock_timeout_ms=60_000)
    return Stack.open(str(repo / ".git" / "reftable"), options)


def blob(repo: Path) -> str:
    """The id of an object that is there."""
    answer = run_git(["hash-object", "-w", "--stdin"], repo, input=b"content")
    return answer.stdout.decode().strip()


def git_refs(repo: Path) -> dict[str, str]:
    """What git sees."""
    lines = run_git(["for-each-ref", "--format=%(refname) %(objectname)"], repo).stdout.decode()
    return dict(line.split(" ") for line in lines.splitlines())


def our_refs(stack: Stack) -> dict[str, str]:
    """What we see."""
    return {
        record.refname.decode(): record.value.hex()
        for record in stack.snapshot().merged.refs()
        if record.value_type == OID
    }


def put(stack: Stack, names: list[str], oid: str | None) -> None:
    """Set refs to the id, or delete them."""

    def fill(writer: TableWriter, snapshot: Snapshot) -> None:
        index = writer.min_update_index
        kind, value = (OID, bytes.fromhex(oid)) if oid is not None else (0, b"")
        writer.add_refs(RefRecord(name.encode(), index, kind, value) for name in sorted(names))

    stack.add(fill)


def git_put(repo: Path, names: list[str], oid: str | None) -> None:
    """The same by git."""
    change = f" {oid}\n" if oid else "\n"
    verb = "update" if oid else "delete"
    lines = "".join(f"{verb} {name}{change}" for name in names)
    run_git(["update-ref", "--stdin"], repo, input=lines.encode())


@pytest.mark.parametrize("count", [1, 150, 200, 10_000])
def test_git_reads_what_we_write(repo: Path, count: int) -> None:
    """In several tables, some refs moved and some deleted."""
    oid, stack = blob(repo), stack_of(repo)
    names = [f"refs/tags/{number:05}-{'x' * (number % 50)}" for number in range(count)]
    put(stack, names, oid)
    put(stack, names[::3], None)
    assert git_refs(repo) == our_refs(stack)
    expected = {name: oid for index, name in enumerate(names) if index % 3}
    assert our_refs(stack) == expected
    stack.compact_all()
    assert git_refs(repo) == our_refs(stack) == expected


@pytest.mark.parametrize("count", [1, 150, 200, 10_000])
def test_we_read_what_git_writes(repo: Path, count: int) -> None:
    """And compact it, and git reads that."""
    oid, stack = blob(repo), stack_of(repo)
    names = [f"refs/tags/{number:05}-{'x' * (number % 50)}" for number in range(count)]
    git_put(repo, names, oid)
    git_put(repo, names[::3], None)
    expected = {name: oid for index, name in enumerate(names) if index % 3}
    assert our_refs(stack) == git_refs(repo) == expected
    stack.compact_all()
    assert our_refs(stack) == git_refs(repo) == expected


def test_taking_turns(repo: Path) -> None:
    """Both auto-compact by the same rule; neither leaves a file behind."""
    oid, stack = blob(repo), stack_of(repo)
    directory = repo / ".git" / "reftable"
    for number in range(30):
        name = f"refs/tags/{number % 7}"
        value = None if number % 5 == 4 else oid
        if number % 2:
            put(stack, [name], value)
        else:
            git_put(repo, [name], value)
        assert git_refs(repo) == our_refs(stack)
        assert not stack.compaction_required(geometric=True)
        assert table_files(directory) == set(listed(directory))
    run_git(["pack-refs"], repo)
    assert git_refs(repo) == our_refs(stack)
    assert len(stack.snapshot().tables) == 1


def test_git_respects_our_lock(repo: Path) -> None:
    """While an addition is open, git's write fails; afterwards it works."""
    oid, stack = blob(repo), stack_of(repo)
    command = ["-c", "reftable.lockTimeout=0", "update-ref", "refs/tags/x", oid]
    with stack.addition():
        assert run_git(command, repo, check=False).returncode != 0
    run_git(command, repo)
    assert our_refs(stack) == {"refs/tags/x": oid}


def test_same_compactions_as_git(tmp_path: Path, repo: Path) -> None:
    """The same writes by either leave stacks with the same ranges of update indices."""
    algorithm = run_git(["rev-parse", "--show-object-format"], repo).stdout.decode().strip()
    twin = init_repo(tmp_path / "twin", object_format=algorithm)
    oid = blob(repo)
    blob(twin)
    stack = stack_of(repo)
    for number in range(1, 41):
        names = [f"refs/tags/{number:03}-{extra}" for extra in range(number % 6 + 1)]
        put(stack, names, oid)
        git_put(twin, names, oid)
        ours, theirs = (
            [(t.min_update_index, t.max_update_index, t.size) for t in s.snapshot().tables]
            for s in (stack, stack_of(twin))
        )
        assert ours == theirs


def test_both_at_once(repo: Path) -> None:
    """Two writers of each kind, all their refs survive; readers see no gap."""
    oid, stack = blob(repo), stack_of(repo)
    base = [f"refs/tags/base{number}" for number in range(20)]
    put(stack, base, oid)
    rounds = 15
    git = [find_git(), "-c", "reftable.lockTimeout=60000", "update-ref"]
    problems: list[object] = []

    def git_writer(who: str) -> None:
        for number in range(rounds):
            command = [*git, f"refs/tags/{who}{number}", oid]
            done = subprocess.run(command, cwd=repo, env=git_env(repo), capture_output=True)
            if done.returncode:
                problems.append(done.stderr)

    def our_writer(who: str) -> None:
        own = stack_of(repo)
        for number in range(rounds):
            put(own, [f"refs/tags/{who}{number}"], oid)
            if not set(base) <= set(our_refs(own)):
                problems.append(our_refs(own))

    workers = [(git_writer, "g"), (git_writer, "h"), (our_writer, "p"), (our_writer, "q")]
    threads = [threading.Thread(target=work, args=(who,)) for work, who in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    expected = {*base, *(f"refs/tags/{who}{n}" for who in "ghpq" for n in range(rounds))}
    assert set(git_refs(repo)) == set(our_refs(stack)) == expected
    run_git(["fsck", "--strict"], repo)
