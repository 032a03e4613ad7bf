"""Fields made from an object's content: what commits and tags say in their headers, and `raw`.

`content_field` is what all of them, here and in the modules for messages and persons, are made
with: it opens the object that a ref points to or, for `*` fields, that its tag leads to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fields import ValueField

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from .atoms import Atom
    from .content import ObjectContent
    from .fields import Field
    from .lookup import Lookup

    Answer = TypeVar("Answer")
    Show = Callable[[ObjectContent], bytes]
    Rank = Callable[[ObjectContent], int]


def content_field(atom: Atom, lookup: Lookup, show: Show, rank: Rank | None = None) -> ValueField:
    """A field that `show` makes from an object's content; refs sort by `rank`, if it is given."""
    lookup.opens_objects = True
    shown = _about_content(atom, lookup, show, b"")
    ranked = None if rank is None else _about_content(atom, lookup, rank, 0)
    return ValueField(shown, ranked, opens_objects=True)


def number_field(atom: Atom, lookup: Lookup, count: Callable[[ObjectContent], int]) -> ValueField:
    """A field that shows a number and sorts by it."""
    return content_field(atom, lookup, lambda content: b"%d" % count(content), count)


def _about_content(
    atom: Atom, lookup: Lookup, ask: Callable[[ObjectContent], Answer], otherwise: Answer
) -> Callable[[bytes], Answer]:
    size = lookup.hash_size
    if not atom.peeled:
        return lambda value: ask(lookup.content(value[:size]))

    def about_peeled(value: bytes) -> Answer:
        peeled = lookup.peeled(value)
        return otherwise if peeled is None else ask(lookup.content(peeled))

    return about_peeled


def tree(atom: Atom, lookup: Lookup) -> Field:
    """The id of a commit's tree, in full or short."""
    show = _show_hex(atom, lookup)
    return content_field(atom, lookup, lambda c: show(c.tree) if c.kind == "commit" else b"")


def parent(atom: Atom, lookup: Lookup) -> Field:
    """The ids of a commit's parents, in full or short."""
    show = _show_hex(atom, lookup)

    def parents(content: ObjectContent) -> bytes:
        return b" ".join(map(show, content.parents)) if content.kind == "commit" else b""

    return content_field(atom, lookup, parents)


def _show_hex(atom: Atom, lookup: Lookup) -> Callable[[str], bytes]:
    from .atoms import show_oid

    if atom.argument is None:
        return str.encode
    show = show_oid(atom, lookup)
    return lambda oid: show(bytes.fromhex(oid))


def numparent(atom: Atom, lookup: Lookup) -> Field:
    """How many parents a commit has. Git takes any argument here, and ignores it."""

    def count(content: ObjectContent) -> int:
        return len(content.parents) if content.kind == "commit" else 0

    def show(content: ObjectContent) -> bytes:
        return b"%d" % count(content) if content.kind == "commit" else b""

    return content_field(atom, lookup, show, count)


def tag_part(atom: Atom, lookup: Lookup) -> Field:
    """`object`, `type` and `tag`: what an annotated tag says. Arguments are ignored, as in git."""
    index = ("object", "type", "tag").index(atom.name)
    return content_field(atom, lookup, lambda c: c.tag[index] if c.kind == "tag" else b"")


def raw(atom: Atom, lookup: Lookup) -> Field:
    """The whole content, or its size."""
    if atom.argument is None:
        return content_field(atom, lookup, lambda content: content.body)
    if atom.argument != "size":
        raise atom.unknown_argument("raw")
    return number_field(atom, lookup, lambda content: len(content.body))
