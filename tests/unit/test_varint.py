"""Varints: git's offset encoding, its limits, and what a decoder refuses."""

from __future__ import annotations

import pytest

from pyreftable.errors import FormatError
from pyreftable.format import varint
from tests.plain_format import plain_varint
from tests.table_tools import check_codec

EDGES = sorted({(1 << bits) + step for bits in range(64) for step in (-1, 0, 1)} | {(1 << 64) - 1})


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8000"),
        (255, "807f"),
        (256, "8100"),
        (16_511, "ff7f"),
        (16_512, "808000"),
        (2_113_663, "ffff7f"),
        (2_113_664, "80808000"),
        ((1 << 64) - 1, "80fefefefefefefefe7f"),
    ],
)
def test_varint_known_bytes(value: int, encoded: str) -> None:
    """Each continuation adds one: 128 is `80 00`, where LEB128 would say `80 01`."""
    assert varint.encode(value).hex() == encoded
    assert varint.decode(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@pytest.mark.parametrize("value", EDGES)
def test_varint_codec_around_powers_of_two(value: int) -> None:
    encoded = varint.encode(value)
    assert encoded == plain_varint(value)
    assert check_codec(encoded, lambda data: varint.decode(data, 0), varint.encode) == value


def test_varint_small_table_holds_what_encode_gives() -> None:
    assert [plain_varint(value) for value in range(varint.SMALL_LIMIT)] == list(varint.SMALL)


def test_varint_decodes_in_the_middle_and_leaves_the_rest() -> None:
    assert varint.decode(b"\xff\x80\x00\xff", 1) == (128, 3)


@pytest.mark.parametrize("value", [1 << 64, (1 << 64) + 1, 1 << 70])
def test_varint_beyond_64_bits_is_refused(value: int) -> None:
    with pytest.raises(FormatError, match="64 bits") as caught:
        varint.decode(b"\0" + plain_varint(value), 1)
    assert caught.value.offset == 1


def test_varint_without_end_stops_after_64_bits() -> None:
    """A megabyte of continuation bytes is not first made a number."""
    with pytest.raises(FormatError, match="64 bits"):
        varint.decode(b"\xff" * (1 << 20), 0)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff"])
def test_varint_unterminated_names_its_start(data: bytes) -> None:
    with pytest.raises(FormatError, match="past the end") as caught:
        varint.decode(b"\0\0" + data, 2)
    assert caught.value.offset == 2
