"""What a format consists of: literal text, fields, and the blocks around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .align import pad

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from .batch import RefBatch
    from .fields import Field
    from .quoting import Quote

    class Node(Protocol):
        """A part of a format; gives its text for each ref of a batch."""

        def column(self, batch: RefBatch) -> list[bytes]:
            """One entry a ref. Raises `MissingObject`."""


class Literal:
    """Text that is the same for all refs."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Node`."""
        return [self.text] * len(batch)


class Quoted:
    """A field or block as a string literal."""

    __slots__ = ("inner", "quote")

    def __init__(self, inner: Field | Node, quote: Quote) -> None:
        self.inner = inner
        self.quote = quote

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Node`."""
        return list(map(self.quote, self.inner.column(batch)))


class Sequel:
    """Parts one after the other."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Field | Node]) -> None:
        self.parts = parts

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Node`."""
        columns = [part.column(batch) for part in self.parts]
        if len(columns) == 1:
            return columns[0]
        if not columns:
            return [b""] * len(batch)
        return list(map(b"".join, zip(*columns, strict=True)))


class Align:
    """`%(align:...)`: the inner text padded to `width` columns."""

    __slots__ = ("inner", "position", "width")

    def __init__(self, width: int, position: str, inner: Node) -> None:
        self.width = width
        self.position = position
        self.inner = inner

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Node`."""
        width, position = self.width, self.position
        return [pad(text, width, position) for text in self.inner.column(batch)]


class If:
    """`%(if)` condition `%(then)` text `%(else)` other text `%(end)`.

    The condition holds where its text is not blank or, with `equals`, where it is that text, or,
    with `differs` too, where it is not.
    """

    __slots__ = ("condition", "differs", "equals", "otherwise", "then")

    def __init__(
        self,
        condition: Node,
        then: Node,
        otherwise: Node,
        *,
        equals: bytes | None = None,
        differs: bool = False,
    ) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise
        self.equals = equals
        self.differs = differs

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Node`."""
        texts = self.condition.column(batch)
        columns = (self.otherwise.column(batch), self.then.column(batch))
        return [columns[self._holds(text)][at] for at, text in enumerate(texts)]

    def _holds(self, text: bytes) -> bool:
        if self.equals is None:
            return bool(text.strip(b" \t\n\r"))
        return (text == self.equals) is not self.differs
