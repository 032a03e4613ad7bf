"""What makes a folder a git directory, and the files that lead from one folder to another.

    .git       file "gitdir: PATH", in a linked work tree or a submodule: the git directory
    commondir  file with a path, in a linked worktree's git directory: the common directory

Source: `gitrepository-layout`.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from ..errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_GITFILE_SIZE = 1 << 20
_HEX = b"0123456789abcdefABCDEF"


class Overrides:
    """Folders that the environment names instead of a git directory's own, absolute or `None`."""

    __slots__ = ("common_dir", "object_directory")

    def __init__(self, environ: Mapping[str, str], folder: str) -> None:
        """Take GIT_COMMON_DIR and GIT_OBJECT_DIRECTORY; relative paths start from `folder`."""
        self.common_dir = _absolute(environ.get("GIT_COMMON_DIR"), folder)
        self.object_directory = _absolute(environ.get("GIT_OBJECT_DIRECTORY"), folder)


def _absolute(path: str | None, folder: str) -> str | None:
    # An empty variable names nothing: joined to the folder it would name that.
    return os.path.join(folder, path) if path else path


def read_gitfile(path: str, overrides: Overrides, *, strict: bool = True) -> str | None:
    """The git directory (absolute, links resolved) that the `.git` file `path` points to.

    `None` if there is nothing, or a folder. Raises `RepositoryError` with git's message when it
    is a file but no good one, or, with `strict`, something that is neither file nor folder.
    """
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if not strict:
            return None
        raise RepositoryError(f"error reading '{path}'") from error
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        if not strict:
            return None
        raise RepositoryError(f"not a regular file: '{path}'")
    if status.st_size > _MAX_GITFILE_SIZE:
        raise RepositoryError(f"too large to be a .git file: '{path}'")
    return _follow_gitfile(path, overrides)


def _follow_gitfile(path: str, overrides: Overrides) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
    except OSError as error:
        raise RepositoryError(f"error opening '{path}': {error.strerror}") from error
    if not data.startswith(b"gitdir: "):
        raise RepositoryError(f"invalid gitfile format: {path}")
    target = os.fsdecode(data[len(b"gitdir: ") :].rstrip(b"\r\n"))
    if not target:
        raise RepositoryError(f"no path in gitfile: {path}")
    git_dir = os.path.join(os.path.dirname(path), target)
    if not is_git_directory(git_dir, overrides):
        raise RepositoryError(f"gitfile does not point to a valid repository: {path}")
    return os.path.realpath(git_dir)


def read_commondir(git_dir: str) -> tuple[str, bool]:
    """The common directory of `git_dir`, and whether `git_dir` is that of a linked worktree."""
    path = f"{git_dir}/commondir"
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return git_dir, False
    except OSError as error:
        raise RepositoryError(f"failed to read {path}: {error.strerror}") from error
    target = os.fsdecode(data.rstrip(b"\r\n"))
    if not target:
        raise RepositoryError(f"failed to read {path}")
    return os.path.realpath(os.path.join(git_dir, target)), True


def common_dir_of(git_dir: str, overrides: Overrides) -> tuple[str, bool]:
    """As `read_commondir`, but GIT_COMMON_DIR wins."""
    explicit = overrides.common_dir
    return (explicit, True) if explicit is not None else read_commondir(git_dir)


def is_git_directory(folder: str, overrides: Overrides) -> bool:
    """Whether `folder` has a plausible HEAD, an object directory and a `refs`."""
    if not _is_head(f"{folder}/HEAD"):
        return False
    common_dir, _ = common_dir_of(folder, overrides)
    objects = overrides.object_directory
    if objects is None:
        objects = f"{common_dir}/objects"
    return os.access(objects, os.X_OK) and os.access(f"{common_dir}/refs", os.X_OK)


def _is_head(path: str) -> bool:
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            return os.readlink(path).startswith("refs/")
        with open(path, "rb", buffering=0) as file:
            head = file.read(255)
    except OSError:
        return False
    if head.startswith(b"ref:"):
        return head[4:].lstrip(b" \t\n\r").startswith(b"refs/")
    return len(head) >= 40 and not head[:40].strip(_HEX)
