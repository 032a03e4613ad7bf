"""How dates are shown: the formats of `--date`.

    relative iso iso-strict rfc short default raw unix format:<strftime>, each also with `-local`

Source: `git-log`, option `--date`. The format `human` is not known here.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from pyreftable.refs.dates import MONTHS, WEEKDAYS
from pyreftable.refs.identity import local_offset, tz_integer

from .exits import Fatal

if TYPE_CHECKING:
    from collections.abc import Mapping

# A name must come before the names it begins with.
_KINDS = {
    "relative": "relative",
    "iso8601-strict": "iso-strict",
    "iso-strict": "iso-strict",
    "iso8601": "iso",
    "iso": "iso",
    "rfc2822": "rfc",
    "rfc": "rfc",
    "short": "short",
    "default": "default",
    "raw": "raw",
    "unix": "unix",
    "format": "format",
}

_DAYS_A_YEAR = 365


class DateMode(NamedTuple):
    """A way to show dates: its git name, whether in the local zone, and a strftime format."""

    kind: str = "default"
    is_local: bool = False
    format: str = ""


def parse_date_mode(text: str) -> DateMode:
    """What `--date=<text>` asks for; raises `Fatal`."""
    if text.startswith("auto:"):
        text = text.removeprefix("auto:") if sys.stdout.isatty() else "default"
    if text == "local":
        text = "default-local"
    prefix = next((name for name in _KINDS if text.startswith(name)), None)
    if prefix is None:
        raise Fatal(f"unknown date format {text}")
    rest = text[len(prefix) :]
    is_local = rest.startswith("-local")
    rest = rest.removeprefix("-local")
    if prefix == "format":
        if not rest.startswith(":"):
            raise Fatal(f"date format missing colon separator: {text}")
        return DateMode("format", is_local, rest[1:])
    if rest:
        raise Fatal(f"unknown date format {text}")
    return DateMode(_KINDS[prefix], is_local)


def show_date(moment: int, tz_offset: int, mode: DateMode, environ: Mapping[str, str]) -> str:
    """`moment` (seconds since the epoch) in the zone `tz_offset` (+0130 is 130), shown as `mode`.

    `environ` is asked for GIT_TEST_DATE_NOW, which stands for the present.
    """
    if mode.kind == "unix":
        return str(moment)
    if mode.is_local:
        tz_offset = tz_integer(local_offset(moment))
    if mode.kind == "raw":
        return f"{moment} {tz_offset:+05}"
    if mode.kind == "relative":
        return _relative(moment, int(environ.get("GIT_TEST_DATE_NOW") or time.time()))
    told, tz_offset = _told(moment, tz_offset)
    return _calendar(moment, told, tz_offset, mode)


def _told(moment: int, tz_offset: int) -> tuple[time.struct_time, int]:
    """The calendar time in a zone; the epoch for a moment that the system cannot express."""
    sign = -1 if tz_offset < 0 else 1
    hours, minutes = divmod(abs(tz_offset), 100)
    try:
        return time.gmtime(moment + sign * (hours * 60 + minutes) * 60), tz_offset
    except (OverflowError, OSError, ValueError):
        return time.gmtime(0), 0


def _calendar(moment: int, told: time.struct_time, tz_offset: int, mode: DateMode) -> str:
    date = f"{told.tm_year:04}-{told.tm_mon:02}-{told.tm_mday:02}"
    clock = f"{told.tm_hour:02}:{told.tm_min:02}:{told.tm_sec:02}"
    weekday, month = WEEKDAYS[(told.tm_wday + 1) % 7][:3], MONTHS[told.tm_mon - 1][:3]
    if mode.kind == "short":
        return date
    if mode.kind == "iso":
        return f"{date} {clock} {tz_offset:+05}"
    if mode.kind == "iso-strict":
        zone = f"{tz_offset:+05}"
        return f"{date}T{clock}" + (f"{zone[:3]}:{zone[3:]}" if tz_offset else "Z")
    if mode.kind == "rfc":
        return f"{weekday}, {told.tm_mday} {month} {told.tm_year} {clock} {tz_offset:+05}"
    if mode.kind == "format":
        return _strftime(moment, told, tz_offset, mode)
    shown = f"{weekday} {month} {told.tm_mday} {clock} {told.tm_year}"
    return shown if mode.is_local else f"{shown} {tz_offset:+05}"


def _strftime(moment: int, told: time.struct_time, tz_offset: int, mode: DateMode) -> str:
    """As strftime, with the zone's own offset; its name is known for the local zone only."""
    name = time.tzname[time.localtime(moment).tm_isdst > 0] if mode.is_local else ""
    ours = {"%%": "%%", "%z": f"{tz_offset:+05}", "%Z": name, "%s": str(moment)}
    parts = []
    at = 0
    while at < len(mode.format):
        length = 2 if mode.format[at] == "%" else 1
        piece = mode.format[at : at + length]
        parts.append(ours.get(piece, piece))
        at += length
    return time.strftime("".join(parts), told)


def _relative(moment: int, now: int) -> str:
    """The distance in the one unit that suits it; years with months for the first five."""
    if now < moment:
        return "in the future"
    seconds = now - moment
    if seconds < 90:
        return _ago(seconds, "second")
    minutes = (seconds + 30) // 60
    if minutes < 90:
        return _ago(minutes, "minute")
    hours = (minutes + 30) // 60
    if hours < 36:
        return _ago(hours, "hour")
    days = (hours + 12) // 24
    if days < 14:
        return _ago(days, "day")
    if days < 70:
        return _ago((days + 3) // 7, "week")
    if days < _DAYS_A_YEAR:
        return _ago((days + 15) // 30, "month")
    if days >= 5 * _DAYS_A_YEAR:
        return _ago((days + 183) // _DAYS_A_YEAR, "year")
    years, months = divmod((days * 24 + _DAYS_A_YEAR) // (2 * _DAYS_A_YEAR), 12)
    return f"{_count(years, 'year')}, {_ago(months, 'month')}" if months else _ago(years, "year")


def _ago(number: int, unit: str) -> str:
    return f"{_count(number, unit)} ago"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
