"""`pyreftable symbolic-ref`, as a user types it, against the same typed at git.

Messages are those of git 2.55; the git of the test environment (2.50.1) differs only in what the
two tests on hooks and help say.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.command_server import Outcome
from tests.reflog_scene import SceneTwins, scene_twins
from tests.support import run_git
from tests.twins import Objects, Twins, fill, furnished_twins, git_is_followed, run_ours, run_theirs


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where repositories are made, once a session."""
    return tmp_path_factory.mktemp("symrefs")


@pytest.fixture(params=["sha1", "sha256"])
def twins(request: pytest.FixtureRequest, home: Path) -> tuple[Twins, Objects]:
    """Two equal repositories, and the objects in them."""
    twins, objects = furnished_twins(home, request.param)
    twins.reset()
    return twins, objects


@pytest.fixture
def scene(home: Path) -> SceneTwins:
    """Two equal repositories with a linked worktree."""
    scene = scene_twins(home, "sha1")
    scene.reset()
    return scene


only_sha1 = pytest.mark.parametrize("twins", ["sha1"], indirect=True)


def check(pair: tuple[Twins, Objects], command: str) -> Outcome:
    """Run the command in both repositories and compare what it says, then what they hold."""
    twins, objects = pair
    theirs, ours = twins.run(shlex.split(fill(command, objects)))
    assert ours == theirs
    twins.check_same_state()
    twins.check_same_to_git()
    return ours


# `symbolic-ref` stands before each of these.
READ = """\
HEAD
--short HEAD
-q HEAD
--no-recurse HEAD
--recurse HEAD
refs/meta/chain
--no-recurse refs/meta/chain
--short refs/meta/chain
--short --no-recurse refs/meta/chain
refs/meta/dangling
--short refs/meta/dangling
refs/heads/sym
refs/heads/main
-q refs/heads/main
-q -q refs/heads/main
--no-quiet refs/heads/main
main
sym
nosuch
-q nosuch
refs/heads/none
a..b
-q a..b
--no-recurse a..b
-- HEAD
--end-of-options HEAD
-- -q
FETCH_HEAD
worktrees/none/HEAD
main-worktree/HEAD
worktrees//HEAD
"""

SET = """\
HEAD refs/heads/side
-m moved HEAD refs/heads/side
-m '  two   words\t' HEAD refs/heads/side
HEAD refs/heads/unborn
-m x HEAD refs/heads/unborn
HEAD refs/heads/main
-m again HEAD refs/heads/main
HEAD refs/tags/v1
HEAD side
HEAD {c0}
HEAD HEAD
HEAD refs/heads/a..b
HEAD refs/heads/
refs/heads/new HEAD
-m x refs/heads/new HEAD
refs/heads/new SOME_HEAD
refs/heads/new foo
refs/heads/new 'a b'
refs/heads/new ''
'' refs/heads/main
foo refs/heads/main
SOME_REF refs/heads/main
FETCH_HEAD refs/heads/main
'refs/heads/a b' refs/heads/main
refs/../x refs/heads/main
refs/heads/main/below refs/heads/side
refs/heads refs/heads/side
-m moved refs/heads/main refs/heads/side
-m moved refs/heads/main refs/heads/unborn
-m moved refs/heads/sym refs/heads/main
-m moved refs/meta/chain refs/meta/dangling
-m moved refs/meta/dangling refs/heads/main
-m moved refs/meta/new refs/heads/main
refs/self refs/self
refs/bisect/bad refs/heads/main
main-worktree/HEAD refs/heads/side
"""

DELETE = """\
-d refs/heads/sym
-d refs/meta/chain
-d refs/meta/dangling
--delete -q refs/heads/sym
-d HEAD
-d refs/heads/main
-q -d refs/heads/main
-d nosuch
-d a..b
"""

