"""`pyreftable reflog`, as a user types it, against the same typed at git.

Messages and usage texts are those of git 2.55. What the git of the test environment (2.50.1) does
not know yet, `reflog write` and help with status 0, is compared with the git of
`PYREFTABLE_TEST_GIT` where that is new enough, and in any case with what is written here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reflog_scene import SceneTwins, scene_twins, stack_states
from tests.support import run_git
from tests.twins import git_is_followed, run_ours, run_theirs


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where repositories are made, once a session."""
    return tmp_path_factory.mktemp("reflog")


@pytest.fixture(params=["sha1", "sha256"])
def twins(request: pytest.FixtureRequest, home: Path) -> SceneTwins:
    """Two equal repositories."""
    twins = scene_twins(home, request.param)
    twins.reset()
    return twins


only_sha1 = pytest.mark.parametrize("twins", ["sha1"], indirect=True)
newer_git = pytest.mark.skipif(not git_is_followed(), reason="the git compared with is older")


# show

WHICH_LOG = """\
reflog
reflog show
reflog show main
reflog main
reflog refs/heads/main
reflog heads/main
reflog @
reflog @{{1}}
reflog @{{u}}
reflog @{{u}}@{{1}}
reflog @{{-1}}
reflog @{{-1}}@{{1}}
reflog a@b
reflog dual
reflog heads/dual
reflog refs/x/odd
reflog x/odd
reflog v1
reflog light
reflog sym
reflog refs/heads/chain
reflog refs/heads/dangling
reflog HEAD~1
reflog HEAD^{{tree}}
reflog topic@{{0}} main
reflog --all
reflog --all main
reflog --branches
reflog --remotes
reflog worktrees/wt/HEAD
reflog main-worktree/HEAD
reflog worktrees/none/HEAD
reflog worktrees/wt/refs/worktree/own
-C wt reflog
-C wt reflog --all
-C wt reflog main-worktree/HEAD
-C wt reflog refs/bisect/bad
-C .git reflog main
-c core.warnAmbiguousRefs=false reflog dual
"""

WHICH_ENTRIES = """\
reflog -2
reflog -0
reflog -n 3 HEAD
reflog -n3 HEAD
reflog --max-count=2 --skip 1
reflog --skip=100
reflog HEAD@{{2}}
reflog HEAD@{{8}}
reflog HEAD@{{9}}
reflog HEAD@{{}}
reflog HEAD@{{now}}
reflog HEAD@{{1700000300}}
reflog HEAD@{{bogus}}
reflog main@{{1.day.ago}}
reflog --since=1700000500
reflog --until=1700000500
reflog --max-age=1700000500
reflog --min-age=1700000500
reflog --before '2023-11-14 22:20:00' --after=2023-11-14
reflog main f1
reflog f1
reflog -- f1
reflog -- f2
reflog -- d
reflog -- d/x
reflog -- .
reflog main -- d t
reflog -- f1/none
reflog -- none
-C d reflog -- x
-C d reflog x
-C d reflog -- ../f2
"""

LOOKS = """\
reflog --date=default
reflog --date=iso
reflog --date=iso8601
reflog --date=iso-strict
reflog --date=iso-strict-local
reflog --date=raw main
reflog --date=raw-local main
reflog --date=local main@{{0}}
reflog --date local
reflog --date=short
reflog --date=rfc
reflog --date=rfc2822-local
reflog --date=unix
reflog --date=relative
reflog --relative-date
reflog --date=format:%Y-%z-%Z-%s-%%z%%
reflog --date=format-local:%H:%M-%z-%Z
reflog --date=auto:iso
-c log.date=iso reflog
-c log.date=iso reflog HEAD@{{now}}
reflog --format=%gd:%gD:%gs:%gn:%ge
reflog refs/heads/main --format=%gd:%gD:%gs
reflog dual --format=%gd:%gD:%gs
reflog --format='%H %h %T %t %P %p|%an|%ae|%al|%at|%ad|%ar|%aI|%ai|%as|%aD'
reflog --format='%H %h %T %t %P %p|%cn|%ce|%cl|%ct|%cd|%cr|%cI|%ci|%cs|%cD' --date=short
reflog --format='%s%n%b|%B|%x41%%n%%%x4'
reflog --format='%Z%q%ax%gx%xzz%'
reflog --pretty=format:%gs
reflog --pretty=tformat:%gs
reflog --format=
reflog --format=oneline
reflog --oneline --no-abbrev-commit
reflog --no-abbrev-commit
reflog --no-abbrev
reflog --no-abbrev --format=%h
reflog --abbrev=12
reflog --abbrev=1
reflog --abbrev
-c core.abbrev=10 reflog
-c core.abbrev=no reflog
reflog -g -q
"""

