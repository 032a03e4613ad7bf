"""Optimizing a store: fewer tables, and no files that nobody needs.

Source: `git-pack-refs` on reftable repositories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..progress import SILENCE, Progress

if TYPE_CHECKING:
    from .store import RefStore


def optimize(store: RefStore, *, auto: bool = False, progress: Progress = SILENCE) -> None:
    """Merge the tables of the stack at hand into one, then delete its dead files.

    In a linked worktree that is the stack of the worktree's own refs. With `auto` only what the
    geometric rule asks for is merged. `progress` is told of the records. Raises `LockError`,
    `FormatError`, `StorageError`.
    """
    stack = store.worktree_stack or store.stack()
    if auto:
        stack.auto_compact(progress)
    else:
        stack.compact_all(progress=progress)
    stack.clean()
