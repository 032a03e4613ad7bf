"""The reference-transaction hook, call by call as git runs it.

A hook writes down its name, argument, folder, the variables that git sets, and its input; what it
wrote must be the same after git and after pyreftable, and so must the command's outcome. With a
git older than the one followed (see `tests.twins`), what only newer ones have is left out: the
phase "preparing" from what is compared, hooks from the configuration whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command_server import Outcome
from tests.support import git_env, run_git
from tests.twins import git_is_followed, run_ours, run_theirs

pytestmark = pytest.mark.skipif(os.name == "nt", reason="hooks are shell scripts")

FOLLOWED = pytest.mark.skipif(
    not git_is_followed(), reason="the git compared with does not know these hooks"
)

_HOOK = r"""#!/bin/sh
{
    echo "== $0 $*"
    pwd
    env | grep -E '^GIT_(DIR|PREFIX|.*WORK_TREE|CONFIG_PARAMETERS|NAMESPACE)=' | sort
    cat
} >>"$LOG"
"""

#: Place in the site -> the git directory whose hooks run there.
_PLACES = {
    "plain": "plain/.git",
    "plain/a/b": "plain/.git",
    "plain/.git": "plain/.git",
    "plain/.git/objects": "plain/.git",
    "linked": "plain/.git",
    "linked/a": "plain/.git",
    "separate": "elsewhere.git",
    "separate/a": "elsewhere.git",
    "bare.git": "bare.git",
    "bare.git/objects": "bare.git",
}


class Side(NamedTuple):
    """One of the two: its folder, and the environment for what runs there."""

    folder: Path
    env: dict[str, str]
    is_ours: bool

    @property
    def log(self) -> Path:
        """What hooks have written."""
        return Path(self.env["LOG"])

    def run(self, place: str, args: list[str], input: bytes, env: dict[str, str]) -> Outcome:
        """Run a command in one place of the site."""
        self.log.write_bytes(b"")
        run = run_ours if self.is_ours else run_theirs
        outcome = run(args, self.folder / place, input, {**self.env, **env})
        base = os.fsencode(self.folder)
        return outcome._replace(
            stdout=outcome.stdout.replace(base, b"BASE"),
            stderr=outcome.stderr.replace(base, b"BASE"),
        )

    def calls(self) -> list[str]:
        """The calls of hooks that the last command made."""
        text = self.log.read_text().replace(os.fspath(self.folder), "BASE")
        calls = text.split("== ")[1:]
        if git_is_followed():
            return calls
        return [call for call in calls if not call.partition("\n")[0].endswith(" preparing")]


class Sides:
    """Git's side and ours, with the same repositories, made by git."""

    def __init__(self, folder: Path) -> None:
        self.both = [self._make(folder / name, name == "ours") for name in ("theirs", "ours")]
        self.oid = self._git(self.both[0], "plain", "rev-parse", "HEAD")

    def run(
        self,
        place: str,
        *args: str,
        input: str = "",
        env: dict[str, str] | None = None,
        same_output: bool = True,
    ) -> list[str]:
        """Run a command on both sides, which must agree; the calls of hooks."""
        words = [arg.replace("OID", self.oid) for arg in args]
        data = input.replace("OID", self.oid).encode()
        theirs, ours = (side.run(place, words, data, env or {}) for side in self.both)
        if same_output:
            assert ours == theirs
        their_calls, our_calls = (side.calls() for side in self.both)
        assert our_calls == their_calls
        self.outcome = ours
        return our_calls

    def install(self, git_dir: str, text: str = _HOOK, mode: int = 0o755) -> None:
        """Put a hook into a git directory of both."""
        for side in self.both:
            hook = side.folder / git_dir / "hooks/reference-transaction"
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(text)
            hook.chmod(mode)

    def remove_hooks(self) -> None:
        """Remove all hooks again."""
        for side in self.both:
            for git_dir in set(_PLACES.values()):
                shutil.rmtree(side.folder / git_dir / "hooks", ignore_errors=True)

    def git(self, place: str, *args: str) -> None:
        """Let git prepare something on both sides."""
        for side in self.both:
            self._git(side, place, *(arg.replace("OID", self.oid) for arg in args))

    @staticmethod
    def _git(side: Side, place: str, *args: str) -> str:
        return run_git(args, side.folder / place, env=side.env).stdout.decode().strip()

    def _make(self, folder: Path, is_ours: bool) -> Side:
        folder.mkdir()
        side = Side(folder, git_env(folder) | {"LOG": os.fspath(folder / "log")}, is_ours)
        side.log.touch()
        for name, options in {
            "plain": [],
            "bare.git": ["--bare"],
            "separate": [f"--separate-git-dir={folder}/elsewhere.git"],
        }.items():
            self._git(side, ".", "init", "-q", "--ref-format=reftable", "-bmain", *options, name)
        self._git(side, "plain", "commit", "-q", "--allow-empty", "-m", "x")
        self._git(side, "plain", "worktree", "add", "-q", "-b", "topic", "../linked")
        for git_dir in ("bare.git", "elsewhere.git"):
            shutil.copytree(
                folder / "plain/.git/objects", folder / git_dir / "objects", dirs_exist_ok=True
            )
        for path in ("plain/a/b", "linked/a", "separate/a"):
            (folder / path).mkdir(parents=True)
        return side


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Sides:
    return Sides(tmp_path_factory.mktemp("hooks").resolve())


