"""Git's t/perf p1401 (see `perf.p1401`): creating refs where as many have been deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from perf import p1401
from perf.case import Bench, Case
from perf.program import Program, run

#: Who skips deletions while it seeks needs time quadratic in the size: not beyond this one.
_MOST_QUADRATIC = 8_000
_FIRST_LINEAR_GIT = (2, 55)
_SUPPRESSED = "suppressed deletions"


def cases(bench: Bench, size: int) -> Iterator[Case]:
    """Both cases, for those who can be expected to finish."""
    suppressed = Program(_SUPPRESSED, (*bench.ours.command, *p1401._SUPPRESS))
    chosen = [
        p1401.Contender(program.label, program.command, (size,))
        for program in (*bench.programs, suppressed)
        if size <= _MOST_QUADRATIC or not _is_quadratic(program)
    ]
    folder = bench.repositories.folder / f"p1401-{size}"
    folder.mkdir()
    for job in p1401._prepare(folder, chosen):
        with (job.repo / ".git" / "config").open("a") as config:
            config.write("[core]\n\tfsync = none\n")
        yield _case(bench, job)


def _is_quadratic(program: Program) -> bool:
    version = re.fullmatch(r"git (\d+)\.(\d+).*", program.label)
    if version is None:
        return program.label == _SUPPRESSED
    return (int(version[1]), int(version[2])) < _FIRST_LINEAR_GIT


def _case(bench: Bench, job: p1401.Job) -> Case:
    command = (*job.contender.command, "update-ref", "--stdin")
    data = bench.input(f"p1401-{job.case}-{job.size}", job.input.decode())

    def measure(copy: Path) -> dict[str, float]:
        return run(command, copy, data)

    label = job.contender.label
    # A name of its own, since it takes so long that one may want to leave it out.
    workload = f"{job.case}, deletions suppressed" if label == _SUPPRESSED else f"p1401 {job.case}"
    return Case(workload, label, lambda: bench.on_copy(job.repo, measure))
