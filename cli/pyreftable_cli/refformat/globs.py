"""Globs as regular expressions, to match many names fast.

`pyreftable.refs.wildmatch` knows what a pattern means; here its tokens become an expression over
bytes. The expression must not take exponential time on an unlucky name. A star that is followed
by another star of its kind may settle for the first match of what stands between them, because
that leaves the most to the rest; such stretches become atomic groups. So only the last star of
each kind backtracks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.refs.wildmatch import compile_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyreftable.refs.wildmatch import Token

    Matcher = Callable[[bytes], object]

_SPECIAL = b"*?[\\"
_SLASH = ord("/")
_ALL_BUT_SLASH = frozenset(range(256)) - {_SLASH}

# A token's expression, or one of these marks: any bytes but slashes; any bytes; any folders.
_STAR = b"*"
_ANY = b"**"
_FOLDERS = b"**/"


def has_wildcard(pattern: bytes) -> bool:
    """Whether `pattern` holds anything but literal bytes."""
    return any(byte in _SPECIAL for byte in pattern)


def literal_prefix(pattern: bytes) -> bytes:
    """The bytes before the first special one: every match begins with them."""
    for at, byte in enumerate(pattern):
        if byte in _SPECIAL:
            return pattern[:at]
    return pattern


def compile_globs(patterns: list[bytes], *, ignore_case: bool = False) -> Matcher | None:
    """A callable that is true for names that match any of `patterns`; `None`: nothing can.

    With `ignore_case`, hand it names in lower case.
    """
    import re

    expressions = [translate(pattern, ignore_case=ignore_case) for pattern in patterns]
    usable = [expression for expression in expressions if expression is not None]
    return re.compile(b"(?s:" + b"|".join(usable) + b")").fullmatch if usable else None


def translate(pattern: bytes, *, ignore_case: bool = False) -> bytes | None:
    """The regular expression of `pattern`, for a full match; `None` if nothing can match."""
    tokens = compile_pattern(pattern, pathname=True, casefold=ignore_case)
    return None if tokens is None else _join(_marked(tokens))


def _marked(tokens: list[Token]) -> list[bytes]:
    parts: list[bytes] = []
    at = 0
    while at < len(tokens):
        accepted, repeats, skips = tokens[at]
        if repeats:
            parts.append(_STAR if _SLASH not in accepted else _ANY)
        elif skips:
            # Three tokens: the way in, any bytes, and the slash that only the way in may skip.
            parts.append(_FOLDERS)
            at += 2
        else:
            parts.append(_one_of(accepted))
        at += 1
    return parts


def _join(parts: list[bytes]) -> bytes:
    """Expressions for the stretches between the marks that cross slashes, and those marks."""
    stretches: list[list[bytes]] = [[]]
    marks: list[bytes] = []
    for part in parts:
        if part in (_ANY, _FOLDERS):
            marks.append(part)
            stretches.append([])
        else:
            stretches[-1].append(part)
    result = [_stretch(stretches[0])]
    for at, mark in enumerate(marks, 1):
        inner = (b".*?" if mark == _ANY else b"(?:.*?/)??") + _stretch(stretches[at])
        result.append(inner if at == len(marks) else b"(?>" + inner + b")")
    return b"".join(result)


def _stretch(parts: list[bytes]) -> bytes:
    """The expression of parts that hold no mark but `*`."""
    pieces: list[list[bytes]] = [[]]
    for part in parts:
        if part == _STAR:
            pieces.append([])
        else:
            pieces[-1].append(part)
    result = [b"".join(pieces[0])]
    for at, piece in enumerate(pieces[1:], 1):
        inner = b"[^/]*?" + b"".join(piece)
        result.append(inner if at == len(pieces) - 1 else b"(?>" + inner + b")")
    return b"".join(result)


def _one_of(accepted: frozenset[int]) -> bytes:
    """An expression for one byte of a set; of none, it matches nothing."""
    if not accepted:
        return b"(?!)"
    if accepted == _ALL_BUT_SLASH:
        return b"[^/]"
    escaped = [b"\\x%02x" % byte for byte in sorted(accepted)]
    return escaped[0] if len(escaped) == 1 else b"[" + b"".join(escaped) + b"]"