@pytest.fixture
def sides(made: Sides) -> Iterator[Sides]:
    yield made
    made.remove_hooks()


def new_ref(request: pytest.FixtureRequest) -> str:
    """A ref that no other test has."""
    return f"refs/heads/{abs(hash(request.node.nodeid))}"


class TestSurroundings:
    """The folder and variables with which a hook starts."""

    @pytest.mark.parametrize("place", _PLACES)
    def test_where_it_starts(
        self, sides: Sides, request: pytest.FixtureRequest, place: str
    ) -> None:
        sides.install(_PLACES[place])
        assert sides.run(place, "update-ref", new_ref(request), "OID")

    @pytest.mark.parametrize(
        ("place", "options"),
        [
            ("plain", ["-C", "a"]),
            (".", ["--git-dir=plain/.git"]),
            ("plain", ["--git-dir=.git"]),
            ("plain/a", ["--git-dir=../.git"]),
            ("plain/a", ["--git-dir=../.git", "--work-tree=.."]),
            (".", ["--git-dir=plain/.git", "--work-tree=plain"]),
            ("plain/a", ["--work-tree=.."]),
            ("plain", ["--work-tree=a"]),
            ("plain/.git", ["--bare"]),
            ("plain", ["-c", "core.bare=true"]),
            ("plain", ["--namespace=ns", "-c", "some.key=value"]),
        ],
    )
    def test_with_options(
        self, sides: Sides, request: pytest.FixtureRequest, place: str, options: list[str]
    ) -> None:
        sides.install("plain/.git")
        assert sides.run(place, *options, "update-ref", new_ref(request), "OID")

    @pytest.mark.parametrize("place", ["plain", "plain/a", "linked", "bare.git/objects"])
    @pytest.mark.parametrize("path", ["own hooks", "./own hooks", "../own hooks", "{absolute}"])
    def test_hooks_path(
        self, sides: Sides, request: pytest.FixtureRequest, place: str, path: str
    ) -> None:
        for side in sides.both:
            for folder in ("plain", "linked", "bare.git", "bare.git/objects", "."):
                target = side.folder / folder / "own hooks"
                target.mkdir(exist_ok=True)
                (target / "reference-transaction").write_text(_HOOK)
                (target / "reference-transaction").chmod(0o755)
            chosen = path.replace("{absolute}", f"{side.folder}/own hooks")
            for repository in ("plain", "bare.git"):
                run_git(
                    ["config", "core.hooksPath", chosen], side.folder / repository, env=side.env
                )
        try:
            assert sides.run(place, "update-ref", new_ref(request), "OID")
        finally:
            for repository in ("plain", "bare.git"):
                sides.git(repository, "config", "--unset", "core.hooksPath")


