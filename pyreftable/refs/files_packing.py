"""Packing refs that are stored in files: into `packed-refs`, their own files deleted.

Source: `git-pack-refs`. Symrefs, refs of one worktree and refs whose object is missing stay
loose. `packed-refs` is replaced in one step under its lock before any loose file goes, and each
of those only if it still holds what was packed, under its own lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..errors import LockError, RepositoryError
from ..format.records import SYMREF, RefRecord
from ..stack.files import acquire_lock
from .config import Config
from .config_values import INT64
from .files_format import format_packed_refs, with_peeled
from .files_reading import FilesReader
from .names import parse_worktree_ref
from .objects import ObjectStore
from .text import as_text
from .wildmatch import wildmatch

_PACKED_TIMEOUT_MS = 1000
_LOOSE_TIMEOUT_MS = 100
_FEWEST = 16

#: Folders that stay although they are empty: `refs` and those in it.
_KEPT_DEPTH = 2


class Choice(NamedTuple):
    """Which refs to pack: those that match one of `includes` and none of `excludes`.

    `auto`: only if there are many loose ones for the size of `packed-refs`. `prune`: delete the
    files of what was packed.
    """

    includes: Sequence[bytes]
    excludes: Sequence[bytes] = ()
    auto: bool = False
    prune: bool = True


def pack(
    reader: FilesReader,
    objects: ObjectStore,
    config: Config,
    choice: Choice,
    missing: Callable[[str], object],
) -> None:
    """Pack the refs of `reader`'s folder; `missing` is told of those whose object is missing.

    Raises `LockError`, `StorageError`, `FormatError` for a `packed-refs` that is none.
    """
    path = os.path.realpath(os.path.join(reader.folder, "packed-refs"))
    if choice.auto and not _is_worth_it(reader, objects, choice, path):
        return
    timeout = config.get_int("core.packedRefsTimeout", INT64)
    lock = acquire_lock(f"{path}.lock", _PACKED_TIMEOUT_MS if timeout is None else timeout)
    try:
        chosen = list(_chosen(reader, objects, choice, missing))
        for part in format_packed_refs(_merged(reader, chosen)):
            lock.write(part)
        lock.finish(sync=True)
        lock.rename(path)
    finally:
        lock.remove()
    for record in chosen if choice.prune else ():
        _prune(reader, record)


def _is_worth_it(reader: FilesReader, objects: ObjectStore, choice: Choice, path: str) -> bool:
    """Git's rule: loose refs over five times the logarithm of the packed ones, sixteen at least."""
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        size = 0
    limit = max(((size // 100).bit_length() - 1) * 5, _FEWEST)
    loose = _chosen(reader, objects, choice, lambda _: None)
    return any(number >= limit for number, _ in enumerate(loose, 1))


def _chosen(
    reader: FilesReader,
    objects: ObjectStore,
    choice: Choice,
    missing: Callable[[str], object],
) -> Iterable[RefRecord]:
    for name, record, _ in reader.loose():
        if record is None or record.value_type == SYMREF or not any(record.value):
            continue
        if parse_worktree_ref(as_text(name)).kind != "shared":
            continue
        if objects.info(record.value.hex()) is None:
            missing(as_text(name))
        elif not _matches(choice.excludes, name) and _matches(choice.includes, name):
            yield record


def _matches(patterns: Iterable[bytes], name: bytes) -> bool:
    return any(wildmatch(pattern, name) for pattern in patterns)


def _merged(reader: FilesReader, chosen: Iterable[RefRecord]) -> Iterable[RefRecord]:
    """What is packed already and what comes to it, in name order, tags with their peeled ids."""
    packed = reader.packed()
    records = {name: RefRecord(name, 0, 1, oid) for name, oid in packed.oids.items()}
    known = {name for name in records if name in packed.peeled or packed.knows_peeled(name)}
    for record in chosen:
        records[record.refname] = record
        known.discard(record.refname)
    for name in sorted(records):
        record = records[name]
        yield with_peeled(record, packed.peeled.get(name) if name in known else reader.peel(record))


def _prune(reader: FilesReader, record: RefRecord) -> None:
    """Delete a loose ref that is packed, and the folders that are empty then.

    One that has changed since, or is locked because it is about to, stays: it wins anyway.
    """
    name = as_text(record.refname)
    path = os.path.join(reader.folder, name)
    try:
        lock = acquire_lock(f"{path}.lock", _LOOSE_TIMEOUT_MS)
    except LockError:
        return
    try:
        if reader.read_loose(name)[0] == record:
            os.unlink(path)
    except OSError as error:
        raise RepositoryError(f"cannot remove {path}: {error.strerror}") from error
    finally:
        lock.remove()
    parts = name.split("/")[:-1]
    while len(parts) > _KEPT_DEPTH:
        try:
            os.rmdir(os.path.join(reader.folder, *parts))
        except OSError:
            # Not empty: another ref is in it, or is just being made there.
            return
        parts.pop()
