"""Reflogs of many entries: the end of one, all of one, and dropping the older half of all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perf.case import Bench, Case
from perf.repositories import BRANCHES, FIRST_ENTRY, branch_name, open_store


def cases(bench: Bench, size: int) -> Iterator[Case]:
    """`size` entries in the logs of a hundred branches."""
    repository = bench.repositories.get("logs", size)
    # The first branches have entries at any size.
    branch = branch_name(min(size, BRANCHES) // 2)
    show = ("reflog", "show", "--format=%gd %H %gs", branch)
    yield from _both(bench, "last entry of a reflog", repository, (*show, "-1"), branch, last=True)
    yield from _both(bench, "one whole reflog", repository, show, branch, last=False)
    when = f"--expire={FIRST_ENTRY + size // 2}"
    args = ("reflog", "expire", when, "--expire-unreachable=never", "--all")
    yield from bench.writers("expire half of all reflogs", repository, args)


def _both(
    bench: Bench, workload: str, repository: Path, args: tuple[str, ...], branch: str, *, last: bool
) -> Iterator[Case]:
    yield from bench.processes(workload, repository, args)
    workload += " (in process)"
    yield bench.inline(workload, lambda: _read(repository, branch, last=last))
    yield from bench.processes(workload, repository, args, programs=bench.gits)


def _read(repository: Path, branch: str, *, last: bool) -> None:
    with open_store(repository) as store:
        for _ in store.reflog(branch):
            if last:
                return
