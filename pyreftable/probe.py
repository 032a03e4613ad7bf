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

from .format.block import Run
from .format.records import RefRecord
from .merged import Merged

_FEW = 8


def refs_among(merged: Merged, names: Sequence[bytes]) -> dict[bytes, RefRecord]:
    """The live refs that bear one of the sorted `names`."""
    if len(names) < _FEW or merged.suppress_deletions:
        found = ((name, merged.ref(name)) for name in names)
        return {name: record for name, record in found if record is not None}
    newest: dict[bytes, RefRecord] = {}
    pending = names
    for table in reversed(merged.tables):
        before = len(newest)
        for run, start, end in table.runs_among(pending):
            _collect(run, pending[start:end], newest)
        if len(newest) > before:
            pending = [name for name in pending if name not in newest]
    return {name: record for name, record in newest.items() if not record.is_deletion}


def _collect(run: Run, names: Sequence[bytes], newest: dict[bytes, RefRecord]) -> None:
    keys, types, values, indexes = run
    hits = {names[0]} if len(names) == 1 else set(keys).intersection(names)
    for name in hits:
        at = bisect_left(keys, name)
        if at < len(keys) and keys[at] == name:
            newest[name] = RefRecord(name, indexes[at], types[at], values[at])


def has_refs_below(merged: Merged, names: Sequence[bytes]) -> bool:
    """Whether any of the sorted `names` has a live ref below it (`name/...`)."""
    folders = [name + b"/" for name in names]
    if len(folders) < _FEW or merged.suppress_deletions:
        return any(first_ref_below(merged, folder) is not None for folder in folders)
    folders.sort()
    for table in merged.tables:
        for run, start, end in table.runs_among(folders):
            keys = run.keys
            for folder in folders[start:end]:
                at = bisect_left(keys, folder)
                # A hit may be a tombstone, or hidden by one.
                if keys[at].startswith(folder) and first_ref_below(merged, folder) is not None:
                    return True
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
