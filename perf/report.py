"""Results as Markdown, JSON and plots of growth.

results.json          every round's figures, and on what they were measured
results.md            medians and ratios; tables of time, of memory, of readers
growth-WORKLOAD.svg   time by size, where there are several sizes
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from perf.plot import Line, plot
from perf.runner import Plan, Result

#: Figures of the readers with their units: how to show them.
_READERS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("rate", "look-ups/s", lambda value: f"{value:,.0f}"),
    ("p95", "95 % within", lambda value: seconds(value)),
    ("longest", "longest", lambda value: seconds(value)),
    ("waited", "waiting for locks", lambda value: f"{value:.2%}"),
    ("idle", "not running", lambda value: f"{value:.1%}"),
    ("commits", "commits/s", lambda value: f"{value:,.0f}"),
)

# A workload at a size: its results by contender.
Rows = dict[tuple[str, int], dict[str, Result]]


def write(results: Sequence[Result], plan: Plan, folder: Path) -> None:
    """Write everything into `folder`, which is made; earlier results there are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("growth-*.svg"):
        old.unlink()
    plots = dict(_plots(results))
    for name, svg in plots.items():
        (folder / name).write_text(svg, encoding="utf-8")
    (folder / "results.json").write_text(as_json(results, plan), encoding="utf-8")
    (folder / "results.md").write_text(as_markdown(results, plan, list(plots)), encoding="utf-8")


def load(folder: Path) -> list[Result]:
    """The results that an earlier run wrote into `folder`; none where there are none."""
    try:
        text = (folder / "results.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [
        Result(row["workload"], row["size"], row["contender"], tuple(row["rounds"]))
        for row in json.loads(text)["results"]
    ]


def merged(earlier: Sequence[Result], later: Sequence[Result]) -> list[Result]:
    """All results; what was measured again replaces what it was."""
    results = {(old.workload, old.size, old.contender): old for old in (*earlier, *later)}
    return list(results.values())


def as_json(results: Sequence[Result], plan: Plan) -> str:
    """All figures of all rounds, and their medians."""
    rows = [
        {
            "workload": result.workload,
            "size": result.size,
            "contender": result.contender,
            "median": {name: result.median(name) for name in result.rounds[0]},
            "rounds": result.rounds,
        }
        for result in results
    ]
    return (
        json.dumps({"machine": machine(), "rounds": plan.rounds, "results": rows}, indent=1) + "\n"
    )


