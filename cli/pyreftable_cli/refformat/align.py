"""Padding text to a number of terminal columns."""

from __future__ import annotations


def pad(text: bytes, width: int, position: str) -> bytes:
    """`text` with spaces around it; `position` ("left", "middle", "right") is where it goes.

    Text that is wider than `width` stays as it is. As in git, a NUL ends the text.
    """
    text = text.partition(b"\0")[0]
    missing = width - display_width(text)
    if missing <= 0:
        return text
    if position == "left":
        return text + b" " * missing
    before = missing if position == "right" else missing // 2
    return b" " * before + text + b" " * (missing - before)


def display_width(text: bytes) -> int:
    """Columns that `text` takes on a terminal; its length in bytes where it is not UTF-8."""
    if text.isascii():
        controls = sum(byte < 0x20 or byte == 0x7F for byte in text)
        return len(text) - controls
    try:
        characters = text.decode()
    except UnicodeDecodeError:
        return len(text)
    return sum(map(_character_width, characters))


def _character_width(character: str) -> int:
    from unicodedata import category, east_asian_width

    # Combining marks, format characters and controls take no room; a soft hyphen does.
    if category(character) in ("Mn", "Me", "Cf", "Cc") and character != "\xad":
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
