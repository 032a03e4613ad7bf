"""`pyreftable update-ref --stdin` with several transactions, drivers that wait, batches, hooks."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.stdin_cases import Case, check, named, only_sha1
from tests.support import git_env, pyreftable_cmd, run_git
from tests.twins import Objects, Twins, fill, git_is_followed, is_newer, read_state

SESSIONS = [
    Case("start\n"),
    Case("start\ncreate refs/heads/new {c1}\n"),
    Case("start\ncreate refs/heads/new {c1}\ncommit\n"),
    Case("start\ncreate refs/heads/new {c1}\nprepare\n"),
    Case("start\ncreate refs/heads/new {c1}\nprepare\ncommit\n"),
    Case("start\ncreate refs/heads/new {c1}\nprepare\nabort\n"),
    Case("start\ncreate refs/heads/new {c1}\nabort\n"),
    Case("create refs/heads/new {c1}\ncommit\n"),
    Case("create refs/heads/new {c1}\nprepare\ncommit\n"),
    Case("create refs/heads/new {c1}\nabort\n"),
    Case("create refs/heads/new {c1}\nstart\ncommit\n"),
    Case("start\nabort\nstart\ncreate refs/heads/new {c1}\ncommit\nstart\ndelete refs/heads/new\n"),
    Case("start\ncreate refs/heads/a {c1}\ncommit\nstart\nupdate refs/heads/a {c2} {c1}\ncommit\n"),
    Case("prepare\ncommit\n"),
    Case("abort\n"),
    Case("commit\n"),
]

BROKEN_SESSIONS = [
    Case("start\nstart\n"),
    Case("start\nprepare\nprepare\n"),
    Case("start\nprepare\ncreate refs/heads/new {c1}\n"),
    Case("start\nprepare\nstart\n"),
    Case("start\nprepare\noption no-deref\n"),
    Case("commit\ncommit\n"),
    Case("abort\ncreate refs/heads/new {c1}\n"),
    Case("start\ncreate refs/heads/main {c1}\nprepare\n"),
    Case("start\ncreate refs/heads/main {c1}\ncommit\n"),
    Case("start\nupdate refs/heads/side {c2} {c0}\ncommit\n"),
    Case("start\ncreate refs/heads/a {c1}\ncreate refs/heads/a {c1}\ncommit\n"),
    Case("start extra\n"),
    Case("start \n"),
    Case("start"),
    Case("commit x\n"),
    Case("prepare\textra\n"),
]


@pytest.mark.parametrize("case", named(SESSIONS))
def test_sessions(twins: tuple[Twins, Objects], case: Case) -> None:
    """Transactions one after the other; one left open is undone."""
    assert check(*twins, case).status == 0
    twins[0].check_same_to_git()


@only_sha1
@pytest.mark.parametrize("case", named(BROKEN_SESSIONS))
def test_broken_sessions(twins: tuple[Twins, Objects], case: Case) -> None:
    """A command out of order ends the session, and nothing of the input is done."""
    before = read_state(twins[0].ours)
    assert check(*twins, case).status == 128
    assert read_state(twins[0].ours) == before


#: In 2.50.1 updates are only looked at when they are committed, no reason is printed, and the
#: entry for HEAD's log is rejected with an update of HEAD's branch.
BATCH = [
    Case("create refs/heads/a {c1}\ncreate refs/heads/b {c1}\n"),
    Case("create refs/heads/main {c1}\ncreate refs/heads/a {c1}\n"),
    Case("update refs/heads/main {c1} {c2}\nupdate refs/heads/side {c2}\n"),
    Case("update refs/heads/absent {c1} {c2}\nverify refs/heads/gone {c1}\n"),
    Case("delete refs/heads/absent {c1}\ndelete refs/heads/side {c0}\n"),
    Case("verify refs/heads/main {c1}\ncreate refs/heads/a {c1}\n"),
    Case("create refs/heads/a {missing}\ncreate refs/heads/b {c1}\n"),
    Case("create refs/heads/a {blob}\nupdate refs/heads/side {blob} {c1}\n"),
    Case("create refs/heads/dir {c1}\ncreate refs/heads/main/x {c1}\n"),
    Case("create refs/heads/main/x {c1}\ncreate refs/heads/main/y {c1}\n"),
    Case("create refs/heads/a {c1}\ncreate refs/heads/a/b {c1}\ncreate refs/heads/b {c1}\n"),
    Case("create refs/heads/a/b {c1}\ncreate refs/heads/a {c1}\n"),
    Case("create refs/heads/main {c1}\ncreate refs/heads/main/x {c1}\n"),
    Case("delete refs/heads/side {c0}\ncreate refs/heads/side/x {c1}\n"),
    Case("update HEAD {c1} {c2}\ncreate refs/heads/a {c1}\n"),
    Case("update refs/heads/main {c1} {c2}\n", "-m logged"),
    Case("update refs/meta/chain {c2} {c0}\n"),
    Case("update HEAD {c1}\nupdate refs/heads/main {c1}\n"),
    Case("symref-create refs/heads/main refs/heads/side\n", "--no-deref"),
    Case("symref-update refs/heads/main refs/heads/side ref refs/heads/a\n", "--no-deref"),
    Case("symref-update refs/heads/sym refs/heads/side ref refs/heads/a\n", "--no-deref"),
    Case("symref-update refs/heads/sym refs/heads/a oid {c0}\n", "--no-deref"),
    Case("symref-update refs/heads/gone refs/heads/a ref refs/heads/b\n", "--no-deref"),
    Case("symref-verify refs/heads/sym refs/heads/main\n", "--no-deref"),
    Case("symref-verify refs/heads/sym\n", "--no-deref"),
    Case("symref-delete refs/heads/sym refs/heads/main\n", "--no-deref"),
    Case("create refs/meta/dangling {c1}\n", "--no-deref"),
    Case("start\ncreate refs/heads/main {c1}\ncreate refs/heads/a {c1}\nprepare\ncommit\n"),
    Case("start\ncreate refs/heads/main {c1}\ncommit\nstart\ncreate refs/heads/main {c1}\n"),
    Case("create refs/heads/a {c1}\ncreate refs/heads/a {c1}\n"),
    Case("create refs/heads/a nonsense\n"),
    Case("create FETCH_HEAD {c1}\n"),
]


@pytest.mark.parametrize("case", named(BATCH))
def test_batch(twins: tuple[Twins, Objects], case: Case) -> None:
    """What does not apply is rejected with the reason; the rest is done."""
    pair, objects = twins
    args = ["update-ref", "--stdin", "--batch-updates", *shlex.split(case.options)]
    theirs, ours = pair.run(args, fill(case.stdin, objects).encode())
    if git_is_followed():
        assert ours == theirs
        pair.check_same_state()
    elif not is_newer(ours) and b"rejected refs/heads/main " not in ours.stdout:
        assert ours.stdout == theirs.stdout
        assert ours.status == theirs.status
        pair.check_same_state()
    rejected = ours.stdout.count(b"rejected ")
    assert ours.stderr.count(b"error: ") == rejected


def test_rejections_in_words(twins: tuple[Twins, Objects]) -> None:
    """Every reason that an update can be rejected for, as 2.55 prints it."""
    pair, objects = twins
    lines = """\
        create refs/heads/side {c1}
        update refs/heads/absent {c1} {c0}
        update refs/heads/main {c1} {c2}
        create refs/heads/main/below {c1}
        update refs/heads/one {missing}
        create refs/heads/two {blob}
        symref-update refs/meta/plain refs/heads/side ref refs/heads/a
        verify refs/tags/v1 {c0}
        create refs/heads/fine {c1}
    """
    stdin = fill(
        "".join(line.strip() + "\n" for line in lines.splitlines() if line.strip()), objects
    )
    _, ours = pair.run(["update-ref", "--stdin", "--batch-updates", "--no-deref"], stdin.encode())
    assert ours.status == 0
    assert ours.stdout.decode() == fill(
        "rejected refs/heads/one {missing} (null) invalid new value provided\n"
        "rejected refs/heads/two {blob} (null) invalid new value provided\n"
        "rejected refs/heads/side {c1} {zero} reference already exists\n"
        "rejected refs/heads/absent {c1} {c0} reference does not exist\n"
        "rejected refs/heads/main {c1} {c2} incorrect old value provided\n"
        "rejected refs/meta/plain {zero} {zero} expected symref but found regular ref\n"
        "rejected refs/tags/v1 (null) {c0} incorrect old value provided\n"
        "rejected refs/heads/main/below {c1} {zero} refname conflict\n",
        objects,
    )
    assert ours.stderr.decode() == fill(
        "error: trying to write ref 'refs/heads/one' with nonexistent object {missing}\n"
        "error: trying to write non-commit object {blob} to branch 'refs/heads/two'\n"
        "error: cannot lock ref 'refs/heads/side': reference already exists\n"
        "error: cannot lock ref 'refs/heads/absent': "
        "unable to resolve reference 'refs/heads/absent'\n"
        "error: cannot lock ref 'refs/heads/main': is at {c0} but expected {c2}\n"
        "error: cannot lock ref 'refs/meta/plain': "
        "expected symref with target 'refs/heads/a': but is a regular ref\n"
        "error: cannot lock ref 'refs/tags/v1': is at {tag} but expected {c0}\n"
        "error: 'refs/heads/main' exists; cannot create 'refs/heads/main/below'\n",
        objects,
    )
    assert b"refs/heads/fine" in {record.refname for record in read_state(pair.ours).refs}


class Driver:
    """A program that keeps `update-ref --stdin` waiting, as server software does."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def say(self, text: str) -> None:
        """Send lines, and leave the pipe open."""
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def hear(self) -> str:
        """The next line of the answer; hangs if none comes."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode()

    def end(self) -> int:
        """Close the pipe; the exit status."""
        self.process.communicate()
        return self.process.returncode


@pytest.fixture
def driver(twins: tuple[Twins, Objects]) -> Driver:
    """A session in pyreftable's repository."""
    ours = twins[0].ours
    return Driver([*pyreftable_cmd(), "update-ref", "--stdin"], ours, git_env(ours))


