"""Creating many refs in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from perf.case import Bench, Case
from perf.program import Figures, inside
from perf.repositories import object_ids, open_store

_COMMAND = ("update-ref", "--stdin")


def cases(bench: Bench, size: int) -> Iterator[Case]:
    """`size` new refs beside none, and beside as many."""
    names = [f"refs/tags/new-{number:07}" for number in range(size)]
    for ids, objects in (("one object", 1), ("distinct objects", size)):
        lines = _lines(names, object_ids(objects))
        data = bench.input(f"create-{objects}-of-{size}", lines)
        for place, kind in (("an empty", "empty"), ("a full", "distinct")):
            repository = bench.repositories.get(kind, size)
            workload = f"create into {place} store, {ids}"
            yield from bench.writers(workload, repository, _COMMAND, data)
    yield from _in_process(bench, size, names)


def _lines(names: Sequence[str], ids: Sequence[str]) -> str:
    return "".join(f"create {name} {ids[number % len(ids)]}\n" for number, name in enumerate(names))


def _in_process(bench: Bench, size: int, names: Sequence[str]) -> Iterator[Case]:
    workload = "create into an empty store, one object (in process)"
    repository = bench.repositories.get("empty", size)
    oid = object_ids(1)[0]

    def create(copy: Path) -> None:
        with open_store(copy) as store, store.transaction() as transaction:
            for name in names:
                transaction.create(name, oid)

    def measure() -> Figures:
        return bench.on_copy(repository, lambda copy: inside(lambda: create(copy)))

    yield Case(workload, bench.ours.label, measure)
    data = bench.folder / f"create-1-of-{size}.in"
    yield from bench.writers(workload, repository, _COMMAND, data, bench.gits)
