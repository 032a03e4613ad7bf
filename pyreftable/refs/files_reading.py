"""Reading the refs and logs of a repository that stores them in files.

    HEAD, ORIG_HEAD ...    root refs, files in the git directory
    refs/...               loose refs; they win over packed ones
    packed-refs            shared refs
    logs/...               one log a ref, named like it

Folders are those of one worktree: the common directory (shared refs and the main worktree's
own), or a linked worktree's git directory. Nothing is locked: git has no lock for all of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..errors import DataError, ObjectMissingError, RepositoryError
from ..format.records import OID, LogRecord, RefRecord
from ..progress import SILENCE, Progress, counted_one_by_one
from .files_format import (
    PackedRefs,
    parse_log_line,
    parse_loose_ref,
    parse_packed_refs,
    with_peeled,
)
from .names import check_refname, is_root_ref
from .text import as_bytes, as_text

if TYPE_CHECKING:
    from ..hashes import HashAlgorithm
    from .objects import ObjectStore

_MAX_LOOSE_SIZE = 1 << 16


class FilesReader:
    """The refs in `folder`; `objects` is asked which of them are annotated tags.

    `progress` is told of loose refs and of logs, one file each. Methods raise `DataError` for what
    is no ref, and `RepositoryError` if the disk refuses.
    """

    def __init__(
        self,
        folder: str,
        algorithm: HashAlgorithm,
        objects: ObjectStore,
        progress: Progress = SILENCE,
    ) -> None:
        self.folder = folder
        self.hash = algorithm
        self._objects = objects
        self.progress = progress

    def refs(self, broken: Callable[[str, str], object]) -> list[RefRecord]:
        """All refs in byte order of their names, update index 0.

        `broken` is told the name of what cannot be read as a ref, and why.
        """
        packed = self.packed()
        found = {name: RefRecord(name, 0, OID, oid) for name, oid in packed.oids.items()}
        unknown = {name for name in found if not packed.knows_peeled(name)}
        for name in packed.oids:
            if not check_refname(as_text(name), allow_onelevel=True):
                broken(as_text(name), "bad name")
        for name, record, reason in self.loose():
            if record is None:
                broken(as_text(name), reason)
            else:
                found[name] = record
                unknown.add(name)
        return self._peeled(found, unknown, packed)

    def _peeled(
        self, found: dict[bytes, RefRecord], unknown: set[bytes], packed: PackedRefs
    ) -> list[RefRecord]:
        plain = [found[name] for name in unknown if found[name].value_type == OID]
        self._objects.prefetch(record.value.hex() for record in plain)
        records = []
        for name in sorted(found):
            record = found[name]
            peeled = self.peel(record) if name in unknown else packed.peeled.get(name)
            records.append(with_peeled(record, peeled))
        return records

    def peel(self, record: RefRecord) -> bytes | None:
        """What an annotated tag finally points to, raw; `None` for all else."""
        if record.value_type != OID or not any(record.value):
            return None
        try:
            peeled = self._objects.peel(record.value.hex())
        except ObjectMissingError:
            return None
        return None if peeled is None else bytes.fromhex(peeled)

    def packed(self) -> PackedRefs:
        """What `packed-refs` holds; nothing if there is none."""
        path = os.path.join(self.folder, "packed-refs")
        data = _read(path)
        return parse_packed_refs(data or b"", self.hash.size, _shown(path))

    def loose(self) -> Iterator[tuple[bytes, RefRecord | None, str]]:
        """Name and ref of each file, in no order; where it holds none, the reason."""
        names = [name for name in _entries(self.folder) if is_root_ref(name)]
        names += _files_below(self.folder, "refs")
        self.progress.start("Reading loose refs", len(names))
        for name in counted_one_by_one(names, self.progress):
            if name.endswith(".lock"):
                continue
            record, reason = self.read_loose(name)
            if record is not None or reason:
                yield as_bytes(name), record, reason

    def read_loose(self, name: str) -> tuple[RefRecord | None, str]:
        """The ref in the file of that name; without one the reason, empty if there is no file."""
        path = os.path.join(self.folder, name)
        if not check_refname(name, allow_onelevel=True):
            return None, "bad name"
        if os.path.islink(path):
            target = os.readlink(path)
            if target.startswith("refs/") and check_refname(target):
                return parse_loose_ref(b"ref: " + as_bytes(target), as_bytes(name), 20), ""
        data = _read(path)
        if data is None:
            return None, ""
        record = parse_loose_ref(data[:_MAX_LOOSE_SIZE], as_bytes(name), self.hash.size)
        return record, "" if record else "no object id and no symbolic ref"

    # Logs

    def log_names(self) -> list[str]:
        """The refs that have a log, in byte order."""
        found = _files_below(os.path.join(self.folder, "logs"), "")
        return sorted((n for n in found if check_refname(n, allow_onelevel=True)), key=as_bytes)

    def log(self, name: str) -> list[LogRecord]:
        """The entries of a log, oldest first, update index 0; lines that are none are skipped."""
        data = _read(os.path.join(self.folder, "logs", name)) or b""
        key, size = as_bytes(name), self.hash.size
        entries = (parse_log_line(line, key, size) for line in data.split(b"\n"))
        return [entry for entry in entries if entry is not None]


def number_logs(reader: FilesReader, first_index: int) -> tuple[list[LogRecord], int]:
    """All entries in key order with update indices from `first_index` up, and the next index.

    Each entry gets an index of its own. An empty log becomes an existence marker.
    """
    records: list[LogRecord] = []
    index = first_index
    null = reader.hash.null
    names = reader.log_names()
    reader.progress.start("Reading logs", len(names))
    for name in counted_one_by_one(names, reader.progress):
        entries = reader.log(name) or [LogRecord(as_bytes(name), 0, null, null)]
        numbered = [entry._replace(update_index=index + at) for at, entry in enumerate(entries)]
        index += len(entries)
        records += reversed(numbered)
    return records, index


def refuse_broken(name: str, reason: str) -> None:
    """For those who cannot go on with a ref that is none."""
    raise DataError(f"cannot read reference '{name}': {reason}")


def _files_below(base: str, folder: str) -> list[str]:
    """The files in a folder and those below it, named from `base`; hidden ones are left out."""
    found = []
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        for name in _entries(os.path.join(base, current)):
            path = f"{current}/{name}" if current else name
            if name.startswith("."):
                continue
            if os.path.isdir(os.path.join(base, path)):
                waiting.append(path)
            else:
                found.append(path)
    return found


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise RepositoryError(f"cannot read {folder}: {error.strerror}") from error


def _read(path: str) -> bytes | None:
    """The content of a file; `None` if it is gone, or a folder."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None
    except OSError as error:
        raise RepositoryError(f"cannot read {path}: {error.strerror}") from error


def _shown(path: str) -> str:
    """A path as git names it: from the current folder, if it is below that."""
    here = os.getcwd().rstrip("/") + "/"
    return path.removeprefix(here)