REFUSED = """\
reflog nosuch
reflog main nosuch
reflog main nosuch f1
reflog main f1 nosuch
reflog nosuch -- d
reflog ^main
reflog main..topic
reflog nosuch..topic
reflog --date=bogus
reflog --date=isox
reflog --date=format
-c log.date=bogus reflog
reflog --bogus
reflog --reverse
reflog --format=bogus
reflog -n
reflog -n x
reflog -5x
"""


@pytest.mark.parametrize("command", WHICH_LOG.splitlines())
def test_show_finds_the_log(twins: SceneTwins, command: str) -> None:
    """Short names, symrefs, worktrees and groups of refs mean the logs that they mean to git."""
    twins.check(command)


@only_sha1
@pytest.mark.parametrize("command", WHICH_ENTRIES.splitlines())
def test_show_selects_entries(twins: SceneTwins, command: str) -> None:
    """Counts, dates, starting points and paths select what they select in git."""
    twins.check(command)


@only_sha1
@pytest.mark.parametrize("command", LOOKS.splitlines())
def test_show_formats_entries(twins: SceneTwins, command: str) -> None:
    """Dates, placeholders and abbreviated ids look as git's do."""
    twins.check(command)


@only_sha1
@pytest.mark.parametrize("command", REFUSED.splitlines())
def test_show_refuses(twins: SceneTwins, command: str) -> None:
    """What git refuses is refused, in git's words."""
    assert twins.check(command).status == 128


@only_sha1
def test_show_of_a_tag_without_a_log(twins: SceneTwins) -> None:
    """`--tags` shows tags' logs only; git takes the branch of the same name for the tag."""
    assert run_ours(["reflog", "--tags"], twins.ours).stdout == b""
    assert b"dual@{0}" in run_theirs(["reflog", "--tags"], twins.theirs).stdout


@only_sha1
@pytest.mark.parametrize("word", ["--graph", "--format=short", "--format=%d", "--stat", "-p"])
def test_show_says_what_it_does_not_know(twins: SceneTwins, word: str) -> None:
    """Options of `git log` beyond those for reflogs end the command with a message."""
    outcome = run_ours(["reflog", word], twins.ours)
    assert (outcome.status, outcome.stdout) == (128, b"")
    assert outcome.stderr.startswith(b"fatal: ")


@pytest.mark.parametrize("args", [["reflog"], ["reflog", "--all"]])
def test_show_in_an_unborn_repository(repo: Path, args: list[str]) -> None:
    """Without a commit there is nothing to show, and git's message about it."""
    assert run_ours(args, repo) == run_theirs(args, repo)


@only_sha1
def test_abbreviations_grow_until_unique(twins: SceneTwins) -> None:
    """An abbreviated id gets longer where the objects at hand need it, packed or loose."""
    blobs = [f"blob {number}\n".encode() for number in range(600)]
    for repo in (twins.theirs, twins.ours):
        data = b"".join(b"blob\ndata %d\n%b\n" % (len(blob), blob) for blob in blobs)
        run_git(["fast-import", "--quiet"], repo, input=data)
    twins.check("reflog --abbrev=4")


# list, exists

LIST_AND_EXISTS = """\
reflog list
-C wt reflog list
reflog list x
reflog list --bogus
reflog exists HEAD
reflog exists refs/heads/main
reflog exists refs/heads/sym
reflog exists refs/heads/nowhere
reflog exists main
reflog exists worktrees/wt/HEAD
reflog exists worktrees/wt/refs/worktree/own
reflog exists refs/worktree/own
-C wt reflog exists refs/worktree/own
-C wt reflog exists main-worktree/HEAD
reflog exists
reflog exists a..b
reflog exists -- HEAD
reflog exists --end-of-options HEAD
reflog exists --bogus HEAD
reflog exists HEAD more
"""


@pytest.mark.parametrize("command", LIST_AND_EXISTS.splitlines())
def test_list_and_exists(twins: SceneTwins, command: str) -> None:
    """Which logs there are."""
    twins.check(command)


@only_sha1
def test_show_passes_over_symrefs_in_a_loop(twins: SceneTwins) -> None:
    """A ref that leads nowhere does not keep the others from being shown."""
    twins.check("symbolic-ref refs/heads/loop refs/heads/loop")
    for command in ("reflog --all", "reflog --branches", "reflog expire --stale-fix --all -n"):
        assert twins.check(command).status == 0


