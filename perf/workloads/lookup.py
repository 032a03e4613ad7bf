"""Point look-ups: refs that are there, and refs that are not; refs by object id."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from perf.case import Bench, Case
from perf.program import Figures, inside
from perf.repositories import MOST_OBJECTS, SURVIVORS, object_ids, open_store, ref_name

_WARM = 1000
_COLD = 20
#: What `show-ref --exists` says of a ref that does not exist.
_MISSING = 2


def cases(bench: Bench, size: int) -> Iterator[Case]:
    """In a plain store of `size` refs, and in one whose refs are nearly all deleted."""
    chosen = random.Random(1)
    for kind, place, step in (("many", "", 1), ("tombstones", ", among tombstones", SURVIVORS)):
        repository = bench.repositories.get(kind, size)
        there = [ref_name(chosen.randrange(0, size, min(step, size)), size) for _ in range(_WARM)]
        yield from _look_up(bench, repository, f"look up a ref{place}", there, 0)
        missing = [f"{name}-missing" for name in there]
        yield from _look_up(bench, repository, f"look up no ref{place}", missing, _MISSING)
    yield from _refs_for(bench, size)


def _look_up(
    bench: Bench, repository: Path, workload: str, names: Sequence[str], code: int
) -> Iterator[Case]:
    args = ("show-ref", "--exists", names[0])
    yield from bench.processes(workload, repository, args, (code,))
    label = bench.ours.label
    for when, passes in (("anew", 0), ("warm", 1)):
        yield _case(f"{workload}, {when} (in process)", label, repository, names, passes)
    few = names[:_COLD]
    yield bench.inline(f"{workload}, cold (in process)", lambda: _cold(repository, few), len(few))


def _case(workload: str, label: str, repository: Path, names: Sequence[str], passes: int) -> Case:
    return Case(workload, label, lambda: _look_up_all(repository, names, passes))


def _look_up_all(repository: Path, names: Sequence[str], passes: int) -> Figures:
    """Per look-up, in a store that has been read from, and asked so often for the same before."""
    with open_store(repository) as store:
        get = store.get
        for name in (*names[:1], *names * passes):
            get(name)

        def look_up() -> None:
            for name in names:
                get(name)

        return inside(look_up, len(names))


def _cold(repository: Path, names: Sequence[str]) -> None:
    """Open the repository anew for each name."""
    for name in names:
        with open_store(repository) as store:
            store.get(name)


def _refs_for(bench: Bench, size: int) -> Iterator[Case]:
    repository = bench.repositories.get("many", size)
    objects = min(size, MOST_OBJECTS)
    oid = object_ids(objects)[objects // 2]
    args = ("for-each-ref", "--format=%(refname)", f"--points-at={oid}")
    yield from bench.processes("refs on an object", repository, args)
    workload = "refs on an object (in process)"

    def find() -> None:
        with open_store(repository) as store:
            list(store.refs_for(oid))

    yield bench.inline(workload, find)
    yield from bench.processes(workload, repository, args, programs=bench.gits)
