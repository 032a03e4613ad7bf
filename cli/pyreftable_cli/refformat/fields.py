"""The fields of a format: what a ref's name, value or target says, for many refs at once.

A field that depends on the name alone, or on the value alone, says so by its class: the formatter
then need not know what it is to treat it well.
"""

from __future__ import annotations

from binascii import hexlify
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from .batch import RefBatch

    class Field(Protocol):
        """The values of one field for all refs of a batch."""

        def column(self, batch: RefBatch) -> list[bytes]:
            """What to print, one entry a ref. Raises `MissingObject`."""

        def sort_column(self, batch: RefBatch) -> Sequence[bytes] | Sequence[int]:
            """What to sort by, one entry a ref. Raises `MissingObject`."""


class NameField:
    """Made from the ref's name by `make`; `None` means the name itself."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[bytes], bytes] | None = None) -> None:
        self.make = make

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        return batch.names if self.make is None else list(map(self.make, batch.names))

    def sort_column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        return self.column(batch)


class ValueField:
    """Made from the ref's value by `make`, which asks for objects.

    With `rank`, refs sort by that number instead of the text. `opens_objects` says that the text
    comes from an object's content, and may be long.
    """

    __slots__ = ("make", "opens_objects", "rank")

    def __init__(
        self,
        make: Callable[[bytes], bytes],
        rank: Callable[[bytes], int] | None = None,
        *,
        opens_objects: bool = False,
    ) -> None:
        self.make = make
        self.rank = rank
        self.opens_objects = opens_objects

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        return list(map(self.make, batch.values))

    def sort_column(self, batch: RefBatch) -> list[bytes] | list[int]:
        """See `Field`."""
        return self.column(batch) if self.rank is None else list(map(self.rank, batch.values))


class OidField:
    """The object id of a value in hex; `size` is the length of a raw id."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        size, values = self.size, batch.values
        if max(map(len, values), default=0) > size:
            values = [value[:size] for value in values]
        return list(map(hexlify, values))

    def sort_column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`. Raw ids sort as their hex does."""
        size = self.size
        return [value[:size] for value in batch.values]


class TargetField:
    """Made by `make` from the name of the ref that a symbolic ref leads to; else `otherwise`."""

    __slots__ = ("make", "otherwise")

    def __init__(self, make: Callable[[bytes], bytes], otherwise: bytes = b"") -> None:
        self.make = make
        self.otherwise = otherwise

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        targets = batch.targets
        if not targets:
            return [self.otherwise] * len(batch)
        make, otherwise = self.make, self.otherwise
        return [make(targets[n]) if n in targets else otherwise for n in batch.names]

    def sort_column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        return self.column(batch)


class ConstantField:
    """The same text for every ref."""

    __slots__ = ("text",)

    def __init__(self, text: bytes = b"") -> None:
        self.text = text

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        return [self.text] * len(batch)

    def sort_column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        return self.column(batch)