def test_an_emptied_log_of_a_symref(twins: SceneTwins) -> None:
    """Where a symref's own log has no entries, the log of what it leads to is shown."""
    twins.check("reflog expire --expire=all sym")
    for command in ("reflog sym", "reflog refs/heads/sym", "reflog chain", "reflog sym dual"):
        assert twins.check(command).stdout


def test_an_emptied_log_still_exists(twins: SceneTwins) -> None:
    """A log without entries is listed, exists and shows nothing, until it is dropped."""
    twins.check("reflog expire --expire=all main")
    for command in ("reflog list", "reflog exists refs/heads/main", "reflog show main"):
        assert twins.check(command).status == 0
    twins.check("reflog drop main")
    assert twins.check("reflog exists refs/heads/main").status == 1


# delete

DELETE = """\
reflog delete main@{{0}}
reflog delete main@{{1}}
reflog delete --verbose main@{{1}}
reflog delete --verbose -n main@{{1}}
reflog delete --verbose main@{{9}}
reflog delete --verbose main@{{-1}}
reflog delete --verbose main@{{}}
reflog delete --verbose main@{{1700000250}}
reflog delete --verbose 'main@{{2023-11-14 22:18:21 +0000}}'
reflog delete --verbose 'main@{{bogus}}'
reflog delete --rewrite main@{{1}}
reflog delete --rewrite main@{{3}}
reflog delete --updateref main@{{0}}
reflog delete --updateref --dry-run main@{{0}}
reflog delete --rewrite --updateref main@{{0}}
reflog delete --updateref HEAD@{{0}}
reflog delete --updateref refs/x/odd@{{0}}
reflog delete HEAD@{{0}} HEAD@{{0}} main@{{0}}
reflog delete x/odd@{{0}} nosuch@{{0}} foo
reflog delete @{{0}}
reflog delete @{{u}}@{{0}}
reflog delete sym@{{0}}
reflog delete chain@{{0}}
reflog delete light@{{0}}
reflog delete dual@{{0}}
reflog delete worktrees/wt/HEAD@{{0}}
-C wt reflog delete HEAD@{{0}}
-C wt reflog delete main-worktree/HEAD@{{0}}
reflog delete
reflog delete --bogus
"""


@pytest.mark.parametrize("command", DELETE.splitlines())
def test_delete(twins: SceneTwins, command: str) -> None:
    """Single entries go, by number or by date; gaps and refs are mended on demand."""
    twins.check(command)


@only_sha1
def test_delete_needs_a_closing_brace(twins: SceneTwins) -> None:
    """Git takes `main@{1` for a date, and deletes what is older."""
    before = stack_states(twins.ours)
    outcome = run_ours(["reflog", "delete", "main@{1"], twins.ours)
    assert (outcome.status, outcome.stderr) == (255, b"error: not a reflog: main@{1\n")
    assert stack_states(twins.ours) == before


# drop

DROP = """\
reflog drop main
reflog drop refs/heads/main
reflog drop main topic nosuch HEAD
reflog drop --all --single-worktree
-C wt reflog drop --all --single-worktree
reflog drop --all main
reflog drop
reflog drop nosuch
reflog drop @{{u}}
reflog drop main@{{0}}
reflog drop --bogus
"""


@pytest.mark.parametrize("command", DROP.splitlines())
def test_drop(twins: SceneTwins, command: str) -> None:
    """Whole logs go; the refs stay."""
    twins.check(command)


@pytest.mark.parametrize(
    "args", [["--all"], ["worktrees/wt/HEAD", "worktrees/wt/refs/worktree/own"]]
)
def test_drop_reaches_other_worktrees(twins: SceneTwins, args: list[str]) -> None:
    """Logs of other worktrees go too; git (2.50 to 2.55, seen) says so, and leaves them."""
    outcome = run_ours(["reflog", "drop", *args], twins.ours)
    assert outcome == (0, b"", b"")
    states = stack_states(twins.ours)
    assert states["wt"].logs == []
    assert (states[""].logs == []) == (args == ["--all"])
    assert states["wt"].refs == stack_states(twins.theirs)["wt"].refs


# write

WRITE = """\
reflog write refs/heads/new {zero} {main} first
reflog write main {main} {main} x
reflog write refs/heads/main {main} {main} '  spaced \t  words '
reflog write refs/heads/main {main} {main} ''
reflog write refs/heads/main {main} {main}more x
reflog write HEAD {main} {main} x
reflog write SOME_HEAD {zero} {main} x
reflog write FETCH_HEAD {main} {main} x
reflog write refs/heads/main deadbeef {zero} x
reflog write refs/heads/main {zero} zz x
reflog write refs/heads/main {zero}
reflog write 'refs/heads/ bad' {zero} {main} x
-C wt reflog write HEAD {main} {main} inwt
reflog -h
reflog show -h
reflog list -h
reflog exists -h
reflog write -h
reflog delete -h
reflog drop -h
reflog expire -h
reflog write --bogus
"""


