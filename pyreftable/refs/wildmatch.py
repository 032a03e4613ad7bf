"""Git's shell patterns: `*`, `?`, `[…]`, and `**` between slashes.

A pattern is turned into a list of tokens and the text is run through all of them at once, as
through a nondeterministic automaton: the state is the set of tokens that may come next. Time is
bounded by the product of the lengths, whatever the pattern; there is no backtracking.

Source: `gitignore`, section "PATTERN FORMAT"; `glob(7)` for brackets. Both pattern and text are
bytes: `?` is one byte, and only ASCII letters have two cases.
"""

from __future__ import annotations

from typing import NamedTuple


class Token(NamedTuple):
    """One step of a pattern: the bytes it accepts, whether it accepts any number of them, and
    how many tokens further the match may go on without it."""

    accepted: frozenset[int]
    repeats: bool = False
    skips: tuple[int, ...] = ()


_STAR, _QUESTION, _OPEN, _CLOSE, _BACKSLASH, _SLASH, _DASH = b"*?[]\\/-"
_ALL = frozenset(range(256))
_ALL_BUT_SLASH = _ALL - {_SLASH}
_LOWER = frozenset(b"abcdefghijklmnopqrstuvwxyz")
_UPPER = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGIT = frozenset(b"0123456789")
_PRINT = frozenset(range(0x20, 0x7F))
_CLASSES = {
    b"alnum": _LOWER | _UPPER | _DIGIT,
    b"alpha": _LOWER | _UPPER,
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset(range(0x20)) | {0x7F},
    b"digit": _DIGIT,
    b"graph": _PRINT - {0x20},
    b"lower": _LOWER,
    b"print": _PRINT,
    b"punct": _PRINT - _LOWER - _UPPER - _DIGIT - {0x20},
    b"space": frozenset(b" \t\n\r"),
    b"upper": _UPPER,
    b"xdigit": _DIGIT | frozenset(b"abcdefABCDEF"),
}


def wildmatch(
    pattern: bytes, text: bytes, *, pathname: bool = False, casefold: bool = False
) -> bool:
    """Whether the whole of `text` matches `pattern`; a malformed pattern matches nothing.

    With `pathname` only `**` (alone between slashes or ends) matches a slash; without, `*` does
    too. `casefold` ignores the case of ASCII letters.
    """
    tokens = compile_pattern(pattern, pathname=pathname, casefold=casefold)
    return tokens is not None and match_tokens(tokens, text.lower() if casefold else text)


def match_tokens(tokens: list[Token], text: bytes) -> bool:
    """Whether the whole of `text` (in lower case for `casefold` patterns) matches."""
    end = len(tokens)
    states = _closure({0}, tokens)
    for byte in text:
        following = set()
        for state in states:
            if state < end:
                accepted, repeats, _ = tokens[state]
                if byte in accepted:
                    following.add(state if repeats else state + 1)
        if not following:
            return False
        states = _closure(following, tokens)
    return end in states


def _closure(states: set[int], tokens: list[Token]) -> set[int]:
    """`states` and all that can be reached from them without taking a byte."""
    pending = list(states)
    while pending:
        state = pending.pop()
        if state < len(tokens):
            reached = {state + skip for skip in tokens[state].skips} - states
            states |= reached
            pending.extend(reached)
    return states


def compile_pattern(pattern: bytes, *, pathname: bool, casefold: bool) -> list[Token] | None:
    """The tokens of `pattern`, or `None` when it is malformed."""
    tokens: list[Token] = []
    position = 0
    while position < len(pattern):
        byte = pattern[position]
        if byte == _STAR:
            position = _stars(pattern, position, pathname, tokens)
            continue
        if byte == _OPEN:
            bracket = _bracket(pattern, position + 1, casefold)
            if bracket is None:
                return None
            accepted, position = bracket
            tokens.append(Token(accepted - {_SLASH} if pathname else accepted))
            continue
        if byte == _QUESTION:
            tokens.append(Token(_ALL_BUT_SLASH if pathname else _ALL))
        elif byte == _BACKSLASH:
            position += 1
            if position == len(pattern):
                return None
            tokens.append(Token(frozenset(pattern[position : position + 1])))
        else:
            literal = pattern[position : position + 1]
            tokens.append(Token(frozenset(literal.lower() if casefold else literal)))
        position += 1
    return tokens


def _stars(pattern: bytes, start: int, pathname: bool, tokens: list[Token]) -> int:
    """Append the tokens for the stars at `start`; returns the position after them."""
    end = start
    while pattern[end : end + 1] == b"*":
        end += 1
    alone = start == 0 or pattern[start - 1] == _SLASH
    alone = alone and (end == len(pattern) or pattern.startswith((b"/", b"\\/"), end))
    if not pathname:
        tokens.append(Token(_ALL, True, (1,)))
    elif end - start == 1 or not alone:
        tokens.append(Token(_ALL_BUT_SLASH, True, (1,)))
    elif pattern[end : end + 1] == b"/":
        # Any folders, or none: then the slash goes too. Only the way in may skip that slash.
        tokens.append(Token(frozenset(), False, (1, 3)))
        tokens.append(Token(_ALL, True, (1,)))
    else:
        tokens.append(Token(_ALL, True, (1,)))
    return end


def _bracket(pattern: bytes, start: int, casefold: bool) -> tuple[frozenset[int], int] | None:
    """The bytes that the bracket accepts whose text begins at `start`, and where it ends."""
    negated = pattern[start : start + 1] in (b"!", b"^")
    position = first = start + negated
    accepted: set[int] = set()
    previous: int | None = None
    while position < len(pattern):
        byte = pattern[position]
        if byte == _CLOSE and position > first:
            return (_ALL - accepted if negated else frozenset(accepted)), position + 1
        if byte == _OPEN and (end := _class_end(pattern, position)):
            members = _CLASSES.get(pattern[position + 2 : end - 1])
            if members is None:
                return None
            accepted |= members | _LOWER if casefold and members is _UPPER else members
            previous, position = None, end + 1
        elif byte == _DASH and previous and pattern[position + 1 : position + 2] not in (b"]", b""):
            last, position = _character(pattern, position + 1)
            accepted |= _range(previous, last, casefold)
            previous = None
        else:
            previous, position = _character(pattern, position)
            accepted.add(previous)
    return None


def _class_end(pattern: bytes, start: int) -> int:
    """Where the `]` of a `[:name:]` at `start` is; 0 if there is no such thing."""
    end = pattern.find(b"]", start + 2)
    is_class = pattern[start + 1 : start + 2] == b":" and end > start + 2
    return end if is_class and pattern[end - 1 : end] == b":" else 0


def _character(pattern: bytes, position: int) -> tuple[int, int]:
    """The byte that stands at `position` in a bracket, maybe escaped, and where it ends."""
    if pattern[position] == _BACKSLASH and position + 1 < len(pattern):
        position += 1
    return pattern[position], position + 1


def _range(first: int, last: int, casefold: bool) -> set[int]:
    members = set(range(first, last + 1))
    if casefold:
        members |= {byte | 0x20 for byte in members & _UPPER}
    return members
