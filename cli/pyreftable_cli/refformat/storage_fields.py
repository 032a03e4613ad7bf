"""Fields about how an object is stored: `objectsize:disk` and `deltabase`.

A loose object is a file, and no delta. For packed ones a git process is asked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from pyreftable.errors import RepositoryError
from pyreftable.refs.cat_file import CatFile

from ..exits import Fatal
from .fields import ValueField
from .lookup import MissingObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from .atoms import Atom
    from .fields import Field
    from .lookup import Lookup


_MOST_KNOWN = 1 << 16


class Storage(NamedTuple):
    """The bytes an object takes on disk, and the object (hex) that it is a delta of, or zeros."""

    size: int
    delta_base: bytes


class StorageLookup:
    """How objects are stored; what was told last is remembered."""

    def __init__(self, lookup: Lookup) -> None:
        self._repository = lookup.store.repository
        self._known: dict[bytes, Storage] = {}
        self._packed: bool | None = None
        self._git = CatFile(self._repository, "%(objectsize:disk) %(deltabase)")

    def __call__(self, oid: bytes) -> Storage:
        """Raises `MissingObject`, and `Fatal` where git is needed and not there."""
        found = self._known.get(oid)
        if found is None:
            found = self._find(oid)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[oid] = found
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
        try:
            words = self._git.told([oid.hex()])[0]
        except RepositoryError as error:
            raise Fatal(str(error)) from error
        return None if words[1] == b"missing" else Storage(int(words[0]), words[1])


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
