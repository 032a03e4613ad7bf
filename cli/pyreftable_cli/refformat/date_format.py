"""Dates as fields show them: `reflog_dates` knows most formats of `--date`, here is `human`.

`human` leaves out what goes without saying: the year and the date while they are the present
ones, the zone where it is ours; a moment of today is told as a distance.

Source: `git-log`, option `--date`.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from pyreftable.refs.dates import MONTHS, WEEKDAYS
from pyreftable.refs.identity import local_offset, tz_integer

from ..reflog_dates import DateMode, parse_date_mode, show_date

if TYPE_CHECKING:
    from collections.abc import Mapping

_HUMAN = ("human", "human-local")
_WEEKDAY_DAYS = 5


class DateFormat:
    """Shows moments in the format `text`, which is read when first needed."""

    def __init__(self, text: str | None, environ: Mapping[str, str]) -> None:
        self._text = text
        self._environ = environ
        self._mode: DateMode | None = DateMode() if text is None else None

    def check(self) -> DateMode:
        """Raises `Fatal` if there is no such format."""
        if self._mode is None:
            text = self._text or ""
            if text.startswith("auto:"):
                text = text.removeprefix("auto:") if sys.stdout.isatty() else "default"
            if text in _HUMAN:
                self._mode = DateMode("human", text != "human")
            else:
                self._mode = parse_date_mode(text)
        return self._mode

    def __call__(self, moment: int, tz_offset: int) -> str:
        """`moment` (seconds since the epoch) as it was in the zone `tz_offset` (+0130 is 130)."""
        mode = self.check()
        if mode.kind != "human":
            return show_date(moment, tz_offset, mode, self._environ)
        if mode.is_local:
            tz_offset = tz_integer(local_offset(moment))
        return self._human(moment, tz_offset, mode.is_local)

    def _human(self, moment: int, tz_offset: int, is_local: bool) -> str:
        now = int(self._environ.get("GIT_TEST_DATE_NOW") or time.time())
        told, today = _told(moment, tz_offset), time.localtime(now)
        same_year = told.tm_year == today.tm_year
        days_ago = today.tm_mday - told.tm_mday
        if not (same_year and told.tm_mon == today.tm_mon):
            days_ago = -1
        if days_ago == 0:
            return show_date(moment, tz_offset, DateMode("relative"), self._environ)
        is_near = 0 < days_ago < _WEEKDAY_DAYS
        parts: list[str] = []
        if same_year:
            parts.append(WEEKDAYS[(told.tm_wday + 1) % 7][:3])
        if not is_near:
            parts.append(f"{MONTHS[told.tm_mon - 1][:3]} {told.tm_mday}")
        parts.append(f"{told.tm_hour:02}:{told.tm_min:02}" if same_year else str(told.tm_year))
        if is_near and not is_local and tz_offset != tz_integer(local_offset(now)):
            parts.append(f"{tz_offset:+05}")
        return " ".join(parts)


def _told(moment: int, tz_offset: int) -> time.struct_time:
    """The calendar time in a zone; the epoch for a moment that the system cannot express."""
    sign = -1 if tz_offset < 0 else 1
    hours, minutes = divmod(abs(tz_offset), 100)
    try:
        return time.gmtime(moment + sign * (hours * 60 + minutes) * 60)
    except (OverflowError, OSError, ValueError):
        return time.gmtime(0)
