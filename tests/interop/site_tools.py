"""Repositories of every kind, and what git and pyreftable find from a folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from pyreftable.errors import ConfigError, RepositoryError
from pyreftable.refs.repository import discover
from tests.support import git_env, run_git

Answer = dict[str, str] | str

QUESTIONS = {
    "git_dir": "--absolute-git-dir",
    "common_dir": "--git-common-dir",
    "is_bare": "--is-bare-repository",
    "hash": "--show-object-format",
    "ref_storage": "--show-ref-format",
}


def ask_git(folder: Path, environ: Mapping[str, str]) -> Answer:
    """What git finds from `folder`, or the message with which it refuses."""
    command = ["rev-parse", "--path-format=absolute", *QUESTIONS.values()]
    done = run_git(command, folder, env=environ, check=False)
    if done.returncode:
        return _normalized(done.stderr.decode().strip())
    answer = dict(zip(QUESTIONS, os.fsdecode(done.stdout).splitlines(), strict=True))
    top = run_git(["rev-parse", "--show-toplevel"], folder, env=environ, check=False)
    answer["work_tree"] = os.fsdecode(top.stdout).strip() or "none"
    return answer


def _normalized(message: str) -> str:
    """`message`, or the same words for one that newer gits word differently (as we do)."""
    for start in ("fatal: not a git repository: /", "fatal: gitfile does not point to"):
        if message.startswith(start):
            return "fatal: broken gitfile"
    return message


def ask_us(folder: Path, environ: Mapping[str, str]) -> Answer:
    try:
        repository = discover(folder, environ=environ)
    except (ConfigError, RepositoryError) as error:
        reasons = (
            [f"error: {error.__cause__}\n"] if isinstance(error.__cause__, ConfigError) else []
        )
        return _normalized("".join(reasons) + f"fatal: {error}")
    return {
        "git_dir": os.path.realpath(repository.git_dir),
        "common_dir": os.path.realpath(repository.common_dir),
        "is_bare": str(repository.is_bare).lower(),
        "hash": repository.hash.name,
        "ref_storage": repository.ref_storage,
        "work_tree": repository.work_tree or "none",
    }


class Site:
    """Repositories of every kind in one folder, made by git once for all tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = git_env(folder)
        self.plain = self.make("plain")
        self.bare = self.make("bare.git", "--bare")
        self.sha256 = self.make("sha256", "--object-format=sha256")
        self.files = self.make("files", "--ref-format=files")
        self.separate = self.make("separate", f"--separate-git-dir={folder}/elsewhere.git")
        self.empty = folder / "empty"
        self.empty.mkdir()
        for repo in (self.plain, self.separate):
            (repo / "a/b").mkdir(parents=True)
        run_git(["commit", "-q", "--allow-empty", "-m", "x"], self.plain, env=self.environ)
        run_git(["worktree", "add", "-q", str(folder / "linked")], self.plain, env=self.environ)
        (folder / "linked/a").mkdir()
        (folder / "link-to-plain").symlink_to(self.plain)
        (folder / "outside").mkdir()
        (folder / "outside/.git").symlink_to(self.plain / ".git")

    def make(self, name: str, *options: str) -> Path:
        chosen = ["--ref-format=reftable", "-b", "main", *options]
        run_git(["init", "-q", *chosen, name], self.folder, env=self.environ)
        return self.folder / name

    def copy(self, name: str, to: Path) -> Path:
        """A private copy of a repository, to be changed by one test."""
        shutil.copytree(self.folder / name, to / name, symlinks=True)
        return to / name


def check(folder: Path, environ: Mapping[str, str]) -> Answer:
    """Ask both, who must agree; their paths in messages are made relative."""
    ours = ask_us(folder, environ)
    if isinstance(ours, str):
        ours = ours.replace(f"file {folder}/", "file ")
    assert ours == ask_git(folder, environ)
    return ours