COMMAND_LINES = """\
symbolic-ref
symbolic-ref a b c
symbolic-ref -d
symbolic-ref -d a b
symbolic-ref -m
symbolic-ref -m '' HEAD refs/heads/side
symbolic-ref -m '' HEAD
symbolic-ref -m '' -d HEAD
symbolic-ref -m why HEAD
symbolic-ref -m why -d refs/heads/sym
symbolic-ref -mwhy HEAD refs/heads/side
symbolic-ref --bogus HEAD
symbolic-ref -x HEAD
symbolic-ref --sho HEAD
symbolic-ref --short=x HEAD
-c core.logAllRefUpdates=always symbolic-ref -m x refs/meta/new refs/heads/main
-c core.logAllRefUpdates=false symbolic-ref -m x refs/heads/new refs/heads/main
-c core.logAllRefUpdates=false symbolic-ref -m x HEAD refs/heads/side
-c core.logAllRefUpdates=bogus symbolic-ref HEAD refs/heads/side
"""


@pytest.mark.parametrize("words", READ.splitlines())
def test_read(twins: tuple[Twins, Objects], words: str) -> None:
    """Where a symref leads, at once or in the end; or that it is none."""
    check(twins, f"symbolic-ref {words}")


@pytest.mark.parametrize("words", SET.splitlines())
def test_set(twins: tuple[Twins, Objects], words: str) -> None:
    """A symref is set, and logged, where git sets and logs one; otherwise nothing changes."""
    check(twins, f"symbolic-ref {words}")


@pytest.mark.parametrize("words", DELETE.splitlines())
def test_delete(twins: tuple[Twins, Objects], words: str) -> None:
    """The symref goes, and nothing but a symref does."""
    check(twins, f"symbolic-ref {words}")


@only_sha1
@pytest.mark.parametrize("command", COMMAND_LINES.splitlines())
def test_command_lines(twins: tuple[Twins, Objects], command: str) -> None:
    """Options, settings and wrong command lines."""
    check(twins, command)


def test_detached_head(twins: tuple[Twins, Objects]) -> None:
    """A HEAD that holds an id is no symref, until it is made one again."""
    pair, objects = twins
    pair.prepare("update-ref", "--no-deref", "HEAD", objects.commits[1])
    for words in ("HEAD", "-q HEAD", "--short HEAD", "-d HEAD", "-m back HEAD refs/heads/main"):
        check(twins, f"symbolic-ref {words}")
    assert check(twins, "symbolic-ref HEAD").stdout == b"refs/heads/main\n"


def test_chains(twins: tuple[Twins, Objects]) -> None:
    """A chain is followed five reads deep, and no deeper; a link can always be read."""
    for length in range(1, 7):
        target = "refs/heads/main" if length == 1 else f"refs/chain/{length - 1}"
        check(twins, f"symbolic-ref refs/chain/{length} {target}")
        for words in ("", "--no-recurse ", "-q ", "--short "):
            check(twins, f"symbolic-ref {words}refs/chain/{length}")
    assert check(twins, "symbolic-ref refs/chain/5").status == 128
    check(twins, "symbolic-ref -d refs/chain/6")


@only_sha1
@pytest.mark.parametrize(
    ("target", "short"),
    [
        ("refs/remotes/origin/HEAD", "origin"),
        ("refs/headsXfoo", "headsXfoo"),
        ("refs/heads/%foo", "%foo"),
        ("refs/heads/测试-加", "测试-加"),
        ("refs/tags/side", "side"),
        ("refs/heads/v1", "heads/v1"),
        ("ORIG_HEAD", "ORIG_HEAD"),
    ],
)
def test_short_names(twins: tuple[Twins, Objects], target: str, short: str) -> None:
    """`--short` gives the shortest name that means the target and no other ref that exists."""
    pair, objects = twins
    pair.prepare("update-ref", "refs/tags/side", objects.commits[0])
    pair.prepare("update-ref", "refs/heads/v1", objects.commits[0])
    check(twins, f"symbolic-ref SOME_SYMREF '{target}'")
    outcome = check(twins, "symbolic-ref --short SOME_SYMREF")
    assert outcome.stdout.decode() == f"{short}\n"


