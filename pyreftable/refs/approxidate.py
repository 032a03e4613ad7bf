"""Dates in words, as in `main@{yesterday}`, `--expire=90.days.ago` and `gc.reflogExpire`.

An exact date (see `dates`) is taken as one. Else the text is read loosely, word by word, against
the present: a number waits for the unit that follows it, a unit moves the date back, a weekday
or month name goes to the last one. Whatever is not understood is skipped; only a text in which
nothing at all was understood is refused.

Source: gitrevisions(7), `<refname>@{<date>}`, and git's behaviour.
"""

from __future__ import annotations

import os
import time

from .date_fields import (
    DIGITS,
    LETTERS,
    Fields,
    digits_at,
    letters_at,
    match_word,
    to_int,
)
from .dates import MONTHS, WEEKDAYS, grouped_numbers, match_name, parse_date

#: Later than any entry: what "now" and "all" mean where things expire.
END_OF_TIME = (1 << 64) - 1

_DAY = 86_400
_UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": _DAY, "weeks": 7 * _DAY}
_NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_HOURS = {"noon": 12, "midnight": 0, "tea": 17}


def approxidate(text: str, now: int | None = None) -> int | None:
    """The moment (seconds since the epoch) that `text` means at `now`; `None` if it means none."""
    stamp = parse_date(text)
    if stamp is not None:
        return stamp.time
    try:
        return _Reader(text, present() if now is None else now).read()
    except (OverflowError, OSError):
        # Further back than the system's calendar goes.
        return None


def present() -> int:
    """Now, in seconds since the epoch, or what GIT_TEST_DATE_NOW says it is, as in git."""
    return int(os.environ.get("GIT_TEST_DATE_NOW") or time.time())


def parse_expiry(text: str, now: int | None = None) -> int | None:
    """The moment before which things expire: 0 for "never", `END_OF_TIME` for "now" and "all".

    `None` if `text` is no date.
    """
    if text in ("never", "false"):
        return 0
    if text in ("now", "all"):
        return END_OF_TIME
    return approxidate(text, now)


class _Reader:
    """One reading of one text.

    `fields.day` of -2 stands for "the day before, unless a day is named", -1 for "not known".
    """

    def __init__(self, text: str, now: int) -> None:
        self.text = text
        self.now = now
        self.present = Fields()
        self.present.set_from(time.localtime(now))
        self.fields = Fields()
        self.fields.set_from(time.localtime(now))
        self.fields.year = self.fields.month = self.fields.day = -1
        self.number = 0
        self.understood = False

    def read(self) -> int | None:
        position = 0
        while position < len(self.text):
            character = self.text[position]
            if character in DIGITS:
                self._place_number()
                position += self._digits(position)
                self.understood = True
            elif character in LETTERS:
                self._word(position)
                position += letters_at(self.text, position)
            else:
                position += 1
        self._place_number()
        return self._settle(0) if self.understood else None

    def _digits(self, position: int) -> int:
        length = grouped_numbers(self.text, position, self.fields, self.now)
        if length:
            return length
        length = digits_at(self.text, position)
        # "Dec 02" means the second, "Dec 0002" nothing.
        if self.text[position] != "0" or length <= 2:
            self.number = to_int(self.text[position : position + length])
        return length

    def _place_number(self) -> None:
        """A number that nothing followed: a day, else a month, else a year."""
        number, self.number = self.number, 0
        fields = self.fields
        if number == 0:
            return
        if fields.day < 0 and number < 32:
            fields.day = number
        elif fields.month < 0 and number < 13:
            fields.month = number - 1
        elif fields.year < 0:
            if 1969 < number < 2100:
                fields.year = number
            elif 69 < number < 100:
                fields.year = 1900 + number
            elif number < 38:
                fields.year = 2000 + number

    def _settle(self, seconds: int) -> int:
        """Fill in what is not known from the present, go back by `seconds`, and normalise."""
        fields, present = self.fields, self.present
        if fields.day < 0:
            days_back = -1 - fields.day
            if seconds == 0:
                seconds = days_back * _DAY
            fields.day = present.day
        if fields.month < 0:
            fields.month = present.month
        if fields.year < 0:
            fields.year = present.year - (fields.month > present.month)
        moment = fields.as_local() - seconds
        fields.set_from(time.localtime(moment))
        return moment

    def _word(self, position: int) -> None:
        month = match_name(self.text, position, MONTHS)
        if month is not None:
            self.fields.month = month
        elif not (self._named_moment(position) or self._quantity(position)):
            return
        self.understood = True

    def _named_moment(self, position: int) -> bool:
        for word, action in _MOMENTS.items():
            if match_word(self.text, position, word) == len(word):
                action(self)
                return True
        for word, hour in _HOURS.items():
            if match_word(self.text, position, word) == len(word):
                self._place_number()
                self._set_hour(hour)
                return True
        return False

    def _set_hour(self, hour: int) -> None:
        """The last time it was `hour`: yesterday's, if today's is still to come."""
        if self.fields.day < 0 and self.fields.hour < hour:
            self.fields.day = -2
        self.fields.set_time(hour, 0, 0)

    def _yesterday(self) -> None:
        self.number = 0
        self.fields.day = -1
        self._settle(_DAY)

    def _today(self) -> None:
        fields, present = self.fields, self.present
        if (fields.hour, fields.minute, fields.second) == (
            present.hour,
            present.minute,
            present.second,
        ):
            self._set_hour(0)
        self.number = 0
        fields.day = -1
        self._settle(0)

    def _at_present(self) -> None:
        self.number = 0
        self._settle(0)

    def _never(self) -> None:
        self.number = 0
        self.fields.set_from(time.localtime(0))

    def _half_day(self, shift: int) -> None:
        number, self.number = self.number, 0
        if number:
            self.fields.minute = self.fields.second = 0
        self.fields.hour = (number or self.fields.hour) % 12 + shift

    def _morning(self) -> None:
        self._half_day(0)

    def _afternoon(self) -> None:
        self._half_day(12)

    def _quantity(self, position: int) -> bool:
        """A number in words, or the unit that the waiting number counts."""
        if self.number == 0:
            return self._number_in_words(position)
        for unit, seconds in _UNITS.items():
            if match_word(self.text, position, unit) >= len(unit) - 1:
                self._settle(self._take_number() * seconds)
                return True
        weekday = match_name(self.text, position, WEEKDAYS)
        if weekday is not None:
            back = self.fields.weekday - weekday
            weeks = self._take_number() - (back > 0)
            self._settle((back + 7 * weeks) * _DAY)
            return True
        return self._months_or_years(position)

    def _number_in_words(self, position: int) -> bool:
        for number, word in enumerate(_NUMBERS, 1):
            if match_word(self.text, position, word) == len(word):
                self.number = number
                return True
        if match_word(self.text, position, "last") == len("last"):
            self.number = 1
            return True
        return False

    def _months_or_years(self, position: int) -> bool:
        if match_word(self.text, position, "months") >= len("month"):
            self._settle(0)
            years, self.fields.month = divmod(self.fields.month - self._take_number(), 12)
            self.fields.year += years
            return True
        if match_word(self.text, position, "years") >= len("year"):
            self._settle(0)
            self.fields.year -= self._take_number()
            return True
        return False

    def _take_number(self) -> int:
        number, self.number = self.number, 0
        return number


_MOMENTS = {
    "yesterday": _Reader._yesterday,
    "PM": _Reader._afternoon,
    "AM": _Reader._morning,
    "never": _Reader._never,
    "now": _Reader._at_present,
    "today": _Reader._today,
}
