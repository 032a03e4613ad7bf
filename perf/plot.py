"""Plots of growth as SVG: time by number of refs, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import NamedTuple
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 170, 40, 45
#: Told apart by those who see no colours, too, and on white as on black.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_GREY = "#808080"
_TIMES = {-6: "1 us", -5: "10 us", -4: "100 us", -3: "1 ms", -2: "10 ms", -1: "100 ms"}


class Line(NamedTuple):
    """One contender: its points (size, seconds), both above 0, by size."""

    label: str
    points: Sequence[tuple[float, float]]


class _Scale(NamedTuple):
    """Maps the decades `low` to `high` (exponents of ten) to pixels."""

    low: int
    high: int
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    @property
    def decades(self) -> range:
        return range(self.low, self.high + 1)


def plot(title: str, lines: Sequence[Line]) -> str:
    """An SVG document; `lines` have at least one point among them."""
    points = [point for line in lines for point in line.points]
    x = _scale([size for size, _ in points], _LEFT, _WIDTH - _RIGHT)
    y = _scale([seconds for _, seconds in points], _HEIGHT - _BOTTOM, _TOP)
    body = [_text(_LEFT, 22, title, size=15), *_grid(x, y)]
    for number, line in enumerate(lines):
        body += _curve(line, x, y, _COLOURS[number % len(_COLOURS)], _TOP + 12 + 20 * number)
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif">'
    )
    return "\n".join([start, '<rect width="100%" height="100%" fill="#fff"/>', *body, "</svg>", ""])


def _scale(values: Sequence[float], start: float, end: float) -> _Scale:
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return _Scale(low, max(high, low + 1), start, end)


def _grid(x: _Scale, y: _Scale) -> Iterator[str]:
    for decade in x.decades:
        at = x.at(10.0**decade)
        yield _path([(at, y.start), (at, y.end)], _GREY, width=0.4)
        yield _text(at, y.start + 18, f"{10**decade:,}", anchor="middle")
    for decade in y.decades:
        at = y.at(10.0**decade)
        yield _path([(x.start, at), (x.end, at)], _GREY, width=0.4)
        yield _text(x.start - 8, at + 4, _TIMES.get(decade) or f"{10**decade:,} s", anchor="end")
    yield _text((x.start + x.end) / 2, y.start + 38, "size", anchor="middle")


def _curve(line: Line, x: _Scale, y: _Scale, colour: str, height: float) -> Iterator[str]:
    """The line, a dot at each measurement, and its name on the right."""
    dots = [(x.at(size), y.at(seconds)) for size, seconds in line.points]
    yield _path(dots, colour, width=2)
    for left, top in dots:
        yield f'<circle cx="{left}" cy="{top}" r="3" fill="{colour}"/>'
    left = _WIDTH - _RIGHT + 15
    yield _path([(left, height - 4), (left + 18, height - 4)], colour, width=2)
    yield _text(left + 24, height, line.label)


def _path(points: Sequence[tuple[float, float]], colour: str, width: float) -> str:
    where = " ".join(f"{left},{top}" for left, top in points)
    return f'<polyline points="{where}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _text(left: float, top: float, text: str, size: int = 12, anchor: str = "start") -> str:
    place = f'x="{left}" y="{top}" font-size="{size}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(text)}</text>"
