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
from collections.abc import Collection, Iterator, Sequence
from itertools import compress

from .format.block import Run
from .format.records import DELETION, OID, OID_AND_PEELED, SYMREF, RefRecord
from .merged import Merged

_FEW = 8
#: No object id has this length.
_TOMBSTONE = b"-"
_SLASH = ord("/")


def refs_among(merged: Merged, names: Sequence[bytes]) -> dict[bytes, RefRecord]:
    """The live refs that bear one of the sorted `names`."""
    if len(names) < _FEW or merged.suppress_deletions:
        records = ((name, merged.ref(name)) for name in names)
        return {name: record for name, record in records if record is not None}
    found: dict[bytes, RefRecord] = {}
    pending = names
    for table in reversed(merged.tables):
        settled: set[bytes] = set()
        for run, start, end, _ in table.runs_among(pending):
            settled |= _collect(run, pending[start:end], settled, found)
        if settled:
            pending = [name for name in pending if name not in settled]
    return found


def _collect(
    run: Run, names: Sequence[bytes], settled: set[bytes], found: dict[bytes, RefRecord]
) -> set[bytes]:
    """Add the run's live refs among `names`, less what is settled, to `found`.

    The result is all of these names that the run has, tombstones too.

    What is there is told by whole sets: most of a batch's names are usually not, or are deleted.
    """
    keys, types, values, indexes = run
    if len(names) == 1:
        at = bisect_left(keys, names[0])
        hits = {names[0]} if keys[at] == names[0] else set()
    else:
        hits = set(keys).intersection(names)
    hits -= settled
    if not hits:
        return hits
    alive = hits.intersection(compress(keys, types)) if DELETION in types else hits
    for name in alive:
        at = bisect_left(keys, name)
        found[name] = RefRecord(name, indexes[at], types[at], values[at])
    return hits


def has_refs_below(merged: Merged, names: Sequence[bytes]) -> bool:
    """Whether any of the sorted `names` has a live ref below it (`name/...`)."""
    if len(names) < _FEW or merged.suppress_deletions:
        return any(first_ref_below(merged, name + b"/") is not None for name in names)
    return survey(merged, names)[1]


def survey(merged: Merged, names: Sequence[bytes]) -> tuple[dict[bytes, bytes], bool]:
    """What the live refs among the names hold, and what `has_refs_below` says, in one pass.

    That is an object id, or nothing for a symref.
    """
    if len(names) < _FEW or merged.suppress_deletions:
        records = refs_among(merged, names)
        found = {name: _value(record.value_type, record.value) for name, record in records.items()}
        return found, has_refs_below(merged, names)
    found = {}
    settled: set[bytes] = set()
    suspects: set[bytes] = set()
    for table in reversed(merged.tables):
        is_last = table is merged.tables[0]
        tails: list[bytes] = []
        for run, start, end, follows in table.runs_among(names):
            within = names[start:end]
            hits = _values_of(run, within, settled, found)
            if not is_last:
                settled.update(hits)
            first = run.keys[0]
            if not follows or any(first.startswith(tail + b"/") for tail in tails):
                suspects.update(tails)
            suspects.update(_above(run.keys, within, names))
            tails = _tails(run.keys[-1], names)
        suspects.update(tails)
    return found, any(first_ref_below(merged, name + b"/") is not None for name in suspects)


def _values_of(
    run: Run, names: Sequence[bytes], settled: set[bytes], found: dict[bytes, bytes]
) -> Collection[bytes]:
    """Add the values (see `_value`) of the run's live refs among `names`, less what is settled.

    The result is all of these names that the run has, tombstones too. By columns, because a big
    transaction may name every ref there is.
    """
    keys, types, values, _ = run
    hits: Collection[bytes] = keys if keys == names else set(keys).intersection(names)
    if settled:
        hits = [name for name in hits if name not in settled]
    if not hits:
        return hits
    kinds = set(types)
    if kinds == {DELETION}:
        return hits
    if kinds != {OID}:
        values = list(map(_value, types, values))
    if hits is keys:
        rows = zip(keys, values, strict=True)
    else:
        held = dict(zip(keys, values, strict=True))
        rows = zip(hits, map(held.__getitem__, hits), strict=True)
    if DELETION in kinds:
        found.update(row for row in rows if row[1] != _TOMBSTONE)
    else:
        found.update(rows)
    return hits


def _value(value_type: int, value: bytes) -> bytes:
    """The object id of a ref; nothing for a symref."""
    if value_type == OID:
        return value
    if value_type == OID_AND_PEELED:
        return value[: len(value) // 2]
    return b"" if value_type == SYMREF else _TOMBSTONE


def _above(
    keys: Sequence[bytes], within: Sequence[bytes], names: Sequence[bytes]
) -> Iterator[bytes]:
    """Those names that a block's keys lie below; `within` are the names that fall into it.

    Most blocks hold one directory's refs, side by side: then only that directory and those that
    it lies in can be above, which spares the batch a search for each name. Where more names fall
    into a block than it has keys, all that its keys lie in are fewer still.
    """
    home = keys[0].rpartition(b"/")[0]
    depth = home.count(b"/") + 1
    is_one = keys[-1].startswith(home + b"/") and b"\n".join(keys).count(b"/") == depth * len(keys)
    if is_one or len(within) > len(keys):
        folders = _folders(keys[:1] if is_one else keys)
        yield from (folder for folder in folders if _has(names, folder))
        return
    for name in within:
        folder = name + b"/"
        at = bisect_left(keys, folder)
        if at < len(keys) and keys[at].startswith(folder):
            yield name


def _folders(keys: Sequence[bytes]) -> set[bytes]:
    """What the keys lie in: all that a slash follows in any of them."""
    folders: set[bytes] = set()
    for key in keys:
        folder = key.rpartition(b"/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    return folders


def _tails(last: bytes, names: Sequence[bytes]) -> list[bytes]:
    """Names below which only keys after a block can lie, if its last key is `last`.

    For `name <= last < name/` the name is `last`, or what precedes a byte smaller than the slash.
    """
    cuts = [at for at, byte in enumerate(last) if byte < _SLASH and at]
    return [name for name in (*(last[:cut] for cut in cuts), last) if _has(names, name)]


def _has(names: Sequence[bytes], name: bytes) -> bool:
    at = bisect_left(names, name)
    return at < len(names) and names[at] == name


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
