"""Fields about how an object is stored: `objectsize:disk` and `deltabase`.

A loose object is a file, and no delta. For packed ones git is asked, once an object.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..exits import Fatal
from .fields import ValueField
from .lookup import MissingObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from .atoms import Atom
    from .fields import Field
    from .lookup import Lookup


class Storage(NamedTuple):
    """The bytes an object takes on disk, and the object (hex) that it is a delta of, or zeros."""

    size: int
    delta_base: bytes


class StorageLookup:
    """How objects are stored, each looked up once."""

    def __init__(self, lookup: Lookup) -> None:
        self._repository = lookup.store.repository
        self._known: dict[bytes, Storage] = {}
        self._packed: bool | None = None

    def __call__(self, oid: bytes) -> Storage:
        """Raises `MissingObject`, and `Fatal` where git is needed and not there."""
        found = self._known.get(oid)
        if found is None:
            found = self._known[oid] = self._find(oid)
        return found

    def _find(self, oid: bytes) -> Storage:
        from pyreftable.refs.loose import loose_path, object_directories
        from pyreftable.refs.packs import has_packs

        home = self._repository
        directories = list(object_directories(home.common_dir, home.environ))
        if self._packed is None:
            self._packed = any(map(has_packs, directories))
        # An object that is both packed and loose counts as packed.
        found = self._ask_git(oid) if self._packed else None
        if found is not None:
            return found
        for directory in directories:
            try:
                size = os.stat(loose_path(directory, oid.hex())).st_size
            except OSError:
                continue
            return Storage(size, b"0" * home.hash.hex_size)
        raise MissingObject(oid)

    def _ask_git(self, oid: bytes) -> Storage | None:
        from .git_process import run_git

        words = ["cat-file", "--batch-check=%(objectsize:disk) %(deltabase)"]
        answer = run_git(self._repository, words, oid.hex().encode() + b"\n").split()
        if len(answer) != 2:
            raise Fatal("git does not tell how objects are stored")
        return None if answer[1] == b"missing" else Storage(int(answer[0]), answer[1])


def disk_size(atom: Atom, lookup: Lookup) -> Field:
    """`objectsize:disk`."""
    field = _storage_field(atom, lookup, lambda storage: b"%d" % storage.size)
    field.rank = lambda value: int(field.make(value) or 0)
    return field


def deltabase(atom: Atom, lookup: Lookup) -> Field:
    """`deltabase`."""
    atom.takes_no_argument()
    return _storage_field(atom, lookup, lambda storage: storage.delta_base)


def _storage_field(atom: Atom, lookup: Lookup, show: Callable[[Storage], bytes]) -> ValueField:
    find, size = lookup.storage, lookup.hash_size
    if not atom.peeled:
        return ValueField(lambda value: show(find(value[:size])))

    def show_peeled(value: bytes) -> bytes:
        peeled = lookup.peeled(value)
        return b"" if peeled is None else show(find(peeled))

    return ValueField(show_peeled)
