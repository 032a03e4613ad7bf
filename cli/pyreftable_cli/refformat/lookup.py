"""What fields ask of the repository, each thing once a run: objects, short forms, HEAD."""

from __future__ import annotations

from binascii import hexlify
from functools import cached_property
from typing import TYPE_CHECKING

from pyreftable.errors import ObjectMissingError, RefNameError
from pyreftable.refs.names import is_pseudo_ref, shorten
from pyreftable.refs.text import as_bytes, as_text

from ..exits import Fatal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyreftable.refs.store import RefStore

# Reading all names costs as much as some hundreds of look-ups in a store of a thousand refs, and
# never more than the listing at hand does anyway.
_SINGLE_LOOKUPS = 256


class MissingObject(Exception):
    """An object that a field needs is not there; `oid` is its raw id."""

    def __init__(self, oid: bytes) -> None:
        super().__init__(oid)
        self.oid = oid


class Lookup:
    """Answers about the refs of `store`.

    Takes and gives bytes. `value` below is a `RefBatch` value: an id, or an id and a peeled id.
    """

    def __init__(self, store: RefStore) -> None:
        self._store = store
        self._known_names: frozenset[bytes] | None = None
        self._symrefs: frozenset[bytes] = frozenset()
        self._lookups = 0
        self.hash_size = store.hash.size

    def type_and_size(self, oid: bytes) -> tuple[bytes, int]:
        """An object's type and its size in bytes; raises `MissingObject`."""
        found = self._store.objects.info(oid.hex())
        if found is None:
            raise MissingObject(oid)
        return found[0].encode(), found[1]

    def prefetch(self, values: Iterable[bytes]) -> None:
        """Look up the objects of many values together."""
        size = self.hash_size
        self._store.objects.prefetch([value[:size].hex() for value in values])

    def peeled(self, value: bytes) -> bytes | None:
        """What the annotated tag of a value finally points to; `None` if it is no tag.

        Opens no object where the value says it. Raises `MissingObject`.
        """
        size = self.hash_size
        if len(value) > size:
            return value[size:]
        if self.type_and_size(value)[0] != b"tag":
            return None
        try:
            peeled = self._store.objects.peel(value.hex())
        except ObjectMissingError as error:
            raise Fatal("bad tag") from error
        return None if peeled is None else bytes.fromhex(peeled)

    def tag_target(self, oid: bytes) -> bytes:
        """The raw id of what an annotated tag names; raises `ObjectMissingError`."""
        from pyreftable.refs.object_content import parse_tag

        text = oid.hex()
        return bytes.fromhex(parse_tag(self._store.objects.read(text)[1], text)[0])

    def abbreviated(self, oid: bytes, length: int | None) -> bytes:
        """The shortest unambiguous form of an id, of `length` hex digits at least.

        `None` means `core.abbrev`, or what git finds fit for the number of objects.
        """
        text = oid.hex()
        digits = self._default_abbrev if length is None else length
        if not 0 < digits < len(text):
            return hexlify(oid)
        for other in self._store.objects.expand(text[:digits]):
            if other != text:
                digits = max(digits, _common_length(text, other) + 1)
        return text[:digits].encode()

    @cached_property
    def _default_abbrev(self) -> int:
        from .abbrev import default_length

        return default_length(self._store.repository)

    @cached_property
    def head(self) -> bytes | None:
        """The name of the ref that HEAD stands for; `None` where HEAD leads to no object."""
        try:
            resolved = self._store.resolve("HEAD")
        except RefNameError:
            return None
        return None if resolved.oid is None else as_bytes(resolved.name)

    def short_name(self, name: bytes) -> bytes:
        """The shortest form of a ref's name that is not ambiguous."""
        return as_bytes(shorten(as_text(name), self._exists, strict=self._strict))

    @cached_property
    def _strict(self) -> bool:
        return self._store.repository.config.get_bool("core.warnAmbiguousRefs") is not False

    def _exists(self, name: str) -> bool:
        if self._known_names is None:
            self._lookups += 1
            if self._lookups <= _SINGLE_LOOKUPS:
                return self._can_read(name)
            self._load_names()
        if not name.startswith("refs/"):
            # Only the current directory's root refs are listed; the rest is rare.
            return (name.isupper() or "/" in name or is_pseudo_ref(name)) and self._can_read(name)
        key = as_bytes(name)
        return key in (self._known_names or ()) and (
            key not in self._symrefs or self._can_read(name)
        )

    def _load_names(self) -> None:
        names: list[bytes] = []
        symrefs: list[bytes] = []
        for run in self._store.ref_runs(b""):
            names += run.names
            if 3 in run.types:
                pairs = zip(run.names, run.types, strict=True)
                symrefs += [name for name, value_type in pairs if value_type == 3]
        self._known_names = frozenset(names)
        self._symrefs = frozenset(symrefs)

    def _can_read(self, name: str) -> bool:
        return self._store.read(name) is not None


def _common_length(one: str, other: str) -> int:
    length = 0
    while one[length] == other[length]:
        length += 1
    return length
