"""Twin repositories: the same commands given to git in one and to pyreftable in the other.

The git compared with is that of `tests.support` (2.50.1), or the one that `PYREFTABLE_TEST_GIT`
names. pyreftable follows git 2.55, which in a few places says more, or refuses more, than 2.50.1
does: `FOLLOWED` is the first version whose results must all be met; with an older git,
`is_newer` tells the results that cannot be compared.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pyreftable.format.records import LogRecord, RefRecord
from pyreftable.refs.store import RefStore
from tests.command_server import CommandServer, Outcome
from tests.support import find_git, git_env, init_repo, pyreftable_cmd, run_git

FOLLOWED = (2, 55)

#: What only newer gits do: where pyreftable's answer has one of these, an older git's answer,
#: and the state it leaves, may differ.
_NEWER = (
    b"dangling symref already exists",
    b"trying to write",
    b"aborted by the reference-transaction hook",
    b"refname conflict",
)


class State(NamedTuple):
    """What a stack holds: its live refs, and its reflogs newest first."""

    refs: list[RefRecord]
    logs: list[LogRecord]


class Objects(NamedTuple):
    """Ids of the objects in a repository of `make_template`."""

    commits: tuple[str, ...]
    blob: str
    tree: str
    tag: str
    nested_tag: str


@functools.cache
def compared_git() -> str:
    """The git that results are compared with."""
    return os.environ.get("PYREFTABLE_TEST_GIT") or find_git()


@functools.cache
def git_is_followed() -> bool:
    """Whether every result of that git must be met."""
    answer = subprocess.run([compared_git(), "--version"], capture_output=True, check=True)
    version = answer.stdout.split()[2].split(b".")
    return tuple(map(int, version[:2])) >= FOLLOWED


def is_newer(outcome: Outcome) -> bool:
    """Whether pyreftable's `outcome` shows what the git compared with does not do yet."""
    if git_is_followed():
        return False
    return any(mark in outcome.stderr or mark in outcome.stdout for mark in _NEWER)


def run_theirs(
    args: Sequence[str], cwd: Path, input: bytes = b"", env: dict[str, str] | None = None
) -> Outcome:
    """Run the git compared with."""
    return _run([compared_git(), *args], cwd, input, env or git_env(cwd))


def run_ours(
    args: Sequence[str], cwd: Path, input: bytes = b"", env: dict[str, str] | None = None
) -> Outcome:
    """Run pyreftable, under the name of git so that usage texts are the same."""
    env = env or git_env(cwd)
    if hasattr(os, "fork"):
        return _server().run(args, os.fspath(cwd), env, input)
    done = _run([*pyreftable_cmd(), *args], cwd, input, env)
    return done._replace(
        stdout=done.stdout.replace(b"pyreftable ", b"git "),
        stderr=done.stderr.replace(b"pyreftable ", b"git "),
    )


@functools.cache
def _server() -> CommandServer:
    server = CommandServer()
    atexit.register(server.close)
    return server


