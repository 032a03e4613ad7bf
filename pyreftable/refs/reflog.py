"""Reading reflogs, and finding them.

An entry whose ids are both null is git's marker for "this log exists, and is empty"; readers
never see it. Source: git's `refs/reftable-backend.c` behaviour, checked against `git reflog`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..errors import RefNameError
from ..format.block import Run
from ..format.records import DELETION, LogRecord, split_log_key
from ..merged import Merged
from .names import check_refname, dwim_candidates, parse_worktree_ref
from .text import as_bytes, as_text

if TYPE_CHECKING:
    from .store import RefStore


class ReflogEntry(NamedTuple):
    """One change of a ref. Ids are hex; `time` is in seconds since the epoch, `tz_offset` in
    git's decimal form (+0130 is 130); `message` has no line end.
    """

    old_oid: str
    new_oid: str
    name: str
    email: str
    time: int
    tz_offset: int
    message: str
    update_index: int

    @classmethod
    def of(cls, record: LogRecord) -> ReflogEntry:
        """The entry that a log record holds."""
        return cls(
            record.old_oid.hex(),
            record.new_oid.hex(),
            as_text(record.committer_name),
            as_text(record.email),
            record.time,
            record.tz_offset,
            as_text(record.message.removesuffix(b"\n")),
            record.update_index,
        )


class Reflog:
    """The log of one ref in one merged view; iterates newest first, `reversed` oldest first."""

    def __init__(self, merged: Merged, key: bytes) -> None:
        self._merged = merged
        self._key = key

    def records(self) -> Iterator[LogRecord]:
        """The raw live records, newest first, the existence marker included."""
        # The key "name NUL" begins at this ref's newest entry, past every shorter name's.
        for record in self._merged.logs(self._key + b"\0"):
            if record.refname != self._key:
                return
            if not record.is_deletion:
                yield record

    def __iter__(self) -> Iterator[ReflogEntry]:
        return (
            ReflogEntry.of(record) for record in self.records() if not record.is_existence_marker
        )

    def __reversed__(self) -> Iterator[ReflogEntry]:
        return reversed(list(self))

    @property
    def exists(self) -> bool:
        """Whether there is a log, be it empty."""
        if not any(table.has_logs for table in self._merged.tables):
            return False
        return next(self.records(), None) is not None


def reflog_keys(merged: Merged) -> Iterator[bytes]:
    """The names that have a log, in order; where a log goes past what was read, seeks on."""
    name = b""
    while True:
        for run in merged.log_runs(_after(name) if name else b""):
            for name in _logged_in(run):
                yield name
            if name and run.keys[-1] < _after(name):
                break
        else:
            return


def _logged_in(run: Run) -> Iterator[bytes]:
    at = 0
    while at < len(run.keys):
        if run.types[at] == DELETION:
            at += 1
            continue
        name = split_log_key(run.keys[at])[0]
        yield name
        at = bisect_left(run.keys, _after(name), at)


def _after(name: bytes) -> bytes:
    """Past every key "name NUL be64": 0x01 follows NUL."""
    return name + b"\1"


def reflog_names(store: RefStore) -> list[str]:
    """The refs that have a log, in byte order: shared ones, and those of the worktree we are in.

    A log whose name is malformed is left out, as git does.
    """
    names = _names_in(store, None)
    if store.repository.worktree_name is not None:
        names = {name for name in names if _is_shared(name)}
        names |= _names_in(store, store.repository.worktree_name)
    return sorted(names, key=as_bytes)


def reflog_names_everywhere(store: RefStore) -> list[str]:
    """The names under which all logs of all worktrees can be reached from the one we are in.

    The main worktree's come first, then the linked ones' by the worktrees' names; shared logs
    stand among those of the worktree we are in.
    """
    here = store.repository.worktree_name
    everywhere: list[str] = []
    for worktree in (None, *(found.name for found in store.repository.worktrees())):
        if worktree == here:
            everywhere += reflog_names(store)
            continue
        prefix = "main-worktree/" if worktree is None else f"worktrees/{worktree}/"
        own = (name for name in _names_in(store, worktree) if not _is_shared(name))
        everywhere += (prefix + name for name in sorted(own, key=as_bytes))
    return everywhere


def _names_in(store: RefStore, worktree: str | None) -> set[str]:
    keys = reflog_keys(store.stack(worktree).snapshot().merged)
    return {name for name in map(as_text, keys) if check_refname(name, allow_onelevel=True)}


def _is_shared(name: str) -> bool:
    return parse_worktree_ref(name).kind == "shared"


class LogMatch(NamedTuple):
    """The log that a short name stands for, and how many logs it may stand for."""

    name: str
    matches: int


def find_reflog(store: RefStore, short: str) -> LogMatch | None:
    """The log that `short` means, looked for where git looks for refs; `None` if there is none.

    Only a ref that leads to an object counts. Where a symref has no log of its own, the log of
    what it leads to does. More than one match is only counted where `core.warnAmbiguousRefs` is
    not off. Raises `RevisionError` for an `@{upstream}` of a branch that has none.
    """
    from .branch_names import expand_branch

    config = store.repository.config
    counts_all = config.get_bool("core.warnAmbiguousRefs") is not False
    first: LogMatch | None = None
    expanded = expand_branch(short, store, config)
    for candidate in dwim_candidates(short if expanded is None else expanded):
        name = _logged_name(store, candidate)
        if name is None:
            continue
        first = LogMatch(name, 1) if first is None else first._replace(matches=first.matches + 1)
        if not counts_all:
            break
    return first


def _logged_name(store: RefStore, candidate: str) -> str | None:
    try:
        resolved = store.resolve(candidate)
    except RefNameError:
        return None
    if resolved.oid is None:
        return None
    names = dict.fromkeys((candidate, resolved.name))
    return next((name for name in names if store.reflog(name).exists), None)
