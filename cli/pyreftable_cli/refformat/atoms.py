"""The names that may stand in `%(...)` and in `--sort`, and the fields they make.

    atom      [*] name [:argument]

`*` asks about what an annotated tag points to. `_FIELDS` and `_OTHER_FIELDS` are the tables to
add fields to; those of the latter, which few formats use, are imported when a format names them.

Source: `git-for-each-ref`, section "FIELD NAMES".
"""

from __future__ import annotations

from binascii import hexlify
from typing import TYPE_CHECKING

from ..exits import Fatal
from .fields import ConstantField, NameField, OidField, TargetField, ValueField

if TYPE_CHECKING:
    from collections.abc import Callable

    from .fields import Field
    from .lookup import Lookup

    Rename = Callable[[bytes], bytes]
    MakeField = Callable[["Atom", Lookup], Field]

#: Atoms that open, divide and close blocks; the format parser deals with them.
BLOCK_ATOMS = frozenset({"align", "if", "then", "else", "end"})

_MINIMUM_ABBREV = 4
_INT_LIMIT = 1 << 31
_PEELED_NAME = b"^{}"


class Atom:
    """The parts of an atom. `text` is all of it; an empty argument is the same as none."""

    __slots__ = ("argument", "name", "peeled", "text")

    def __init__(self, text: str) -> None:
        """Raises `Fatal` where there is no name."""
        self.text = text
        self.peeled = text.startswith("*")
        self.name, _, argument = text[self.peeled :].partition(":")
        self.argument = argument or None
        if text in ("", "*"):
            raise Fatal(f"malformed field name: {text}")

    @property
    def shown(self) -> str:
        """The atom without its argument, as messages show it."""
        return self.text.partition(":")[0]

    def takes_no_argument(self) -> None:
        """Raises `Fatal` if there is one."""
        if self.argument is not None:
            raise Fatal(f"%({self.name}) does not take arguments")

    def unknown_argument(self, shown: str | None = None) -> Fatal:
        """The error to raise about the argument."""
        return self.bad_argument(self.argument or "", shown)

    def bad_argument(self, part: str, shown: str | None = None) -> Fatal:
        """The error to raise about a part of the argument."""
        return Fatal(f"unrecognized %({shown or self.shown}) argument: {part}")


def make_field(atom: Atom, lookup: Lookup) -> Field:
    """The field that `atom` names; raises `Fatal` with git's message if it is none."""
    make = _FIELDS.get(atom.name)
    if make is not None:
        return make(atom, lookup)
    place = _OTHER_FIELDS.get(atom.name)
    if place is None:
        raise Fatal(f"unknown field name: {atom.text}")
    return _imported(*place)(atom, lookup)


def _imported(module: str, function: str) -> MakeField:
    from importlib import import_module

    make: MakeField = getattr(import_module(f".{module}", __package__), function)
    return make


def make_sort_field(text: str, lookup: Lookup) -> Field:
    """The field of a sort key, which may be any atom; raises `Fatal`."""
    atom = Atom(text)
    if atom.name in BLOCK_ATOMS or atom.name == "rest":
        return ConstantField()
    return make_field(atom, lookup)


def _refname(atom: Atom, lookup: Lookup) -> Field:
    rename = make_rename(atom, lookup)
    if not atom.peeled:
        return NameField(rename)
    if rename is None:
        return NameField(lambda name: name + _PEELED_NAME)
    return NameField(lambda name: rename(name) + _PEELED_NAME)


def _symref(atom: Atom, lookup: Lookup) -> Field:
    rename = make_rename(atom, lookup) or bytes
    if not atom.peeled:
        return TargetField(rename)
    return TargetField(lambda name: rename(name) + _PEELED_NAME, _PEELED_NAME)


def make_rename(atom: Atom, lookup: Lookup) -> Rename | None:
    """What `:short`, `:lstrip=` and `:rstrip=` make of a ref name; `None` for all of it."""
    argument = atom.argument
    if argument is None:
        return None
    if argument == "short":
        return lookup.short_name
    kind, equals, text = argument.partition("=")
    if not equals or kind not in ("strip", "lstrip", "rstrip"):
        raise atom.unknown_argument()
    strip_right = kind == "rstrip"
    count = c_integer(text)
    if count is None:
        side = "rstrip" if strip_right else "lstrip"
        raise Fatal(f"Integer value expected refname:{side}={text}")
    return _right_stripper(count) if strip_right else _left_stripper(count)


def _left_stripper(count: int) -> Rename:
    def strip(name: bytes) -> bytes:
        parts = name.split(b"/")
        return b"/".join(parts[count if count >= 0 else max(len(parts) + count, 0) :])

    return strip