def _list_lock(repo: Path) -> Path:
    return repo / ".git" / "reftable" / "tables.list.lock"


@only_sha1
def test_answers_at_once(twins: tuple[Twins, Objects], driver: Driver) -> None:
    """Each answer comes while the pipe is open, and a prepared transaction holds the lock."""
    pair, objects = twins
    driver.say("start\n")
    assert driver.hear() == "start: ok\n"
    driver.say(fill("create refs/heads/new {c1}\nprep", objects))
    driver.say("are\n")
    assert driver.hear() == "prepare: ok\n"
    assert _list_lock(pair.ours).exists()
    driver.say("commit\nstart\n")
    assert [driver.hear(), driver.hear()] == ["commit: ok\n", "start: ok\n"]
    assert not _list_lock(pair.ours).exists()
    run_git(["show-ref", "--verify", "refs/heads/new"], pair.ours)
    driver.say(fill("delete refs/heads/new\nabort\n", objects))
    assert driver.hear() == "abort: ok\n"
    assert driver.end() == 0
    run_git(["show-ref", "--verify", "refs/heads/new"], pair.ours)


@only_sha1
@pytest.mark.parametrize(("last", "status"), [("", 0), ("nonsense\n", 128)])
def test_end_releases_the_lock(
    twins: tuple[Twins, Objects], driver: Driver, last: str, status: int
) -> None:
    """A prepared transaction at the end of the input, or before a mistake, is undone."""
    pair, objects = twins
    before = read_state(pair.ours)
    driver.say(fill("start\ncreate refs/heads/new {c1}\nprepare\n", objects))
    assert [driver.hear(), driver.hear()] == ["start: ok\n", "prepare: ok\n"]
    driver.say(last)
    assert driver.end() == status
    assert not _list_lock(pair.ours).exists()
    assert read_state(pair.ours) == before