def _run(command: Sequence[str], cwd: Path, data: bytes, env: Mapping[str, str]) -> Outcome:
    words = [os.fsencode(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=env, input=data, capture_output=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def read_state(repo: Path, worktree: str | None = None) -> State:
    """What the main stack (or a worktree's) holds, read by pyreftable: no command lists it all."""
    with RefStore.open(os.fspath(repo), environ=git_env(repo)) as store:
        merged = store.stack(worktree).snapshot().merged
        return State(
            [record for record in merged.refs() if not record.is_deletion],
            [record for record in merged.logs() if not record.is_deletion],
        )


@functools.cache
def make_template(home: Path, object_format: str) -> tuple[Path, Objects]:
    """A bare-bones repository with some objects and no refs, to be copied."""
    repo = init_repo(home / f"template-{object_format}", object_format=object_format)

    def run(*args: str, input: bytes = b"") -> str:
        return run_git(args, repo, input=input).stdout.decode().strip()

    blob = run("hash-object", "-w", "--stdin", input=b"content\n")
    tree = run("mktree", input=f"100644 blob {blob}\tfile\n".encode())
    commits: list[str] = []
    for number in range(3):
        parents = [word for parent in commits[-1:] for word in ("-p", parent)]
        commits.append(run("commit-tree", "-m", f"commit {number}", *parents, tree))
    tag = run("mktag", input=_tag(commits[0], "commit", "v1"))
    nested = run("mktag", input=_tag(tag, "tag", "v2"))
    return repo, Objects(tuple(commits), blob, tree, tag, nested)


def _tag(target: str, kind: str, name: str) -> bytes:
    tagger = "A U Thor <author@example.com> 1700000000 +0000"
    text = f"object {target}\ntype {kind}\ntag {name}\ntagger {tagger}\n\nmessage\n"
    return text.encode()


#: What a furnished repository has: `sym` leads to a branch, `dangling` nowhere.
SETUP = """\
create refs/heads/main {c0}
create refs/heads/side {c1}
create refs/heads/dir/leaf {c0}
create refs/tags/v1 {tag}
create refs/tags/blob {blob}
create refs/meta/plain {c0}
symref-create refs/heads/sym refs/heads/side
symref-create refs/meta/dangling refs/heads/nowhere
symref-create refs/meta/chain refs/heads/sym
"""


@functools.cache
def furnished_twins(home: Path, object_format: str) -> tuple[Twins, Objects]:
    """Twins with the refs of `SETUP`, made once; `reset` them before each use."""
    template, objects = make_furnished(home, object_format)
    return Twins(home / f"twins-{object_format}", template), objects


@functools.cache
def make_furnished(home: Path, object_format: str) -> tuple[Path, Objects]:
    """A copy of the template with the refs of `SETUP`."""
    template, objects = make_template(home, object_format)
    repo = home / f"furnished-{object_format}"
    shutil.copytree(template, repo, symlinks=True)
    args = ["update-ref", "--no-deref", "--stdin", "-m", "set up"]
    run_git(args, repo, input=fill(SETUP, objects).encode())
    return repo, objects


def fill(text: str, objects: Objects) -> str:
    """`text` with object ids put in for `{c0}`, `{tag}` and so on."""
    c0, c1, c2 = objects.commits
    values = {
        "c0": c0,
        "c1": c1,
        "c2": c2,
        "blob": objects.blob,
        "tree": objects.tree,
        "tag": objects.tag,
        "nested": objects.nested_tag,
        "zero": "0" * len(c0),
        "missing": "1" * len(c0),
        "short": c1[:7],
        "upper": c1.upper(),
    }
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


class Twins:
    """Two copies of a template: `theirs` is git's, `ours` pyreftable's."""

    def __init__(self, home: Path, template: Path) -> None:
        self.theirs = home / "theirs"
        self.ours = home / "ours"
        self._template = template
        for repo in (self.theirs, self.ours):
            shutil.copytree(template, repo, symlinks=True)

    def reset(self) -> None:
        """Give both the template's refs again, and no hooks; quicker than new ones."""
        for repo in (self.theirs, self.ours):
            shutil.rmtree(repo / ".git" / "hooks", ignore_errors=True)
            shutil.rmtree(repo / ".git" / "reftable")
            shutil.copytree(self._template / ".git" / "reftable", repo / ".git" / "reftable")

    def prepare(self, *args: str, input: bytes = b"") -> None:
        """Let git do the same in both."""
        for repo in (self.theirs, self.ours):
            run_git(args, repo, input=input)

    def run(
        self, args: Sequence[str], input: bytes = b"", env: dict[str, str] | None = None
    ) -> tuple[Outcome, Outcome]:
        """Run a command in each: git's outcome and pyreftable's."""
        extra = env or {}
        theirs = run_theirs(args, self.theirs, input, git_env(self.theirs) | extra)
        return theirs, run_ours(args, self.ours, input, git_env(self.ours) | extra)

    def check_same_state(self) -> State:
        """Both hold the same, as the tables have it; returns it."""
        ours = read_state(self.ours)
        assert ours == read_state(self.theirs)
        return ours

    def check_same_to_git(self) -> None:
        """Both look the same to git, which knows how to read both."""
        for args in (
            ["for-each-ref", "--format=%(refname) %(objectname) %(symref) %(*objectname)"],
            ["symbolic-ref", "HEAD"],
            ["reflog", "list"],
            ["reflog", "show", "--format=%H %gD %gn %ge %gs", "HEAD"],
        ):
            assert run_theirs(args, self.ours) == run_theirs(args, self.theirs)


class WorktreeTwins(Twins):
    """Twins with a linked worktree in the folder `wt`; both stacks are reset and compared."""

    _STACKS = (".git/reftable", ".git/worktrees/wt/reftable")

    def reset(self) -> None:
        """Give both the template's refs again."""
        for repo in (self.theirs, self.ours):
            for stack in self._STACKS:
                shutil.rmtree(repo / stack)
                shutil.copytree(self._template / stack, repo / stack)

    def check_same_state(self) -> State:
        """Both hold the same in both stacks; returns what the main stack holds."""
        assert read_state(self.ours, "wt") == read_state(self.theirs, "wt")
        return super().check_same_state()


@functools.cache
def worktree_twins(home: Path, object_format: str) -> tuple[WorktreeTwins, Objects]:
    """Twins with the refs of `SETUP` and a worktree on a branch; `reset` them before each use."""
    template, objects = make_furnished(home, object_format)
    repo = home / f"worktree-{object_format}"
    shutil.copytree(template, repo, symlinks=True)
    run_git(["worktree", "add", "-q", "--no-checkout", "wt", "side"], repo)
    # Relative paths, so that a copy's worktree belongs to the copy.
    (repo / "wt" / ".git").write_text("gitdir: ../.git/worktrees/wt\n")
    (repo / ".git" / "worktrees" / "wt" / "gitdir").write_text("../../../wt/.git\n")
    return WorktreeTwins(home / f"worktree-twins-{object_format}", repo), objects
