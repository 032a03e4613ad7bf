"""Finding the git directory of a folder: upwards until one is found, or a limit is reached.

In each folder, in this order: `.git` as a file that points to a git directory, `.git` as a git
directory, and the folder itself as a bare repository. The search ends below the folders of
GIT_CEILING_DIRECTORIES and, unless GIT_DISCOVERY_ACROSS_FILESYSTEM is true, at a mount point.

Source: `git`, the environment variables; `gitrepository-layout`; the order is git's behaviour.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import RepositoryError
from .config_values import env_bool
from .gitdir import is_git_directory, read_gitfile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .config_files import ConfigContext
    from .gitdir import Overrides


_ROOT = 0


class Found:
    """Where a search ended: the git directory, and the folder in which it was found.

    `is_bare` says that they are the same: a bare repository, or the inside of a `.git`.
    """

    __slots__ = ("folder", "git_dir", "is_bare")

    def __init__(self, git_dir: str, folder: str, is_bare: bool) -> None:
        self.git_dir = git_dir
        self.folder = folder
        self.is_bare = is_bare


def find_git_dir(start: str, overrides: Overrides, protected: ConfigContext) -> Found:
    """Search from the absolute folder `start` upwards.

    `protected` is the configuration that counts before a repository is known. Raises
    `RepositoryError`: nothing found, a broken `.git` file, or an owner that is not trusted.
    """
    for folder in _upwards(start, protected.environ):
        base = folder.rstrip("/")
        path = f"{base}/.git"
        git_dir = read_gitfile(path, overrides)
        if git_dir is not None:
            _check_owner([path, folder, git_dir], folder, protected, start)
            return Found(git_dir, folder, False)
        if is_git_directory(path, overrides):
            _check_owner([folder, path], folder, protected, start)
            return Found(path, folder, False)
        if is_git_directory(base, overrides):
            from .ownership import check_bare_repository

            check_bare_repository(folder, protected)
            _check_owner([folder], folder, protected, start)
            return Found(folder, folder, True)
    raise RepositoryError("not a git repository (or any of the parent directories): .git")


def _check_owner(paths: Sequence[str], folder: str, protected: ConfigContext, start: str) -> None:
    """Refuse files of another user unless the configuration trusts `folder`."""
    if hasattr(os, "geteuid") and not _owns_all(paths, protected.environ):
        from .ownership import check_listed

        check_listed(folder, protected, start)


def _owns_all(paths: Sequence[str], environ: Mapping[str, str]) -> bool:
    user = os.geteuid()
    owners = {user}
    if user == _ROOT:
        owners.add(_sudo_user(environ))
    try:
        return all(os.lstat(path).st_uid in owners for path in paths)
    except OSError:
        return False


def _sudo_user(environ: Mapping[str, str]) -> int:
    """The user who called sudo: root trusts that user's files as well as its own."""
    value = environ.get("SUDO_UID", "")
    return int(value) if value.isascii() and value.isdigit() else _ROOT


def _upwards(start: str, environ: Mapping[str, str]) -> Iterator[str]:
    """`start` and the folders above it as far as the search may go.

    Raises `RepositoryError` at a mount point.
    """
    ceiling = _ceiling_length(start, environ.get("GIT_CEILING_DIRECTORIES"))
    across = env_bool(environ, "GIT_DISCOVERY_ACROSS_FILESYSTEM", False)
    device = None if across else _device(start)
    folder = start
    while True:
        yield folder
        length = folder.rfind("/")
        if folder == "/" or length <= ceiling:
            return
        folder = folder[:length] or "/"
        if device is not None and _device(folder) != device:
            raise RepositoryError(
                f"not a git repository (or any parent up to mount point {folder})\n"
                "Stopping at filesystem boundary (GIT_DISCOVERY_ACROSS_FILESYSTEM not set)."
            )


def _device(folder: str) -> int:
    try:
        return os.stat(folder).st_dev
    except OSError as error:
        raise RepositoryError(f"failed to stat '{folder}': {error.strerror}") from error


def _ceiling_length(start: str, ceilings: str | None) -> int:
    """Length of the longest listed folder that is an ancestor of `start`; -1 without one.

    Links in the listed folders are resolved, but not in those after an empty entry: that spares
    slow file systems.
    """
    longest = -1
    resolve = True
    for ceiling in (ceilings or "").split(os.pathsep):
        if not ceiling:
            resolve = False
        elif os.path.isabs(ceiling):
            folder = (os.path.realpath(ceiling) if resolve else ceiling).removesuffix("/")
            if start.startswith(f"{folder}/") and start != f"{folder}/":
                longest = max(longest, len(folder))
    return longest