HOOK = """\
#!/bin/sh
{{ echo "$1"; cat; }} >>{log}
test "$1" != "{refuse}"
"""


def _install_hook(repo: Path, log: Path, refuse: str) -> None:
    path = repo / ".git" / "hooks" / "reference-transaction"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HOOK.format(log=shlex.quote(os.fspath(log)), refuse=refuse))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@only_sha1
@pytest.mark.parametrize("refuse", ["preparing", "prepared", "committed", "nothing"])
@pytest.mark.parametrize(
    "stdin",
    [
        "create refs/heads/new {c1}\nupdate HEAD {c1}\n",
        "start\ndelete refs/heads/side\nprepare\ncommit\n",
        "start\nsymref-update refs/heads/sym refs/heads/main\nabort\n",
    ],
)
def test_hook(twins: tuple[Twins, Objects], tmp_path: Path, stdin: str, refuse: str) -> None:
    """The hook hears of every phase and may refuse; 2.50.1 has no "preparing", and other words."""
    pair, objects = twins
    _install_hook(pair.theirs, tmp_path / "their.log", refuse)
    _install_hook(pair.ours, tmp_path / "our.log", refuse)
    theirs, ours = pair.run(["update-ref", "--stdin"], fill(stdin, objects).encode())
    if git_is_followed():
        assert ours == theirs
        assert (tmp_path / "our.log").read_text() == (tmp_path / "their.log").read_text()
        pair.check_same_state()
    elif refuse in ("preparing", "prepared") and "abort" not in stdin:
        message = f"fatal: in '{refuse}' phase, update aborted by the reference-transaction hook\n"
        assert ours.stderr.decode() == message
        assert ours.status == 128
