"""Which commits changed some paths: `reflog show -- <path>...`.

A commit counts if at one of the paths it differs from each of its parents, or, having none, has
something there. Source: `git-log`, "History Simplification". Paths are taken as they are;
patterns and magic are refused.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyreftable.errors import ObjectMissingError
from pyreftable.refs.object_content import commit_parents, commit_tree

from .exits import Fatal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyreftable.refs.objects import ObjectStore
    from pyreftable.refs.repository import Repository

_WILDCARDS = frozenset("*?[\\")


class PathFilter:
    """Says of commits whether they changed any of `paths` (as given, relative to here)."""

    def __init__(self, objects: ObjectStore, repository: Repository, paths: Sequence[str]) -> None:
        self._objects = objects
        self._paths = [_in_work_tree(path, repository.work_tree) for path in paths]
        self._known: dict[str, bool] = {}
        self._states: dict[str, tuple[bytes, ...]] = {}

    def __contains__(self, commit: str) -> bool:
        known = self._known.get(commit)
        if known is None:
            known = self._known[commit] = self._changes(commit)
        return known

    def _changes(self, commit: str) -> bool:
        ours = self._state(commit)
        parents = commit_parents(self._objects.read(commit)[1], commit)
        return all(self._state(parent) != ours for parent in parents) if parents else any(ours)

    def _state(self, commit: str) -> tuple[bytes, ...]:
        """What is at each of the paths: mode and id, or nothing."""
        state = self._states.get(commit)
        if state is None:
            try:
                tree = bytes.fromhex(commit_tree(self._objects.read(commit)[1], commit))
                state = tuple(self._entry(b"40000 " + tree, path) for path in self._paths)
            except ObjectMissingError as error:
                raise Fatal(f"cannot simplify commit {commit} ({error})") from error
            self._states[commit] = state
        return state

    def _entry(self, entry: bytes, path: list[bytes]) -> bytes:
        for component in path:
            mode, _, oid = entry.partition(b" ")
            if mode != b"40000":
                return b""
            entry = next((found for name, found in self._tree(oid.hex()) if name == component), b"")
        return entry

    def _tree(self, tree: str) -> Iterator[tuple[bytes, bytes]]:
        """The entries of a tree: name, and `mode SP id`."""
        body = self._objects.read(tree)[1]
        size = len(tree) // 2
        at = 0
        while at < len(body):
            nul = body.index(b"\0", at)
            mode, _, name = body[at:nul].partition(b" ")
            at = nul + 1 + size
            yield name, mode + b" " + body[nul + 1 : at]


def _in_work_tree(path: str, work_tree: str | None) -> list[bytes]:
    """The components of `path` as seen from the top of the work tree."""
    if path.startswith(":") or not _WILDCARDS.isdisjoint(path):
        raise Fatal(f"pyreftable does not know patterns of paths: {path}")
    top = os.getcwd() if work_tree is None else work_tree
    relative = os.path.relpath(os.path.join(os.getcwd(), path), os.path.realpath(top))
    if relative == ".." or relative.startswith("../"):
        raise Fatal(f"{path}: '{path}' is outside repository at '{top}'")
    return [os.fsencode(part) for part in relative.split("/") if part != "."]
