"""How `%(trailers:...)` shows trailers.

    key=K  only[=B]  separator=S  unfold[=B]  keyonly[=B]  valueonly[=B]  key_value_separator=S

Source: `git-log`, section "PRETTY FORMATS", `%(trailers:...)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.refs.config_values import parse_bool
from pyreftable.refs.text import as_bytes

from ..exits import Fatal
from .trailers import TrailerBlock

if TYPE_CHECKING:
    from .trailers import Trailer, TrailerRules

_SPACE = b" \t\n\v\f\r"
_FLAGS = ("only", "unfold", "keyonly", "valueonly")


class TrailerOptions:
    """What the argument asks for; `changes` is false where the block is shown as it stands."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.separator: bytes | None = None
        self.key_value_separator: bytes | None = None
        self.flags = dict.fromkeys(_FLAGS, False)

    @property
    def changes(self) -> bool:
        """Whether the trailers must be taken apart at all."""
        separators = (self.separator, self.key_value_separator)
        return any(self.flags.values()) or bool(self.keys) or separators != (None, None)


def parse_trailer_options(argument: str | None) -> TrailerOptions:
    """The options in `argument`; raises `Fatal`."""
    options = TrailerOptions()
    rest = argument
    while rest:
        word, _, rest = rest.partition(",")
        name, equals, text = word.partition("=")
        value = text if equals else None
        if name == "key" and value is None:
            raise Fatal("expected %(trailers:key=<value>)")
        if name == "key":
            options.keys.append(as_bytes(text).removesuffix(b":").lower())
            options.flags["only"] = True
        elif name == "separator":
            options.separator = _expand(text)
        elif name == "key_value_separator":
            options.key_value_separator = _expand(text)
        elif name not in _FLAGS:
            raise Fatal(f"unknown %(trailers) argument: {word}")
        else:
            _set_flag(options, name, value, rest)
    return options


def _set_flag(options: TrailerOptions, name: str, value: str | None, rest: str) -> None:
    flag = parse_bool(value)
    if flag is None:
        # git has passed over the bad value by then, and names what follows it.
        raise Fatal(f"unknown %(trailers) argument: {rest.partition(',')[0]}")
    options.flags[name] = flag


def _expand(text: str) -> bytes:
    """`%n`, `%xHH` and `%%` replaced; other percent signs stay."""
    first, *pieces = text.split("%")
    parts = [as_bytes(first)]
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        if not piece and at + 1 < len(pieces):
            at += 1
            parts.append(b"%" + as_bytes(pieces[at]))
        elif piece.startswith("n"):
            parts.append(b"\n" + as_bytes(piece[1:]))
        else:
            parts.append(_hex_escape(piece))
        at += 1
    return b"".join(parts)


def _hex_escape(piece: str) -> bytes:
    digits = piece[1:3]
    if piece.startswith("x") and len(digits) == 2 and digits.isalnum():
        try:
            return bytes((int(digits, 16),)) + as_bytes(piece[3:])
        except ValueError:
            pass
    return b"%" + as_bytes(piece)


class TrailerFormat:
    """Shows the trailers of messages by `options`."""

    def __init__(self, options: TrailerOptions, rules: TrailerRules) -> None:
        self._options = options
        self._rules = rules

    def __call__(self, message: bytes) -> bytes:
        """The text for one message, its signature taken off."""
        options = self._options
        block = TrailerBlock(message, self._rules)
        if not options.changes:
            return block.text
        shown = b""
        for trailer in block:
            text = self._shown(trailer)
            if text is None:
                continue
            if options.separator is None:
                shown += text + b"\n"
                continue
            shown += (options.separator if shown else b"") + text
            if trailer.key is None:
                shown = shown.rstrip(_SPACE)
        # A separator may be a NUL, which ends the text of a field.
        return shown.partition(b"\0")[0]

    def _shown(self, trailer: Trailer) -> bytes | None:
        options, flags = self._options, self._options.flags
        if trailer.key is None:
            return None if flags["only"] else trailer.value
        if options.keys and trailer.key.lower() not in options.keys:
            return None
        value = _unfolded(trailer.value) if flags["unfold"] else trailer.value
        if flags["keyonly"] or flags["valueonly"]:
            return (b"" if flags["valueonly"] else trailer.key) + (
                b"" if flags["keyonly"] else value
            )
        return trailer.key + self._between(trailer.key) + value

    def _between(self, key: bytes) -> bytes:
        if self._options.key_value_separator is not None:
            return self._options.key_value_separator
        last = key.rstrip(_SPACE)[-1:]
        separators = self._rules.separators
        return separators[:1] + b" " if last and last not in separators else b""


def _unfolded(value: bytes) -> bytes:
    """`value` on one line: each line end, and the blanks after it, become one blank."""
    first, *lines = value.split(b"\n")
    # Lines of blanks only go with the line end before them.
    kept = [line.lstrip(_SPACE) for line in lines]
    text = b" ".join([first, *(line for line in kept if line)])
    return text.strip(_SPACE)
