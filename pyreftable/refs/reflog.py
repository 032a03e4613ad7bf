"""Reading reflogs.

An entry whose ids are both null is git's marker for "this log exists, and is empty"; readers
never see it. Source: git's `refs/reftable-backend.c` behaviour, checked against `git reflog`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..format.records import LogRecord
from ..merged import Merged
from .text import as_text


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
    """The names that have a log, in order; seeks from one name to the next."""
    start = b""
    while True:
        for record in merged.logs(start):
            if not record.is_deletion:
                yield record.refname
                # Past every key "name NUL be64": 0x01 follows NUL.
                start = record.refname + b"\1"
                break
        else:
            return
