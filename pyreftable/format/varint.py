"""Git's offset varint: seven bits a byte, most significant first, each continuation adds one.

Not LEB128: because every continuation byte adds one, each number has exactly one encoding.
127 is `7f`, 128 is `80 00`, 16,511 is `ff 7f`, 16,512 is `80 80 00`.

Source: git's reftable document, section "Varint encoding"; git's pack format (`OFS_DELTA`).
"""

from __future__ import annotations

from ..errors import FormatError

MAX_VALUE = (1 << 64) - 1


def encode(value: int) -> bytes:
    """The varint of `value` (0 to 2^64-1): one to ten bytes."""
    if value < 128:
        return bytes((value,))
    digits = [value & 0x7F]
    value >>= 7
    while value:
        value -= 1
        digits.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes(reversed(digits))


def decode(data: bytes, pos: int) -> tuple[int, int]:
    """The varint at `data[pos]` and the position after it.

    Raises `FormatError` (offset in `data`) when it does not end or exceeds 64 bits.
    """
    start = pos
    try:
        byte = data[pos]
        value = byte & 0x7F
        while byte & 0x80:
            pos += 1
            byte = data[pos]
            value = (value + 1) << 7 | byte & 0x7F
            # Checked at each step: damage can be megabytes of continuation bytes.
            if value > MAX_VALUE:
                raise FormatError("varint exceeds 64 bits", offset=start)
    except IndexError:
        raise FormatError("varint runs past the end of the data", offset=start) from None
    return value, pos + 1


# Lengths and deltas are nearly always small: the writer's loop looks these up.
SMALL = (
    *(bytes((value,)) for value in range(128)),
    *(bytes((0x80 | value >> 7, value & 0x7F)) for value in range(1024 - 128)),
)
SMALL_LIMIT = len(SMALL)