def machine() -> dict[str, str]:
    """On what the figures were measured."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": f"{os.cpu_count()} cores",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def as_markdown(results: Sequence[Result], plan: Plan, plots: Sequence[str] = ()) -> str:
    """The tables."""
    rows: Rows = {}
    for result in results:
        rows.setdefault((result.workload, result.size), {})[result.contender] = result
    about = ", ".join(machine().values())
    parts = [
        "# Measurements\n",
        f"Medians of {plan.rounds} interleaved rounds; syncing is off unless a line says so. "
        f"{about}; made by `python -m perf`.\n",
        "A ratio is pyreftable's time divided by that program's; growth is pyreftable's time "
        "divided by its time at a tenth of the size.\n",
    ]
    labels = _programs(rows, plan)
    for title, figure in (("Time", "wall"), ("Processor time", "cpu")):
        plain, special = _split(rows, labels)
        parts += _section(title, _times(plain, labels, figure))
        for other, found in special.items():
            table = _times(found, [*labels, other], figure)
            parts += _section(f"{title}, beside {other}", table)
    parts += _section("Peak memory (of 10 MiB at least)", _memory(rows, labels))
    parts += _section("Readers beside a writer", _readers(rows))
    if plots:
        links = [f"![{name}]({name})" for name in plots]
        parts += ["## Growth\n", "\n".join(links), ""]
    return "\n".join(parts)


def _programs(rows: Rows, plan: Plan) -> list[str]:
    """The contenders of nearly every row; earlier results may know more gits than this run."""
    known = [program.label for program in (plan.ours, *plan.gits)]
    met = [label for found in rows.values() for label in found if label.startswith("git ")]
    return list(dict.fromkeys([*known, *met]))


def _split(rows: Rows, labels: Sequence[str]) -> tuple[Rows, dict[str, Rows]]:
    """The rows of workloads that only these contenders know; the others, by who else does."""
    others: dict[str, str] = {}
    for (workload, _), found in rows.items():
        for label in set(found) - set(labels):
            others[workload] = label
    plain = {key: found for key, found in rows.items() if key[0] not in others}
    special: dict[str, Rows] = {}
    for key, found in rows.items():
        if key[0] in others:
            special.setdefault(others[key[0]], {})[key] = found
    return plain, special


def _section(title: str, table: Sequence[str]) -> list[str]:
    """Nothing for a table without lines."""
    return [f"## {title}\n", *table, ""] if len(table) > 2 else []


def _header(*columns: str) -> list[str]:
    rules = ["---", *["--:"] * (len(columns) - 1)]
    return [_line(columns), _line(rules)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _having(rows: Rows, figure: str) -> Iterator[tuple[str, int, Mapping[str, float]]]:
    """The rows in which that figure was measured, with its medians by contender."""
    for (workload, size), found in sorted(rows.items(), key=_order(rows)):
        medians = {label: result.median(figure) for label, result in found.items()}
        known = {label: value for label, value in medians.items() if value is not None}
        if known:
            yield workload, size, known


def _order(rows: Rows) -> Callable[[tuple[tuple[str, int], object]], tuple[int, int]]:
    """Workloads in the order of the first size, the sizes of each together."""
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in rows))}
    return lambda item: (places[item[0][0]], item[0][1])


def _times(rows: Rows, labels: Sequence[str], figure: str) -> list[str]:
    others = labels[1:]
    table = list(_having(rows, figure))
    ours = {(workload, size): known.get(labels[0]) for workload, size, known in table}
    lines = _header("workload", "size", labels[0], *_paired(others), "growth")
    for workload, size, known in table:
        own = known.get(labels[0])
        cells = [workload, f"{size:,}", "" if own is None else seconds(own)]
        for label in others:
            value = known.get(label)
            cells.append("" if value is None else seconds(value))
            cells.append(ratio(own, value))
        before = None if size % 10 else ours.get((workload, size // 10))
        lines.append(_line([*cells, ratio(own, before)]))
    return lines


def _paired(labels: Sequence[str]) -> list[str]:
    return [cell for label in labels for cell in (label, "ratio")]


def ratio(ours: float | None, other: float | None) -> str:
    """How often `other` goes into `ours`; nothing where one is not known."""
    return f"{ours / other:.2f}" if ours and other else ""


def _memory(rows: Rows, labels: Sequence[str]) -> list[str]:
    lines = _header("workload", "size", *(f"{label}, MiB" for label in labels))
    for workload, size, known in _having(rows, "memory"):
        cells = [f"{known[label]:.1f}" if label in known else "" for label in labels]
        lines.append(_line([workload, f"{size:,}", *cells]))
    return lines


def _readers(rows: Rows) -> list[str]:
    """With each setting's rate against that of the same readers without a writer."""
    lines = _header("setting", "size", *(title for _, title, _ in _READERS), "of no writer's rate")
    alone: dict[tuple[str, int], float] = {}
    for workload, size, known in _having(rows, "rate"):
        result = next(iter(rows[workload, size].values()))
        rate = next(iter(known.values()))
        where = (workload.partition(",")[0], size)
        alone.setdefault(where, rate)
        values = [(result.median(name), show) for name, _, show in _READERS]
        cells = ["" if value is None else show(value) for value, show in values]
        lines.append(_line([workload, f"{size:,}", *cells, f"{rate / alone[where]:.2f}"]))
    return lines


def seconds(value: float) -> str:
    """A time in the unit that suits it, with three digits."""
    scaled, unit = value, "s"
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):  # noqa: B007
        # Rounded first: 999.96 us are 1.00 ms.
        scaled = float(f"{value * factor:.3g}")
        if scaled >= 1:
            break
    digits = 0 if scaled >= 100 else 1 if scaled >= 10 else 2
    return f"{scaled:.{digits}f} {unit}"


def _plots(results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """A file name and a plot for each workload that was timed at several sizes."""
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for result in results:
        value = result.median("wall")
        if value:
            of_workload = lines.setdefault(result.workload, {})
            of_workload.setdefault(result.contender, []).append((result.size, value))
    for workload, by_label in lines.items():
        if max(len(points) for points in by_label.values()) > 1:
            slug = re.sub(r"[^a-z0-9]+", "-", workload.lower()).strip("-")
            drawn = [Line(label, sorted(points)) for label, points in by_label.items()]
            yield f"growth-{slug}.svg", plot(workload, drawn)
