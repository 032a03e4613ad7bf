"""`pyreftable update-ref --stdin`, line by line against git.

As in `test_update_ref`, messages are those of git 2.55, and a case gives them where the git of
the test environment has others.
"""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command_server import Outcome
from tests.support import git_env, pyreftable_cmd, run_git
from tests.twins import (
    Objects,
    Twins,
    fill,
    furnished_twins,
    git_is_followed,
    is_newer,
    read_state,
)


class Case(NamedTuple):
    """What is typed: the lines of standard input, and options after `update-ref --stdin`.

    `newer` is what 2.55 prints to stderr, where the git at hand may print something else.
    """

    stdin: str
    options: str = ""
    newer: str = ""


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where repositories are made, once a session."""
    return tmp_path_factory.mktemp("twins")


@pytest.fixture(params=["sha1", "sha256"])
def twins(request: pytest.FixtureRequest, home: Path) -> tuple[Twins, Objects]:
    """Two equal repositories, and the objects in them."""
    twins, objects = furnished_twins(home, request.param)
    twins.reset()
    return twins, objects


only_sha1 = pytest.mark.parametrize("twins", ["sha1"], indirect=True)


def check(twins: Twins, objects: Objects, case: Case) -> Outcome:
    """Run the session in both repositories and compare what it says, then what they hold."""
    args = ["update-ref", "--stdin", *shlex.split(fill(case.options, objects))]
    stdin = fill(case.stdin, objects).encode("utf-8", "surrogateescape")
    theirs, ours = twins.run(args, stdin)
    if not case.newer or git_is_followed():
        assert ours == theirs
    else:
        assert ours == theirs._replace(stderr=fill(case.newer, objects).encode())
    twins.check_same_state()
    return ours


def _named(cases: list[Case]) -> list[object]:
    return [
        pytest.param(case, id=f"{case.options} {case.stdin!r}".strip().replace("\\", "/"))
        for case in cases
    ]


NO_DEREF = "option no-deref\n"

DONE = [
    Case(""),
    Case("create refs/heads/new {c1}\n"),
    Case("create refs/heads/new {c1}\n", "-m 'by  stdin'"),
    Case("create refs/meta/new {c1}\n", "--create-reflog -m logged"),
    Case("create refs/heads/new {upper}\n"),
    Case("create refs/heads/new {short}\n"),
    Case("create refs/heads/new side\n"),
    Case("create refs/heads/new {c2}^\ncreate refs/heads/two HEAD\n"),
    Case('create "refs/heads/new" "{c1}"\n'),
    Case('create refs/heads/\u00fc {c1}\ncreate "refs/heads/\\303\\244" {c1}\n'),
    Case('create refs/heads/quo"te {c1}\ndelete refs/heads/side\n'),
    Case("create refs/heads/\udcff\udcfe {c1}\n"),
    Case("update refs/heads/new {c1}\n"),
    Case("update refs/heads/new {c1} {zero}\n"),
    Case('update refs/heads/new {c1} ""\n'),
    Case("update refs/heads/new {c1} \n"),
    Case("update refs/heads/new \n"),
    Case("update refs/heads/main {c1}\nupdate refs/heads/side {c2} {c1}\n"),
    Case("update refs/heads/main {c1} main\n"),
    Case("update refs/heads/main {zero} {c0}\n"),
    Case('update refs/heads/main ""\n'),
    Case("update HEAD {c1}\n", "-m head"),
    Case("update HEAD {c1}\n", "--no-deref"),
    Case(NO_DEREF + "update HEAD {c1}\nupdate refs/heads/sym {c2}\n"),
    Case("update refs/meta/chain {c2} {c1}\n"),
    Case("update refs/meta/dangling {c2}\n"),
    Case("update refs/heads/main {c0}\n"),
    Case("delete refs/heads/side\n"),
    Case("delete refs/heads/side {c1}\ndelete refs/tags/v1\n"),
    Case('delete refs/heads/side "{c1}"\n'),
    Case("delete refs/heads/absent\n"),
    Case("delete HEAD\n"),
    Case(NO_DEREF + "delete refs/meta/dangling\n"),
    Case("verify refs/heads/main {c0}\n"),
    Case("verify refs/heads/absent\nverify refs/heads/gone {zero}\n"),
    Case('verify refs/heads/absent ""\n'),
    Case("verify HEAD {c0}\nverify refs/heads/sym {c1}\n"),
    Case("verify refs/heads/main {c0}\nupdate refs/heads/side {c2}\n"),
    Case("symref-create refs/heads/link refs/heads/main\n"),
    Case("symref-create refs/heads/link refs/heads/nowhere\n"),
    Case("symref-create refs/meta/link refs/heads/main\n", "--create-reflog -m link"),
    Case("symref-update refs/heads/sym refs/heads/main\n", "--no-deref"),
    Case("symref-update HEAD refs/heads/side\n", "--no-deref -m switch"),
    Case("symref-update HEAD refs/heads/unborn\n", "--no-deref"),
    Case("symref-update refs/heads/sym refs/heads/main\n"),
    Case("symref-update refs/heads/sym refs/heads/main ref refs/heads/side\n", "--no-deref"),
    Case("symref-update refs/heads/side refs/heads/main oid {c1}\n", "--no-deref"),
    Case("symref-update refs/heads/new refs/heads/main oid {zero}\n", "--no-deref"),
    Case("symref-update refs/heads/side refs/heads/main oid side\n"),
    Case("symref-delete refs/heads/sym\n", "--no-deref"),
    Case(NO_DEREF + "symref-delete refs/heads/sym refs/heads/side\n"),
    Case(NO_DEREF + "symref-verify refs/heads/sym refs/heads/side\n"),
    Case("symref-verify refs/heads/absent\n", "--no-deref"),
    Case("symref-verify refs/meta/dangling refs/heads/nowhere\n", "--no-deref"),
    Case("delete refs/heads/dir/leaf\ncreate refs/heads/other/leaf {c1}\n"),
]

DONE_NUL = [
    Case("create refs/heads/new\0{c1}\0", "-z"),
    Case("create refs/heads/new\0side\0delete refs/heads/side\0{c1}\0", "-z"),
    Case("update refs/heads/new\0{c1}\0\0", "-z"),
    Case("update refs/heads/new\0{c1}\0{zero}\0", "-z"),
    Case("update refs/heads/main\0\0{c0}\0", "-z"),
    Case('create refs/heads/quo"te\0{c1}\0', "-z"),
    Case("delete refs/heads/side\0\0verify refs/heads/main\0{c0}\0", "-z"),
    Case("verify refs/heads/absent\0\0", "-z"),
    Case("option no-deref\0update HEAD\0{c1}\0\0", "-z"),
    Case("symref-create refs/heads/link\0refs/heads/main\0", "-z"),
    Case("symref-update refs/heads/sym\0refs/heads/main\0\0\0", "-z --no-deref"),
    Case("symref-update refs/heads/sym\0refs/heads/main\0ref\0refs/heads/side\0", "-z --no-deref"),
    Case("symref-update refs/heads/side\0refs/heads/main\0oid\0{c1}\0", "-z"),
    Case("symref-delete refs/heads/sym\0refs/heads/side\0", "-z --no-deref"),
    Case("symref-delete refs/heads/sym\0\0", "-z --no-deref"),
    Case("symref-verify refs/heads/sym\0refs/heads/side\0", "-z --no-deref"),
    Case("start\0create refs/heads/new\0{c1}\0commit\0", "-z"),
]

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

MISTAKES = [
    Case("\n"),
    Case(" create refs/heads/new {c1}\n"),
    Case("\tcreate refs/heads/new {c1}\n"),
    Case("unknown refs/heads/new {c1}\n"),
    Case("Create refs/heads/new {c1}\n"),
    Case("create\n"),
    Case("create \n"),
    Case("create"),
    Case("create  refs/heads/new {c1}\n"),
    Case("create refs/heads/new\n"),
    Case("create refs/heads/new \n"),
    Case("create refs/heads/new"),
    Case("create refs/heads/new {c1}"),
    Case("create refs/heads/new  {c1}\n"),
    Case("create refs/heads/new {c1} \n"),
    Case("create refs/heads/new {c1} extra\n"),
    Case("create refs/heads/new {c1}\r\n"),
    Case("create refs/heads/new\t{c1}\n"),
    Case("create refs/heads/new {zero}\n"),
    Case('create refs/heads/new ""\n'),
    Case("create refs/heads/new nonsense\n"),
    Case("create refs/heads/new {c1}1\n"),
    Case("create refs/heads/..new {c1}\n"),
    Case("create refs/heads/new.lock {c1}\n"),
    Case('create "refs/heads/new {c1}\n'),
    Case('create "refs/heads/new"x {c1}\n'),
    Case('create "refs/heads/n\\x" {c1}\n'),
    Case('create "refs/heads/n\\400" {c1}\n'),
    Case('create refs/heads/new "{c1}\n'),
    Case('create "refs/heads/n\\000w" {c1} {c1}\n'),
    Case("create refs/heads/n\0ew {c1}\n"),
    Case("create refs/heads/new {c1}\0\n"),
    Case("\0\n"),
    Case("create refs/heads/new {missing}\n"),
    Case("create refs/meta/new {missing}\n"),
    Case("create refs/heads/new {blob}\n"),
    Case("create refs/heads/main {c1}\n"),
    Case("create refs/heads/sym {c1}\n"),
    Case("create refs/heads/main/below {c1}\n"),
    Case("create refs/heads/dir {c1}\n"),
    Case("create refs/heads/a {c1}\ncreate refs/heads/a/b {c1}\n"),
    Case("create refs/heads/a/b {c1}\ncreate refs/heads/a {c1}\n"),
    Case("delete refs/heads/dir/leaf\ncreate refs/heads/dir {c1}\n"),
    Case("create FETCH_HEAD {c1}\n"),
    Case("update refs/heads/new\n"),
    Case("update\n"),
    Case("update refs/heads/new {c1} {c0}\n"),
    Case("update refs/heads/new {c1} {zero} \n"),
    Case("update refs/heads/new {c1} nonsense\n"),
    Case("update refs/heads/new {c1}\t{c0}\n"),
    Case("update refs/heads/main {c1} {c2}\n"),
    Case("update refs/heads/main {c1} {zero}\n"),
    Case("update HEAD {c1}\nupdate refs/heads/main {c1}\n"),
    Case("update refs/heads/main {c1}\nupdate HEAD {c1}\n"),
    Case("update refs/heads/side {c2}\nupdate refs/heads/sym {c2}\n"),
    Case("update refs/heads/z {c2}\nupdate refs/heads/a {c1}\nupdate refs/heads/z {c2}\n"),
    Case("create b {c1}\ncreate a {c1}\ncreate b {c2}\ncreate a {c2}\n"),
    Case("delete\n"),
    Case("delete refs/heads/main {zero}\n"),
    Case("delete refs/heads/absent \n"),
    Case("delete refs/heads/main {c1}\n"),
    Case("delete refs/heads/main {c0} extra\n"),
    Case("delete refs/heads/absent {c1}\n"),
    Case("delete lower\n"),
    Case("verify refs/heads/main\n"),
    Case("verify refs/heads/main {c1}\n"),
    Case("verify refs/heads/absent {c1}\n"),
    Case("verify refs/heads/main {c0} extra\n"),
    Case("verify HEAD {zero}\n"),
    Case("symref-create refs/heads/new\n", "--no-deref"),
    Case("symref-create refs/heads/new refs/heads/..x\n", "--no-deref"),
    Case("symref-create refs/heads/new refs/heads/main extra\n", "--no-deref"),
    Case("symref-create refs/heads/main refs/heads/side\n", "--no-deref"),
    Case("symref-create refs/heads/sym refs/heads/main\n", "--no-deref"),
    Case("symref-update refs/heads/new\n"),
    Case("symref-update refs/heads/sym refs/heads/main ref\n"),
    Case("symref-update refs/heads/sym refs/heads/main ref ..x\n"),
    Case("symref-update refs/heads/sym refs/heads/main oid nonsense\n"),
    Case("symref-update refs/heads/sym refs/heads/main other {c0}\n"),
    Case("symref-update refs/heads/sym refs/heads/main oid {c1} more\n"),
    Case("symref-update refs/heads/sym refs/heads/main ref refs/heads/dir/leaf\n", "--no-deref"),
    Case("symref-update refs/heads/main refs/heads/side ref refs/heads/side\n", "--no-deref"),
    Case("symref-update refs/heads/absent refs/heads/side ref refs/heads/side\n", "--no-deref"),
    Case("symref-update refs/heads/main refs/heads/side oid {c1}\n", "--no-deref"),
    Case("symref-delete refs/heads/sym\n"),
    Case("symref-delete refs/heads/sym refs/heads/main\n", "--no-deref"),
    Case("symref-delete refs/heads/main refs/heads/side\n", "--no-deref"),
    Case("symref-delete refs/heads/sym refs/heads/side x\n", "--no-deref"),
    Case("symref-verify refs/heads/sym refs/heads/side\n"),
    Case("symref-verify refs/heads/sym\n", "--no-deref"),
    Case("symref-verify refs/heads/sym refs/heads/main\n", "--no-deref"),
    Case("symref-verify refs/heads/absent refs/heads/main\n", "--no-deref"),
    Case("symref-verify refs/heads/main refs/heads/side\n", "--no-deref"),
    Case(NO_DEREF + NO_DEREF + "verify refs/heads/sym {c1}\nsymref-verify refs/heads/sym x\n"),
    Case("option deref\n"),
    Case("option no-deref \n"),
    Case("option \n"),
    Case("option\n"),
    Case("option no-deref"),
    Case("create refs/heads/new {c1}\nnonsense\n"),
    Case("create refs/heads/new {c1}\ncreate refs/heads/b\n"),
    Case("create refs/heads/new {c1}\ncreate refs/heads/main {c1}\ncreate refs/heads/z {c1}\n"),
]

MISTAKES_NUL = [
    Case("\0", "-z"),
    Case("create refs/heads/new", "-z"),
    Case("create refs/heads/new\0", "-z"),
    Case("create refs/heads/new\0\0", "-z"),
    Case("create refs/heads/new\0{zero}\0", "-z"),
    Case("create refs/heads/new\0nonsense\0", "-z"),
    Case("create \0{c1}\0", "-z"),
    Case("create refs/heads/n ew\0{c1}\0", "-z"),
    Case('create "refs/heads/new"\0"{c1}"\0', "-z"),
    Case("create refs/heads/new {c1}\n", "-z"),
    Case("update refs/heads/new\0", "-z"),
    Case("update refs/heads/new\0{c1}", "-z"),
    Case("update refs/heads/new\0{c1}\0", "-z"),
    Case("update refs/heads/new\0{c1}\0nonsense\0", "-z"),
    Case("update refs/heads/new\0{c1}\0{c0}\0", "-z"),
    Case("delete refs/heads/main\0", "-z"),
    Case("delete refs/heads/main\0{zero}\0", "-z"),
    Case("verify refs/heads/main\0", "-z"),
    Case("symref-create refs/heads/new\0\0", "-z"),
    Case("symref-update refs/heads/sym\0refs/heads/main\0ref\0\0", "-z"),
    Case("symref-update refs/heads/sym\0refs/heads/main\0what\0x\0", "-z"),
    Case("start\nstart\0", "-z"),
    Case("option no-deref\n\0", "-z"),
    Case("nonsense\0", "-z"),
    Case(" create refs/heads/new\0{c1}\0", "-z"),
]


@pytest.mark.parametrize("case", _named(DONE + DONE_NUL + SESSIONS))
def test_done(twins: tuple[Twins, Objects], case: Case) -> None:
    """What succeeds does the same as git, with the same answers."""
    outcome = check(*twins, case)
    assert outcome.status == 0
    twins[0].check_same_to_git()


@only_sha1
@pytest.mark.parametrize("case", _named(MISTAKES + MISTAKES_NUL + BROKEN_SESSIONS))
def test_mistakes(twins: tuple[Twins, Objects], case: Case) -> None:
    """A bad line gives git's message, and nothing of the input is done."""
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


@pytest.mark.parametrize("case", _named(BATCH))
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
