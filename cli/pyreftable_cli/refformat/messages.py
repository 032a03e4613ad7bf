"""Fields made from the message of a commit or tag: subject, body, contents, trailers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exits import Fatal
from .atoms import c_integer
from .object_fields import content_field

if TYPE_CHECKING:
    from collections.abc import Callable

    from .atoms import Atom
    from .content import Message, ObjectContent
    from .fields import Field
    from .lookup import Lookup

    Show = Callable[[Message], bytes]

_TITLE_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._")

_CONTENTS: dict[str | None, Show] = {
    None: lambda message: message.whole,
    "body": lambda message: message.unsigned_body,
    "signature": lambda message: message.signature,
    "subject": lambda message: message.subject,
}


def subject(atom: Atom, lookup: Lookup) -> Field:
    """The subject, as it is or fit for a file name."""
    if atom.argument is None:
        return _message_field(atom, lookup, lambda message: message.subject)
    if atom.argument != "sanitize":
        raise atom.unknown_argument("subject")
    return _message_field(atom, lookup, lambda message: sanitized(message.subject_lines))


def body(atom: Atom, lookup: Lookup) -> Field:
    """All but the subject; a signature is part of it."""
    atom.takes_no_argument()
    return _message_field(atom, lookup, lambda message: message.body)


def contents(atom: Atom, lookup: Lookup) -> Field:
    """The message, or a part of it."""
    argument = atom.argument
    show = _CONTENTS.get(argument)
    if show is not None:
        return _message_field(atom, lookup, show)
    argument = argument or ""
    if argument == "size":
        return _size_field(atom, lookup)
    if argument == "trailers" or argument.startswith("trailers:"):
        return _trailers_field(atom, lookup, argument.partition(":")[2] or None)
    if not argument.startswith("lines="):
        raise atom.unknown_argument("contents")
    text = argument.removeprefix("lines=")
    count = c_integer(text)
    if count is None or "-" in text:
        raise Fatal(f"positive value expected contents:lines={text}")
    return _message_field(atom, lookup, lambda message: message.first_lines(count))


def trailers(atom: Atom, lookup: Lookup) -> Field:
    """The trailers of the message, treated as the argument says."""
    return _trailers_field(atom, lookup, atom.argument)


def _trailers_field(atom: Atom, lookup: Lookup, argument: str | None) -> Field:
    from .trailer_format import TrailerFormat, parse_trailer_options
    from .trailers import TrailerRules

    options = parse_trailer_options(argument)
    show = TrailerFormat(options, TrailerRules(lookup.store.repository.config))
    return _message_field(atom, lookup, lambda message: show(message.unsigned))


def _message_field(atom: Atom, lookup: Lookup, show: Show) -> Field:
    def shown(content: ObjectContent) -> bytes:
        return show(content.message) if content.has_message else b""

    return content_field(atom, lookup, shown)


def _size_field(atom: Atom, lookup: Lookup) -> Field:
    def size(content: ObjectContent) -> int:
        return len(content.message.whole) if content.has_message else 0

    def shown(content: ObjectContent) -> bytes:
        return b"%d" % size(content) if content.has_message else b""

    return content_field(atom, lookup, shown, size)


def sanitized(text: bytes) -> bytes:
    """`text` as a file name: what is not a letter, digit, `.` or `_` becomes one `-`."""
    result = bytearray()
    gap = False
    for byte in text:
        if byte not in _TITLE_BYTES:
            gap = True
            continue
        if gap and result:
            result += b"-"
        if byte != ord(".") or gap or not result.endswith(b"."):
            result.append(byte)
        gap = False
    return bytes(result).rstrip(b".-")
