"""Which entries `reflog show` shows: the logs that were named, merged by time, newest first.

Source: git's reflog walk. A log begins at the entry that was named (`main@{2}`, `main@{1.day}`);
entries that lead to anything but a commit are passed over, and keep their number.
"""

from __future__ import annotations

import sys
from heapq import heapify, heappop, heapreplace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pyreftable.errors import FatalRevisionError, RefNameError, RevisionError
from pyreftable.refs.names import check_refname
from pyreftable.refs.reflog import find_reflog
from pyreftable.refs.revision import resolve_object_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyreftable.refs.reflog import ReflogEntry
    from pyreftable.refs.store import RefStore

    from .context import Context


class Shown(NamedTuple):
    """An entry to show: the log's name as it was given, and the entry's number, 0 the newest.

    `by_date` says whether the log was asked for by a date, `None` that it was not said how.
    """

    name: str
    number: int
    entry: ReflogEntry
    by_date: bool | None


class Entries:
    """The entries of a log, newest first, read as far as somebody asks."""

    def __init__(self, log: Iterable[ReflogEntry]) -> None:
        self._read: list[ReflogEntry] = []
        self._unread = iter(log)

    def at(self, number: int) -> ReflogEntry | None:
        """The entry of that number, 0 the newest; `None` past the oldest."""
        missing = number + 1 - len(self._read)
        if missing > 0:
            self._read += islice(self._unread, min(missing, sys.maxsize))
        return self._read[number] if number < len(self._read) else None


class WalkedLog:
    """A log, and how far it has been walked."""

    def __init__(self, name: str, entries: Entries, start: int, by_date: bool | None) -> None:
        self.name = name
        self.entries = entries
        self.at = start
        self.by_date = by_date


