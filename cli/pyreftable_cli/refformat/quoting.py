"""Values as string literals of other languages: `--shell`, `--perl`, `--python`, `--tcl`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Quote = Callable[[bytes], bytes]

_TCL_NAMED = {b"\f": b"\\f", b"\r": b"\\r", b"\n": b"\\n", b"\t": b"\\t", b"\v": b"\\v"}


def shell(value: bytes) -> bytes:
    """A single-quoted word; `'` and `!` stand outside the quotes, behind a backslash."""
    value = _before_nul(value).replace(b"'", b"'\\''").replace(b"!", b"'\\!'")
    return b"'" + value + b"'"


def perl(value: bytes) -> bytes:
    """A single-quoted Perl string."""
    return b"'" + value.replace(b"\\", b"\\\\").replace(b"'", b"\\'") + b"'"


def python(value: bytes) -> bytes:
    """A single-quoted Python string."""
    return perl(_before_nul(value)).replace(b"\n", b"\\n")


def tcl(value: bytes) -> bytes:
    """A double-quoted Tcl string without substitutions."""
    value = _before_nul(value).replace(b"\\", b"\\\\")
    for byte in b'[]{}$"':
        value = value.replace(bytes((byte,)), b"\\" + bytes((byte,)))
    for raw, name in _TCL_NAMED.items():
        value = value.replace(raw, name)
    return b'"' + value + b'"'


def _before_nul(value: bytes) -> bytes:
    # These languages cannot hold a NUL; git's quoting ends there.
    return value.partition(b"\0")[0]
