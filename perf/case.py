"""What a workload hands to the runner: cases, each a contender that can be measured again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from perf.program import Figures, Program, inside, run
from perf.repositories import Repositories, discard


class Case(NamedTuple):
    """One contender at one workload; each call of `measure` is one round."""

    workload: str
    contender: str
    measure: Callable[[], Figures]


class Bench(NamedTuple):
    """What is compared, where, and how long the readers read (seconds)."""

    ours: Program
    gits: tuple[Program, ...]
    repositories: Repositories
    folder: Path
    seconds: float

    @property
    def programs(self) -> tuple[Program, ...]:
        """Pyreftable, then each git."""
        return (self.ours, *self.gits)

    def input(self, name: str, text: str) -> Path:
        """A file with what a process is to read."""
        path = self.folder / f"{name}.in"
        path.write_text(text)
        return path

    # Cases

    def processes(
        self,
        workload: str,
        repository: Path,
        args: Sequence[str],
        exits: Sequence[int] = (0,),
        programs: Sequence[Program] | None = None,
    ) -> Iterator[Case]:
        """The same arguments for each program (or those given), which change nothing."""
        for program in self.programs if programs is None else programs:
            command = (*program.command, *args)
            yield Case(workload, program.label, _bind(command, repository, exits))

    def writers(
        self,
        workload: str,
        repository: Path,
        args: Sequence[str],
        data: Path | None = None,
        programs: Sequence[Program] | None = None,
    ) -> Iterator[Case]:
        """The same for programs that write: each round on a copy, and all read `data`."""
        for program in self.programs if programs is None else programs:
            command = (*program.command, *args)

            def measure(command: Sequence[str] = command) -> Figures:
                return self.on_copy(repository, lambda copy: run(command, copy, data))

            yield Case(workload, program.label, measure)

    def on_copy(self, repository: Path, measure: Callable[[Path], Figures]) -> Figures:
        """Measure on a copy of a repository, which is then deleted."""
        copy = self.repositories.copy(repository)
        try:
            return measure(copy)
        finally:
            discard(copy)

    def inline(self, workload: str, work: Callable[[], object], operations: int = 1) -> Case:
        """Pyreftable's part of a workload, done in this process."""
        return Case(workload, self.ours.label, lambda: inside(work, operations))


def _bind(command: Sequence[str], folder: Path, exits: Sequence[int]) -> Callable[[], Figures]:
    return lambda: run(command, folder, exits=exits)
