"""`%(color:...)`: from the words of a colour to the escape sequence of a terminal.

    [reset] [foreground [background]] [attribute]...

Source: `git-config`, section "Values", `color`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyreftable.refs.config_values import env_bool

from ..exits import Fatal
from .atoms import c_integer
from .fields import ConstantField

if TYPE_CHECKING:
    from pyreftable.refs.repository import Repository

    from .atoms import Atom
    from .fields import Field
    from .lookup import Lookup

#: Ends all colours.
RESET = b"\033[m"

_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ATTRIBUTES = {
    "bold": (1, 22),
    "dim": (2, 22),
    "italic": (3, 23),
    "ul": (4, 24),
    "blink": (5, 25),
    "reverse": (7, 27),
    "strike": (9, 29),
}
# What git takes for space between words; there is more of it in C and in Python.
_SPACES = str.maketrans("\t\n\r", "   ")
_FOREGROUND, _BRIGHT, _BACKGROUND_OFFSET, _EXTENDED, _DEFAULT = 30, 90, 10, 38, 9


def color(atom: Atom, lookup: Lookup) -> Field:
    """The escape sequence, or nothing where no colours are wanted."""
    if atom.argument is None:
        raise Fatal("expected format: %(color:<color>)")
    sequence = parse_color(atom.argument)
    if sequence is None:
        lookup.complain(f"invalid color value: {atom.argument}")
        raise Fatal(f"unrecognized color: %(color:{atom.argument})")
    return ConstantField(sequence if lookup.wants_color else b"")


def wants_color(when: str | None, repository: Repository) -> bool:
    """Whether to show colours: `when` is the value of `--color`, or `None` without it.

    "auto" is for terminals, and for a pager behind which there is one. As with git, `color.ui`
    has no say in this.
    """
    if when in ("always", "never"):
        return when == "always"
    environ, config = repository.environ, repository.config
    shown_to_people = os.isatty(1) or (
        env_bool(environ, "GIT_PAGER_IN_USE", False) and config.get_bool("color.pager") is not False
    )
    return shown_to_people and environ.get("TERM", "dumb") != "dumb"


def parse_color(text: str) -> bytes | None:
    """The sequence for the words in `text`; `None` if one of them means nothing."""
    if not text.isascii():
        return None
    reset = False
    attributes: set[int] = set()
    colors: list[str] = []
    for word in filter(None, text.translate(_SPACES).split(" ")):
        code = _color_code(word, len(colors) * _BACKGROUND_OFFSET)
        attribute = _attribute(word)
        if word.lower() == "reset":
            reset = True
        elif code is not None and len(colors) < 2:
            colors.append(code)
        elif code is None and attribute is not None:
            attributes.add(attribute)
        else:
            return None
    codes = [*map(str, sorted(attributes)), *filter(None, colors)]
    if not codes and not reset:
        return b""
    # A reset is the empty code at the front.
    return f"\033[{';'.join(['', *codes] if reset and codes else codes)}m".encode()


def _attribute(word: str) -> int | None:
    negated = word.startswith("no")
    name = word[2:].removeprefix("-") if negated else word
    codes = _ATTRIBUTES.get(name)
    return None if codes is None else codes[negated]


def _color_code(word: str, offset: int) -> str | None:
    """The code of a colour, with `offset` for a background; empty for "normal"."""
    name = word.lower()
    if name == "normal":
        return ""
    if name.startswith("#"):
        return _rgb_code(name[1:], offset)
    if name == "default":
        return str(_FOREGROUND + _DEFAULT + offset)
    base = _BRIGHT if name.startswith("bright") else _FOREGROUND
    if name.removeprefix("bright") in _NAMES:
        return str(base + _NAMES.index(name.removeprefix("bright")) + offset)
    number = c_integer(word)
    return None if number is None else _numbered_code(number, offset)


def _numbered_code(number: int, offset: int) -> str | None:
    if number == -1:
        return ""
    if not 0 <= number < 256:
        return None
    if number < 16:
        base = _FOREGROUND if number < 8 else _BRIGHT
        return str(base + number % 8 + offset)
    return f"{_EXTENDED + offset};5;{number}"


def _rgb_code(digits: str, offset: int) -> str | None:
    width = len(digits) // 3
    if len(digits) not in (3, 6) or not all(digit in "0123456789abcdef" for digit in digits):
        return None
    values = [digits[at : at + width] for at in range(0, len(digits), width)]
    return ";".join(
        [str(_EXTENDED + offset), "2", *(str(int(v * (3 - width), 16)) for v in values)]
    )
