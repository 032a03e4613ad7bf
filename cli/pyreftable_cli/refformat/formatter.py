"""Batches of refs -> lines of output.

The parts of a format give columns; a line takes one entry of each. Neighbouring parts that depend
on the ref's value only and ask for objects are fused into one column that remembers the text of
each value: many refs share few objects, or a listing is about to name each object once.
"""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

from ..exits import Fatal
from .fields import ValueField
from .lookup import MissingObject
from .nodes import Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .batch import RefBatch
    from .lookup import Lookup
    from .parser import Part

# Some 300 bytes each, so 20 MiB; a listing that names more objects than this makes some again.
_MAX_REMEMBERED = 1 << 16

# What comes from an object's content may be some kilobytes long.
_MAX_REMEMBERED_CONTENTS = 1 << 12

# The object store keeps what it found until it is asked for, but not without limit.
_LOOKED_UP_TOGETHER = 1 << 13


class Formatter:
    """Formats refs by `parts`; `omit_empty` leaves out lines without text.

    `all_or_nothing` shows no ref of a batch if there is one that cannot be shown.
    """

    def __init__(
        self,
        parts: list[Part],
        lookup: Lookup,
        *,
        omit_empty: bool = False,
        all_or_nothing: bool = False,
    ) -> None:
        self._parts = list(_fused([*parts], lookup))
        self._omit_empty = omit_empty
        self._all_or_nothing = all_or_nothing

    def render(self, batch: RefBatch) -> Iterator[bytes]:
        """The lines of all refs of a batch, in as few pieces as possible.

        Raises `Fatal` after the lines before the first ref that cannot be shown.
        """
        try:
            yield self._text(batch)
            return
        except (MissingObject, Fatal):
            pass
        for at in range(len(batch)):
            try:
                text = self._text(batch.part(at, at + 1))
            except MissingObject as error:
                raise error.about(batch.names[at]) from error
            if not self._all_or_nothing:
                yield text

    def _text(self, batch: RefBatch) -> bytes:
        count = len(batch)
        if not count:
            return b""
        columns = [part.column(batch) for part in self._parts]
        if len(columns) == 1 and not self._omit_empty:
            return b"\n".join(columns[0]) + b"\n"
        rows = zip(*columns, repeat(b"\n", count), strict=True)
        if self._omit_empty:
            return b"".join(line for line in map(b"".join, rows) if line != b"\n")
        return b"".join(chain.from_iterable(rows))


class FusedValues:
    """The text of `parts` (value fields and literals) as one field, remembered by value."""

    def __init__(self, parts: list[ValueField | Literal], lookup: Lookup) -> None:
        self._memory = _Memory(parts)
        self._lookup = lookup
        opens = any(isinstance(part, ValueField) and part.opens_objects for part in parts)
        self._limit = _MAX_REMEMBERED_CONTENTS if opens else _MAX_REMEMBERED

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        values = batch.values
        if len(values) <= _LOOKED_UP_TOGETHER:
            return self._texts(values)
        texts: list[bytes] = []
        for start in range(0, len(values), _LOOKED_UP_TOGETHER):
            part = values[start : start + _LOOKED_UP_TOGETHER]
            texts += self._texts(part)
            self._lookup.progress.advance(len(part))
        return texts

    def _texts(self, values: list[bytes]) -> list[bytes]:
        memory = self._memory
        new = set(values).difference(memory)
        if len(memory) + len(new) > self._limit:
            memory.clear()
            new = set(values)
        if len(new) > 1:
            self._lookup.prefetch(new)
        return list(map(memory.__getitem__, values))


class _Memory(dict[bytes, bytes]):
    """Value -> text, made when first asked for."""

    def __init__(self, parts: list[ValueField | Literal]) -> None:
        super().__init__()
        self._parts = parts

    def __missing__(self, value: bytes) -> bytes:
        text = b"".join(
            part.text if isinstance(part, Literal) else part.make(value) for part in self._parts
        )
        self[value] = text
        return text


def _fused(parts: list[Part], lookup: Lookup) -> Iterator[Part]:
    """`parts` with each stretch of value fields, and the literals between them, made one."""
    stretch: list[ValueField | Literal] = []
    for part in [*parts, None]:
        if isinstance(part, (ValueField, Literal)):
            stretch.append(part)
            continue
        if any(isinstance(member, ValueField) for member in stretch):
            yield FusedValues(stretch, lookup)
        else:
            yield from stretch
        stretch = []
        if part is not None:
            yield part
