"""Names and messages are bytes in tables and `str` above: how the two meet.

Bytes that are not UTF-8 become surrogate escapes and back, so that every name survives.
"""

from __future__ import annotations


def as_text(name: bytes | str) -> str:
    """The `str` form of a name or message."""
    return name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")


def as_bytes(text: bytes | str) -> bytes:
    """The bytes of a name or message."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
