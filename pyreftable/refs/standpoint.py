"""Where git's process stands once it has found a repository: its folder, and the variables it sets.

Hooks start from there, and scripts rely on it: git goes to the top of the work tree if it was
started inside, and otherwise stays where it was started. `GIT_DIR` is set unless the git
directory is simply the work tree's `.git`.

Source: `git`, section "--work-tree"; `githooks`; `git-config`, `alias.*` (for `GIT_PREFIX`); the
cases are git's behaviour.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .layout import Approach


class Standpoint(NamedTuple):
    """The folder (absolute), the git directory's name from there, the variables that git sets."""

    folder: str
    git_dir: str
    variables: dict[str, str]


def find_standpoint(approach: Approach, work_tree: str | None) -> Standpoint:
    """The standpoint after a start as `approach` tells, with files in `work_tree`."""
    variables = {"GIT_PREFIX": ""}
    if approach.is_bare:
        variables["GIT_IMPLICIT_WORK_TREE"] = "0"
    folder, git_dir = approach.start, approach.git_dir
    if work_tree is not None and folder != work_tree:
        top = work_tree.rstrip("/") + "/"
        if folder.startswith(top):
            variables["GIT_PREFIX"] = folder[len(top) :] + "/"
            git_dir = os.path.realpath(os.path.join(folder, git_dir))
            folder = work_tree
    if approach.is_default:
        git_dir = ".git"
    else:
        variables["GIT_DIR"] = git_dir
    return Standpoint(folder, git_dir, variables)
