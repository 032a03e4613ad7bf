"""Commits and what they lead to: what the expiry of reflogs and walks of history ask.

Everything is read through the objects seam and remembered, so that the logs of many refs, which
mostly share their history, cost little more than one. What cannot be read counts as not there.
The boundary of a shallow clone is followed; grafts and replace refs are not.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ObjectMissingError
from .object_content import commit_date, commit_parents, commit_tree, tree_entries

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .objects import ObjectStore


class Commit(NamedTuple):
    """The hex ids that a commit names, and when it was made (seconds since the epoch)."""

    parents: list[str]
    tree: str
    date: int


class History:
    """The commits in `objects`; `common_dir` is where a shallow clone notes its boundary."""

    def __init__(self, objects: ObjectStore, common_dir: str) -> None:
        self.objects = objects
        self._common_dir = common_dir
        self._commits: dict[str, Commit | None] = {}
        self._shallow: frozenset[str] | None = None

    def commit(self, oid: str) -> Commit | None:
        """The commit `oid`; `None` if there is no such commit, or it is damaged."""
        if oid not in self._commits:
            self._commits[oid] = self._read(oid)
        return self._commits[oid]

    def commit_of(self, oid: str) -> str | None:
        """The commit that `oid` is, or that it leads to as a tag; `None` if there is none."""
        try:
            peeled = self.objects.peel(oid) or oid
        except ObjectMissingError:
            return None
        return None if self.commit(peeled) is None else peeled

    def _read(self, oid: str) -> Commit | None:
        try:
            kind, body = self.objects.read(oid)
            if kind != "commit":
                return None
            parents = commit_parents(body, oid)
            if oid in self._boundary():
                parents = []
            return Commit(parents, commit_tree(body, oid), commit_date(body))
        except ObjectMissingError:
            return None

    def _boundary(self) -> frozenset[str]:
        if self._shallow is None:
            self._shallow = _shallow_commits(self._common_dir)
        return self._shallow


class Reachable:
    """The commits that can be reached from `tips`; walks only as far as it is asked about."""

    def __init__(self, history: History, tips: Iterable[str]) -> None:
        self._history = history
        self._pending = deque(dict.fromkeys(tips))
        self._met = set(self._pending)

    def __contains__(self, oid: str) -> bool:
        while oid not in self._met and self._pending:
            commit = self._history.commit(self._pending.popleft())
            for parent in commit.parents if commit is not None else ():
                if parent not in self._met:
                    self._met.add(parent)
                    self._pending.append(parent)
        return oid in self._met

    def all(self) -> set[str]:
        """All of them, those apart that cannot be read."""
        # No id is empty, so this walks to the end.
        _ = "" in self
        return {oid for oid in self._met if self._history.commit(oid) is not None}


class Completeness:
    """Whether commits have all their objects, their ancestors' included.

    What refs lead to is trusted, as git does: `tips` are the commits of all refs. Only other
    commits are looked into.
    """

    def __init__(self, history: History, tips: Iterable[str]) -> None:
        self._history = history
        self._complete = Reachable(history, tips).all()
        self._trusted = frozenset(self._complete)
        self._incomplete: set[str] = set()
        self._trees: dict[str, bool] = {}
        self._trusted_trees: set[str] | None = None

    def __contains__(self, oid: str) -> bool:
        if oid in self._complete:
            return True
        found = self._unknown_ancestors(oid)
        if found is None:
            self._incomplete.add(oid)
            return False
        self._complete.update(found)
        return True

    def _unknown_ancestors(self, oid: str) -> list[str] | None:
        """`oid` and those of its ancestors not yet known to be complete; `None` if one is not."""
        found = [oid]
        met = {oid}
        for current in found:
            commit = None if current in self._incomplete else self._history.commit(current)
            if commit is None or not self._has_tree(commit.tree):
                return None
            new = [p for p in commit.parents if p not in met and p not in self._complete]
            met.update(new)
            found += new
        return found

    def _has_tree(self, oid: str) -> bool:
        known = self._trees.get(oid)
        if known is None:
            known = self._trees[oid] = self._all_entries_exist(oid) or self._is_trusted(oid)
        return known

    def _all_entries_exist(self, oid: str) -> bool:
        try:
            entries = list(tree_entries(self._tree_body(oid), oid))
        except ObjectMissingError:
            return False
        # A submodule's commit, which is elsewhere, counts as missing: so it does in git.
        return all(
            self._has_tree(entry) if is_tree else self._history.objects.info(entry) is not None
            for _, is_tree, entry in entries
        )

    def _tree_body(self, oid: str) -> bytes:
        kind, body = self._history.objects.read(oid)
        if kind != "tree":
            raise ObjectMissingError(f"object {oid} is a {kind}, not a tree")
        return body

    def _is_trusted(self, oid: str) -> bool:
        """Whether refs lead to the tree `oid`. Looked up only once something is missing."""
        if self._trusted_trees is None:
            self._trusted_trees = set()
            for commit in map(self._history.commit, self._trusted):
                if commit is not None:
                    self._trust(commit.tree, self._trusted_trees)
        return oid in self._trusted_trees

    def _trust(self, oid: str, trusted: set[str]) -> None:
        pending = [oid]
        while pending:
            tree = pending.pop()
            if tree in trusted:
                continue
            try:
                entries = list(tree_entries(self._tree_body(tree), tree))
            except ObjectMissingError:
                continue
            trusted.add(tree)
            pending += [entry for _, is_tree, entry in entries if is_tree]


def _shallow_commits(common_dir: str) -> frozenset[str]:
    """The commits whose parents a shallow clone left out."""
    try:
        with open(os.path.join(common_dir, "shallow")) as file:
            return frozenset(file.read().split())
    except FileNotFoundError:
        return frozenset()
