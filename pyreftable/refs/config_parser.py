"""Git's configuration syntax: bytes of a file in, entries out; no file, no environment.

    file      optional byte order mark, then lines that end in LF or CR LF
    line      any number of headers, then at most one variable, then at most one comment
    header    [section]   or   [section "subsection"]
    variable  name        or   name = value
    comment   # or ; to the end of the line

Sections and names are letters, digits and `-` (a section also `.`) and are lower-cased, a quoted
subsection is kept as it is. A value loses the white space around it unless that is in double
quotes, and goes on in the next line after a backslash at the end of one.

Source: `git-config`, sections "Syntax" and "Values". What the document leaves open follows git's
behaviour: a name without `=` has no value (`None`), a comment may not follow it, and a NUL ends
a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    Scope = Literal["system", "global", "local", "worktree", "command"]

_SPACE = " \t\r"
_ESCAPES = {"\\": "\\", '"': '"', "t": "\t", "b": "\b", "n": "\n"}


class Origin(NamedTuple):
    """Where an entry was read: its scope, and the file (`None` for the command scope)."""

    scope: Scope
    path: str | None


class Entry(NamedTuple):
    """One variable as it was set in one place.

    `key` is canonical (see `canonical_key`), `value` is `None` when there was no `=`, `line`
    counts from 1 and is that on which the value ends (0 for the command scope).
    """

    key: str
    value: str | None
    line: int
    origin: Origin


def parse_config(data: bytes, origin: Origin) -> list[Entry]:
    """The entries of a file in their order; bytes that are not UTF-8 become surrogate escapes.

    Raises `ConfigError` naming the line and `origin.path`.
    """
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    entries = _Parser(text, origin).run()
    if "\0" in text:
        return [_cut_at_nul(entry) for entry in entries]
    return entries


def canonical_key(key: str) -> str:
    """`key` with section and variable name in lower case, the subsection untouched.

    Raises `ConfigError` with git's message when it is no key.
    """
    base, dot, name = key.rpartition(".")
    if not base:
        raise ConfigError(f"key does not contain a section: {key}")
    if not name:
        raise ConfigError(f"key does not contain variable name: {key}")
    section, dot, subsection = base.partition(".")
    if not _is_name(name) or (section and not _is_word(section)):
        raise ConfigError(f"invalid key: {key}")
    if "\n" in subsection:
        raise ConfigError(f"invalid key (newline): {key}")
    return f"{section.lower()}{dot}{subsection}.{name.lower()}"


def bad_line(entry: Entry, reason: str) -> ConfigError:
    """The error for an entry that cannot be used where it stands, with `reason` as its cause."""
    if entry.origin.path is None:
        error = ConfigError("unable to parse command-line config")
    else:
        error = ConfigError(f"bad config line {entry.line} in file {entry.origin.path}")
    error.__cause__ = ConfigError(reason)
    return error


def _is_word(text: str) -> bool:
    return text.isascii() and text.replace("-", "a").isalnum()


def _is_name(text: str) -> bool:
    return _is_word(text) and text[0].isalpha()


def _cut_at_nul(entry: Entry) -> Entry:
    value = entry.value
    return entry._replace(
        key=entry.key.partition("\0")[0],
        value=None if value is None else value.partition("\0")[0],
    )


class _Parser:
    """Goes through the lines of one file once."""

    __slots__ = ("index", "lines", "origin")

    def __init__(self, text: str, origin: Origin) -> None:
        self.lines = text.split("\n")
        self.index = 0
        self.origin = origin

    def run(self) -> list[Entry]:
        entries: list[Entry] = []
        prefix = ""
        while self.index < len(self.lines):
            rest = self.lines[self.index].lstrip(_SPACE)
            while rest[:1] == "[":
                prefix, rest = self._header(rest)
            if rest and rest[0] not in "#;":
                name, value = self._variable(rest)
                entries.append(Entry(prefix + name, value, self.index + 1, self.origin))
            self.index += 1
        return entries

    def _header(self, line: str) -> tuple[str, str]:
        """The key prefix that a header at the start of `line` makes, and what follows it."""
        end = line.find("]")
        section = line[1:end]
        if end > 0 and _is_word(section.replace(".", "a")):
            return section.lower() + ".", line[end + 1 :].lstrip(_SPACE)
        return self._header_with_subsection(line)

    def _header_with_subsection(self, line: str) -> tuple[str, str]:
        end = 1
        while end < len(line) and (_is_word(line[end]) or line[end] == "."):
            end += 1
        if end == len(line):
            # Where git has taken the line end for a wrong character, it counts the next line.
            raise self._error(1 if self.index == len(self.lines) - 1 else 0)
        quoted = line[end:].lstrip(_SPACE)
        if line[end] not in _SPACE or quoted[:1] != '"':
            raise self._error()
        subsection, rest = self._subsection(quoted)
        if rest[:1] != "]":
            raise self._error(0 if rest else 1)
        return f"{line[1:end].lower()}.{subsection}.", rest[1:].lstrip(_SPACE)

    def _subsection(self, text: str) -> tuple[str, str]:
        """The quoted string at the start of `text` (backslash: next character as is), the rest."""
        parts: list[str] = []
        start = 1
        while (end := text.find('"', start)) >= 0:
            escape = text.find("\\", start, end)
            if escape < 0:
                parts.append(text[start:end])
                return "".join(parts), text[end + 1 :]
            parts.append(text[start:escape] + text[escape + 1 : escape + 2])
            start = escape + 2
        raise self._error()

    def _variable(self, text: str) -> tuple[str, str | None]:
        name, equals, raw = text.partition("=")
        name = name.rstrip(" \t")
        if not _is_name(name):
            raise self._error()
        if not equals:
            return name.lower(), None
        if '"' in raw or "\\" in raw or ";" in raw or "#" in raw:
            return name.lower(), self._value(raw)
        return name.lower(), raw.strip(_SPACE)

    def _value(self, raw: str) -> str:
        """A value that has quotes, escapes or a comment; moves on to the lines it goes on in."""
        value: list[str] = []
        trimmed = 0
        quoted = False
        characters = iter(raw)
        while char := next(characters, ""):
            if not quoted:
                if char in _SPACE:
                    trimmed = trimmed or len(value)
                    if value:
                        value.append(char)
                    continue
                if char in ";#":
                    break
            trimmed = 0
            if char == '"':
                quoted = not quoted
            elif char != "\\":
                value.append(char)
            elif escaped := next(characters, ""):
                if escaped not in _ESCAPES:
                    raise self._error()
                value.append(_ESCAPES[escaped])
            else:
                characters = self._next_line()
        if quoted:
            raise self._error()
        return "".join(value[:trimmed] if trimmed else value)

    def _next_line(self) -> Iterator[str]:
        self.index += 1
        return iter(self.lines[self.index] if self.index < len(self.lines) else "")

    def _error(self, lines_further: int = 0) -> ConfigError:
        line = self.index + 1 + lines_further
        return ConfigError(f"bad config line {line} in file {self.origin.path}")