class LogWalk:
    """The logs that `reflog show` was asked for."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store: RefStore = context.store
        self._logs: list[WalkedLog] = []
        self._known: dict[str, Entries] = {}

    def add_refs(self, prefix: str) -> None:
        """Add the logs of all refs below `prefix`; with all of `refs/` come the HEADs'.

        Branches, tags and remote-tracking branches go by their short names.
        """
        names = [ref.name for ref in self._store.refs(prefix)]
        if prefix == "refs/":
            names += ["HEAD", *_other_heads(self._store)]
            prefix = ""
        for name in names:
            oid = self._store.read(name)
            if oid is None or not self._is_commit(oid):
                continue
            entries = self._first_log(name, self._store.resolve(name).name)
            if entries is not None:
                self._logs.append(WalkedLog(name.removeprefix(prefix), entries, 0, None))

    def add_revision(self, text: str) -> bool:
        """Add the log that `text` names; false if it is no revision. Raises `Fatal`."""
        store = self._store
        start, dots, end = text.partition("..")
        if text.startswith("^") or dots:
            names = [start or "HEAD", end.removeprefix(".") or "HEAD"] if dots else [text[1:]]
            if all(self._resolve(name) is not None for name in names):
                self._context.die(f"cannot walk reflogs for {names[0]}")
            return False
        oid = self._resolve(text)
        if oid is None:
            return False
        if store.objects.info(oid) is None:
            self._context.die(f"bad object {text}")
        if self._is_commit(oid):
            self._add(text)
        return True

    def add_head(self) -> None:
        """Add HEAD's log, as when no log was named; raises `Fatal` if HEAD leads nowhere."""
        if self._resolve("HEAD") is not None:
            self.add_revision("HEAD")
            return
        try:
            target = self._store.symbolic_ref("HEAD")
        except RefNameError:
            target = None
        if target is None:
            self._context.die("your current branch appears to be broken")
        branch = target.removeprefix("refs/heads/")
        self._context.die(f"your current branch '{branch}' does not have any commits yet")

    def _resolve(self, text: str) -> str | None:
        try:
            return resolve_object_name(self._store, text, warn=self._context.warning)
        except FatalRevisionError:
            raise
        except RevisionError:
            return None

    def _add(self, text: str) -> None:
        name, start, by_date = self._interpreted(text)
        entries = self._known.get(name)
        if entries is None:
            name, entries = self._entries(name)
            if entries is None:
                return
            self._known[name] = entries
        if by_date:
            start = _first_until(entries, start)
        self._logs.append(WalkedLog(name, entries, start, by_date))

    def _interpreted(self, text: str) -> tuple[str, int, bool | None]:
        """The name, and the number or the time of the entry to begin with."""
        name, selector = _split(text)
        name = self._expanded(name) or name or self._store.resolve("HEAD").name
        if selector is None:
            return name, 0, None
        if selector.isascii() and selector.isdigit():
            return name, int(selector), False
        return name, _moment(selector), True

    def _expanded(self, name: str) -> str | None:
        from pyreftable.refs.branch_names import expand_branch

        return expand_branch(name, self._store, self._store.repository.config)

    def _entries(self, name: str) -> tuple[str, Entries | None]:
        """The log that `name` means, and the name to show for it."""
        entries = self._first_log(*self._candidates(name))
        if entries is not None:
            return name, entries
        found = find_reflog(self._store, name)
        if found is None or found.matches > 1:
            return name, None
        return found.name, self._first_log(*self._candidates(found.name))

    def _first_log(self, *names: str) -> Entries | None:
        """The first log with entries of those that may be meant."""
        logs = (Entries(self._store.reflog(name)) for name in names)
        return next((log for log in logs if log.at(0) is not None), None)

    def _candidates(self, name: str) -> Iterator[str]:
        if not check_refname(name, allow_onelevel=True):
            return
        yield name
        try:
            resolved = self._store.resolve(name)
        except RefNameError:
            pass
        else:
            if resolved.oid is not None:
                yield resolved.name
        yield f"refs/{name}"
        yield f"refs/heads/{name}"

    def __iter__(self) -> Iterator[Shown]:
        """All entries, the latest first; of equal times those of the log that was added first."""
        queue = [place for order in range(len(self._logs)) if (place := self._next(order))]
        heapify(queue)
        while queue:
            _, order, entry = queue[0]
            log = self._logs[order]
            yield Shown(log.name, log.at, entry, log.by_date)
            log.at += 1
            following = self._next(order)
            if following is None:
                heappop(queue)
            else:
                heapreplace(queue, following)

    def _next(self, order: int) -> tuple[int, int, ReflogEntry] | None:
        """The entry at which a log stands, after what it sorts by; `None` at the log's end."""
        log = self._logs[order]
        while (entry := log.entries.at(log.at)) is not None:
            if self._is_commit(entry.new_oid):
                return -entry.time, order, entry
            log.at += 1
        return None

    def _is_commit(self, oid: str) -> bool:
        found = self._store.objects.info(oid)
        return found is not None and found[0] == "commit"


def _first_until(entries: Entries, moment: int) -> int:
    """The number of the newest entry not made after `moment`; that past the oldest if none is."""
    number = 0
    while (entry := entries.at(number)) is not None and entry.time > moment:
        number += 1
    return number


def _other_heads(store: RefStore) -> list[str]:
    """The HEADs of the worktrees that we are not in."""
    here = store.repository.worktree_name
    heads = [] if here is None else ["main-worktree/HEAD"]
    linked = (worktree.name for worktree in store.repository.worktrees())
    return heads + [f"worktrees/{name}/HEAD" for name in linked if name != here]


def _split(text: str) -> tuple[str, str | None]:
    """Cut `@{selector}` off, unless it is one that stands for a branch."""
    from pyreftable.refs.branch_names import split_selector

    name, selector, is_prior = split_selector(text)
    return (text, None) if name is None or is_prior else (name, selector)


def _moment(text: str) -> int:
    import time

    from pyreftable.refs.approxidate import approxidate

    moment = approxidate(text)
    return int(time.time()) if moment is None else moment
