"""The value that a ref had at some entry of its log, or at some time: `main@{2}`.

Source: gitrevisions(7), `<refname>@{<n>}` and `<refname>@{<date>}`, and git's behaviour where a
log is empty, has a gap, or does not go back far enough.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from .date_fields import to_int
from .dates import MONTHS, WEEKDAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .protocols import LogEntry

# From this on a number in `@{…}` is a time, below it counts entries.
_SMALLEST_TIME = 100_000_000


class LogValue(NamedTuple):
    """What a log says: the id, and if it did not reach as far as asked, how far it reached.

    `entries` is the number of entries there are, `oldest` the one that the log begins with.
    Both are `None` where the log did reach.
    """

    oid: str
    entries: int | None = None
    oldest: LogEntry | None = None


def value_at(
    log: Iterable[LogEntry],
    current: str,
    *,
    index: int | None = None,
    moment: int | None = None,
    warn: Callable[[str], None],
    name: str,
) -> LogValue:
    """The value before the newest `index` entries, or at `moment`, of a ref now at `current`.

    `log` comes newest first. Gaps in it are told to `warn`, under `name`.
    """
    newer: LogEntry | None = None
    count = 0
    for count, entry in enumerate(log, 1):
        if count - 1 == index or (moment is not None and entry.time <= moment):
            return LogValue(_value_of(entry, newer, current, moment, warn, name))
        newer = entry
    if newer is None:
        return LogValue(current, 0)
    oldest = newer.old_oid
    if moment and _is_null(oldest):
        oldest = newer.new_oid
    return LogValue(oldest, count, newer)


def _value_of(
    entry: LogEntry,
    newer: LogEntry | None,
    current: str,
    moment: int | None,
    warn: Callable[[str], None],
    name: str,
) -> str:
    """The new value of `entry`; but where it is not what came next, the ref's present one.

    That is git's choice: the newest entry should end where the ref is now.
    """
    if newer is not None and not _is_null(newer.old_oid):
        if newer.old_oid != entry.new_oid:
            warn(f"log for ref {name} has gap after {rfc2822(entry)}")
        return entry.new_oid
    if entry.time == moment:
        return entry.new_oid
    if entry.new_oid != current:
        warn(f"log for ref {name} unexpectedly ended on {rfc2822(entry)}")
    return current


def _is_null(hexid: str) -> bool:
    return not hexid.strip("0")


def rfc2822(entry: LogEntry) -> str:
    """The time of `entry`, in its own zone, as mail headers have it."""
    sign = -1 if entry.tz_offset < 0 else 1
    hours, minutes = divmod(abs(entry.tz_offset), 100)
    told = time.gmtime(entry.time + sign * (hours * 60 + minutes) * 60)
    weekday, month = WEEKDAYS[(told.tm_wday + 1) % 7][:3], MONTHS[told.tm_mon - 1][:3]
    clock = f"{told.tm_hour:02}:{told.tm_min:02}:{told.tm_sec:02}"
    return f"{weekday}, {told.tm_mday} {month} {told.tm_year} {clock} {entry.tz_offset:+05}"


def read_selector(selector: str) -> tuple[int | None, int | None]:
    """What stands in `@{…}`: an index, or a moment in seconds since the epoch; else neither."""
    if selector.isascii() and selector.isdigit():
        number = to_int(selector)
        return (None, number) if number >= _SMALLEST_TIME else (number, None)
    from .approxidate import approxidate

    return None, approxidate(selector)
