"""Trailers: the last paragraph of a message, if it is made of `Key: value` lines.

Which lines count is a matter of configuration: `trailer.separators`, the keys that
`trailer.<name>.*` declares, and `core.commentChar`. Source: `git-interpret-trailers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyreftable.refs.text import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyreftable.refs.config import Config

_GENERATED = (b"Signed-off-by: ", b"(cherry picked from commit ")
_SPACE = b" \t\n\v\f\r"
_SPACES = frozenset(_SPACE)
_CUT_LINE = b"------------------------ >8 ------------------------\n"
_DECLARING = frozenset({"key", "command", "cmd", "where", "ifexists", "ifmissing"})


class Trailer(NamedTuple):
    """One trailer; with no key (`None`) it is a line among them that is none."""

    key: bytes | None
    value: bytes


class Declared(NamedTuple):
    """A trailer that the configuration knows: its name there, and how its key is written."""

    name: bytes
    key: bytes | None

    def matches(self, token: bytes) -> bool:
        """Whether `token` is the beginning of the name or the key."""
        return self.name.lower().startswith(token) or (
            self.key is not None and self.key.lower().startswith(token)
        )


class TrailerRules:
    """What the configuration says of trailers; read when first asked."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._declared: list[Declared] | None = None
        self._separators: bytes | None = None

    @property
    def separators(self) -> bytes:
        """The bytes that may end a key."""
        if self._separators is None:
            self._separators = as_bytes(self._config.get("trailer.separators") or ":")
        return self._separators

    @property
    def comment_mark(self) -> bytes:
        """What a comment line begins with."""
        for key in ("core.commentString", "core.commentChar"):
            mark = self._config.get(key)
            if mark and mark != "auto":
                return as_bytes(mark)
        return b"#"

    @property
    def declared(self) -> list[Declared]:
        """The trailers that have settings of their own."""
        if self._declared is None:
            names: dict[str, str | None] = {}
            for name, variable, entry in self._config.section("trailer"):
                if name is not None and variable in _DECLARING:
                    known = names.setdefault(name, None)
                    names[name] = entry.value if variable == "key" else known
            self._declared = [
                Declared(as_bytes(name), None if key is None else as_bytes(key))
                for name, key in names.items()
            ]
        return self._declared

    def find_separator(self, line: bytes) -> int:
        """Where the separator of a trailer line is; -1 if it is no such line."""
        blank = False
        for at, byte in enumerate(line):
            if byte in self.separators:
                return at
            if not blank and (byte == ord("-") or (byte < 0x80 and chr(byte).isalnum())):
                continue
            if at == 0 or byte not in b" \t":
                return -1
            blank = True
        return -1

    def written_key(self, key: bytes) -> bytes:
        """`key` as the configuration wants it written."""
        token = key.lower()
        while token and not (token[-1] < 0x80 and chr(token[-1]).isalnum()):
            token = token[:-1]
        for declared in self.declared:
            if declared.matches(token):
                return key if declared.key is None else declared.key
        return key


class TrailerBlock:
    """The trailers at the end of `message`; `text` is the block as it stands, or empty."""

    def __init__(self, message: bytes, rules: TrailerRules) -> None:
        self._rules = rules
        end = _end_of_log(message, rules.comment_mark)
        start = _block_start(message[:end], rules)
        self.text = message[start:end]

    def __iter__(self) -> Iterator[Trailer]:
        """All trailers, and lines among them that are none; values may still be folded."""
        rules = self._rules
        for line in self._joined_lines():
            if line.startswith(rules.comment_mark):
                continue
            at = rules.find_separator(line)
            if at < 1:
                yield Trailer(None, line.removesuffix(b"\n"))
            else:
                key = rules.written_key(line[:at].strip(_SPACE))
                yield Trailer(key, line[at + 1 :].strip(_SPACE))

    def _joined_lines(self) -> list[bytes]:
        """The lines, each trailer with those that continue it."""
        lines: list[bytes] = []
        in_trailer = False
        for line in _lines(self.text):
            if in_trailer and line[0] in _SPACES:
                lines[-1] += line
                continue
            lines.append(line)
            in_trailer = self._rules.find_separator(line) >= 1
        return lines


def _block_start(text: bytes, rules: TrailerRules) -> int:
    """Where the block of trailers starts; the length of `text` if there is none.

    Looked for from the end: a paragraph, not the first, of trailers only, or one with a line that
    git itself makes, or a declared trailer, and three lines of text to each trailer at most.
    """
    lines = _lines(text)
    title_end = _title_lines(lines, rules.comment_mark)
    count = _Count(rules)
    end = len(text)
    for line in reversed(lines[title_end:]):
        end -= len(line)
        if line.startswith(rules.comment_mark):
            count.flush()
        elif line.strip(_SPACE):
            count.add(line)
        elif count.any:
            count.flush()
            return end + len(line) if count.is_block else len(text)
    return len(text)


class _Count:
    """How many lines of a paragraph, read from its end, are trailers."""

    def __init__(self, rules: TrailerRules) -> None:
        self._rules = rules
        self.any = False
        self._recognized = False
        self._trailers = self._others = self._continued = 0

    def add(self, line: bytes) -> None:
        self.any = True
        at = self._rules.find_separator(line)
        if line.startswith(_GENERATED):
            self._trailers, self._continued = self._trailers + 1, 0
            self._recognized = True
        elif at >= 1 and line[0] not in _SPACES:
            self._trailers, self._continued = self._trailers + 1, 0
            token = line[:at].lower()
            self._recognized = self._recognized or any(
                declared.matches(token) for declared in self._rules.declared
            )
        elif line[0] in _SPACES:
            self._continued += 1
        else:
            self._others += 1
            self.flush()

    def flush(self) -> None:
        """Lines that looked like continuations continue nothing."""
        self._others += self._continued
        self._continued = 0

    @property
    def is_block(self) -> bool:
        if self._recognized and self._trailers * 3 >= self._others:
            return True
        return bool(self._trailers) and not self._others


def _title_lines(lines: list[bytes], comment_mark: bytes) -> int:
    """How many lines the first paragraph has, comments among them included."""
    for at, line in enumerate(lines):
        if not line.startswith(comment_mark) and not line.strip(_SPACE):
            return at
    return len(lines)


def _lines(text: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in text.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _end_of_log(message: bytes, comment_mark: bytes) -> int:
    """Where the log message ends: before a scissors line, and before comments at the end."""
    cut = message.find(b"\n" + comment_mark + b" " + _CUT_LINE)
    end = len(message) if cut < 0 else cut + 1
    if message.startswith(comment_mark + b" " + _CUT_LINE):
        end = 0
    at = trailing = 0
    in_conflicts = False
    for line in _lines(message[:end]):
        if line.startswith((comment_mark, b"\n")):
            trailing = trailing or at
        elif line == b"Conflicts:\n":
            in_conflicts = True
            trailing = trailing or at
        elif not (in_conflicts and line.startswith(b"\t")):
            trailing, in_conflicts = 0, False
        at += len(line)
    return trailing or end
