"""Runs workloads: everything prepared first, then rounds in which all contenders take turns."""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from perf.case import Bench, Case
from perf.program import Figures, Program
from perf.repositories import Repositories
from perf.workloads import WORKLOADS


class Plan(NamedTuple):
    """What to run: programs, sizes, rounds, workloads by name; seconds for the readers."""

    ours: Program
    gits: tuple[Program, ...]
    sizes: tuple[int, ...]
    rounds: int
    only: tuple[str, ...]
    seconds: float
    #: Where repositories are made; `None` for the system's folder for temporary files.
    scratch: str | None = None
    #: Only workloads whose name has this in it.
    match: str = ""


class Result(NamedTuple):
    """What the rounds of one contender at one workload and size gave."""

    workload: str
    size: int
    contender: str
    rounds: tuple[Figures, ...]

    def median(self, figure: str) -> float | None:
        """The median of that figure; `None` where it was not measured."""
        values = [figures[figure] for figures in self.rounds if figure in figures]
        return statistics.median(values) if values else None


def run(plan: Plan, say: Callable[[str], object] = sys.stderr.write) -> Iterator[Result]:
    """Yield the results, workload by workload of each size, and say what is going on.

    Raises `RuntimeError` and `CalledProcessError` where a program fails.
    """
    with tempfile.TemporaryDirectory(prefix="perf-", dir=plan.scratch) as scratch:
        for size in plan.sizes:
            repositories = Repositories(Path(scratch) / "repositories")
            bench = Bench(plan.ours, plan.gits, repositories, Path(scratch), plan.seconds)
            for name in plan.only or WORKLOADS:
                say(f"{name}, {size}\n")
                for cases in _grouped(WORKLOADS[name](bench, size)):
                    if plan.match in cases[0].workload:
                        yield from measure(cases, size, plan.rounds)
            repositories.forget()


def _grouped(cases: Iterator[Case]) -> Iterator[list[Case]]:
    """All contenders at one workload, then all at the next: their rounds are interleaved."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.workload, []).append(case)
    yield from groups.values()


def measure(cases: Sequence[Case], size: int, rounds: int) -> Iterator[Result]:
    """Measure A B C, A B C and so on."""
    figures: list[list[Figures]] = [[] for _ in cases]
    for _ in range(rounds):
        for case, own in zip(cases, figures, strict=True):
            gc.collect()
            own.append(case.measure())
    for case, own in zip(cases, figures, strict=True):
        yield Result(case.workload, size, case.contender, tuple(own))
