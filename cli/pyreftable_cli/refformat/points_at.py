"""`--points-at`: refs that hold one of some objects, or whose tag leads to it.

Why this reads all refs, though the tables' obj sections say which refs hold an object: those know
neither where symbolic refs lead nor which ids are tags stored without their peeled id (git's own
migration stores some). Both can be anywhere, symbolic refs below `refs/heads/` too, so no pattern
rules them out: they are found by reading the refs, and then comparing ids costs next to nothing.
Processor time for 200,000 refs, in process, on as many commits and all on one object:

    listing them all, without a filter            115 ms    115 ms
    listing and comparing ids (this module)       130 ms    150 ms
    obj section, and the listing for the rest     120 ms    580 ms

Less is to be had only where records are skipped undecoded (30 ms for branches); then what is wrong
with refs would pass unnoticed, which every other listing tells.

What takes time is opening objects, 15 us each, so none is opened whose answer is known: a branch
can only be a commit, and where a peeled id is stored, the tags before it matter only if a wanted
tag leads to the same. If such an object is missing, its ref is passed over; git stops there.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING

from pyreftable.errors import ObjectMissingError
from pyreftable.refs.text import as_text

from ..exits import Fatal
from .lookup import DamagedObject, MissingObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .batch import RefBatch
    from .content import TagHead
    from .lookup import Lookup


_BRANCHES = b"refs/heads/"
_AFTER_BRANCHES = b"refs/heads0"
_TYPES = (b"commit", b"tree", b"blob", b"tag")


class PointsAt:
    """Filters batches, in the order of their names, by the raw object ids in `wanted`."""

    def __init__(self, wanted: frozenset[bytes], lookup: Lookup) -> None:
        self._wanted = wanted
        self._size = lookup.hash_size
        self._lookup = lookup
        self._answers = _Answers(wanted, lookup)

    def select(self, batches: Iterable[RefBatch]) -> Iterator[RefBatch]:
        """The refs that point at a wanted object, directly or by tags.

        Raises `Fatal`, after the refs before it, at a ref whose object must be looked at and is
        missing.
        """
        for batch in batches:
            try:
                flags = self._flags(batch)
            except MissingObject:
                yield from self._up_to_the_bad_one(batch)
            else:
                yield batch.where(flags)

    def _flags(self, batch: RefBatch) -> list[bool]:
        """For each ref, whether it is wanted; raises `MissingObject`."""
        names, values = batch.names, batch.values
        start = bisect_left(names, _BRANCHES)
        end = bisect_left(names, _AFTER_BRANCHES, start)
        size, answers = self._size, self._answers
        others = values[:start] + values[end:]
        self._lookup.prefetch(v for v in set(others) if len(v) == size and v not in answers)
        flags = list(map(answers.__getitem__, others))
        flags[start:start] = self._branch_flags(batch.part(start, end))
        return flags

    def _branch_flags(self, branches: RefBatch) -> list[bool]:
        wanted, size, values = self._wanted, self._size, branches.values
        if not branches.targets and len(b"".join(values)) == size * len(values):
            return list(map(wanted.__contains__, values))
        # Symbolic refs may lead to tags, and other writers than git may put tags here.
        symrefs, answers = branches.targets, self._answers
        return [
            value in wanted if len(value) == size and name not in symrefs else answers[value]
            for name, value in zip(branches.names, values, strict=True)
        ]

    def _up_to_the_bad_one(self, batch: RefBatch) -> Iterator[RefBatch]:
        """The wanted refs before the first that `_flags` fails at; that one raises `Fatal`."""
        for at, name in enumerate(batch.names):
            part = batch.part(at, at + 1)
            try:
                flags = self._flags(part)
            except MissingObject as error:
                if isinstance(error, _BadTag):
                    self._lookup.complain(error.complaint)
                raise Fatal(f"malformed object at '{as_text(name)}'") from error
            yield part.where(flags)


class _BadTag(MissingObject):
    """A tag that cannot be followed, and git's `complaint` about it."""

    def __init__(self, oid: bytes, complaint: str) -> None:
        super().__init__(oid)
        self.complaint = complaint


class _Answers(dict[bytes, bool]):
    """Value -> whether it leads to a wanted object, found when first asked for."""

    def __init__(self, wanted: frozenset[bytes], lookup: Lookup) -> None:
        super().__init__()
        self._wanted = wanted
        self._lookup = lookup

    def __missing__(self, value: bytes) -> bool:
        found = self[value] = self._leads_to_wanted(value)
        return found

    def _leads_to_wanted(self, value: bytes) -> bool:
        size = self._lookup.hash_size
        oid, peeled = value[:size], value[size:]
        if oid in self._wanted or peeled in self._wanted:
            return True
        if peeled and self._ends is not None and peeled not in self._ends:
            return False
        return self._a_tag_leads_to_wanted(oid)

    @cached_property
    def _ends(self) -> frozenset[bytes] | None:
        """What the wanted tags finally point to; `None` where that cannot be told."""
        peel = self._lookup.store.objects.peel
        try:
            peeled = [peel(oid.hex()) for oid in self._wanted]
        except ObjectMissingError:
            return None
        return frozenset(bytes.fromhex(oid) for oid in peeled if oid is not None)

    def _a_tag_leads_to_wanted(self, oid: bytes) -> bool:
        """Whether `oid` is a tag, and what it names is wanted, or a tag of which this is true."""
        if self._lookup.type_and_size(oid)[0] != b"tag":
            return False
        head = self._lookup.content(oid).tag
        while True:
            if head.type not in _TYPES:
                complaint = f"unknown tag type '{as_text(head.type)}' in {oid.hex()}"
                raise _BadTag(oid, complaint)
            oid = bytes.fromhex(head.target.decode())
            # What is no tag, as the tag before says, is not opened: it may be missing.
            if oid in self._wanted or head.type != b"tag":
                return oid in self._wanted
            head = self._named_tag(oid)

    def _named_tag(self, oid: bytes) -> TagHead:
        try:
            content = self._lookup.content(oid)
        except DamagedObject:
            raise
        except MissingObject:
            raise _BadTag(oid, f"Could not read {oid.hex()}") from None
        if content.kind != "tag":
            raise _BadTag(oid, f"Object {oid.hex()} not a tag")
        return content.tag
