"""`python -m perf`: measure pyreftable beside one or more gits, and write tables and plots."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from perf.program import Program, git, pyreftable
from perf.readme import update
from perf.report import as_markdown, load, merged, write
from perf.runner import Plan, Result, run
from perf.workloads import WORKLOADS


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, write the results into a folder and print the tables."""
    options = _parse(argv)
    plan = Plan(
        pyreftable(),
        tuple(_distinct(git(path) for path in options.git)),
        tuple(options.sizes),
        options.rounds,
        tuple(options.only),
        options.seconds,
        options.scratch,
        options.match,
    )
    earlier = load(options.out) if options.keep else []
    results: list[Result] = []
    try:
        for result in run(plan):
            results.append(result)
    finally:
        # What was measured until then is worth keeping.
        if results:
            write(merged(earlier, results), plan, options.out)
            if options.readme:
                update(options.readme, merged(earlier, results), options.out)
    print(as_markdown(results, plan))


def _distinct(programs: Iterable[Program]) -> Iterator[Program]:
    """Two gits of the same version get different labels."""
    seen: list[str] = []
    for program in programs:
        times = seen.count(program.label)
        seen.append(program.label)
        yield program._replace(label=f"{program.label} ({times + 1})") if times else program


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m perf", description=__doc__, epilog=f"workloads: {', '.join(WORKLOADS)}"
    )
    add = parser.add_argument
    add("--git", action="append", default=[], metavar="PATH", help="a git to compare with")
    add("--sizes", type=int, nargs="+", default=[1000, 10_000], help="default: 1000 10000")
    add("--rounds", type=int, default=5, help="measurements of each (default: 5)")
    add("--only", nargs="+", default=[], choices=WORKLOADS, metavar="NAME", help="workloads")
    add("--match", default="", metavar="TEXT", help="only workloads with this in their name")
    add("--seconds", type=float, default=10, help="how long readers read (default: 10)")
    add("--out", type=Path, default=Path("perf/results"), help="default: perf/results")
    add("--readme", type=Path, metavar="FILE", help="put the main figures and a plot into it, too")
    add("--keep", action="store_true", help="add to the results in that folder")
    add("--scratch", metavar="FOLDER", help="where repositories are made (default: temporary)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