class TestInput:
    """What a hook is told of each transaction."""

    def test_everything_that_a_transaction_can_do(self, sides: Sides) -> None:
        sides.git("plain", "update-ref", "refs/in/old", "OID")
        sides.git("plain", "symbolic-ref", "refs/in/sym", "refs/in/old")
        sides.install("plain/.git")
        commands = """\
create refs/in/new OID
update refs/in/old OID OID
verify refs/in/none
symref-create refs/in/made refs/in/old
symref-update refs/in/moved refs/in/new
option no-deref
symref-verify refs/in/absent
option no-deref
update refs/in/sym OID
"""
        phases = ["prepared", "committed"]
        if git_is_followed():
            phases.insert(0, "preparing")
        calls = sides.run("plain", "update-ref", "--stdin", input=commands)
        assert [call.split("\n")[0].split()[-1] for call in calls] == phases
        commands = """\
option no-deref
symref-update refs/in/moved refs/in/old ref refs/in/new
option no-deref
symref-delete refs/in/made refs/in/old
delete refs/in/new
"""
        assert len(sides.run("plain", "update-ref", "--stdin", input=commands)) == len(phases)

    @pytest.mark.parametrize("place", ["plain", "linked"])
    def test_head_and_its_branch(self, sides: Sides, place: str) -> None:
        sides.install("plain/.git")
        branch = {"plain": "main", "linked": "topic"}[place]
        for args in (
            ["update-ref", "HEAD", "OID"],
            ["update-ref", f"refs/heads/{branch}", "OID"],
            ["update-ref", "-d", "HEAD"],
            ["update-ref", "HEAD", "OID"],
            ["symbolic-ref", "HEAD", "refs/heads/elsewhere"],
            ["symbolic-ref", "-m", "back", "HEAD", f"refs/heads/{branch}"],
            ["update-ref", "--no-deref", "HEAD", "OID"],
            ["symbolic-ref", "HEAD", f"refs/heads/{branch}"],
        ):
            assert sides.run(place, *args)

    def test_refs_of_worktrees(self, sides: Sides) -> None:
        sides.install("plain/.git")
        commands = "create refs/worktree/hooked OID\ncreate refs/heads/hooked OID\n"
        assert sides.run("linked", "update-ref", "--stdin", input=commands)
        assert sides.run("plain", "update-ref", "worktrees/linked/refs/worktree/hooked", "OID")

    def test_explicit_transactions(self, sides: Sides) -> None:
        sides.install("plain/.git")
        commands = """\
start
create refs/explicit/a OID
prepare
commit
start
create refs/explicit/b OID
prepare
abort
start
create refs/explicit/c OID
abort
start
create refs/explicit/d OID
"""
        calls = sides.run("plain", "update-ref", "--stdin", input=commands)
        assert [call.split("\n")[0].split()[-1] for call in calls if "preparing" not in call] == [
            "prepared",
            "committed",
            "prepared",
            "aborted",
            "aborted",
            "aborted",
        ]

    def test_what_is_refused_is_not_told_as_aborted(self, sides: Sides) -> None:
        sides.install("plain/.git")
        sides.run("plain", "update-ref", "--stdin", input="create refs/heads/main OID\n")
        sides.run("plain", "update-ref", "--stdin", input="create refs/heads/main/x OID\n")
        sides.run("plain", "update-ref", "--stdin", input="")
        sides.run(
            "plain", "update-ref", "refs/heads/q", "OID", env={"GIT_QUARANTINE_PATH": "/nowhere"}
        )
        assert sides.both[1].calls() == []

    def test_batch_updates(self, sides: Sides) -> None:
        if not git_is_followed():
            pytest.skip("git 2.50 stores rejected updates otherwise")
        sides.install("plain/.git")
        commands = """\
create refs/heads/main OID
create refs/batch/good OID
create refs/batch/good/x OID
"""
        assert sides.run("plain", "update-ref", "--stdin", "--batch-updates", input=commands)

    def test_other_commands(self, sides: Sides) -> None:
        sides.install("plain/.git")
        for args in (
            ["update-ref", "refs/other/a", "OID"],
            ["pack-refs"],
            ["reflog", "expire", "--all", "--expire=now"],
            ["reflog", "delete", "HEAD@{0}"],
            ["symbolic-ref", "refs/other/s", "refs/other/a"],
            ["symbolic-ref", "-d", "refs/other/s"],
            ["update-ref", "-d", "refs/other/a"],
        ):
            sides.run("plain", *args)

    def test_a_hook_need_not_read(self, sides: Sides) -> None:
        sides.install("plain/.git", "#!/bin/sh\nexit 0\n")
        commands = "".join(f"create refs/unread/{'x' * 60}{n} OID\n" for n in range(2000))
        sides.run("plain", "update-ref", "--stdin", input=commands)
        assert sides.outcome.status == 0


