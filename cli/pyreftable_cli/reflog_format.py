"""How entries of `reflog show` look: one line each, or by a format with placeholders.

    %gD %gd  the entry's name, in full or short     %gs  its message   %gn %ge  who made it
    %H %h %T %t %P %p  ids of the commit, of its tree, of its parents; %h %t %p are abbreviated
    %an %ae %al, %ad %ar %aD %ai %aI %as %at  its author and their date; %c… the committer's
    %s %b %B  its message   %n %% %x00  bytes

Source: `git-log`, "PRETTY FORMATS". A placeholder of git that is not among these is refused;
what is none stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.refs.names import shorten
from pyreftable.refs.object_content import commit_parents, commit_tree

from .context import encode
from .exits import Fatal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyreftable.refs.store import RefStore

    from .refformat.lookup import Lookup
    from .reflog_dates import DateMode
    from .reflog_options import ShowOptions
    from .reflog_walk import Shown

    Part = Callable[["Shown"], bytes]

# Kinds of dates, as `DateMode` has them.
_DATES = {
    "D": "rfc",
    "r": "relative",
    "i": "iso",
    "I": "iso-strict",
    "s": "short",
}
_PERSONS = {"a": b"author ", "c": b"committer "}
_PERSON_PARTS = frozenset("neldDriIst")
# What else may follow a `%`: one of these, or in two letters.
_OTHER_LETTERS = frozenset("CGNSdDefmw<>(+- ")
_OTHER_PAIRS = frozenset({"gN", "gE", "aN", "aE", "aL", "ah", "cN", "cE", "cL", "ch"})


class EntryFormat:
    """Formats entries as `options` say; `environ` and the configuration have a word in dates."""

    def __init__(self, store: RefStore, options: ShowOptions, environ: Mapping[str, str]) -> None:
        self._store = store
        self._options = options
        self._environ = environ
        self._lookup: Lookup | None = None
        self._abbreviations: dict[str, bytes] = {}
        self._short_names: dict[str, str] = {}
        self._commits: dict[str, bytes] = {}
        self._date = options.date or _configured_date(store)
        self.parts = [self._one_line] if options.format is None else self._parts(options.format)

    def __call__(self, shown: Shown) -> bytes:
        """The text for one entry, without a line end."""
        return b"".join([part(shown) for part in self.parts])

    def _one_line(self, shown: Shown) -> bytes:
        oid = shown.entry.new_oid
        commit = self._abbreviated(oid) if self._options.abbrev_commit else oid.encode()
        selector = self._selector(shown, shown.name)
        return b"%b %b: %b" % (commit, selector, encode(shown.entry.message))

    def _selector(self, shown: Shown, name: str) -> bytes:
        by_date = self._options.date is not None if shown.by_date is None else shown.by_date
        entry = shown.entry
        if by_date:
            inner = self._show_date(entry.time, entry.tz_offset)
        else:
            inner = str(shown.number)
        return encode(f"{name}@{{{inner}}}")

    def _show_date(self, moment: int, tz_offset: int, kind: str | None = None) -> str:
        """The date in a way of that kind, or as the options or the configuration say."""
        from .reflog_dates import DateMode, show_date

        mode = self._date or DateMode() if kind is None else DateMode(kind)
        return show_date(moment, tz_offset, mode, self._environ)

    def _short_name(self, name: str) -> str:
        short = self._short_names.get(name)
        if short is None:
            store = self._store
            short = shorten(name, lambda other: store.read(other) is not None)
            self._short_names[name] = short
        return short

    def _abbreviated(self, oid: str) -> bytes:
        known = self._abbreviations.get(oid)
        if known is None:
            if self._lookup is None:
                from .refformat.lookup import Lookup

                self._lookup = Lookup(self._store)
            known = self._lookup.abbreviated(bytes.fromhex(oid), self._options.abbrev)
            self._abbreviations[oid] = known
        return known

    # Compiling a format

    def _parts(self, text: str) -> list[Part]:
        parts: list[Part] = []
        literal, *rest = text.split("%")
        parts.append(_constant(encode(literal)))
        # An empty piece is the middle of "%%": that sign stands for itself.
        at = 0
        while at < len(rest):
            piece = rest[at]
            if not piece and at + 1 < len(rest):
                at += 1
                parts.append(_constant(encode("%" + rest[at])))
            else:
                part, length = self._placeholder(piece)
                parts += [part, _constant(encode(piece[length:]))]
            at += 1
        return parts

    def _placeholder(self, piece: str) -> tuple[Part, int]:
        """What the start of `piece`, which follows a `%`, stands for, and its length."""
        simple = self._simple().get(piece[:1])
        if simple is not None:
            return simple, 1
        entry = self._of_entry().get(piece[:2])
        if entry is not None:
            return entry, 2
        if piece[:1] == "x" and _is_hex(piece[1:3]):
            return _constant(bytes.fromhex(piece[1:3])), 3
        if piece[:1] in _PERSONS and piece[1:2] and piece[1:2] in _PERSON_PARTS:
            return self._person(_PERSONS[piece[0]], piece[1]), 2
        if (piece and piece[0] in _OTHER_LETTERS) or piece[:2] in _OTHER_PAIRS:
            raise Fatal(f"pyreftable does not know this placeholder of git: %{piece[:2]}")
        return _constant(b"%"), 0

    def _simple(self) -> dict[str, Part]:
        return {
            "n": _constant(b"\n"),
            "H": lambda shown: shown.entry.new_oid.encode(),
            "h": lambda shown: self._abbreviated(shown.entry.new_oid),
            "T": lambda shown: self._tree(shown).encode(),
            "t": lambda shown: self._abbreviated(self._tree(shown)),
            "P": lambda shown: b" ".join(oid.encode() for oid in self._parents(shown)),
            "p": lambda shown: b" ".join(map(self._abbreviated, self._parents(shown))),
            "s": lambda shown: _subject_and_body(self._message(shown))[0],
            "b": lambda shown: _subject_and_body(self._message(shown))[1],
            "B": self._message,
        }

    def _of_entry(self) -> dict[str, Part]:
        return {
            "gD": lambda shown: self._selector(shown, shown.name),
            "gd": lambda shown: self._selector(shown, self._short_name(shown.name)),
            "gs": lambda shown: encode(shown.entry.message),
            "gn": lambda shown: encode(shown.entry.name),
            "ge": lambda shown: encode(shown.entry.email),
        }

    # The commit

    def _commit(self, shown: Shown) -> bytes:
        oid = shown.entry.new_oid
        body = self._commits.get(oid)
        if body is None:
            body = self._commits[oid] = self._store.objects.read(oid)[1]
        return body

    def _tree(self, shown: Shown) -> str:
        return commit_tree(self._commit(shown), shown.entry.new_oid)

    def _parents(self, shown: Shown) -> list[str]:
        return commit_parents(self._commit(shown), shown.entry.new_oid)

    def _message(self, shown: Shown) -> bytes:
        return self._commit(shown).partition(b"\n\n")[2]

    def _person(self, header: bytes, part: str) -> Part:
        def show(shown: Shown) -> bytes:
            headers = self._commit(shown).partition(b"\n\n")[0].split(b"\n")
            line = next((line for line in headers if line.startswith(header)), b"")
            return self._person_part(line.removeprefix(header), part)

        return show

    def _person_part(self, line: bytes, part: str) -> bytes:
        """A part of `NAME <EMAIL> SECONDS ZONE`; nothing where the line is damaged."""
        who, _, stamp = line.rpartition(b"> ")
        name, _, email = who.partition(b" <")
        if part == "n":
            return name
        if part == "e":
            return email
        if part == "l":
            return email.partition(b"@")[0]
        seconds, _, zone = stamp.partition(b" ")
        if part == "t":
            return seconds
        try:
            moment, tz_offset = int(seconds), int(zone)
        except ValueError:
            return b""
        return encode(self._show_date(moment, tz_offset, _DATES.get(part)))


def _constant(text: bytes) -> Part:
    return lambda shown: text


def _is_hex(text: str) -> bool:
    return len(text) == 2 and all(digit in "0123456789abcdefABCDEF" for digit in text)


def _subject_and_body(message: bytes) -> tuple[bytes, bytes]:
    """The first paragraph on one line, and what comes after it."""
    lines = message.split(b"\n")
    while lines and not lines[0].strip():
        del lines[0]
    end = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
    subject = b" ".join(line.rstrip() for line in lines[:end])
    rest = lines[end:]
    while rest and not rest[0].strip():
        del rest[0]
    return subject, b"\n".join(rest)


def _configured_date(store: RefStore) -> DateMode | None:
    setting = store.repository.config.get("log.date")
    if setting is None:
        return None
    from .reflog_dates import parse_date_mode

    return parse_date_mode(setting)
