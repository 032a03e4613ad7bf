"""Repositories to measure in, made quickly: tables are written directly, objects mostly in a pack.

Refs are named `refs/tags/part-PP/tag-NNNNNNN`, in a hundred parts; the kinds of stores:

    empty       no refs
    one         `size` refs on one object
    many        `size` refs on 10,000 objects, or fewer
    one loose   "one" and "many" with their objects not in a pack but in a file each
    many loose
    distinct    `size` refs, each on an object of its own
    layered     "one", and over it five tables that each change a hundred refs
    spread      the same over "distinct"
    tombstones  "one", of which another table deletes all but every hundredth
    logs        a hundred branches with `size` reflog entries among them

A store is made once per run; who changes it works on a copy. Files of a stack never change once
they are named, so a copy is made of hard links. Syncing is off: it measures the disk.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from perf.objects import blob_ids, commit_id, write_loose, write_objects
from perf.program import environment
from pyreftable.format.records import DELETION, OID, LogRecord, RefRecord
from pyreftable.refs.creation import Blueprint, create
from pyreftable.refs.repository import discover
from pyreftable.refs.settings import stack_options
from pyreftable.refs.store import RefStore
from pyreftable.stack import Stack
from pyreftable.writer import TableWriter

PARTS = 100
BRANCHES = 100
MOST_OBJECTS = 10_000
LAYERS = 5
LAYER_SIZE = 100
#: Every how many-th ref is left among the tombstones.
SURVIVORS = 100
#: When the first reflog entry was made, seconds since the epoch; each next one a second later.
FIRST_ENTRY = 1_600_000_000


def ref_name(number: int, size: int) -> str:
    """The name of one of `size` refs; names are in order of the numbers."""
    return f"refs/tags/part-{number * PARTS // size:02}/tag-{number:07}"


def ref_names(size: int) -> list[str]:
    """The names of all refs of a store, in order."""
    return [ref_name(number, size) for number in range(size)]


def branch_name(number: int) -> str:
    """The name of one of the branches of a "logs" store."""
    return f"refs/heads/branch-{number:03}"


@functools.lru_cache(maxsize=2)
def object_ids(count: int) -> list[str]:
    """The ids (hex) of the first `count` objects that a store may point to."""
    return blob_ids(count)


def open_store(repository: Path, *, fsync: bool = False, auto_compact: bool = True) -> RefStore:
    """The ref store of a repository, whatever the environment says."""
    found = discover(str(repository), git_dir=str(repository), environ=environment())
    return RefStore(found, stack_options(found)._replace(fsync=fsync, auto_compact=auto_compact))


class Repositories:
    """The repositories of one run, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self._copies = 0

    def get(self, kind: str, size: int) -> Path:
        """The store of that kind and size, which must not be changed."""
        path = self.folder / f"{kind.replace(' ', '-')}-{size}"
        if not path.exists():
            unfinished = self.folder / "unfinished"
            _make(unfinished, kind, size)
            unfinished.rename(path)
        return path

    def copy(self, source: Path) -> Path:
        """A copy to change."""
        self._copies += 1
        path = self.folder / f"copy-{self._copies}"
        shutil.copytree(source, path, copy_function=os.link)
        return path

    def forget(self) -> None:
        """Delete all stores."""
        shutil.rmtree(self.folder)


def discard(repository: Path) -> None:
    """Delete a copy."""
    shutil.rmtree(repository)


def _make(path: Path, kind: str, size: int) -> None:
    plan = Blueprint(str(path), None, "main", ref_storage="reftable")
    create(plan, environment())
    with (path / "config").open("a") as config:
        config.write("[core]\n\tfsync = none\n")
    kind, _, layout = kind.partition(" ")
    write = write_loose if layout else write_objects
    write(path / "objects", _OBJECTS.get(kind, min)(size, 1))
    with open_store(path, auto_compact=False) as store:
        for number, make in enumerate(_TABLES[kind](size)):
            _add_table(store.stack(), make, indices=size if kind == "logs" else 1)
            if not number:
                # HEAD's table below a big one is what no auto-compaction leaves.
                store.stack().compact_all()


# Tables: makers of records, for the update index given


RecordMaker = Callable[[int], Iterator[RefRecord | LogRecord]]


def _add_table(stack: Stack, make: RecordMaker, indices: int) -> None:
    with stack.addition() as addition:
        low = addition.next_update_index
        fill = functools.partial(_fill, make)
        addition.write_table(fill, min_update_index=low, max_update_index=low + indices - 1)
        addition.commit()


def _fill(make: RecordMaker, writer: TableWriter) -> None:
    for record in make(writer.min_update_index):
        if isinstance(record, RefRecord):
            writer.add_ref(record)
        else:
            writer.add_log(record)


def _base(size: int, objects: int) -> RecordMaker:
    ids = [bytes.fromhex(oid) for oid in object_ids(objects)]

    def make(update_index: int) -> Iterator[RefRecord]:
        for number, name in enumerate(ref_names(size)):
            yield RefRecord(name.encode(), update_index, OID, ids[number % objects])

    return make


def _layers(size: int) -> list[RecordMaker]:
    return [_layer(size, number) for number in range(LAYERS)]


def _layer(size: int, first: int) -> RecordMaker:
    value = bytes.fromhex(object_ids(1)[0])
    step = max(size // LAYER_SIZE, 1)

    def make(update_index: int) -> Iterator[RefRecord]:
        for number in range(min(first, step - 1), size, step):
            yield RefRecord(ref_name(number, size).encode(), update_index, OID, value)

    return make


def _deletions(size: int) -> RecordMaker:
    def make(update_index: int) -> Iterator[RefRecord]:
        for number, name in enumerate(ref_names(size)):
            if number % SURVIVORS:
                yield RefRecord(name.encode(), update_index, DELETION, b"")

    return make


def _logs(size: int) -> RecordMaker:
    """Entry `n`, in time, is of branch `n % BRANCHES`; of each log the newest comes first."""
    oid = bytes.fromhex(commit_id())

    def make(update_index: int) -> Iterator[RefRecord | LogRecord]:
        for branch in range(BRANCHES):
            yield RefRecord(branch_name(branch).encode(), update_index, OID, oid)
        for branch in range(BRANCHES):
            name = branch_name(branch).encode()
            for number in reversed(range(branch, size, BRANCHES)):
                when, index = FIRST_ENTRY + number, update_index + number
                yield LogRecord(name, index, oid, oid, b"C", b"c@example.com", when, 0, b"one\n")

    return make


#: How many objects a store needs, of its size and 1.
_OBJECTS: dict[str, Callable[[int, int], int]] = {
    "empty": max,
    "many": lambda size, least: max(min(size, MOST_OBJECTS), least),
    "distinct": max,
    "spread": max,
}

_TABLES: dict[str, Callable[[int], list[RecordMaker]]] = {
    "empty": lambda size: [],
    "one": lambda size: [_base(size, 1)],
    "many": lambda size: [_base(size, min(size, MOST_OBJECTS))],
    "distinct": lambda size: [_base(size, size)],
    "layered": lambda size: [_base(size, 1), *_layers(size)],
    "spread": lambda size: [_base(size, size), *_layers(size)],
    "tombstones": lambda size: [_base(size, 1), _deletions(size)],
    "logs": lambda size: [_logs(size)],
}
