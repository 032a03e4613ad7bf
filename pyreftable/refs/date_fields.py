"""The fields of a date being put together, and the scanning of its text; see `dates`.

Letters and digits are ASCII's, as in git.
"""

from __future__ import annotations

import time

DIGITS = frozenset("0123456789")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ALNUM = DIGITS | LETTERS

_UINT64_MAX = (1 << 64) - 1
_TEN_DAYS = 10 * 86_400
_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


class Fields:
    """A date being put together; a field that is not known yet is negative.

    `year` is the full year, `month` counts from 0, `dst` says whether it is told in summer time
    (-1: as usual at that date).
    """

    __slots__ = (
        "day",
        "dst",
        "hour",
        "minute",
        "month",
        "offset",
        "second",
        "utc",
        "weekday",
        "year",
    )

    def __init__(self) -> None:
        self.year = self.month = self.day = self.hour = self.minute = self.second = -1
        self.weekday = 0
        self.dst = -1
        self.offset: int | None = None
        self.utc = False

    def set_from(self, moment: time.struct_time) -> None:
        """Take over everything that `moment` tells."""
        self.year, self.month, self.day = moment.tm_year, moment.tm_mon - 1, moment.tm_mday
        self.hour, self.minute, self.second = moment.tm_hour, moment.tm_min, moment.tm_sec
        self.weekday = (moment.tm_wday + 1) % 7
        self.dst = moment.tm_isdst

    def is_blank(self) -> bool:
        """Whether neither the date nor the time has been touched."""
        fields = (self.year, self.month, self.day, self.hour, self.minute, self.second)
        return all(field < 0 for field in fields)

    def has_date(self) -> bool:
        """Whether the whole date is known."""
        return self.year >= 0 and self.month >= 0 and self.day >= 0

    def as_utc(self) -> int | None:
        """Seconds since the epoch, the fields read as UTC; `None` if incomplete or out of range."""
        if not (1970 <= self.year < 2100 and 0 <= self.month < 12):
            return None
        if self.hour < 0 or self.minute < 0 or self.second < 0:
            return None
        past = self.year - 1970
        leap_day_ahead = self.month < 2 or self.year % 4 != 0
        days = past * 365 + (past + 1) // 4 + _DAYS_BEFORE_MONTH[self.month] + self.day
        return ((days - leap_day_ahead) * 24 + self.hour) * 3600 + self.minute * 60 + self.second

    def as_local(self) -> int:
        """Seconds since the epoch, the fields read as local time."""
        date = (self.year, self.month + 1, self.day, self.hour, self.minute, self.second)
        return int(time.mktime((*date, 0, 0, self.dst)))

    def set_time(self, hour: int, minute: int, second: int) -> bool:
        """Set the time of day if it is one (leap seconds and 24:00 are)."""
        if not (0 <= hour <= 24 and 0 <= minute < 60 and 0 <= second <= 60):
            return False
        self.hour, self.minute, self.second = hour, minute, second
        return True

    def set_date(self, year: int, month: int, day: int) -> bool:
        """Set the date if it is one; even if the year is none, month and day are kept."""
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return False
        self.month, self.day = month - 1, day
        full = _full_year(year)
        if full is not None:
            self.year = full
        return full is not None

    def set_past_date(self, year: int, month: int, day: int, now: int) -> bool:
        """Set the date unless it is more than ten days ahead; year -1 is the current one."""
        probe = Fields()
        probe.hour, probe.minute, probe.second = self.hour, self.minute, self.second
        if not probe.set_date(time.gmtime(now).tm_year if year == -1 else year, month, day):
            return False
        moment = probe.as_utc()
        if moment is not None and now + _TEN_DAYS < moment:
            return False
        self.month, self.day = probe.month, probe.day
        if year != -1:
            self.year = probe.year
        return True


def _full_year(year: int) -> int | None:
    if 1970 <= year < 2100:
        return year
    if 70 < year < 100:
        return 1900 + year
    if 0 <= year < 38:
        return 2000 + year
    return None


def to_int(digits: str) -> int:
    """The number that `digits` spell; what is too big for 64 bits is the biggest that is not."""
    return min(int(digits), _UINT64_MAX) if len(digits) <= 20 else _UINT64_MAX


def is_number(text: str) -> bool:
    """Whether `text` is one or more ASCII digits."""
    return text.isascii() and text.isdigit()


def digits_at(text: str, position: int) -> int:
    """How many digits stand at `position`."""
    end = position
    while end < len(text) and text[end] in DIGITS:
        end += 1
    return end - position


def letters_at(text: str, position: int) -> int:
    """How many letters stand at `position`."""
    end = position
    while end < len(text) and text[end] in LETTERS:
        end += 1
    return end - position


def match_word(text: str, position: int, word: str) -> int:
    """How much of `word` the word at `position` spells: 0 unless it is `word` or starts it."""
    length = 0
    while position + length < len(text) and text[position + length] in _ALNUM:
        length += 1
    spelled = text[position : position + length].lower()
    return length if word.lower().startswith(spelled) else 0