@newer_git
@pytest.mark.parametrize("command", WRITE.splitlines())
def test_write_and_help_as_newer_git(twins: SceneTwins, command: str) -> None:
    """`reflog write` and the usage texts, which the git of the test environment has not."""
    twins.check(command)


def test_write(twins: SceneTwins) -> None:
    """An entry is added to the log, and git reads it; the ref stays as it is."""
    main, null = twins.id_of("main"), twins.null
    for old, new, message in ((null, main, "first"), (main, main, " second\nentry ")):
        args = ["reflog", "write", "refs/x/new", old, new, message]
        assert run_ours(args, twins.ours) == (0, b"", b"")
    args = ["log", "--walk-reflogs", "--format=%gs|%gn|%ge|%H"]
    run_git(["update-ref", "refs/x/new", main], twins.ours)
    shown = run_git([*args, "refs/x/new"], twins.ours).stdout.decode().splitlines()
    who = f"C O Mitter|committer@example.com|{main}"
    assert shown == [f"|{who}", f"second entry|{who}", f"first|{who}"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["refs/heads/ bad", "{zero}", "{main}"], "invalid reference name: refs/heads/ bad"),
        (["main", "{zero}", "{main}"], "invalid reference name: main"),
        (["FETCH_HEAD", "{zero}", "{main}"], "invalid reference name: FETCH_HEAD"),
        (["refs/x/y", "abc", "{main}"], "invalid old object ID: 'abc'"),
        (["refs/x/y", "{zero}", "abc"], "invalid new object ID: 'abc'"),
        (["refs/x/y", "{zero}", "{ones}"], "new object '{ones}' does not exist"),
        (["refs/x/y", "{ones}", "{zero}"], "old object '{ones}' does not exist"),
    ],
)
def test_write_refuses(twins: SceneTwins, args: list[str], message: str) -> None:
    """A bad name, or ids that name no object."""
    ids = {"zero": twins.null, "main": twins.id_of("main"), "ones": "1" * len(twins.null)}
    words = [word.format(**ids) for word in args]
    outcome = run_ours(["reflog", "write", *words, "m"], twins.ours)
    assert outcome == (128, b"", f"fatal: {message.format(**ids)}\n".encode())


@only_sha1
def test_write_of_a_null_id_keeps_the_log(twins: SceneTwins) -> None:
    """An entry may end at no object, as in logs of symrefs; git 2.55 deletes the log instead."""
    main = twins.id_of("main")
    before = len(stack_states(twins.ours)[""].logs)
    run_ours(["reflog", "write", "refs/heads/main", main, twins.null, "gone"], twins.ours)
    assert len(stack_states(twins.ours)[""].logs) == before + 1


# Help


def test_help_and_usage(twins: SceneTwins) -> None:
    """Help is asked for: standard output and status 0. A wrong command line is not."""
    asked = run_ours(["reflog", "-h"], twins.ours)
    assert (asked.status, asked.stderr) == (0, b"")
    for name in ("show", "list", "exists", "write", "delete", "drop", "expire"):
        one = run_ours(["reflog", name, "-h"], twins.ours)
        assert (one.status, one.stderr) == (0, b"")
        first = one.stdout.splitlines()[0].removeprefix(b"usage: ")
        assert first in asked.stdout
    wrong = run_ours(["reflog", "exists"], twins.ours)
    assert (wrong.status, wrong.stdout) == (129, b"")
    assert wrong.stderr == b"usage: git reflog exists <ref>\n\n"


# Locks and hooks

LOCKED = """\
reflog expire --all --expire=now
reflog delete main@{{0}}
reflog drop main
"""


@only_sha1
@pytest.mark.parametrize("command", LOCKED.splitlines())
def test_a_held_lock_is_told(twins: SceneTwins, command: str) -> None:
    """The locked stack stays as it is, and the message names the lock; git says nothing."""
    before = stack_states(twins.ours)[""]
    lock = twins.ours / ".git" / "reftable" / "tables.list.lock"
    lock.touch()
    outcome = run_ours(["-c", "reftable.lockTimeout=0", *twins.words(command)], twins.ours)
    assert outcome.status == 255
    assert outcome.stderr.startswith(b"error: ")
    assert str(lock).encode() in outcome.stderr
    assert stack_states(twins.ours)[""] == before
