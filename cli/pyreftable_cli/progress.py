"""How far a long command has come, on one line of the terminal:

    Writing refs:  45% (90,000 of 200,000), 41,300/s, 3 s left

It appears after a second (or as many as `GIT_PROGRESS_DELAY` says, as with git), is drawn over ten
times a second, and is erased before anything else is printed, and at the end.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from .streams import STDERR, write_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: How long a command may take before it has to show how far it is; in seconds.
DELAY = 1.0
_INTERVAL = 0.1
_DEFAULT_WIDTH = 80


class Meter:
    """A `Progress` that draws, from `delay` seconds on. `clock` gives seconds; `write` draws."""

    def __init__(
        self,
        delay: float = DELAY,
        write: Callable[[bytes], object] = write_error,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._clock = clock
        self._what = ""
        self._total: int | None = None
        self._done = 0
        self._started = clock()
        self._next = self._started + delay
        self._drawn = 0

    def start(self, what: str, total: int | None = None) -> None:
        """See `Progress`."""
        self._what, self._total, self._done = what, total, 0
        self._started = self._clock()

    def advance(self, count: int) -> None:
        """See `Progress`."""
        self._done += count
        now = self._clock()
        if now >= self._next:
            self._next = now + _INTERVAL
            self._draw(progress_line(self._what, self._done, self._total, now - self._started))

    def erase(self) -> None:
        """Leave the terminal as if nothing had been drawn."""
        if self._drawn:
            self._draw("")
            self._write(b"\r")

    def _draw(self, text: str) -> None:
        # Spaces rather than an escape sequence: every terminal knows those.
        text = text[: _width() - 1]
        self._write(b"\r" + text.ljust(self._drawn).encode())
        self._drawn = len(text)


def progress_line(what: str, done: int, total: int | None, seconds: float) -> str:
    """The text for `done` items in `seconds`; `total` is an estimate, or not known (`None`, 0)."""
    rate = done / seconds if seconds > 0 else 0.0
    if not total or done > total:
        return f"{what}: {done:,}, {rate:,.0f}/s"
    line = f"{what}: {100 * done // total:3}% ({done:,} of {total:,}), {rate:,.0f}/s"
    if rate:
        line += f", {_span((total - done) / rate)} left"
    return line


def delay_of(environ: Mapping[str, str]) -> float:
    """The delay that the environment asks for, in seconds; what is no number counts as none."""
    text = environ.get("GIT_PROGRESS_DELAY", "")
    return float(text) if text.isascii() and text.isdigit() else DELAY


def _span(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole // 60 % 60:02} min"


def _width() -> int:
    try:
        return os.get_terminal_size(STDERR).columns or _DEFAULT_WIDTH
    except OSError:
        return _DEFAULT_WIDTH
