"""What a command costs that does next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from perf.case import Bench, Case
from perf.program import run
from perf.repositories import ref_name

_WORKLOAD = "start"


def cases(bench: Bench, size: int) -> Iterator[Case]:
    """`refs exists` on one ref of `size`; an older git knows it as `show-ref --exists`."""
    repository = bench.repositories.get("one", size)
    name = ref_name(0, size)
    ours = (bench.ours,)
    yield from bench.processes(_WORKLOAD, repository, ("refs", "exists", name), programs=ours)
    args = ("show-ref", "--exists", name)
    yield from bench.processes(_WORKLOAD, repository, args, programs=bench.gits)
    command = (sys.executable, "-c", "pass")
    yield Case(_WORKLOAD, "python -c pass", lambda: run(command, repository))
