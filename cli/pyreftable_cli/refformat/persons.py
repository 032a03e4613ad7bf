"""Fields about who made a commit or tag, and when.

    author Name <email> SECONDS ZONE        also committer, tagger

`creator` is the committer of a commit and the tagger of a tag. Malformed lines are read as git
reads them: a part that is not there is empty, or found further on in the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyreftable.refs.text import as_bytes

from .object_fields import content_field

if TYPE_CHECKING:
    from collections.abc import Callable

    from .atoms import Atom
    from .content import ObjectContent
    from .fields import Field
    from .lookup import Lookup

    FindLine = Callable[[ObjectContent], bytes | None]

_ROLES = ("author", "committer", "tagger", "creator")
_KINDS = {"author": "commit", "committer": "commit", "tagger": "tag"}
_CREATORS = {"commit": b"committer", "tag": b"tagger"}
_EMAIL_OPTIONS = ("trim", "localpart", "mailmap")
_SPACE = b" \t\n\v\f\r"
_MAX_TIMESTAMP = (1 << 64) - 1
_LONG = range(-(1 << 63), 1 << 63)


def person(atom: Atom, lookup: Lookup) -> Field:
    """`author`, `committername`, `taggeremail`, `creatordate` and the like."""
    role = next(role for role in _ROLES if atom.name.startswith(role))
    part = atom.name.removeprefix(role)
    find_line = _line_finder(role)
    if part == "date":
        return _date_field(atom, lookup, find_line)
    if part == "name":
        return _name_field(atom, lookup, find_line)
    if part == "email":
        return _email_field(atom, lookup, find_line)
    if atom.argument is not None and role != "creator":
        # No form of a whole line is known; git takes any for one that never applies.
        return _text_field(atom, lookup, find_line, lambda _: b"")
    return _text_field(atom, lookup, find_line, _first_line)


def _line_finder(role: str) -> FindLine:
    """What gives the text from a person's name on; `None` where the object has no such person."""
    if role == "creator":

        def find_creator(content: ObjectContent) -> bytes | None:
            header = _CREATORS.get(content.kind)
            return None if header is None else content.after_header(header) or b""

        return find_creator
    kind, header = _KINDS[role], role.encode()
    return lambda content: content.after_header(header) or b"" if content.kind == kind else None


def _text_field(
    atom: Atom, lookup: Lookup, find_line: FindLine, show: Callable[[bytes], bytes]
) -> Field:
    def shown(content: ObjectContent) -> bytes:
        line = find_line(content)
        return b"" if line is None else show(line)

    return content_field(atom, lookup, shown)


def _first_line(line: bytes) -> bytes:
    return line.partition(b"\n")[0]


def _name(line: bytes) -> bytes:
    name, mark, _ = _first_line(line).partition(b" <")
    return name if mark else b""


def _name_field(atom: Atom, lookup: Lookup, find_line: FindLine) -> Field:
    if atom.argument is None:
        return _text_field(atom, lookup, find_line, _name)
    if atom.argument != "mailmap":
        raise atom.unknown_argument()
    return _text_field(atom, lookup, find_line, lambda line: _name(lookup.mailmap.apply(line)))


def _email_field(atom: Atom, lookup: Lookup, find_line: FindLine) -> Field:
    options = _email_options(atom)

    def show(line: bytes) -> bytes:
        return _email(lookup.mailmap.apply(line) if "mailmap" in options else line, options)

    return _text_field(atom, lookup, find_line, show)


def _email_options(atom: Atom) -> set[str]:
    options: set[str] = set()
    rest = atom.argument
    while rest:
        option = next((name for name in _EMAIL_OPTIONS if rest.startswith(name)), "")
        after = rest[len(option) :]
        if not option or (after and not after.startswith(",")):
            raise atom.bad_argument(after if option else rest)
        options.add(option)
        if after == ",":
            raise atom.bad_argument("")
        rest = after.removeprefix(",")
    return options


def _email(text: bytes, options: set[str]) -> bytes:
    at = text.find(b"<")
    if at < 0:
        return b""
    inner = text[at + 1 :]
    end = inner.find(b"@") if "localpart" in options else -1
    if end < 0:
        end = inner.find(b">")
    if end < 0:
        return b""
    bare = inner[:end]
    return bare if options & {"trim", "localpart"} else b"<" + bare + b">"


class Moment(NamedTuple):
    """Seconds since the epoch, and the zone as a decimal number (+0130 is 130)."""

    time: int
    tz_offset: int


def _date_field(atom: Atom, lookup: Lookup, find_line: FindLine) -> Field:
    from .date_format import DateFormat

    show_moment = DateFormat(atom.argument, lookup.store.repository.environ)

    def show(content: ObjectContent) -> bytes:
        line = find_line(content)
        if line is None:
            return b""
        show_moment.check()
        moment = parse_moment(line)
        return b"" if moment is None else as_bytes(show_moment(moment.time, moment.tz_offset))

    def rank(content: ObjectContent) -> int:
        line = find_line(content)
        moment = None if line is None else parse_moment(line)
        return 0 if moment is None else moment.time

    # A date in a format of its own sorts as it is shown, as in git.
    return content_field(atom, lookup, show, rank if atom.argument is None else None)


def parse_moment(line: bytes) -> Moment | None:
    """The time in a person's line; `None` if there is none."""
    _, mark, stamp = line.partition(b"> ")
    time, rest = c_number(stamp)
    tz_offset, _ = c_number(rest)
    if not mark or not 0 <= time < _MAX_TIMESTAMP or tz_offset not in _LONG:
        return None
    return Moment(time, tz_offset)


def c_number(text: bytes) -> tuple[int, bytes]:
    """The decimal number that `text` begins with, as strtol reads it (0 if none), and the rest."""
    body = text.lstrip(_SPACE)
    sign = body[:1] if body[:1] in (b"+", b"-") else b""
    digits = body[len(sign) :]
    rest = digits.lstrip(b"0123456789")
    number = digits[: len(digits) - len(rest)]
    if not number:
        return 0, text
    # Beyond any limit, and cheap to read.
    value = int(number) if len(number) < 100 else 1 << 200
    return (-value if sign == b"-" else value), rest
