"""Readers beside a writer: see `perf.readers`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perf.case import Bench, Case
from perf.program import Figures
from perf.readers import SETTINGS, Setting, read_beside_writer


def cases(bench: Bench, size: int) -> Iterator[Case]:
    """Every setting, in a store of `size` refs."""
    repository = bench.repositories.get("many", size)
    for setting in SETTINGS:
        yield _case(bench, repository, setting, size)


def _case(bench: Bench, repository: Path, setting: Setting, size: int) -> Case:
    def measure(copy: Path) -> Figures:
        return read_beside_writer(copy, setting, size, bench.seconds)

    return Case(str(setting), bench.ours.label, lambda: bench.on_copy(repository, measure))
