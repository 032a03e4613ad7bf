"""Which reflog entries expire: times by configuration, reachability, broken commits.

    gc.reflogExpire   gc.reflogExpireUnreachable   gc.<pattern>.reflogExpire(Unreachable)

An entry older than the first time goes; one older than the second goes if a commit that it names
cannot be reached from the ref's tip (for HEAD: from any ref). A time of 0 means never,
`END_OF_TIME` means everything.

Source: git-reflog(1) and git-config(1). Where neither configuration nor caller sets a time it is
90 and 30 days, as those pages say; git from 2.50 to 2.55 (seen) has the two mixed up, and drops
everything that is older than 30 days.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ObjectMissingError
from ..format import varint
from .approxidate import END_OF_TIME, approxidate, parse_expiry, present
from .config import bad_variable
from .history import Completeness, History, Reachable
from .names import parse_worktree_ref
from .reflog import ReflogEntry
from .text import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .config import Config
    from .config_parser import Entry
    from .reflog import Reflog
    from .store import RefStore

_DAY = 24 * 60 * 60
_DEFAULT_DAYS = 90
_DEFAULT_UNREACHABLE_DAYS = 30
_STASH = "refs/stash"


class Times(NamedTuple):
    """Entries from before `total` expire, unreachable ones from before `unreachable` too."""

    total: int
    unreachable: int


class ExpiryRules:
    """The times for each log: what the caller says, else the configuration, else the default.

    Raises `ConfigError` for a setting that is no time.
    """

    def __init__(
        self,
        config: Config,
        *,
        total: int | None = None,
        unreachable: int | None = None,
        now: int | None = None,
    ) -> None:
        self._given = (total, unreachable)
        now = int(time.time()) if now is None else now
        self._default = Times(now - _DEFAULT_DAYS * _DAY, now - _DEFAULT_UNREACHABLE_DAYS * _DAY)
        # In the order in which the patterns first appear: the first that matches wins.
        self._patterns: dict[str, Times] = {}
        for pattern, variable, entry in config.section("gc"):
            field = _FIELDS.get(variable)
            if field is None:
                continue
            moment = _expiry_of(entry, now)
            if pattern is None:
                self._default = self._default._replace(**{field: moment})
            else:
                times = self._patterns.get(pattern, Times(0, 0))
                self._patterns[pattern] = times._replace(**{field: moment})

    def times_for(self, refname: str) -> Times:
        """The times for the log of `refname`."""
        total, unreachable = self._given
        configured = self._configured(refname)
        return Times(
            configured.total if total is None else total,
            configured.unreachable if unreachable is None else unreachable,
        )

    def _configured(self, refname: str) -> Times:
        from .wildmatch import wildmatch

        name = as_bytes(refname)
        for pattern, times in self._patterns.items():
            if wildmatch(as_bytes(pattern), name):
                return times
        # The log is all that a stash list consists of.
        return Times(0, 0) if refname == _STASH else self._default


_FIELDS = {"reflogexpire": "total", "reflogexpireunreachable": "unreachable"}


def _expiry_of(entry: Entry, now: int) -> int:
    if entry.value is None:
        raise bad_variable(entry, f"missing value for '{entry.key}'")
    moment = parse_expiry(entry.value, now)
    if moment is None:
        raise bad_variable(entry, f"'{entry.value}' for '{entry.key}' is not a valid timestamp")
    return moment


class Expiry:
    """Judges the entries of many logs of one store; what it reads of the history it keeps.

    With `stale_fix` an entry goes, too, if a commit that it names lacks objects; then each ref
    must lead to an object that is there, or `ObjectMissingError` is raised.
    """

    def __init__(self, store: RefStore, rules: ExpiryRules, *, stale_fix: bool = False) -> None:
        self._store = store
        self._rules = rules
        self._null = store.hash.null_hex
        self.hash_size = store.hash.size
        self.checks_objects = stale_fix
        self._history = History(store.objects, store.repository.common_dir)
        self._complete = Completeness(self._history, self._all_tips()) if stale_fix else None

    def judge(self, refname: str) -> LogJudge:
        """What decides about the entries of the log of `refname`."""
        return LogJudge(self, refname, self._rules.times_for(refname))

    def is_broken(self, oid: str) -> bool:
        """Whether `oid` is to be dropped for lack of objects (see `stale_fix`)."""
        if self._complete is None or oid == self._null:
            return False
        commit = self._history.commit_of(oid)
        return commit is None or commit not in self._complete

    def is_unreachable(self, oid: str, reachable: Reachable) -> bool:
        """Whether `oid` is, or leads to, a commit that is not among the reachable ones."""
        commit = None if oid == self._null else self._history.commit_of(oid)
        return commit is not None and commit not in reachable

    def reachable_from(self, refname: str) -> Reachable | None:
        """What can be reached from the tip of `refname`; `None` if that is no commit.

        A worktree's HEAD moves between branches, so for it every ref counts.
        """
        if parse_worktree_ref(refname).refname == "HEAD":
            return Reachable(self._history, self._ref_tips())
        ref = self._store.get(refname)
        tip = None if ref is None or ref.oid is None else self._history.commit_of(ref.oid)
        return None if tip is None else Reachable(self._history, [tip])

    def _ref_tips(self) -> Iterator[str]:
        for ref in self._store.refs():
            tip = None if ref.oid is None else self._history.commit_of(ref.oid)
            if tip is not None:
                yield tip

    def _all_tips(self) -> Iterator[str]:
        """The commits of all refs and all HEADs; what they lead to must be there, to be trusted."""
        worktrees = [f"worktrees/{found.name}/" for found in self._store.repository.worktrees()]
        heads = [f"{prefix}HEAD" for prefix in ("", "main-worktree/", *worktrees)]
        for name in (*(ref.name for ref in self._store.refs()), *heads):
            oid = self._store.read(name)
            if oid is None:
                continue
            if self._store.objects.info(oid) is None:
                raise ObjectMissingError(f"unable to parse object: {name}")
            tip = self._history.commit_of(oid)
            if tip is not None:
                yield tip


class LogJudge:
    """Says of the entries of one log whether they expire.

    The ref is read when it is first needed: under the lock, if it is `prune_logs` that asks.
    """

    def __init__(self, expiry: Expiry, refname: str, times: Times) -> None:
        self._expiry = expiry
        self._refname = refname
        self.times = times
        # From here on the time alone tells that an entry stays.
        self._stays_from = END_OF_TIME + 1 if expiry.checks_objects else max(times)
        self._committer_start = 2 * expiry.hash_size
        # That of the entry judged last: most often the next one has the same.
        self._committer = b""
        self._reachable: Reachable | None = None
        self._is_prepared = False

    def __call__(self, entry: ReflogEntry) -> bool:
        """Whether `entry` expires."""
        return self._expires(entry.time, entry.old_oid, entry.new_oid)

    def judge_raw(self, key: bytes, value: bytes) -> bool:
        """Whether the entry expires that a log record's undecoded `value` holds."""
        time = self._time_of(value)
        if time >= self._stays_from:
            return False
        if time < self.times.total:
            return True
        size = self._expiry.hash_size
        return self._expires(time, value[:size].hex(), value[size : 2 * size].hex())

    def _time_of(self, value: bytes) -> int:
        """The time in a log record's value: it follows the ids and the committer."""
        start = self._committer_start
        committer = self._committer
        if not committer or not value.startswith(committer, start):
            committer = self._committer = _committer_in(value, start)
        return varint.decode(value, start + len(committer))[0]

    def _expires(self, time: int, old_oid: str, new_oid: str) -> bool:
        if time < self.times.total:
            return True
        expiry = self._expiry
        if expiry.is_broken(old_oid) or expiry.is_broken(new_oid):
            return True
        return time < self.times.unreachable and self._is_unreachable(old_oid, new_oid)

    def _is_unreachable(self, old_oid: str, new_oid: str) -> bool:
        if not self._is_prepared:
            self._reachable = self._expiry.reachable_from(self._refname)
            self._is_prepared = True
        reachable = self._reachable
        if reachable is None:
            return True
        is_unreachable = self._expiry.is_unreachable
        return is_unreachable(old_oid, reachable) or is_unreachable(new_oid, reachable)


def _committer_in(value: bytes, start: int) -> bytes:
    """The bytes of name and email, each after its length, in a log record's value."""
    length, pos = varint.decode(value, start)
    length, pos = varint.decode(value, pos + length)
    return value[start : pos + length]


def select_entry(log: Reflog, selector: str) -> ReflogEntry | None:
    """The one entry that `{selector}` after `@` names, for deletion; `None` if there is none.

    A number counts from the newest entry; nothing is 0. A date means the newest entry from
    before it.
    """
    entries = list(log)
    number = selector.strip()
    digits = number.removeprefix("-").removeprefix("+")
    if not digits.strip("0123456789"):
        position = int(digits or 0)
        exists = position < len(entries) and not (number.startswith("-") and position)
        return entries[position] if exists else None
    moment = approxidate(selector)
    moment = present() if moment is None else moment
    # As many as are older, counted from the oldest: where the times are out of order, git does
    # the same.
    older = sum(entry.time < moment for entry in entries)
    return entries[-older] if older else None
