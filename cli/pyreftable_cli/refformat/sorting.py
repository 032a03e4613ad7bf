"""Refs in the order of `--sort` keys.

The last key given is the most important one. A leading `-` reverses its key. What remains equal
is in the order of the names. Source: `git-for-each-ref`, option `--sort`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.progress import SILENCE, Progress

from .atoms import make_sort_field
from .fields import NameField
from .lookup import MissingObject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from .batch import RefBatch
    from .fields import Field
    from .lookup import Lookup

# For a listing that is watched: a hundredth of a second's work, or a tenth with objects to open.
_PART = 1 << 13


class SortKey:
    """One `--sort` value."""

    __slots__ = ("field", "reverse", "version_key")

    def __init__(self, text: str, lookup: Lookup) -> None:
        """Raises `Fatal` for a key that is no field."""
        self.reverse = text.startswith("-")
        name = text.removeprefix("-")
        self.version_key = None
        if name.startswith(("version:", "v:")):
            name = name.partition(":")[2]
            self.version_key = _version_key(lookup)
        self.field: Field = make_sort_field(name, lookup)

    @property
    def is_store_order(self) -> bool:
        """Whether refs come in this order anyway."""
        by_name = isinstance(self.field, NameField) and self.field.make is None
        return by_name and not self.reverse and self.version_key is None


def sort_refs(
    batch: RefBatch,
    keys: Sequence[SortKey],
    *,
    ignore_case: bool = False,
    progress: Progress = SILENCE,
) -> RefBatch:
    """`batch`, which is in the order of its names, sorted by `keys`, most important first.

    `progress` is told of refs whose key is known: that may take opening objects. Raises `Fatal`
    when an object that a key needs is missing.
    """
    order = list(range(len(batch)))
    if ignore_case:
        order.sort(key=[name.lower() for name in batch.names].__getitem__)
    for key in reversed(keys):
        if key.version_key is not None:
            ranks: Sequence[Any] = list(map(key.version_key, key.field.column(batch)))
            order.sort(key=ranks.__getitem__, reverse=key.reverse)
            continue
        ranks = _ranks(key.field, batch, progress)
        if ignore_case:
            ranks = [rank.lower() if isinstance(rank, bytes) else rank for rank in ranks]
        order.sort(key=ranks.__getitem__, reverse=key.reverse)
    return batch.ordered(order)


def _version_key(lookup: Lookup) -> Callable[[bytes], Any]:
    """What makes a text comparable as a version."""
    from functools import cmp_to_key

    from .versions import VersionOrder, configured_suffixes

    suffixes = configured_suffixes(lookup.store.repository.config, lookup.warn or (lambda _: None))
    return cmp_to_key(VersionOrder(suffixes).compare)


def _ranks(field: Field, batch: RefBatch, progress: Progress) -> Sequence[Any]:
    try:
        if progress is SILENCE:
            return field.sort_column(batch)
        return list(_ranks_in_parts(field, batch, progress))
    except MissingObject:
        pass
    ranks: list[Any] = []
    for at, name in enumerate(batch.names):
        try:
            ranks += field.sort_column(batch.part(at, at + 1))
        except MissingObject as error:
            raise error.about(name) from error
    return ranks


def _ranks_in_parts(field: Field, batch: RefBatch, progress: Progress) -> Iterator[Any]:
    """The same, telling how far it is."""
    progress.start("Sorting refs", len(batch))
    for start in range(0, len(batch), _PART):
        part = batch.part(start, start + _PART)
        yield from field.sort_column(part)
        progress.advance(len(part))