class TestProgram:
    """Which file is run, how, and what its end means."""

    @pytest.mark.parametrize("phase", ["preparing", "prepared", "committed", "aborted"])
    def test_refusing(self, sides: Sides, request: pytest.FixtureRequest, phase: str) -> None:
        if phase == "preparing" and not git_is_followed():
            pytest.skip("the git compared with has no such phase")
        sides.install("plain/.git", f'{_HOOK}echo "$1" says no; test "$1" != {phase}\n')
        ref = new_ref(request)
        same = git_is_followed()
        sides.run("plain", "update-ref", ref, "OID", same_output=same)
        assert sides.outcome.status == (128 if phase in ("preparing", "prepared") else 0)
        for args in (
            ["symbolic-ref", "refs/heads/s", ref],
            ["symbolic-ref", "-d", "refs/heads/s"],
            ["update-ref", "-d", ref],
        ):
            sides.run("plain", *args, same_output=same)
        commands = f"start\ncreate {ref} OID\nprepare\nabort\n"
        sides.run("plain", "update-ref", "--stdin", input=commands, same_output=same)

    @pytest.mark.parametrize("end", ["exit 3", "kill -9 $$", "kill -2 $$"])
    def test_ends_other_than_success(self, sides: Sides, end: str) -> None:
        sides.install("plain/.git", f"#!/bin/sh\n{end}\n")
        sides.run("plain", "update-ref", "refs/end/x", "OID", same_output=git_is_followed())
        assert sides.outcome.status == 128

    def test_it_is_asked_while_the_lock_is_held(self, sides: Sides) -> None:
        body = (
            '{ echo "== hook $1"; ls .git/reftable | grep lock; } >>"$LOG"; test "$1" != prepared\n'
        )
        sides.install("plain/.git", "#!/bin/sh\n" + body)
        sides.run("plain", "update-ref", "refs/lock/x", "OID", same_output=git_is_followed())
        assert sides.both[1].calls()[-2:] == [
            "hook prepared\ntables.list.lock\n",
            "hook aborted\n",
        ]

    def test_without_a_first_line_it_is_for_the_shell(self, sides: Sides) -> None:
        sides.install("plain/.git", _HOOK.partition("\n")[2])
        assert sides.run("plain", "update-ref", "refs/shell/x", "OID")

    def test_output_goes_to_stderr(self, sides: Sides) -> None:
        sides.install("plain/.git", "#!/bin/sh\necho out; echo err >&2\n")
        sides.run("plain", "update-ref", "refs/out/x", "OID", same_output=git_is_followed())
        assert sides.outcome.stdout == b""
        assert sides.outcome.stderr.startswith(b"out\nerr\nout\nerr\n")

    def test_not_executable(self, sides: Sides) -> None:
        sides.install("plain/.git", mode=0o644)
        sides.run("plain", "update-ref", "refs/mode/x", "OID")
        assert b"was ignored because it's not set as executable" in sides.outcome.stderr
        for options in (["-c", "advice.ignoredHook=false"], ["-c", "advice.ignoredHook=no"]):
            sides.run("plain", *options, "update-ref", "refs/mode/y", "OID")
            assert sides.outcome.stderr == b""
        sides.run("plain", "update-ref", "refs/mode/z", "OID", env={"GIT_ADVICE": "0"})
        assert sides.outcome.stderr == b""

    def test_what_cannot_be_run(self, sides: Sides) -> None:
        sides.install("plain/.git", "#!/nonexistent/interpreter\n")
        sides.run("plain", "update-ref", "refs/run/x", "OID", same_output=git_is_followed())
        sides.remove_hooks()
        for side in sides.both:
            (side.folder / "plain/.git/hooks/reference-transaction").mkdir(parents=True)
        sides.run("plain", "update-ref", "refs/run/y", "OID", same_output=git_is_followed())


