"""`worktreepath`: the worktree that has a branch checked out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyreftable.errors import RefNameError
from pyreftable.refs.text import as_bytes

from .fields import NameField

if TYPE_CHECKING:
    from pyreftable.refs.store import RefStore

    from .atoms import Atom
    from .fields import Field
    from .lookup import Lookup


def worktreepath(atom: Atom, lookup: Lookup) -> Field:
    """The path of the worktree; git ignores an argument."""
    known: dict[bytes, bytes] | None = None

    def path(name: bytes) -> bytes:
        nonlocal known
        if not name.startswith(b"refs/heads/"):
            return b""
        if known is None:
            known = _paths_by_branch(lookup.store)
        return known.get(name, b"")

    return NameField(path)


def _paths_by_branch(store: RefStore) -> dict[bytes, bytes]:
    """Branch (full name) -> path of the worktree whose HEAD is on it, born or not."""
    common = store.repository.common_dir
    places = [("main-worktree/HEAD", os.path.realpath(common).removesuffix("/.git"))]
    places += [(f"worktrees/{tree.name}/HEAD", tree.path) for tree in store.repository.worktrees()]
    paths: dict[bytes, bytes] = {}
    for head, path in places:
        try:
            resolved = store.resolve(head)
        except RefNameError:
            continue
        if resolved.is_symref:
            paths[as_bytes(resolved.name)] = os.fsencode(path)
    return paths
