"""Many names at once: what a sorted batch finds in a merged view, in one pass over its blocks.

A transaction asks of each name what it holds, whether a parent directory is a ref, and whether
refs lie below it. Asked one by one, each question is a seek in every table. Sorted, the names
that fall into one block share one seek and one decoding. Few names are cheaper one by one: a
seek decodes one restart interval, not a block.

Where the merged view suppresses deletions there is no tombstone to stop at: then every question
is a seek of the merged iterator, as in older git.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import compress

from .format.block import Run
from .format.records import DELETION, RefRecord
from .merged import Merged

_FEW = 8


def refs_among(merged: Merged, names: Sequence[bytes]) -> dict[bytes, RefRecord]:
    """The live refs that bear one of the sorted `names`."""
    if len(names) < _FEW or merged.suppress_deletions:
        records = ((name, merged.ref(name)) for name in names)
        return {name: record for name, record in records if record is not None}
    found: dict[bytes, RefRecord] = {}
    pending = names
    for table in reversed(merged.tables):
        settled: set[bytes] = set()
        for run, start, end in table.runs_among(pending):
            settled |= _collect(run, pending[start:end], found)
        if settled:
            pending = [name for name in pending if name not in settled]
    return found


def _collect(run: Run, names: Sequence[bytes], found: dict[bytes, RefRecord]) -> set[bytes]:
    """Add the run's live refs among `names` to `found`; all of `names` that it has, tombstones too.

    What is there is told by whole sets: most of a batch's names are usually not, or are deleted.
    """
    keys, types, values, indexes = run
    if len(names) == 1:
        at = bisect_left(keys, names[0])
        hits = {names[0]} if keys[at] == names[0] else set()
    else:
        hits = set(keys).intersection(names)
    if not hits:
        return hits
    alive = hits.intersection(compress(keys, types)) if DELETION in types else hits
    for name in alive:
        at = bisect_left(keys, name)
        found[name] = RefRecord(name, indexes[at], types[at], values[at])
    return hits


def has_refs_below(merged: Merged, names: Sequence[bytes]) -> bool:
    """Whether any of the sorted `names` has a live ref below it (`name/...`)."""
    folders = [name + b"/" for name in names]
    if len(folders) < _FEW or merged.suppress_deletions:
        return any(first_ref_below(merged, folder) is not None for folder in folders)
    folders.sort()
    for table in merged.tables:
        for run, start, end in table.runs_among(folders):
            keys = run.keys
            within = folders[start:end]
            if not _lie_below(keys, within):
                continue
            for folder in within:
                at = bisect_left(keys, folder)
                # A hit may be a tombstone, or hidden by one.
                if keys[at].startswith(folder) and first_ref_below(merged, folder) is not None:
                    return True
    return False


def _lie_below(keys: Sequence[bytes], folders: Sequence[bytes]) -> bool:
    """Whether some of the keys may lie below one of the sorted folders.

    Most blocks hold one directory's refs, side by side. Then only that directory and those that
    it lies in can be among the folders, which spares the batch a search for each name.
    """
    home = keys[0].rpartition(b"/")[0] + b"/"
    depth = home.count(b"/")
    if not keys[-1].startswith(home) or b"\n".join(keys).count(b"/") != depth * len(keys):
        return True
    while home != b"/":
        at = bisect_left(folders, home)
        if at < len(folders) and folders[at] == home:
            return True
        home = home[:-1].rpartition(b"/")[0] + b"/"
    return False


def first_ref_below(
    merged: Merged, folder: bytes, skip: frozenset[bytes] = frozenset()
) -> bytes | None:
    """The first live ref whose name starts with `folder` (which ends in a slash).

    The bounds check comes first: the first name outside the folder ends the search, be it a
    tombstone or not.
    """
    for names, types, _, _ in merged.ref_runs(folder):
        for name, value_type in zip(names, types, strict=True):
            if not name.startswith(folder):
                return None
            if value_type and name not in skip:
                return name
    return None
