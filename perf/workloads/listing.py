"""Listing refs, all or some, to nobody; and into a dict."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from perf.case import Bench, Case
from perf.program import Program, inside, output
from perf.repositories import PARTS, open_store
from pyreftable.refs.text import as_text

_FORMATS = (
    ("list names", "one", ("--format=%(refname)",)),
    ("list in the default format, one object", "one", ()),
    ("list in the default format, many objects", "many", ()),
    ("list in the default format, one loose object", "one loose", ()),
    ("list in the default format, many loose objects", "many loose", ()),
    ("list names of one prefix", "one", ("--format=%(refname)", f"refs/tags/part-{PARTS // 2}")),
    ("list the first ref", "one", ("--count=1",)),
)


def cases(bench: Bench, size: int) -> Iterator[Case]:
    """All listings of stores of `size` refs."""
    for workload, kind, args in _FORMATS:
        repository = bench.repositories.get(kind, size)
        yield from bench.processes(workload, repository, ("for-each-ref", *args))
    repository = bench.repositories.get("many", size)
    for workload, read in (
        ("names and ids into a dict (in process)", _read_in_bulk),
        ("names and ids into a dict, ref by ref (in process)", _read),
    ):
        yield bench.inline(workload, functools.partial(read, repository))
        for program in bench.gits:
            yield _parsing(workload, program, repository)


def _read(repository: Path) -> dict[str, str | None]:
    with open_store(repository) as store:
        return {ref.name: ref.oid for ref in store.refs()}


def _read_in_bulk(repository: Path) -> dict[str, str | None]:
    """As `_read` does, in a store where every ref is a plain object id."""
    found: dict[str, str | None] = {}
    with open_store(repository) as store:
        for run in store.ref_runs():
            names = as_text(b"\n".join(run.names)).split("\n")
            found.update(zip(names, map(bytes.hex, run.values), strict=True))
    return found


def _parsing(workload: str, program: Program, repository: Path) -> Case:
    command = [*program.command, "for-each-ref", "--format=%(objectname) %(refname)"]

    def parse() -> dict[str, str]:
        lines = output(command, repository).decode().splitlines()
        return {name: oid for oid, name in (line.split(" ", 1) for line in lines)}

    return Case(workload, program.label, lambda: inside(parse))
