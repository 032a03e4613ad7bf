"""`upstream` and `push`: the ref that a branch follows or is pushed to, and how far apart they are.

    :short :lstrip=N :rstrip=N    the ref's name
    :track[,nobracket]            [ahead N, behind M], [gone], or nothing
    :trackshort                   > < <> =
    :remotename :remoteref        the remote, and the ref's name there

Only branches have these; every look-up is made once a branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import RevisionError
from pyreftable.refs.text import as_bytes, as_text
from pyreftable.refs.tracking import apply_refspecs, push_target_of, upstream_of

from .fields import NameField, ValueField
from .lookup import MissingObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from .atoms import Atom
    from .fields import Field
    from .lookup import Lookup

_BRANCHES = b"refs/heads/"
_SHORT_SIGNS = {(False, False): b"=", (True, False): b">", (False, True): b"<"}


class Tracking:
    """What branches (short names) track, by the configuration of the repository."""

    def __init__(self, lookup: Lookup, *, push: bool) -> None:
        self._lookup = lookup
        self._store = lookup.store
        self._config = lookup.store.repository.config
        self.push = push
        self._targets: dict[str, str | None] = {}
        self._distances: dict[str, tuple[int, int] | None] = {}

    def target(self, branch: str) -> str | None:
        """The full name of the ref that `branch` tracks; `None` if there is none."""
        if branch not in self._targets:
            find = push_target_of if self.push else upstream_of
            try:
                self._targets[branch] = find(branch, self._config, self._store)
            except RevisionError:
                self._targets[branch] = None
        return self._targets[branch]

    def distance(self, branch: str) -> tuple[int, int] | None:
        """Commits that only the branch has, and only its target; `None` where that is gone."""
        if branch not in self._distances:
            self._distances[branch] = self._measure(branch)
        return self._distances[branch]

    def _measure(self, branch: str) -> tuple[int, int] | None:
        from pyreftable.refs.ancestry import ahead_behind

        history, commits = self._lookup.history, []
        for name in (self.target(branch), f"refs/heads/{branch}"):
            oid = None if name is None else self._store.read(name)
            commit = None if oid is None else history.commit_of(oid)
            if commit is None:
                return None
            commits.append(commit)
        [[counts]] = ahead_behind(history, commits[:1], commits[1:])
        return counts

    def remote(self, branch: str) -> str:
        """The remote that the configuration names for `branch`; empty if it names none."""
        keys = [f"branch.{branch}.remote"]
        if self.push:
            keys = [f"branch.{branch}.pushremote", "remote.pushdefault", *keys]
        return next((value for key in keys if (value := self._config.get(key)) is not None), "")

    def remote_ref(self, branch: str) -> str:
        """The name that `branch` has in the remote; empty if that is not configured."""
        config = self._config
        if not self.push:
            merge = config.get_all(f"branch.{branch}.merge")
            return merge[0] if merge else ""
        remote = self.remote(branch)
        if not remote:
            remotes = config.subsections("remote")
            remote = remotes[0] if len(remotes) == 1 else "origin"
        refspecs = config.get_all(f"remote.{remote}.push")
        return apply_refspecs(refspecs, f"refs/heads/{branch}") or ""


def upstream(atom: Atom, lookup: Lookup) -> Field:
    """`upstream`."""
    return _field(_show(atom, Tracking(lookup, push=False), lookup))


def push(atom: Atom, lookup: Lookup) -> Field:
    """`push`."""
    show = _show(atom, Tracking(lookup, push=True), lookup)
    return _no_peeled_push(lookup) if atom.peeled else _field(show)


def _no_peeled_push(lookup: Lookup) -> Field:
    """`*push` is no field; git says so in these words, once there is a ref to show."""

    def refuse(value: bytes) -> bytes:
        raise MissingObject(value[: lookup.hash_size])

    return ValueField(refuse)


def _field(show: Callable[[str], bytes]) -> Field:
    length = len(_BRANCHES)

    def make(name: bytes) -> bytes:
        return show(as_text(name[length:])) if name.startswith(_BRANCHES) else b""

    return NameField(make)


def _show(atom: Atom, tracking: Tracking, lookup: Lookup) -> Callable[[str], bytes]:
    """What makes the field's text from a branch's short name; raises `Fatal`."""
    from .atoms import make_rename

    kind, brackets, rename = "ref", True, None
    for word in atom.argument.split(",") if atom.argument else ():
        if word == "nobracket":
            brackets = False
        elif word in ("track", "trackshort", "remotename", "remoteref"):
            kind = word
        else:
            kind, rename = "ref", make_rename(atom, lookup)
    if kind.startswith("remote"):
        return _show_remote(tracking, kind)

    def show(branch: str) -> bytes:
        target = tracking.target(branch)
        if target is None:
            return b""
        if kind == "ref":
            return as_bytes(target) if rename is None else rename(as_bytes(target))
        distance = tracking.distance(branch)
        return _short_sign(distance) if kind == "trackshort" else _told(distance, brackets)

    return show


def _show_remote(tracking: Tracking, kind: str) -> Callable[[str], bytes]:
    ask = tracking.remote if kind == "remotename" else tracking.remote_ref

    def show(branch: str) -> bytes:
        if not tracking.push and tracking.target(branch) is None:
            return b""
        return as_bytes(ask(branch))

    return show


def _short_sign(distance: tuple[int, int] | None) -> bytes:
    if distance is None:
        return b""
    ahead, behind = distance
    return _SHORT_SIGNS.get((ahead > 0, behind > 0), b"<>")


def _told(distance: tuple[int, int] | None, brackets: bool) -> bytes:
    if distance is None:
        text = "gone"
    else:
        words = (("ahead", distance[0]), ("behind", distance[1]))
        text = ", ".join(f"{word} {count}" for word, count in words if count)
    return f"[{text}]".encode() if brackets and text else text.encode()
