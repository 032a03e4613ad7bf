"""From a format string to its parts.

    %(atom)   a field, or a mark of a block: align, if, then, else, end
    %%        a percent sign
    %xx       the byte with this hexadecimal code

Anything else is literal, a lone percent sign included. Marks are checked when the first ref is
shown, not before, as in git: so a misplaced mark becomes a part that complains when used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.refs.text import as_bytes, as_text

from ..exits import Fatal
from .atoms import BLOCK_ATOMS, Atom, c_integer, make_field
from .fields import ConstantField
from .nodes import Align, If, Literal, Quoted, Sequel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .batch import RefBatch
    from .fields import Field
    from .lookup import Lookup
    from .nodes import Node
    from .quoting import Quote

    Part = Field | Node

_POSITIONS = ("left", "middle", "right")


class BadFormat(Exception):
    """`%(` without `)`; git shows the usage text after this one."""


class Misplaced:
    """A mark in the wrong place; raises `Fatal` as soon as there is a ref to show."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Node`."""
        if len(batch):
            raise Fatal(self.message)
        return []


def parse_format(text: bytes, lookup: Lookup, quote: Quote | None = None) -> list[Part]:
    """The parts of a format; with `quote`, its fields and outer blocks are quoted.

    Raises `BadFormat`, or `Fatal` for an unknown field or bad argument.
    """
    # All atoms are parsed before marks are looked at: an unknown field is the first complaint.
    pieces: list[Part | _Mark] = []
    reset_color = False
    for atom in _split(text):
        pieces.append(_interpret(atom, lookup))
        if isinstance(atom, Atom):
            _check_raw(atom, quote)
            if atom.text.startswith("color:"):
                reset_color = lookup.wants_color and atom.text != "color:reset"
    if reset_color:
        pieces.append(ConstantField(b"\033[m"))
    builder = _Builder(quote)
    for piece in pieces:
        message = builder.add(piece)
        if message:
            return [Misplaced(message)]
    if builder.stack:
        return [Misplaced("format: %(end) atom missing")]
    return builder.parts


def _check_raw(atom: Atom, quote: Quote | None) -> None:
    """Raises `Fatal` for `raw`, which may hold any bytes, in a language that cannot hold them."""
    if quote is not None and atom.name == "raw" and atom.argument is None:
        from . import quoting

        if quote is not quoting.perl:
            what = f"--format={atom.text} cannot be used with --python, --shell, --tcl"
            raise Fatal(what)


class _Mark:
    """A block atom, with the arguments of `Align` or `If` where it opens one."""

    __slots__ = ("differs", "equals", "kind", "position", "width")

    def __init__(self, atom: Atom) -> None:
        """Raises `Fatal` for a bad argument."""
        self.kind = atom.name
        self.width, self.position = 0, "left"
        self.equals: bytes | None = None
        self.differs = False
        if self.kind == "align":
            self.width, self.position = _align_arguments(atom.argument)
        elif self.kind == "if":
            self.equals, self.differs = _if_arguments(atom)


def _interpret(piece: Atom | Literal, lookup: Lookup) -> Part | _Mark:
    if isinstance(piece, Literal):
        return piece
    return _Mark(piece) if piece.name in BLOCK_ATOMS else make_field(piece, lookup)


def format_atoms(text: bytes) -> list[Atom]:
    """The fields that a format names, each once; raises `BadFormat`."""
    atoms = {piece.text: piece for piece in _split(text) if isinstance(piece, Atom)}
    return [atom for atom in atoms.values() if atom.name not in BLOCK_ATOMS]


def _split(text: bytes) -> Iterator[Atom | Literal]:
    at = 0
    while (start := _next_atom(text, at)) >= 0:
        end = text.find(b")", start)
        if end < 0:
            raise BadFormat(f"malformed format string {as_text(text[start:])}")
        if start > at:
            yield Literal(unescape(text[at:start]))
        yield Atom(as_text(text[start + 2 : end]))
        at = end + 1
    if at < len(text):
        yield Literal(unescape(text[at:]))


def _next_atom(text: bytes, at: int) -> int:
    """Where the next `%(` is, `%%` skipped; -1 if nowhere."""
    while (at := text.find(b"%", at)) >= 0:
        following = text[at + 1 : at + 2]
        if following == b"(":
            return at
        at += 2 if following == b"%" else 1
    return -1


