"""A repository, a home and a system folder, and what git and pyreftable read as settings."""

from __future__ import annotations

import os
from pathlib import Path

from pyreftable.errors import ConfigError
from pyreftable.refs.repository import discover
from tests.support import git_env, run_git


class Scene:
    """A repository with a home and a system folder of its own, and git's view of its settings."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.repo = folder / "repo"
        (self.home / ".config/git").mkdir(parents=True)
        environ = git_env(self.home)
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
            del environ[name]
        self.environ = environ | {"GIT_CONFIG_SYSTEM": str(folder / "system")}
        self.system = folder / "system"
        self.xdg = self.home / ".config/git/config"
        self.user = self.home / ".gitconfig"
        self.parameters: list[str] = []
        run_git(["init", "-q", "-b", "main", "--ref-format=reftable", str(self.repo)], folder)
        self.local = self.repo / ".git/config"

    def append(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text)

    def git(self, folder: Path) -> list[tuple[str, str, str | None]] | str:
        options = [word for parameter in self.parameters for word in ("-c", parameter)]
        command = [*options, "config", "--list", "--null", "--show-scope"]
        done = run_git(command, folder, env=self.environ, check=False)
        if done.returncode:
            return done.stderr.decode().strip().splitlines()[-1].removeprefix("fatal: ")
        words = os.fsdecode(done.stdout).split("\0")[:-1]
        pairs = zip(words[::2], words[1::2], strict=True)
        return [
            (
                scope,
                setting.partition("\n")[0],
                setting.partition("\n")[2] if "\n" in setting else None,
            )
            for scope, setting in pairs
        ]

    def ours(self, folder: Path) -> list[tuple[str, str, str | None]] | str:
        try:
            config = discover(folder, environ=self.environ, config=self.parameters).config
            return [(entry.origin.scope, entry.key, entry.value) for entry in config]
        except ConfigError as error:
            return str(error).replace(f"{self.repo}/", "")

    def assert_equal(self, folder: Path | None = None) -> set[str]:
        """Both read the same; returns the keys, so that a test can say which it meant."""
        where = folder or self.repo
        settings = self.git(where)
        assert self.ours(where) == settings
        assert isinstance(settings, list), settings
        return {key for _, key, _ in settings}
