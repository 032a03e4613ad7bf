"""Merging a big table and small ones into one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perf.case import Bench, Case
from perf.program import inside
from perf.repositories import open_store

#: `refs optimize` by its older name, which every git knows.
COMMAND = ("pack-refs", "--all")


def cases(bench: Bench, size: int) -> Iterator[Case]:
    """A table of `size` refs and the small ones above it."""
    repository = bench.repositories.get("layered", size)
    yield from bench.writers("optimize", repository, COMMAND)
    workload = "optimize (in process)"
    yield Case(
        workload,
        bench.ours.label,
        lambda: bench.on_copy(repository, lambda copy: inside(lambda: _compact(copy))),
    )
    yield from bench.writers(workload, repository, COMMAND, programs=bench.gits)


def _compact(copy: Path) -> None:
    with open_store(copy) as store:
        store.stack().compact_all()
