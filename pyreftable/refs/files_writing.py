"""Writing refs and logs as files, into a folder where nobody looks yet.

Ids go to `packed-refs`; symrefs, root refs and refs of one worktree alone can only be loose.
Source: git's behaviour when it migrates or clones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import DataError, ObjectMissingError, RepositoryError
from ..format.records import OID, SYMREF, LogRecord, RefRecord
from ..progress import SILENCE, Progress
from .files_format import format_log_line, format_loose_ref, format_packed_refs, with_peeled
from .names import check_refname, is_per_worktree_ref, is_root_ref
from .text import as_text

if TYPE_CHECKING:
    from .objects import ObjectStore

_CHUNK = 4096


def write_refs(
    folder: str,
    records: Iterable[RefRecord],
    objects: ObjectStore,
    progress: Progress = SILENCE,
) -> None:
    """Write live refs, which are in name order, into `folder`; `progress` is told of them.

    Raises `DataError` for a ref that files cannot hold, `RepositoryError` if the disk refuses.
    """
    packed: list[RefRecord] = []
    make_folders(folder)
    for record in records:
        name = as_text(record.refname)
        if not check_refname(name, allow_onelevel=True):
            raise DataError(f"refusing to write ref with bad name '{name}'")
        if "/" not in name and not is_root_ref(name):
            raise DataError(f"'{name}' would be no ref outside of a reftable")
        if record.value_type == SYMREF or "/" not in name or is_per_worktree_ref(name):
            _write(folder, name, [format_loose_ref(record)])
            progress.advance(1)
        else:
            packed.append(record)
    _write(folder, "packed-refs", format_packed_refs(_all_peeled(packed, objects, progress)))


def make_folders(folder: str) -> None:
    """The folders that a repository with files has."""
    for name in ("refs/heads", "refs/tags"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)


def write_logs(folder: str, records: Iterable[LogRecord]) -> None:
    """Write live log records, which are in key order (a ref's newest entry first).

    A log with only an existence marker becomes an empty file.
    """
    name, lines = b"", list[bytes]()
    for record in records:
        if record.refname != name:
            _write_log(folder, name, lines)
            name, lines = record.refname, []
        if not record.is_existence_marker:
            lines.append(format_log_line(record))
    _write_log(folder, name, lines)


def _write_log(folder: str, name: bytes, lines: list[bytes]) -> None:
    if name:
        _write(folder, "logs/" + as_text(name), reversed(lines))


def _all_peeled(
    records: list[RefRecord], objects: ObjectStore, progress: Progress
) -> Iterable[RefRecord]:
    """The records, each annotated tag with its peeled id, as the header will promise.

    A table may lack it: git's own migration to reftable leaves it out.
    """
    for start in range(0, len(records), _CHUNK):
        part = records[start : start + _CHUNK]
        objects.prefetch(record.value.hex() for record in part if record.value_type == OID)
        for record in part:
            yield with_peeled(record, _peel(record, objects))
        progress.advance(len(part))


def _peel(record: RefRecord, objects: ObjectStore) -> bytes | None:
    if record.value_type != OID:
        return None
    try:
        peeled = objects.peel(record.value.hex())
    except ObjectMissingError:
        return None
    return None if peeled is None else bytes.fromhex(peeled)


def _write(folder: str, name: str, parts: Iterable[bytes]) -> None:
    path = os.path.join(folder, name)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.writelines(parts)
    except OSError as error:
        # Reftables may hold what folders cannot: logs of both `a` and `a/b`.
        raise RepositoryError(f"cannot write {path}: {error.strerror}") from error
