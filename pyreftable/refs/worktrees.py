"""The worktrees of a repository, and the branch that a HEAD is on.

    COMMON_DIR/worktrees/NAME/gitdir   file with the path of the worktree's `.git` file

Source: `gitrepository-layout`, section "worktrees"; `git-worktree`, section "DETAILS".
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .repository import Repository
    from .store import Ref, RefStore

_MAX_SYMREF_DEPTH = 5
_BRANCHES = "refs/heads/"


class Worktree(NamedTuple):
    """A linked worktree: its name, its git directory, and the folder with the files.

    The folder may be gone: a worktree stays listed until it is pruned.
    """

    name: str
    git_dir: str
    path: str


class WorktreeHead(NamedTuple):
    """A worktree as `Worktree` has it, and what its HEAD is.

    `name` is `None` for the main worktree; `path` is `None` where that has no files. `head` has
    the name by which it can be reached from every worktree; `None` if there is no HEAD to read.
    """

    name: str | None
    git_dir: str
    path: str | None
    head: Ref | None


def worktree_heads(store: RefStore) -> list[WorktreeHead]:
    """All worktrees of the store's repository, the main one first, then by name."""
    repository = store.repository
    linked = [
        WorktreeHead(*worktree, store.get(f"worktrees/{worktree.name}/HEAD"))
        for worktree in repository.worktrees()
    ]
    main = WorktreeHead(
        None, repository.common_dir, _main_path(repository), store.get("main-worktree/HEAD")
    )
    return [main, *linked]


def _main_path(repository: Repository) -> str | None:
    if not repository.is_linked_worktree:
        return repository.work_tree
    if repository.config.get_bool("core.bare"):
        return None
    folder = os.path.realpath(repository.common_dir)
    return folder.removesuffix("/.git") if folder.endswith("/.git") else None


def linked_worktrees(common_dir: str) -> list[Worktree]:
    """The linked worktrees in the order of their names; those without a `gitdir` are left out."""
    folder = f"{common_dir}/worktrees"
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = (_linked_worktree(name, f"{folder}/{name}") for name in names)
    return [worktree for worktree in found if worktree is not None]


def _linked_worktree(name: str, git_dir: str) -> Worktree | None:
    try:
        with open(f"{git_dir}/gitdir", "rb", buffering=0) as file:
            data = file.read()
    except OSError:
        return None
    if not data:
        return None
    path = os.fsdecode(data.rstrip(b" \t\n\r")).removesuffix("/.git")
    if not os.path.isabs(path):
        path = os.path.realpath(os.path.join(git_dir, path))
    return Worktree(name, git_dir, path)


def current_branch(repository: Repository) -> str | None:
    """Short name of the branch that HEAD is on, born or not; `None` when HEAD is detached.

    Goes by the tables alone: the configuration may ask for the branch, so it must not be asked.
    May raise `FormatError` and what else reading a stack raises.
    """
    if repository.ref_storage == "reftable":
        target = _head_in_tables(repository)
    else:
        target = _head_in_file(repository)
    if target is None or not target.startswith(_BRANCHES):
        return None
    return target.removeprefix(_BRANCHES)


def _head_in_file(repository: Repository) -> str | None:
    try:
        with open(f"{repository.git_dir}/HEAD", "rb", buffering=0) as file:
            data = file.read()
    except OSError:
        return None
    return os.fsdecode(data[4:].strip()) if data.startswith(b"ref:") else None


def _head_in_tables(repository: Repository) -> str | None:
    """The name at which following HEAD ends; `None` if it is no symref or goes on for too long."""
    from ..stack import Stack, StackOptions
    from .names import parse_worktree_ref

    options = StackOptions(hash=repository.hash)
    name, final = "HEAD", None
    for _ in range(_MAX_SYMREF_DEPTH):
        kind, worktree, bare_name = parse_worktree_ref(name)
        if kind == "current":
            worktree = repository.worktree_name
        stack = Stack.open(f"{repository.ref_directory(worktree)}/reftable", options)
        record = stack.snapshot().merged.ref(bare_name.encode("utf-8", "surrogateescape"))
        stack.close()
        if record is None or record.target is None:
            return final
        name = final = record.target.decode("utf-8", "surrogateescape")
    return None
