"""The README's table and plot, out of the results: between two comments, which stay."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from perf.report import machine, ratio, seconds
from perf.runner import Result

BEGIN = "<!-- made by python -m perf: begin -->\n"
END = "<!-- made by python -m perf: end -->\n"
_PLOT = "growth-p1401-recreate.svg"

#: Workloads, and the sizes shown where they were measured.
_ROWS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("p1401 recreate", (8_000, 80_000, 800_000)),
    ("p1401 create", (8_000, 80_000, 800_000)),
    ("create into an empty store, one object", (1_000_000,)),
    ("list names", (1_000_000,)),
    ("list in the default format, one loose object", (1_000_000,)),
    ("list in the default format, many loose objects", (1_000_000,)),
    ("list in the default format, one object", (1_000_000,)),
    ("list in the default format, many objects", (1_000_000,)),
    ("names and ids into a dict (in process)", (1_000_000,)),
    ("optimize", (1_000_000,)),
    ("update one ref (in process)", (1_000_000,)),
    ("start", (1_000_000,)),
)


def update(readme: Path, results: Sequence[Result], folder: Path) -> None:
    """Replace what is between the comments. Raises `ValueError` where they are missing."""
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{readme}: no lines {BEGIN.strip()} and {END.strip()}")
    lines = [*_table(results), "", *_plot(readme, folder)]
    readme.write_text(before + begin + "\n".join(lines) + "\n" + end + after, encoding="utf-8")


def _table(results: Sequence[Result]) -> Iterator[str]:
    medians = {(r.workload, r.size, r.contender): r.median("wall") for r in results}
    gits = list(dict.fromkeys(r.contender for r in results if r.contender.startswith("git ")))
    heads = [cell for git in gits for cell in (git, "ratio")]
    yield f"Medians; {', '.join(machine().values())}."
    yield ""
    yield f"| workload | refs | {' | '.join(['pyreftable', *heads])} |"
    yield f"| --- | {' | '.join(['--:'] * (2 + len(heads)))} |"
    for workload, sizes in _ROWS:
        for size in sizes:
            ours = medians.get((workload, size, "pyreftable"))
            if ours is None:
                continue
            cells = [workload, f"{size:,}", seconds(ours)]
            for git in gits:
                theirs = medians.get((workload, size, git))
                cells += ["", ""] if theirs is None else [seconds(theirs), ratio(ours, theirs)]
            yield f"| {' | '.join(cells)} |"


def _plot(readme: Path, folder: Path) -> Iterator[str]:
    if (folder / _PLOT).exists():
        path = Path(os.path.relpath(folder / _PLOT, readme.parent)).as_posix()
        yield f"![Time by number of refs, both axes logarithmic]({path})"
