"""The objects of a repository as walks of history see them beside fields.

What a field has opened already is not read again, and objects that `refs/replace/` replaces are
read as their replacement, as in git.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyreftable.refs.objects import ObjectStore

    from .lookup import Lookup


class SharedObjects:
    """An `ObjectStore` in front of that of the repository, for a `History`."""

    def __init__(self, objects: ObjectStore, lookup: Lookup) -> None:
        self._objects = objects
        self._lookup = lookup

    def read(self, hexid: str) -> tuple[str, bytes]:
        """Type and body; raises `ObjectMissingError`."""
        known = self._lookup.opened(bytes.fromhex(hexid))
        if known is not None:
            return known.kind, known.body
        return self._objects.read(self._lookup.replaced(hexid))

    def info(self, hexid: str) -> tuple[str, int] | None:
        """Type and size."""
        return self._objects.info(self._lookup.replaced(hexid))

    def prefetch(self, hexids: Iterable[str]) -> None:
        """Look these up together."""
        self._objects.prefetch(hexids)

    def peel(self, hexid: str) -> str | None:
        """What an annotated tag leads to; `None` if it is no tag."""
        return self._objects.peel(hexid)

    def expand(self, prefix: str) -> list[str]:
        """All ids that start with `prefix`."""
        return self._objects.expand(prefix)

    def close(self) -> None:
        """Nothing: the repository's store is closed by its owner."""