def _right_stripper(count: int) -> Rename:
    def strip(name: bytes) -> bytes:
        parts = name.split(b"/")
        return b"/".join(parts[: max(len(parts) - count, 0) if count >= 0 else _kept(parts, count)])

    return strip


def _kept(parts: list[bytes], count: int) -> int:
    """How many parts stay when all but the first `-count` are to go."""
    return min(-count, len(parts))


def _objectname(atom: Atom, lookup: Lookup) -> Field:
    show = show_oid(atom, lookup)
    size = lookup.hash_size
    if atom.peeled:

        def show_peeled(value: bytes) -> bytes:
            peeled = lookup.peeled(value)
            return b"" if peeled is None else show(peeled)

        return ValueField(show_peeled)
    if show is hexlify:
        return OidField(size)
    return ValueField(lambda value: show(value[:size]))


def show_oid(atom: Atom, lookup: Lookup) -> Rename:
    argument = atom.argument
    if argument is None:
        return hexlify
    if argument == "short":
        return lambda oid: lookup.abbreviated(oid, None)
    if not argument.startswith("short="):
        raise atom.unknown_argument()
    text = argument.removeprefix("short=")
    length = c_integer(text)
    if length is None or length <= 0:
        raise Fatal(f"positive value expected '{text}' in %({atom.text})")
    minimum = max(length, _MINIMUM_ABBREV)
    return lambda oid: lookup.abbreviated(oid, minimum)


def _objecttype(atom: Atom, lookup: Lookup) -> Field:
    atom.takes_no_argument()
    return _about_object(atom, lookup, lambda kind, _: kind)


def _objectsize(atom: Atom, lookup: Lookup) -> Field:
    if atom.argument == "disk":
        return _imported("storage_fields", "disk_size")(atom, lookup)
    if atom.argument is not None:
        raise atom.unknown_argument("objectsize")
    field = _about_object(atom, lookup, lambda _, size: b"%d" % size)
    field.rank = lambda value: int(field.make(value) or 0)
    return field


def _about_object(atom: Atom, lookup: Lookup, show: Callable[[bytes, int], bytes]) -> ValueField:
    size = lookup.hash_size
    if not atom.peeled:
        return ValueField(lambda value: show(*lookup.type_and_size(value[:size])))

    def show_peeled(value: bytes) -> bytes:
        peeled = lookup.peeled(value)
        return b"" if peeled is None else show(*lookup.type_and_size(peeled))

    return ValueField(show_peeled)


def _head(atom: Atom, lookup: Lookup) -> Field:
    atom.takes_no_argument()
    return NameField(lambda name: b"*" if name == lookup.head else b" ")


def _flag(atom: Atom, lookup: Lookup) -> Field:
    return TargetField(lambda _: b"symref")


def _rest(atom: Atom, lookup: Lookup) -> Field:
    atom.takes_no_argument()
    raise Fatal(f"this command reject atom %({atom.text})")


def c_integer(text: str) -> int | None:
    """A decimal C `int` as strtol reads it, if that is all of `text`."""
    body = text.lstrip(" \t\n\v\f\r")
    digits = body[1:] if body[:1] in ("+", "-") else body
    if not (digits.isascii() and digits.isdigit() and len(digits) < 100):
        return None
    number = int(body)
    return number if -_INT_LIMIT <= number < _INT_LIMIT else None


_FIELDS: dict[str, MakeField] = {
    "refname": _refname,
    "symref": _symref,
    "objectname": _objectname,
    "objecttype": _objecttype,
    "objectsize": _objectsize,
    "HEAD": _head,
    "flag": _flag,
    "rest": _rest,
}

# Name -> the module that makes the field, and the function in it.
_OTHER_FIELDS = {
    "tree": ("object_fields", "tree"),
    "parent": ("object_fields", "parent"),
    "numparent": ("object_fields", "numparent"),
    **dict.fromkeys(("object", "type", "tag"), ("object_fields", "tag_part")),
    "raw": ("object_fields", "raw"),
    **dict.fromkeys(
        (
            *("author", "authorname", "authoremail", "authordate"),
            *("committer", "committername", "committeremail", "committerdate"),
            *("tagger", "taggername", "taggeremail", "taggerdate", "creator", "creatordate"),
        ),
        ("persons", "person"),
    ),
    "subject": ("messages", "subject"),
    "body": ("messages", "body"),
    "contents": ("messages", "contents"),
    "trailers": ("messages", "trailers"),
    "describe": ("git_fields", "describe"),
    "signature": ("git_fields", "signature"),
    "deltabase": ("storage_fields", "deltabase"),
    "upstream": ("tracking_fields", "upstream"),
    "push": ("tracking_fields", "push"),
    "color": ("color", "color"),
    "worktreepath": ("worktree_fields", "worktreepath"),
    "ahead-behind": ("history_fields", "ahead_behind"),
    "is-base": ("history_fields", "is_base"),
}
