"""What fields ask of the repository, each thing once a run: objects, short forms, HEAD."""

from __future__ import annotations

from binascii import hexlify
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from pyreftable.errors import ObjectMissingError, RefNameError
from pyreftable.progress import SILENCE, Progress
from pyreftable.refs.names import is_pseudo_ref, shorten
from pyreftable.refs.text import as_bytes, as_text

from ..exits import Fatal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyreftable.refs.history import History
    from pyreftable.refs.store import RefStore

    from .batch import RefBatch
    from .content import ObjectContent
    from .mailmap import Mailmap
    from .storage_fields import StorageLookup

# Reading all names costs as much as some hundreds of look-ups in a store of a thousand refs, and
# never more than the listing at hand does anyway.
_SINGLE_LOOKUPS = 256


# An object's content, parsed, takes this much beside its bytes; what is kept is bounded.
_CONTENT_OVERHEAD = 1 << 10
_MAX_CONTENTS = 1 << 26
#: So many values' commits are remembered, some 200 bytes each.
_MOST_COMMITS = 1 << 16


class MissingObject(Exception):
    """An object that a field needs is not there; `oid` is its raw id."""

    _message = "missing object {} for {}"

    def __init__(self, oid: bytes) -> None:
        super().__init__(oid)
        self.oid = oid

    def about(self, name: bytes) -> Fatal:
        """The error to end with, at the ref `name`."""
        return Fatal(self._message.format(self.oid.hex(), as_text(name)))


class DamagedObject(MissingObject):
    """An object that a field needs is not what its type promises."""

    _message = "parse_object_buffer failed on {} for {}"


class Lookup:
    """Answers about the refs of `store`; `complain` gets error messages that end nothing, `color`
    is the value of `--color`.

    Takes and gives bytes. `value` below is a `RefBatch` value: an id, or an id and a peeled id.

    Fields note here what they need: `opens_objects`, that contents will be read anyway, and
    `choosers`, to be called with all refs at once before any is shown. `progress` is told of refs
    formatted, many at a time.
    """

    def __init__(
        self,
        store: RefStore,
        *,
        complain: Callable[[str], object] = str,
        warn: Callable[[str], None] | None = None,
        color: str | None = None,
    ) -> None:
        self.store = self._store = store
        self.complain = complain
        self.warn = warn
        self._color = color
        self.opens_objects = False
        self.progress: Progress = SILENCE
        self.choosers: list[Callable[[RefBatch], None]] = []
        self._contents: dict[bytes, ObjectContent] = {}
        self._contents_size = 0
        self._commits: dict[bytes, str | None] = {}
        self._bad_tags: set[str] = set()
        self._known_names: frozenset[bytes] | None = None
        self._symrefs: frozenset[bytes] = frozenset()
        self._lookups = 0
        self.hash_size = store.hash.size

    def type_and_size(self, oid: bytes) -> tuple[bytes, int]:
        """An object's type and its size in bytes; raises `MissingObject`."""
        if self.opens_objects:
            content = self.content(oid)
            return content.kind.encode(), len(content.body)
        found = self._store.objects.info(self.replaced(oid.hex()))
        if found is None:
            raise MissingObject(oid)
        return found[0].encode(), found[1]

    def content(self, oid: bytes) -> ObjectContent:
        """An object's content, read once; raises `MissingObject`, or `DamagedObject`."""
        known = self._contents.get(oid)
        return self._read(oid) if known is None else known

    def _read(self, oid: bytes) -> ObjectContent:
        from .content import ObjectContent

        try:
            kind, body = self._store.objects.read(self.replaced(oid.hex()))
        except ObjectMissingError:
            raise MissingObject(oid) from None
        try:
            content = ObjectContent(oid.hex(), kind, body)
        except ObjectMissingError:
            raise DamagedObject(oid) from None
        self._contents_size += len(body) + _CONTENT_OVERHEAD
        if self._contents_size > _MAX_CONTENTS:
            self._contents.clear()
            self._contents_size = len(body) + _CONTENT_OVERHEAD
        self._contents[oid] = content
        return content

    def opened(self, oid: bytes) -> ObjectContent | None:
        """An object's content if it has been read already."""
        return self._contents.get(oid)

    def replaced(self, oid: str) -> str:
        """The object (hex) that stands in for `oid`: `oid` itself, most often."""
        return self._replacements.get(oid, oid) if self._replacements else oid

    @cached_property
    def _replacements(self) -> dict[str, str]:
        """Which objects are replaced by which (hex ids)."""
        repository = self._store.repository
        if (
            "GIT_NO_REPLACE_OBJECTS" in repository.environ
            or repository.config.get_bool("core.useReplaceRefs") is False
        ):
            return {}
        base = repository.environ.get("GIT_REPLACE_REF_BASE") or "refs/replace/"
        refs = self._store.refs(base)
        return {ref.name.removeprefix(base): ref.oid for ref in refs if ref.oid is not None}

    @cached_property
    def wants_color(self) -> bool:
        """Whether colours are to be shown."""
        from .color import wants_color

        return wants_color(self._color, self._store.repository)

    @cached_property
    def history(self) -> History:
        """The commits of the repository."""
        from pyreftable.refs.history import History

        from .shared_objects import SharedObjects

        shared = SharedObjects(self._store.objects, self)
        return History(shared, self._store.repository.common_dir)

    @cached_property
    def mailmap(self) -> Mailmap:
        """The repository's mailmap."""
        from .mailmap import Mailmap

        return Mailmap(self._store)

    @cached_property
    def storage(self) -> StorageLookup:
        """How objects are stored."""
        from .storage_fields import StorageLookup

        return StorageLookup(self)

    def commit_of(self, value: bytes) -> str | None:
        """The commit (hex) that a value is, or that its tag leads to; `None` if there is none."""
        if value not in self._commits:
            oid = value[-self.hash_size :]
            if self.opens_objects:
                # A field is about to open it; then it serves the walk too.
                with suppress(MissingObject):
                    self.content(oid)
            if len(self._commits) >= _MOST_COMMITS:
                self._commits.clear()
            self._commits[value] = self.history.commit_of(oid.hex())
        return self._commits[value]

    def complain_of_no_commit(self, oid: str) -> None:
        """Say that the object `oid` (hex) leads to no commit, and what it is."""
        objects = self._store.objects
        try:
            found = objects.info(objects.peel(oid) or oid)
        except ObjectMissingError:
            return
        if found is not None:
            self.complain(f"object {oid} is a {found[0]}, not a commit")

    def complain_of_bad_tag(self, oid: str) -> None:
        """Say, once, that the tag `oid` (hex) has the type of its object wrong, if that is so."""
        from pyreftable.refs.object_content import parse_tag

        if oid in self._bad_tags:
            return
        self._bad_tags.add(oid)
        objects = self._store.objects
        try:
            kind, body = objects.read(oid)
            target, expected = parse_tag(body, oid) if kind == "tag" else ("", "")
        except ObjectMissingError:
            return
        found = objects.info(target) if target else None
        if found is not None and found[0] != expected:
            self.complain(f"object {target} is a {found[0]}, not a {expected}")
            self.complain(f"bad tag pointer to {target} in {oid}")

    def prefetch(self, values: Iterable[bytes]) -> None:
        """Look up the objects of many values together."""
        if self.opens_objects:
            return
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
            self.complain_of_bad_tag(value.hex())
            raise Fatal("bad tag") from error
        return None if peeled is None else bytes.fromhex(peeled)

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