def test_unborn_repository(repo: Path) -> None:
    """HEAD can be read and set before there is any commit."""
    for args in (["HEAD"], ["--short", "HEAD"], ["HEAD", "refs/heads/other"], ["-d", "HEAD"]):
        ours = run_ours(["symbolic-ref", *args], repo)
        assert ours == run_theirs(["symbolic-ref", *args], repo)
    assert run_git(["symbolic-ref", "HEAD"], repo).stdout == b"refs/heads/other\n"


WORKTREES = """\
symbolic-ref worktrees/wt/HEAD
symbolic-ref refs/bisect/bad
-C wt symbolic-ref HEAD
-C wt symbolic-ref -m moved HEAD refs/heads/dual
-C wt symbolic-ref refs/worktree/link refs/heads/dual
-C wt symbolic-ref refs/bisect/link refs/heads/dual
-C wt symbolic-ref -m moved refs/heads/dual refs/heads/main
-C wt symbolic-ref main-worktree/HEAD
-C wt symbolic-ref -m moved main-worktree/HEAD refs/heads/dual
-C wt symbolic-ref -d main-worktree/HEAD
"""


@pytest.mark.parametrize("command", WORKTREES.splitlines())
def test_worktrees(scene: SceneTwins, command: str) -> None:
    """Each worktree has a HEAD of its own; long names reach the others'."""
    scene.check(command)


_HOOK = """\
#!/bin/sh
cat >>hook-log
echo "$1" >>hook-log
test "$1" != "$(cat hook-fails-in 2>/dev/null)"
"""


@only_sha1
@pytest.mark.parametrize("fails_in", ["", "prepared", "committed"])
@pytest.mark.parametrize("words", ["-m x HEAD refs/heads/side", "-d refs/heads/sym"])
def test_hook(twins: tuple[Twins, Objects], words: str, fails_in: str) -> None:
    """The reference-transaction hook hears of the symref, and may refuse it."""
    pair, _ = twins
    for repo in (pair.theirs, pair.ours):
        hook = repo / ".git" / "hooks" / "reference-transaction"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_HOOK)
        hook.chmod(0o755)
        (repo / "hook-fails-in").write_text(fails_in)
        (repo / "hook-log").unlink(missing_ok=True)
    theirs, ours = pair.run(["symbolic-ref", *shlex.split(words)])
    assert ours.status == (128 if fails_in == "prepared" else 0) == theirs.status
    pair.check_same_state()
    told = (pair.ours / "hook-log").read_text()
    if git_is_followed():
        assert (ours, told) == (theirs, (pair.theirs / "hook-log").read_text())
    else:
        # 2.50.1 has no phase "preparing", and words the refusal otherwise.
        assert told.startswith("0" * 40)
        assert "preparing\n" in told


@only_sha1
def test_a_held_lock_is_told(twins: tuple[Twins, Objects]) -> None:
    """Setting and deleting fail with the path of the lock; reading does not."""
    pair, _ = twins
    lock = pair.ours / ".git" / "reftable" / "tables.list.lock"
    lock.touch()
    for args in (["HEAD", "refs/heads/side"], ["-d", "refs/heads/sym"]):
        outcome = run_ours(["-c", "reftable.lockTimeout=0", "symbolic-ref", *args], pair.ours)
        assert outcome.status == 1
        assert outcome.stderr.startswith(b"error: cannot lock references")
        assert str(lock).encode() in outcome.stderr
    assert run_ours(["symbolic-ref", "HEAD"], pair.ours).stdout == b"refs/heads/main\n"
    pair.check_same_state()


@only_sha1
def test_help(twins: tuple[Twins, Objects]) -> None:
    """Help that was asked for goes to standard output, with status 0 as in git 2.55."""
    pair, _ = twins
    theirs, ours = pair.run(["symbolic-ref", "-h"])
    assert (ours.status, ours.stderr) == (0, b"")
    assert ours.stdout in (theirs.stdout, theirs.stderr)
