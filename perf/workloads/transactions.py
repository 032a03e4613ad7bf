"""Updating: git's t/perf p1400, one ref in a big store, and many transactions in a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from perf.case import Bench, Case
from perf.program import Figures, inside
from perf.repositories import object_ids, open_store, ref_name, ref_names
from pyreftable.refs.store import RefStore

#: At most so many transactions in a row.
_MOST = 1000
#: One-ref transactions in a round.
_SINGLE = 20


def cases(bench: Bench, size: int) -> Iterator[Case]:
    """At `size` refs, which are created, updated or deleted, or into which one is written."""
    old, *rest = object_ids(min(size, 2))
    new = rest[0] if rest else old
    commands = {
        "create": ("empty", f"create {{}} {old}"),
        "update": ("many", f"update {{}} {new}"),
        "delete": ("many", "delete {}"),
    }
    for word, (kind, line) in commands.items():
        lines = [line.format(name) for name in ref_names(size)]
        yield from _in_one(bench, size, word, kind, lines)
        lines = [line.format(name) for name in _spread(size)]
        yield from _in_many(bench, size, word, kind, lines)
    yield from _one_ref(bench, size, new)
    yield from _in_a_row(bench, size, new)


def _in_one(bench: Bench, size: int, word: str, kind: str, lines: Sequence[str]) -> Iterator[Case]:
    data = bench.input(f"{word}-{size}", "".join(f"{line}\n" for line in lines))
    repository = bench.repositories.get(kind, size)
    yield from bench.writers(
        f"{word} all, one transaction", repository, ("update-ref", "--stdin"), data
    )


def _in_many(bench: Bench, size: int, word: str, kind: str, lines: Sequence[str]) -> Iterator[Case]:
    text = "".join(f"start\n{line}\ncommit\n" for line in lines)
    data = bench.input(f"{word}-one-by-one-{size}", text)
    repository = bench.repositories.get(kind, size)
    workload = f"{word} {_MOST} refs or all, one by one"
    yield from bench.writers(workload, repository, ("update-ref", "--stdin"), data)


def _spread(size: int) -> list[str]:
    """The names of at most `_MOST` refs, from everywhere in the store."""
    return [ref_name(number, size) for number in range(0, size, max(size // _MOST, 1))][:_MOST]


def _one_ref(bench: Bench, size: int, oid: str) -> Iterator[Case]:
    workload = "update one ref"
    repository = bench.repositories.get("many", size)
    name = ref_name(size // 2, size)
    args = ("update-ref", name, oid)
    yield from bench.writers(workload, repository, args)
    workload += " (in process)"
    names = (_spread(size) * _SINGLE)[:_SINGLE]
    yield _library(bench, workload, repository, lambda store: _update(store, names, oid), _SINGLE)
    yield from bench.writers(workload, repository, args, programs=bench.gits)


def _in_a_row(bench: Bench, size: int, oid: str) -> Iterator[Case]:
    workload = f"update {_MOST} refs or all, one by one (in process)"
    names = _spread(size)
    repository = bench.repositories.get("many", size)
    yield _library(bench, workload, repository, lambda store: _update(store, names, oid))
    data = bench.folder / f"update-one-by-one-{size}.in"
    args = ("update-ref", "--stdin")
    yield from bench.writers(workload, repository, args, data, bench.gits)


def _update(store: RefStore, names: Sequence[str], oid: str) -> None:
    for name in names:
        with store.transaction() as transaction:
            transaction.update(name, oid)


def _library(
    bench: Bench,
    workload: str,
    repository: Path,
    work: Callable[[RefStore], None],
    operations: int = 1,
) -> Case:
    """A case that changes the open store of a copy."""

    def on_store(copy: Path) -> Figures:
        with open_store(copy) as store:
            store.get(ref_name(0, 1))
            return inside(lambda: work(store), operations)

    return Case(workload, bench.ours.label, lambda: bench.on_copy(repository, on_store))
