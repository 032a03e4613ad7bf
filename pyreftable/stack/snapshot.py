"""The immutable view of a stack that readers hold, and how it is loaded.

A snapshot never changes and is shared by all who ask while the list stays the same. Whoever
holds it, or an iterator made from it, keeps its tables open, though writers and compactions go
on and delete their files; a table that no snapshot holds any more is closed by the garbage
collector, never by hand.

Loading runs against compactions:

    1. we read the list: it names table A;
    2. a compaction writes a list without A, then deletes A;
    3. we open A: it is gone.

So a vanished table means: read the list again. If it changed, that was the race, and we start
over; if not, the table is truly lost. Git's loader gives up after three seconds and at least
three tries; so does this one, but giving up is an error here, never the old tables.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from ..errors import FormatError, TableVanishedError
from ..merged import Merged
from ..table import Table
from .files import random_fraction
from .options import StackOptions, StackStats
from .storage import Listing, Storage

_DEADLINE_S = 3.0
_MIN_TRIES = 3


class Snapshot:
    """The tables of a stack at one moment, oldest first, and their merged view.

    `names` are the tables' names in the list. Immutable; safe to share between threads.
    """

    __slots__ = ("__weakref__", "merged", "names", "tables")

    def __init__(self, names: tuple[str, ...], tables: Sequence[Table], merged: Merged) -> None:
        self.names = names
        self.tables = tuple(tables)
        self.merged = merged

    @property
    def next_update_index(self) -> int:
        """The smallest update index a new table may have: one above the newest table's largest."""
        return self.tables[-1].max_update_index + 1 if self.tables else 1


def load_snapshot(
    storage: Storage, options: StackOptions, stats: StackStats, previous: Snapshot | None
) -> tuple[Snapshot, Listing]:
    """Read the list and open what it names, sharing tables with `previous` by name.

    Raises `TableVanishedError` if a listed table is gone and the list does not change, or
    changes faster than the tables can be opened; `FormatError`; `StorageError`.
    """
    deadline = time.monotonic() + _DEADLINE_S
    opened = dict(zip(previous.names, previous.tables, strict=True)) if previous else {}
    delay_ms = 0.0
    tries = 0
    listing = storage.read_list()
    while True:
        if previous is not None and previous.names == listing.names:
            return previous, listing
        tries += 1
        vanished = _open_tables(storage, options, listing.names, opened)
        if vanished is None:
            stats.reloads += 1
            return _assemble(listing.names, opened, options, previous), listing
        stats.vanished += 1
        names = listing.names
        listing = storage.read_list()
        if listing.names == names:
            raise TableVanishedError(_lost(storage, vanished))
        if tries >= _MIN_TRIES and time.monotonic() >= deadline:
            raise TableVanishedError(_lost(storage, vanished) + f" (after {tries} tries)")
        if tries == 1:
            continue  # Most of the time one compaction came between, and no other follows at once.
        delay_ms += delay_ms * random_fraction() + 1
        time.sleep(delay_ms / 1000)
        listing = storage.read_list()


def _open_tables(
    storage: Storage, options: StackOptions, names: Sequence[str], opened: dict[str, Table]
) -> str | None:
    """Open the tables that `opened` lacks and put them there; the name of one that is gone."""
    for name in names:
        if name not in opened:
            try:
                table = storage.open_table(name)
            except FileNotFoundError:
                return name
            if table.hash != options.hash:
                what = f"object ids are {table.hash.name}, the stack's are {options.hash.name}"
                raise FormatError(what, path=os.path.join(storage.location, name), offset=0)
            opened[name] = table
    return None


def _assemble(
    names: tuple[str, ...],
    opened: Mapping[str, Table],
    options: StackOptions,
    previous: Snapshot | None,
) -> Snapshot:
    tables = [opened[name] for name in names]
    merged = Merged(
        tables,
        suppress_deletions=options.suppress_deletions,
        previous=previous.merged if previous else None,
    )
    return Snapshot(names, tables, merged)


def _lost(storage: Storage, name: str) -> str:
    path = os.path.join(storage.location, name)
    return f"{path}: listed in {os.path.join(storage.location, 'tables.list')}, but gone"
