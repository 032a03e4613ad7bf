"""Listings: the refs under a prefix as runs of parallel lists.

The bounds check comes before tombstones are dropped (see `merged`): a prefix without refs ends
at the first name past it, be it a tombstone or not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..format.block import Run
from ..merged import Merged, merge_runs, without_deletions
from .names import is_root_ref, parse_worktree_ref
from .text import as_text

_REFS = b"refs/"


class RefRun(NamedTuple):
    """Live refs in name order as parallel lists.

    `types` are 1 (object id), 2 (object id and peeled id, one after the other) or 3 (symref's
    target); `values` are those raw bytes.
    """

    names: list[bytes]
    types: list[int]
    values: list[bytes]


def list_refs(
    shared: Merged, worktree: Merged | None, prefix: bytes, *, root_refs: bool
) -> Iterator[RefRun]:
    """The live refs whose name starts with `prefix`.

    `shared` is the main stack's view, `worktree` that of the linked worktree at hand, if we are
    in one: then the main worktree's own refs are left out. Without `root_refs` only names under
    `refs/` are listed.
    """
    if not root_refs:
        if _REFS.startswith(prefix):
            prefix = _REFS
        elif not prefix.startswith(_REFS):
            return
    runs = shared.ref_runs(prefix)
    if worktree is not None:
        runs = merge_runs([_filtered(runs, _is_shared), worktree.ref_runs(prefix)])
    runs = without_deletions(bounded(runs, prefix))
    if not prefix.startswith(_REFS):
        runs = _filtered(runs, _is_listed)
    for run in runs:
        yield RefRun(run.keys, run.types, run.values)


def bounded(runs: Iterator[Run], prefix: bytes) -> Iterator[Run]:
    """The records whose key starts with `prefix`, of runs that begin there; tombstones too."""
    for run in runs:
        if run.keys[-1].startswith(prefix):
            yield run
            continue
        end = bisect_left(run.keys, True, key=lambda key: not key.startswith(prefix))
        if end:
            yield run.slice(0, end)
        return


def _filtered(runs: Iterator[Run], wanted: Callable[[bytes], bool]) -> Iterator[Run]:
    for run in runs:
        keep = [wanted(key) for key in run.keys]
        if all(keep):
            yield run
        elif any(keep):
            yield run.select(keep)


def _is_shared(key: bytes) -> bool:
    return parse_worktree_ref(as_text(key)).kind == "shared"


def _is_listed(key: bytes) -> bool:
    return key.startswith(_REFS) or is_root_ref(as_text(key))
