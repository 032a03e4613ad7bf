"""Dates as git reads them in `GIT_COMMITTER_DATE`: exact forms, scanned word by word.

`parse_date` takes what git takes: `@1700000000 +0100` and bare seconds, RFC 2822, ISO 8601 with
`T` or a blank, dates with `-`, `/` or `.`, zone names, and loose mixtures of them. It works as
git does: it walks over the text, lets each word, number or zone fill in the fields it can mean,
and skips what it does not know. So a few odd texts mean odd dates; they mean the same to git.

Times are seconds since the epoch (UTC). Years from 1970 to 2099 are understood, as in git.
Dates in words ("yesterday", "2.weeks.ago") are in `approxidate`.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from .date_fields import (
    DIGITS,
    LETTERS,
    Fields,
    digits_at,
    is_number,
    letters_at,
    match_word,
    to_int,
)

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
WEEKDAYS = ["Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays"]

# Hours from UTC, and the zone names that mean them, summer time included.
_ZONES = {
    -12: "IDLW",
    -11: "NT",
    -10: "CAT HST",
    -9: "HDT YST",
    -8: "YDT PST",
    -7: "PDT MST",
    -6: "MDT CST",
    -5: "CDT EST",
    -4: "EDT",
    -3: "AST",
    -2: "ADT",
    -1: "WAT",
    0: "GMT UTC Z WET",
    1: "BST CET MET MEWT FWT",
    2: "MEST CEST MESZ FST EET",
    3: "EEST",
    7: "WAST",
    8: "WADT CCT",
    9: "JST",
    10: "EAST GST",
    11: "EADT",
    12: "NZT NZST IDLE",
    13: "NZDT",
}

# A number this big cannot be a YYYYMMDD date, so it is seconds since the epoch.
_SMALLEST_TIMESTAMP = 100_000_000
_LARGEST_TIMESTAMP = 4_102_444_799  # 2099-12-31 23:59:59


class Stamp(NamedTuple):
    """A moment (seconds since the epoch) and the zone it was told in (minutes east of UTC)."""

    time: int
    offset: int


def parse_date(text: str) -> Stamp | None:
    """The moment that `text` means, `None` if git could not tell.

    Without a zone in the text it is local time. Source: git-commit(1), "DATE FORMATS".
    """
    if text.startswith("@"):
        stamp = _object_header_date(text[1:])
        if stamp is not None:
            return stamp
    fields = Fields()
    position = 0
    while position < len(text) and text[position] != "\n":
        position += max(1, _step(text, position, fields))
    moment = fields.as_utc()
    if moment is None:
        return None
    offset = _local_offset_of(fields, moment) if fields.offset is None else fields.offset
    if not fields.utc:
        moment -= offset * 60
    return Stamp(moment, offset) if 0 <= moment <= _LARGEST_TIMESTAMP else None


def _local_offset_of(fields: Fields, moment: int) -> int:
    fields.dst = -1
    # Truncated towards zero, like C's division.
    return int((moment - fields.as_local()) / 60)


def _object_header_date(text: str) -> Stamp | None:
    """The form in commit objects, `SECONDS +HHMM`: any size of number, and nothing after it."""
    seconds, _, zone = text.partition("\n")[0].partition(" ")
    if not is_number(seconds) or len(zone) != 5 or zone[0] not in "+-" or not is_number(zone[1:]):
        return None
    return Stamp(to_int(seconds), _zone_minutes(zone[0], int(zone[1:3]), int(zone[3:])))


def _zone_minutes(sign: str, hours: int, minutes: int) -> int:
    total = hours * 60 + minutes
    return -total if sign == "-" else total


def _step(text: str, position: int, fields: Fields) -> int:
    """Let what stands at `position` fill in `fields`; how many characters it took (0: none)."""
    character = text[position]
    if character in LETTERS:
        return _word(text, position, fields)
    if character in DIGITS:
        return _number(text, position, fields)
    if character in "+-" and is_number(text[position + 1 : position + 2]):
        return _zone(text, position, fields)
    return 0


def match_name(text: str, position: int, names: list[str]) -> int | None:
    """Index of the month or weekday at `position`, which three letters are enough to tell."""
    for index, name in enumerate(names):
        if match_word(text, position, name) >= 3:
            return index
    return None


def _word(text: str, position: int, fields: Fields) -> int:
    length = letters_at(text, position)
    month = match_name(text, position, MONTHS)
    if month is not None:
        fields.month = month
        return length
    if match_name(text, position, WEEKDAYS) is not None:
        return length
    hours = _zone_hours(text, position)
    if hours is not None:
        fields.offset = hours * 60 if fields.offset is None else fields.offset
        return length
    for name, shift in (("PM", 12), ("AM", 0)):
        if match_word(text, position, name) == 2:
            # An hour not yet known is -1, and stays out of range for "AM", as in git.
            fields.hour = (fields.hour % 12 if fields.hour >= 0 else -1) + shift
            return length
    if text[position] == "T" and digits_at(text, position + 1) and fields.hour == -1:
        fields.minute = fields.second = 0
        return 1
    return length


def _zone_hours(text: str, position: int) -> int | None:
    for hours, names in _ZONES.items():
        for name in names.split():
            match = match_word(text, position, name)
            if match >= 3 or match == len(name):
                return hours
    return None


def _zone(text: str, position: int, fields: Fields) -> int:
    """`+HHMM`, `+HH` or `+HH:MM`; anything else is skipped."""
    digits = digits_at(text, position + 1)
    end = position + 1 + digits
    number = to_int(text[position + 1 : end])
    hours, minutes = number, 0
    plausible = digits in (2, 4)
    if digits == 4:
        hours, minutes = divmod(number, 100)
    elif digits == 2 and text[end : end + 1] == ":":
        more = digits_at(text, end + 1)
        minutes = to_int(text[end + 1 : end + 1 + more] or "0")
        plausible = more == 2
        end += 1 + more
    if plausible and minutes < 60 and hours < 24:
        fields.offset = _zone_minutes(text[position], hours, minutes)
    return end - position


def _number(text: str, position: int, fields: Fields) -> int:
    """A run of digits: by its size and its neighbours a time, a date, or a part of one."""
    digits = digits_at(text, position)
    number = to_int(text[position : position + digits])
    if number >= _SMALLEST_TIMESTAMP and fields.is_blank() and _set_timestamp(number, fields):
        return digits
    grouped = grouped_numbers(text, position, fields, int(time.time()))
    if grouped:
        return grouped
    if digits in (6, 8):
        return digits + _compact(number, digits, text[position + digits :], fields)
    if fields.hour == -1 and fields.minute == 0 and fields.second == 0:
        hour, minute = divmod(number, 100) if digits == 4 else (number, 0)
        if digits in (2, 4) and fields.set_time(hour, minute, 0):
            return digits
        # The "T" before it did not start a time after all.
        fields.minute = fields.second = -1
    if digits == 4:
        _year_or_zone(number, fields)
    elif digits <= 2:
        _short_number(number, digits, fields)
    return digits


def _set_timestamp(number: int, fields: Fields) -> bool:
    try:
        moment = time.gmtime(number)
    except (OverflowError, OSError):
        return False
    fields.set_from(moment)
    fields.utc = True
    return True


def _compact(number: int, digits: int, rest: str, fields: Fields) -> int:
    """YYYYMMDD or HHMMSS; the length of a fraction of seconds after the latter."""
    high, middle, low = number // 10_000, number // 100 % 100, number % 100
    if digits == 8:
        fields.set_date(high, middle, low)
    elif fields.set_time(high, middle, low) and rest.startswith(".") and digits_at(rest, 1):
        return 1 + digits_at(rest, 1)
    return 0


def _year_or_zone(number: int, fields: Fields) -> None:
    if number <= 1400 and fields.offset is None:
        fields.offset = _zone_minutes("+", *divmod(number, 100))
    elif 1900 < number < 2100:
        fields.year = number


def _short_number(number: int, digits: int, fields: Fields) -> None:
    """One or two digits: a day if there is none yet, else a year, else a month."""
    if 0 < number < 32 and fields.day < 0:
        fields.day = number
    elif digits == 2 and fields.year < 0 and number < 10 and fields.day >= 0:
        fields.year = 2000 + number
    elif digits == 2 and fields.year < 0 and number >= 70:
        fields.year = 1900 + number
    elif 0 < number < 13 and fields.month < 0:
        fields.month = number - 1


def grouped_numbers(text: str, position: int, fields: Fields, now: int) -> int:
    """Two or three numbers with `:`, `-`, `/` or `.` between: a time or a date.

    How many characters they take, 0 if there is no such group or it makes no sense. A date with
    the year last must not lie in the future of `now`.
    """
    numbers, separator, end = _split_group(text, position)
    if len(numbers) < 2:
        return 0
    first, second = numbers[0], numbers[1]
    third = numbers[2] if len(numbers) > 2 else -1
    if separator == ":":
        if not fields.set_time(first, second, max(third, 0)):
            return 0
        if text[end : end + 1] == "." and fields.has_date():
            end += 1 + digits_at(text, end + 1) if digits_at(text, end + 1) else 0
        return end - position
    return end - position if _set_any_order(first, second, third, separator, fields, now) else 0


def _set_any_order(
    first: int, second: int, third: int, separator: str, fields: Fields, now: int
) -> bool:
    """Year first if the first number can be one; else month/day/year, or day.month.year."""
    if first > 70 and (
        fields.set_date(first, second, third) or fields.set_date(first, third, second)
    ):
        return True
    month_first, day_first = (first, second), (second, first)
    orders = (day_first, month_first) if separator == "." else (month_first, day_first)
    return any(fields.set_past_date(third, month, day, now) for month, day in orders)


def _split_group(text: str, position: int) -> tuple[list[int], str, int]:
    """The numbers of a group of at most three, their separator, and where the group ends."""
    end = position + digits_at(text, position)
    numbers = [to_int(text[position:end])]
    separator = text[end : end + 1]
    if separator not in {":", "-", "/", "."}:
        return numbers, "", end
    while len(numbers) < 3 and text[end : end + 1] == separator and digits_at(text, end + 1):
        start, end = end + 1, end + 1 + digits_at(text, end + 1)
        numbers.append(to_int(text[start:end]))
    return numbers, separator, end
