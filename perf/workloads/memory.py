"""The most memory that listing and compacting take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from perf.case import Bench, Case
from perf.program import Figures, peak_memory
from perf.workloads.optimizing import COMMAND as OPTIMIZE

_COMMANDS = (
    ("memory to list names", "one", ("for-each-ref", "--format=%(refname)")),
    ("memory to list in the default format", "many", ("for-each-ref",)),
    ("memory to list distinct objects in the default format", "spread", ("for-each-ref",)),
    ("memory to optimize", "layered", OPTIMIZE),
    ("memory to optimize distinct objects", "spread", OPTIMIZE),
)


def cases(bench: Bench, size: int) -> Iterator[Case]:
    """Of stores of `size` refs."""
    for workload, kind, args in _COMMANDS:
        repository = bench.repositories.get(kind, size)
        for program in bench.programs:
            yield _peak(bench, workload, program.label, repository, (*program.command, *args))


def _peak(
    bench: Bench, workload: str, label: str, repository: Path, command: Sequence[str]
) -> Case:
    def measure() -> Figures:
        return bench.on_copy(repository, lambda copy: peak_memory(command, copy))

    return Case(workload, label, measure)
