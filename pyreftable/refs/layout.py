"""Git directory, work tree and format of a repository: how variables, files and place combine.

The git directory is GIT_DIR or found (see `discovery`). The work tree is the first of:
GIT_WORK_TREE; none, if `core.bare`; `core.worktree`; where the git directory was found, or for a
named one the start folder. A folder found to be a git directory itself has none by default.

Source: `git`, sections "--work-tree" and environment variables; `git-config`, `core.bare` and
`core.worktree`; cases without a document follow git's behaviour.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..errors import RepositoryError
from .config_files import ConfigContext, read_file
from .config_values import env_bool
from .discovery import find_git_dir
from .gitdir import Overrides, common_dir_of, is_git_directory, read_gitfile
from .repository_format import RepositoryFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .config_command import Parameter
    from .discovery import Found


class Approach(NamedTuple):
    """How the git directory was reached: from the folder `start`, under the name `git_dir`.

    The name is relative to `start`, or absolute. `is_default` says that it was found as the
    `.git` folder of a work tree that nothing else names, `is_bare` that it was found as a folder
    that is a git directory itself.
    """

    start: str
    git_dir: str
    is_default: bool = False
    is_bare: bool = False


class Layout:
    """Paths are absolute. `logical_git_dir` is `git_dir` with the links that led there."""

    __slots__ = ("approach", "format", "git_dir", "logical_git_dir", "work_tree")

    def __init__(
        self,
        git_dir: str,
        logical_git_dir: str,
        work_tree: str | None,
        repository_format: RepositoryFormat,
        approach: Approach,
    ) -> None:
        self.git_dir = git_dir
        self.logical_git_dir = logical_git_dir
        self.work_tree = work_tree
        self.format = repository_format
        self.approach = approach


class LayoutFinder:
    """Finds the layout that holds for the folder `path`; afterwards `protected.files` caches
    what was read of the configuration on the way.

    Raises `RepositoryError` if there is no such folder.
    """

    def __init__(
        self, path: str, environ: Mapping[str, str], parameters: Sequence[Parameter]
    ) -> None:
        self.start = _start_folder(path)
        self.overrides = Overrides(environ, self.start)
        self.protected = ConfigContext(environ, parameters)
        self._environ = environ
        self._path = path

    def find(self, git_dir: str | None) -> Layout:
        """The layout with that git directory, with GIT_DIR, or of the repository around.

        Raises `RepositoryError` and `ConfigError`.
        """
        if git_dir is None:
            git_dir = self._environ.get("GIT_DIR")
        return self._search() if git_dir is None else self._named(git_dir)

    def _named(self, name: str) -> Layout:
        path = os.path.join(self.start, name)
        git_dir = read_gitfile(path, self.overrides, strict=False)
        if not name or not is_git_directory(git_dir or path, self.overrides):
            raise RepositoryError(f"not a git repository: '{git_dir or name}'")
        implicit = env_bool(self._environ, "GIT_IMPLICIT_WORK_TREE", True)
        logical = os.path.join(self._logical_start(), name)
        return self._lay_out(
            git_dir or os.path.realpath(path),
            logical,
            self.start if implicit else None,
            Approach(self.start, git_dir or name),
        )

    def _search(self) -> Layout:
        found = find_git_dir(self.start, self.overrides, self.protected)
        logical = found.git_dir
        if found.folder == self.start and logical.startswith(self.start):
            logical = self._logical_start() + logical[len(self.start) :]
        default = None if found.is_bare else found.folder
        return self._lay_out(found.git_dir, logical, default, self._approach(found))

    def _approach(self, found: Found) -> Approach:
        if found.is_bare:
            name = "." if found.folder == self.start else found.folder
            return Approach(self.start, name, is_bare=True)
        if found.git_dir != f"{found.folder.rstrip('/')}/.git":
            return Approach(self.start, found.git_dir)
        name = ".git" if found.folder == self.start else found.git_dir
        return Approach(self.start, name, is_default=True)

    def _lay_out(
        self, git_dir: str, logical_git_dir: str, default: str | None, approach: Approach
    ) -> Layout:
        form = self._read_format(git_dir)
        work_tree = self._work_tree(git_dir, form, default)
        named = form.is_bare or form.work_tree is not None or "GIT_WORK_TREE" in self._environ
        if approach.is_default and named:
            name = approach.git_dir
            approach = Approach(approach.start, name if name == ".git" else os.path.realpath(name))
        return Layout(git_dir, logical_git_dir, work_tree, form, approach)

    def _read_format(self, git_dir: str) -> RepositoryFormat:
        files = self.protected.files
        common_dir, shared = common_dir_of(git_dir, self.overrides)
        form = RepositoryFormat.read(read_file(f"{common_dir}/config", "local", files))
        if form.version is not None:
            if form.worktree_config:
                for entry in read_file(f"{git_dir}/config.worktree", "worktree", files):
                    form.worktree_entry(entry)
            elif shared:
                # These describe the main worktree; the file is that of all.
                form.is_bare = form.work_tree = None
        return self._with_backend_variable(form)

    def _with_backend_variable(self, form: RepositoryFormat) -> RepositoryFormat:
        uri = self._environ.get("GIT_REFERENCE_BACKEND")
        if uri is not None and not form.set_ref_storage(uri):
            raise RepositoryError(f"unknown ref storage format: '{uri.partition('://')[0]}'")
        return form

    def _work_tree(self, git_dir: str, form: RepositoryFormat, default: str | None) -> str | None:
        named = self._environ.get("GIT_WORK_TREE")
        if named is not None:
            if not named:
                raise RepositoryError("The empty string is not a valid path")
            return os.path.realpath(os.path.join(self.start, named))
        if form.is_bare:
            return None
        if form.work_tree is None:
            return default
        folder = os.path.join(git_dir, form.work_tree)
        if not os.path.isabs(form.work_tree) and not os.path.isdir(folder):
            raise RepositoryError(f"cannot chdir to '{form.work_tree}': No such file or directory")
        return os.path.realpath(folder)

    def _logical_start(self) -> str:
        """The start folder as its user spelled it, with the symbolic links in it."""
        if self._path not in ("", "."):
            return os.path.abspath(self._path)
        shell = self._environ.get("PWD", "")
        if shell == self.start or not os.path.isabs(shell):
            return self.start
        try:
            return shell if os.path.samefile(shell, self.start) else self.start
        except OSError:
            return self.start


def _start_folder(path: str) -> str:
    try:
        if path in ("", "."):
            return os.getcwd()
    except OSError as error:
        raise RepositoryError(
            f"Unable to read current working directory: {error.strerror}"
        ) from error
    start = os.path.realpath(path)
    if not os.path.isdir(start):
        reason = "Not a directory" if os.path.exists(start) else "No such file or directory"
        raise RepositoryError(f"cannot change to '{path}': {reason}")
    return start
