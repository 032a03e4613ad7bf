"""Whether a repository that was found, not named, may be trusted.

A repository's configuration can make programs run. So one that another user owns is refused
unless `safe.directory` lists it, and a bare one inside a work tree may be refused by
`safe.bareRepository`. Both are read from the scopes that the repository has no hand in: system,
global and command.

Source: `git-config`, `safe.directory` and `safe.bareRepository`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import RepositoryError
from .config import Config, bad_variable
from .config_files import read_sequence
from .config_values import expand_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .config_files import ConfigContext

_UNQUOTED = frozenset("+,-./:=@_^")


def check_listed(folder: str, protected: ConfigContext, start: str) -> None:
    """Refuse the repository, which another user owns, unless `safe.directory` lists it.

    `folder` identifies it: the work tree, or a bare repository's git directory. Relative values
    of `safe.directory` start from `start`. Raises `RepositoryError` as git words it.
    """
    if not _is_listed(os.path.realpath(folder), protected, start):
        raise RepositoryError(
            f"detected dubious ownership in repository at '{folder}'\n"
            "To add an exception for this directory, call:\n\n"
            f"\tgit config --global --add safe.directory {_shell_quoted(folder)}"
        )


def check_bare_repository(folder: str, protected: ConfigContext) -> None:
    """Refuse a bare repository that was come upon, where `safe.bareRepository` is `explicit`.

    A git directory that belongs to a work tree is no bare one, even when it looks like one.
    Raises `RepositoryError`.
    """
    config = Config(lambda: read_sequence(protected), protected.environ)
    for entry in config.entries("safe.bareRepository"):
        if entry.value not in ("all", "explicit"):
            raise bad_variable(entry, f"invalid value for '{entry.key}': '{entry.value}'")
    if config.get("safe.bareRepository") != "explicit" or _belongs_to_work_tree(folder):
        return
    raise RepositoryError(
        f"cannot use bare repository '{folder}' (safe.bareRepository is 'explicit')"
    )


def _belongs_to_work_tree(folder: str) -> bool:
    embedded = ("/.git/worktrees/", "/.git/modules/")
    return os.path.basename(folder) == ".git" or any(part in folder for part in embedded)


def _is_listed(folder: str, protected: ConfigContext, start: str) -> bool:
    """Whether the last `safe.directory` that concerns `folder` trusts it; an empty one resets."""
    listed = False
    for entry in Config(lambda: read_sequence(protected)).entries("safe.directory"):
        if not entry.value:
            listed = False
        elif entry.value == "*":
            listed = True
        else:
            listed = listed or _names(entry.value, folder, protected.environ, start)
    return listed


def _names(value: str, folder: str, environ: Mapping[str, str], start: str) -> bool:
    optional = value.startswith(":(optional)")
    path = expand_path(value.removeprefix(":(optional)"), environ)
    if path is None:
        raise RepositoryError(f"failed to expand user dir in: '{value}'")
    if path != "." and not os.path.isabs(path):
        return False
    if optional and not os.path.exists(path):
        return False
    real = os.path.realpath(os.path.join(start, path))
    if real.endswith("/*"):
        return folder.startswith(real[:-1])
    return folder == real


def _shell_quoted(text: str) -> str:
    if text and all(char.isascii() and (char.isalnum() or char in _UNQUOTED) for char in text):
        return text
    return "'" + text.replace("'", "'\\''").replace("!", "'\\!'") + "'"