def unescape(text: bytes) -> bytes:
    """`%%` and `%xx` replaced; other percent signs stay."""
    first, *rest = text.split(b"%")
    parts = [first]
    at = 0
    while at < len(rest):
        piece = rest[at]
        if not piece and at + 1 < len(rest):
            # Two percent signs: what follows them is literal.
            at += 1
            parts += [b"%", rest[at]]
        else:
            byte = _hex_byte(piece[:2])
            parts += [b"%", piece] if byte is None else [byte, piece[2:]]
        at += 1
    return b"".join(parts)


def _hex_byte(digits: bytes) -> bytes | None:
    if len(digits) < 2 or not digits.isalnum():
        return None
    try:
        return bytes((int(digits, 16),))
    except ValueError:
        return None


def _align_arguments(argument: str | None) -> tuple[int, str]:
    """Width and position of `%(align:...)`."""
    if argument is None:
        raise Fatal("expected format: %(align:<width>,<position>)")
    width: int | None = None
    position = "left"
    for word in argument.split(","):
        name, equals, value = word.partition("=")
        number = c_integer(word)
        if equals and name == "position":
            if value not in _POSITIONS:
                raise Fatal(f"unrecognized position:{value}")
            position = value
        elif equals and name == "width":
            width = c_integer(value)
            if width is None or "-" in value:
                raise Fatal(f"unrecognized width:{value}")
        elif number is not None and "-" not in word:
            width = number
        elif word in _POSITIONS:
            position = word
        else:
            raise Fatal(f"unrecognized %(align) argument: {word}")
    if width is None:
        raise Fatal("positive width expected with the %(align) atom")
    return width, position


def _if_arguments(atom: Atom) -> tuple[bytes | None, bool]:
    """What `%(if:...)` compares with, and whether it must differ."""
    if atom.argument is None:
        return None, False
    kind, equals, text = atom.argument.partition("=")
    if not equals or kind not in ("equals", "notequals"):
        raise atom.unknown_argument("if")
    return as_bytes(text), kind == "notequals"


class _Block:
    """An `align` or `if` that is not closed yet; `parts` are what goes into it now."""

    __slots__ = ("condition", "mark", "parts", "then")

    def __init__(self, mark: _Mark) -> None:
        self.mark = mark
        self.parts: list[Part] = []
        self.condition: Node | None = None
        self.then: Node | None = None

    def close(self) -> Node:
        mark, inner = self.mark, Sequel(self.parts)
        if mark.kind == "align":
            return Align(mark.width, mark.position, inner)
        then, otherwise = (inner, Sequel([])) if self.then is None else (self.then, inner)
        condition = self.condition or Sequel([])
        return If(condition, then, otherwise, equals=mark.equals, differs=mark.differs)


class _Builder:
    """Puts pieces into the open block, and closed blocks where they belong."""

    def __init__(self, quote: Quote | None) -> None:
        self.quote = quote
        self.parts: list[Part] = []
        self.stack: list[_Block] = []

    def add(self, piece: Part | _Mark) -> str | None:
        """Take the next piece; returns what is wrong with it, if anything."""
        if not isinstance(piece, _Mark):
            self._append(piece)
            return None
        if piece.kind in ("align", "if"):
            self.stack.append(_Block(piece))
            return None
        block = self.stack[-1] if self.stack else None
        if piece.kind == "end":
            return self._end(block)
        if block is None or block.mark.kind != "if":
            return f"format: %({piece.kind}) atom used without a %(if) atom"
        return self._then(block) if piece.kind == "then" else self._else(block)

    def _append(self, part: Part) -> None:
        if self.stack:
            self.stack[-1].parts.append(part)
        elif self.quote is None or isinstance(part, Literal):
            self.parts.append(part)
        else:
            self.parts.append(Quoted(part, self.quote))

    @staticmethod
    def _then(block: _Block) -> str | None:
        if block.condition is not None:
            return "format: %(then) atom used more than once"
        block.condition, block.parts = Sequel(block.parts), []
        return None

    @staticmethod
    def _else(block: _Block) -> str | None:
        if block.condition is None:
            return "format: %(else) atom used without a %(then) atom"
        if block.then is not None:
            return "format: %(else) atom used more than once"
        block.then, block.parts = Sequel(block.parts), []
        return None

    def _end(self, block: _Block | None) -> str | None:
        if block is None:
            return "format: %(end) atom used without corresponding atom"
        if block.mark.kind == "if" and block.condition is None:
            return "format: %(if) atom used without a %(then) atom"
        self.stack.pop()
        self._append(block.close())
        return None
