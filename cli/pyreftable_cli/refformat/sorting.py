"""Refs in the order of `--sort` keys.

The last key given is the most important one. A leading `-` reverses its key. What remains equal
is in the order of the names. Source: `git-for-each-ref`, option `--sort`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.refs.text import as_text

from ..exits import Fatal
from .atoms import make_sort_field
from .fields import NameField
from .lookup import MissingObject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .batch import RefBatch
    from .fields import Field
    from .lookup import Lookup


class SortKey:
    """One `--sort` value."""

    __slots__ = ("field", "reverse")

    def __init__(self, text: str, lookup: Lookup) -> None:
        """Raises `Fatal` for a key that is no field."""
        self.reverse = text.startswith("-")
        name = text.removeprefix("-")
        if name.startswith(("version:", "v:")):
            raise Fatal(f"pyreftable does not know this sort key of git: {text}")
        self.field: Field = make_sort_field(name, lookup)

    @property
    def is_store_order(self) -> bool:
        """Whether refs come in this order anyway."""
        return isinstance(self.field, NameField) and self.field.make is None and not self.reverse


def sort_refs(batch: RefBatch, keys: Sequence[SortKey], *, ignore_case: bool = False) -> RefBatch:
    """`batch`, which is in the order of its names, sorted by `keys`, most important first.

    Raises `Fatal` when an object that a key needs is missing.
    """
    order = list(range(len(batch)))
    if ignore_case:
        order.sort(key=[name.lower() for name in batch.names].__getitem__)
    for key in reversed(keys):
        ranks = _ranks(key.field, batch)
        if ignore_case:
            ranks = [rank.lower() if isinstance(rank, bytes) else rank for rank in ranks]  # type: ignore[assignment]
        order.sort(key=ranks.__getitem__, reverse=key.reverse)
    return batch.ordered(order)


def _ranks(field: Field, batch: RefBatch) -> Sequence[bytes] | Sequence[int]:
    try:
        return field.sort_column(batch)
    except MissingObject as error:
        name = next(n for n, v in zip(batch.names, batch.values, strict=True) if error.oid in v)
        what = f"missing object {error.oid.hex()} for {as_text(name)}"
        raise Fatal(what) from error
