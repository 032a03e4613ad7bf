"""Where a repository is, what it is, and which folders its parts lie in.

    work tree   the files; none in a bare repository
    git dir     what belongs to this work tree: HEAD and its other refs
    common dir  what all work trees share: the other refs, objects, configuration, hooks

Git dir and common dir differ only in a linked worktree.

Source: `git` (environment variables, `--git-dir`, `--work-tree`), `gitrepository-layout`,
`git-worktree`; how the settings combine is git's behaviour.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import RepositoryError
from .config import Config
from .config_files import ConfigContext, read_sequence
from .gitdir import Overrides, common_dir_of, read_commondir
from .layout import Layout, LayoutFinder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..hashes import HashAlgorithm
    from .config_command import Parameter
    from .config_parser import Entry
    from .standpoint import Standpoint
    from .worktrees import Worktree


class Repository:
    """A repository as seen from one work tree of it; does not change after it was discovered.

    `git_dir`, `common_dir` and `work_tree` (`None`: there is none) are absolute paths.
    `ref_storage` is "reftable" or "files", `config` reads its files at the first question, and
    `environ` is the environment that counts.
    """

    __slots__ = (
        "_approach",
        "_overrides",
        "_ref_storage_path",
        "_refs_home",
        "_standpoint",
        "common_dir",
        "config",
        "environ",
        "git_dir",
        "hash",
        "is_linked_worktree",
        "ref_storage",
        "work_tree",
    )

    def __init__(
        self, layout: Layout, overrides: Overrides, environ: Mapping[str, str], config: Config
    ) -> None:
        self.git_dir = layout.git_dir
        self.work_tree = layout.work_tree
        self._approach = layout.approach
        self._standpoint: Standpoint | None = None
        self.environ = environ
        self.config = config
        self.common_dir, _ = common_dir_of(layout.git_dir, overrides)
        self.hash: HashAlgorithm = layout.format.hash
        self.ref_storage = layout.format.ref_storage
        self._ref_storage_path = layout.format.ref_storage_path
        self._overrides = overrides
        # GIT_COMMON_DIR does not move the refs: git looks for them where the files point.
        self._refs_home, self.is_linked_worktree = read_commondir(layout.git_dir)

    @property
    def is_bare(self) -> bool:
        """Whether there is no work tree, and `core.bare` does not say that there should be."""
        return self.work_tree is None and self.config.get_bool("core.bare") is not False

    @property
    def worktree_name(self) -> str | None:
        """Name of the linked worktree that this is, as in `worktrees/NAME/HEAD`, or `None`."""
        return os.path.basename(self.git_dir) if self.is_linked_worktree else None

    def worktrees(self) -> list[Worktree]:
        """The linked worktrees, in the order of their names; the main one is not among them."""
        from .worktrees import linked_worktrees

        return linked_worktrees(self.common_dir)

    def current_branch(self) -> str | None:
        """Short name of the branch that HEAD is on, born or not; `None` if it is detached."""
        from .worktrees import current_branch

        return current_branch(self)

    def ref_directory(self, worktree_name: str | None = None) -> str:
        """The folder in which the `reftable` folder lies, absolute, links resolved.

        Without a name that of the shared refs and the main worktree's own, else that of the
        linked worktree. A path in `extensions.refStorage` moves all of them (git, at 2.55, looks
        for *another* worktree's refs at the old place, where there are none). Raises
        `RepositoryError` for what can be no worktree's name, or a path that leads nowhere.
        """
        home = self._moved_refs_home() or self._refs_home
        if worktree_name is None:
            return os.path.realpath(home)
        if worktree_name in ("", ".", "..") or "/" in worktree_name:
            raise RepositoryError(f"'{worktree_name}' is not a worktree")
        if worktree_name == self.worktree_name and home is self._refs_home:
            return os.path.realpath(self.git_dir)
        return os.path.realpath(os.path.join(home, "worktrees", worktree_name))

    @property
    def ref_storage_path(self) -> str | None:
        """The path in `extensions.refStorage`, as it is there; `None` if that names none."""
        return self._ref_storage_path

    def _moved_refs_home(self) -> str | None:
        if self._ref_storage_path is None:
            return None
        folder, name = os.path.split(os.path.join(self._refs_home, self._ref_storage_path))
        try:
            return os.path.join(os.path.realpath(folder, strict=True), name)
        except OSError as error:
            raise RepositoryError(f"Invalid path '{error.filename}': {error.strerror}") from error

    @property
    def hooks_dir(self) -> str:
        """The folder of the hooks, absolute.

        A relative `core.hooksPath` starts where hooks run (see `standpoint`).
        """
        path = self.config.get_path("core.hooksPath")
        if path is None:
            return f"{self.common_dir}/hooks"
        return os.path.join(self.standpoint().folder, path)

    def standpoint(self) -> Standpoint:
        """Where git's own process would stand now, and what it would tell its children."""
        if self._standpoint is None:
            from .standpoint import find_standpoint

            self._standpoint = find_standpoint(self._approach, self.work_tree)
        return self._standpoint

    @property
    def object_directory(self) -> str:
        """The folder that new objects go to, absolute."""
        return self._overrides.object_directory or f"{self.common_dir}/objects"

    @property
    def alternate_directories(self) -> list[str]:
        """The other object folders that are searched, each once."""
        from .loose import object_directories

        _, *alternates = object_directories(self.common_dir, self.environ)
        return alternates


def discover(
    path: str | os.PathLike[str] = ".",
    *,
    git_dir: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    config: Sequence[Parameter] = (),
) -> Repository:
    """The repository that git would use in the folder `path`.

    `git_dir` or GIT_DIR names the git directory (relative: to `path`), otherwise it is searched
    upwards from `path`. `environ` is the environment to go by (default: the process's own).
    `config` holds settings that override all files: `key=value`, `key`, or pairs.

    Raises `RepositoryError` when there is none, or one that cannot be used, and `ConfigError`
    for a configuration that cannot be read.
    """
    environ = os.environ if environ is None else environ
    finder = LayoutFinder(os.fspath(path), environ, config)
    layout = finder.find(None if git_dir is None else os.fspath(git_dir))

    def load() -> Sequence[Entry]:
        return read_sequence(
            ConfigContext(
                environ,
                config,
                git_dir=layout.git_dir,
                common_dir=repository.common_dir,
                logical_git_dir=layout.logical_git_dir,
                work_tree=layout.work_tree,
                worktree_config=layout.format.worktree_config,
                branch=repository.current_branch,
                files=finder.protected.files,
            )
        )

    repository = Repository(layout, finder.overrides, environ, Config(load, environ))
    return repository
