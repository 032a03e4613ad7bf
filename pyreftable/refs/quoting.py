r"""Git's C-style quoting, in which a text in double quotes may hold any byte.

The escapes are `\a \b \t \n \v \f \r \" \\` and three octal digits. Source: git-config(1),
`core.quotePath`, and git-update-ref(1), which takes names and values quoted so.
"""

from __future__ import annotations

_ESCAPES = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_OCTAL = b"01234567"


def unquote_c_style(data: bytes) -> tuple[bytes, bytes]:
    """The value of the quoted text that `data` starts with, and the bytes after it.

    Raises `ValueError` if `data` does not start with a quote, if the closing quote is missing,
    or at an escape that git does not know.
    """
    if data[:1] != b'"':
        raise ValueError("not quoted")
    value = bytearray()
    position = 1
    while True:
        byte = data[position] if position < len(data) else None
        position += 1
        if byte is None:
            raise ValueError("missing closing quote")
        if byte == 0x22:
            return bytes(value), data[position:]
        if byte != 0x5C:
            value.append(byte)
            continue
        escaped, length = _unescape(data[position : position + 3])
        value.append(escaped)
        position += length


def _unescape(data: bytes) -> tuple[int, int]:
    """The byte that the escape in `data` (what follows the backslash) means, and its length."""
    if data and data[0] in _ESCAPES:
        return _ESCAPES[data[0]], 1
    # git takes three octal digits, the first at most 3, and nothing shorter.
    if len(data) == 3 and data[0] in b"0123" and data[1] in _OCTAL and data[2] in _OCTAL:
        return int(data, 8), 3
    raise ValueError("unknown escape")