_EVENT = "hook.x.event=reference-transaction"
_OTHER = "hook.y.event=reference-transaction"
_SAYS = 'hook.{}.command=echo {} "$0"'


@FOLLOWED
class TestConfigured:
    """Hooks from the configuration."""

    @pytest.mark.parametrize(
        "settings",
        [
            [_EVENT, _SAYS.format("x", "x")],
            [_EVENT, "hook.x.command=echo"],
            [_EVENT, "hook.x.command=no-such-program", _OTHER, _SAYS.format("y", "y")],
            [_EVENT, "hook.x.command=/no/such/program"],
            [_EVENT],
            ["hook.x.event=update"],
            ["hook.update.event=reference-transaction", "hook.update.command=echo"],
            [_EVENT, "hook.x.enabled=false"],
            [_EVENT, _SAYS.format("x", "x"), "hook.x.enabled=false"],
            [_EVENT, _SAYS.format("x", "x"), "hook.x.enabled=false", "hook.x.enabled=true"],
            [_EVENT, _SAYS.format("x", "x"), "hook.x.enabled=maybe"],
            [_EVENT, _SAYS.format("x", "x"), "hook.reference-transaction.enabled=false"],
            ["hook.x.event=x", _SAYS.format("x", "x")],
            ["hook.x.event"],
            ["hook.x.command"],
            ["hook.jobs"],
            [_EVENT, _SAYS.format("x", "x"), _OTHER, _SAYS.format("y", "y")],
            [_EVENT, _SAYS.format("x", "x"), _OTHER, _SAYS.format("y", "y"), _EVENT],
            [_EVENT, _SAYS.format("x", "x"), _OTHER, _SAYS.format("y", "y"), "hook.x.event="],
            [_EVENT, "hook.x.command=exit 3; #", _OTHER, _SAYS.format("y", "y")],
            [_EVENT, 'hook.x.command={ echo "== conf $1"; cat; } >>"$LOG"; #'],
        ],
    )
    @pytest.mark.parametrize("with_file", [False, True])
    def test_settings(
        self,
        sides: Sides,
        request: pytest.FixtureRequest,
        settings: list[str],
        with_file: bool,
    ) -> None:
        if with_file:
            sides.install("plain/.git")
        options = [word for setting in settings for word in ("-c", setting)]
        sides.run("plain", *options, "update-ref", new_ref(request), "OID")

    def test_from_a_file(self, sides: Sides) -> None:
        sides.git("plain", "config", "hook.f.event", "reference-transaction")
        sides.git("plain", "config", "hook.f.command", "false")
        try:
            sides.run("plain", "update-ref", "refs/file/x", "OID")
            assert sides.outcome.status == 128
            sides.git("plain", "config", "--unset", "hook.f.command")
            sides.run("plain", "symbolic-ref", "refs/file/x", "refs/heads/main")
            assert sides.outcome.status == 128
        finally:
            sides.git("plain", "config", "--remove-section", "hook.f")
