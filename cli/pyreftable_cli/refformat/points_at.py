"""`--points-at`: refs that hold one of some objects, or whose tag leads to it.

The tables' obj sections cannot answer this as git does: they know neither where symbolic refs
lead, nor the tags between a ref's tag and its peeled id, nor tags stored without a peeled id (as
git's own migration stores them). All three take a scan of the refs, and then the obj section
saves nothing: with 200,000 refs the scan is 0.1 s. What takes time is looking at objects (15 us
each); branches are spared that, since nothing but a commit can be one. So a branch whose object
is missing is passed over here, where git stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import ObjectMissingError
from pyreftable.refs.text import as_text

from ..exits import Fatal
from .lookup import MissingObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .batch import RefBatch
    from .lookup import Lookup


_BRANCHES = b"refs/heads/"


class PointsAt:
    """Filters batches by the raw object ids in `wanted`."""

    def __init__(self, wanted: frozenset[bytes], lookup: Lookup) -> None:
        self._wanted = wanted
        self._size = lookup.hash_size
        self._answers = _Answers(wanted, lookup)

    def select(self, batches: Iterable[RefBatch]) -> Iterator[RefBatch]:
        """The refs that point at a wanted object, directly or by tags.

        Raises `Fatal`, after the refs before it, at a ref whose object must be looked at and is
        missing.
        """
        wanted, size = self._wanted, self._size
        for batch in batches:
            flags: list[bool] = []
            symrefs = batch.targets
            try:
                for name, value in zip(batch.names, batch.values, strict=True):
                    if len(value) == size and name.startswith(_BRANCHES) and name not in symrefs:
                        flags.append(value in wanted)
                    else:
                        flags.append(self._answers[value])
            except (MissingObject, ObjectMissingError) as error:
                at = len(flags)
                yield batch.part(0, at).where(flags)
                raise Fatal(f"malformed object at '{as_text(batch.names[at])}'") from error
            yield batch.where(flags)


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
        # A tag of a tag: the ones between are in no ref.
        while oid != peeled and self._lookup.type_and_size(oid)[0] == b"tag":
            oid = self._lookup.tag_target(oid)
            if oid in self._wanted:
                return True
        return False
