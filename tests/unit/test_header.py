"""Header and footer: both versions, both hashes, and every field that a reader can check."""

from __future__ import annotations

import crcmod.predefined  # type: ignore[import-untyped]
import pytest

from pyreftable.errors import FormatError
from pyreftable.format.header import (
    Footer,
    Header,
    decode_footer,
    decode_header,
    encode_footer,
    encode_header,
    footer_size,
    header_size,
)
from pyreftable.hashes import SHA1, SHA256
from tests.table_tools import check_codec, splice

V1 = Header(1, 4096, 3, 1 << 40, SHA1)
V2_SHA256 = Header(2, 0, 0, (1 << 64) - 1, SHA256)
V2_SHA1 = Header(2, (1 << 24) - 1, 5, 5, SHA1)
HEADERS = pytest.mark.parametrize("header", [V1, V2_SHA256, V2_SHA1])

FULL = Footer(ref_index=1000, obj=2000, obj_id_len=3, obj_index=3000, log=4000, log_index=5000)
FOOTER_AT = 9000

PATH = "some.ref"


def decode(data: bytes, header: Header = V1) -> Footer:
    return decode_footer(data, FOOTER_AT, encode_header(header), header, PATH)


class TestHeader:
    @HEADERS
    def test_codec(self, header: Header) -> None:
        def decode_with_end(data: bytes) -> tuple[Header, int]:
            decoded = decode_header(data)
            return decoded, decoded.size

        assert check_codec(encode_header(header), decode_with_end, encode_header) == header

    def test_known_bytes_of_version_1(self) -> None:
        expected = b"REFT\x01\x00\x10\x00" + (3).to_bytes(8, "big") + (1 << 40).to_bytes(8, "big")
        assert encode_header(V1) == expected
        assert V1.size == header_size(1) == len(expected) == 24

    def test_known_bytes_of_version_2(self) -> None:
        expected = b"REFT\x02\x00\x00\x00" + bytes(8) + b"\xff" * 8 + b"s256"
        assert encode_header(V2_SHA256) == expected
        assert V2_SHA256.size == header_size(2) == len(expected) == 28

    def test_version_2_may_say_sha1(self) -> None:
        assert encode_header(V2_SHA1)[24:] == b"sha1"
        assert decode_header(encode_header(V2_SHA1)).hash is SHA1

    @pytest.mark.parametrize(
        ("data", "offset", "what"),
        [
            (b"", 0, "0 bytes are too few"),
            (encode_header(V1)[:23], 0, "23 bytes are too few"),
            (b"PACK" + encode_header(V1)[4:], 0, "no reftable"),
            (b"TFER" + encode_header(V1)[4:], 0, "no reftable"),
            (splice(encode_header(V1), 4, b"\0"), 4, "version 0"),
            (splice(encode_header(V1), 4, b"\3"), 4, "version 3"),
            (encode_header(V2_SHA1)[:24] + b"SHA1", 24, "hash id b'SHA1'"),
            (encode_header(V2_SHA1)[:26], 24, "hash id b'sh'"),
            (encode_header(Header(1, 4096, 6, 5, SHA1)), 8, "smallest update index 6 is above"),
        ],
    )
    def test_refuses_and_says_where(self, data: bytes, offset: int, what: str) -> None:
        with pytest.raises(FormatError, match=what) as caught:
            decode_header(data, PATH)
        assert (caught.value.path, caught.value.offset) == (PATH, offset)


class TestFooter:
    @HEADERS
    @pytest.mark.parametrize("footer", [Footer(), FULL, Footer(log=8000), Footer(ref_index=256)])
    def test_codec(self, header: Header, footer: Footer) -> None:
        encoded = encode_footer(header, footer)
        assert len(encoded) == footer_size(header.version)
        assert decode(encoded, header) == footer
        for cut in range(len(encoded)):
            with pytest.raises(FormatError):
                decode(encoded[:cut], header)

    def test_known_bytes(self) -> None:
        expected = encode_header(V1) + b"".join(
            number.to_bytes(8, "big") for number in (1000, 2000 << 5 | 3, 3000, 4000, 5000)
        )
        assert encode_footer(V1, FULL)[:-4] == expected
        assert (footer_size(1), footer_size(2)) == (68, 72)

    @HEADERS
    def test_crc_is_that_of_another_implementation(self, header: Header) -> None:
        encoded = encode_footer(header, FULL)
        crc = crcmod.predefined.mkCrcFun("crc-32")
        assert int.from_bytes(encoded[-4:], "big") == crc(encoded[:-4])

    @pytest.mark.parametrize("at", range(68))
    def test_a_flipped_byte_anywhere_is_seen(self, at: int) -> None:
        encoded = encode_footer(V1, FULL)
        with pytest.raises(FormatError, match="CRC-32") as caught:
            decode(splice(encoded, at, bytes([encoded[at] ^ 0x10])))
        assert (caught.value.path, caught.value.offset) == (PATH, FOOTER_AT + 64)

    def test_must_repeat_the_header(self) -> None:
        with pytest.raises(FormatError, match="does not repeat the header") as caught:
            decode(encode_footer(V1._replace(block_size=512), FULL))
        assert caught.value.offset == FOOTER_AT

    @pytest.mark.parametrize(
        ("footer", "field"),
        [
            (FULL._replace(ref_index=FOOTER_AT), 0),
            (FULL._replace(ref_index=2000), 1),
            (FULL._replace(obj=900), 1),
            (FULL._replace(obj_index=2000), 2),
            (FULL._replace(log=3000), 3),
            (FULL._replace(log_index=3999), 4),
            (FULL._replace(log_index=FOOTER_AT), 4),
            (FULL._replace(log_index=(1 << 64) - 1), 4),
        ],
    )
    def test_sections_follow_each_other_within_the_file(self, footer: Footer, field: int) -> None:
        with pytest.raises(FormatError, match="section position") as caught:
            decode(encode_footer(V1, footer))
        assert caught.value.offset == FOOTER_AT + 24 + 8 * field

    @pytest.mark.parametrize(("id_len", "is_valid"), [(0, False), (1, True), (20, True)])
    def test_obj_section_needs_an_id_length(self, id_len: int, is_valid: bool) -> None:
        encoded = encode_footer(V1, FULL._replace(obj_id_len=id_len))
        if is_valid:
            assert decode(encoded).obj_id_len == id_len
        else:
            with pytest.raises(FormatError, match="object ids of 0 bytes") as caught:
                decode(encoded)
            assert caught.value.offset == FOOTER_AT + 32

    def test_id_length_is_bounded_by_the_hash(self) -> None:
        """Five bits hold up to 31; a SHA-1 has 20 bytes, and a SHA-256 32."""
        longest = FULL._replace(obj_id_len=31)
        assert decode(encode_footer(V2_SHA256, longest), V2_SHA256) == longest
        with pytest.raises(FormatError, match="object ids of 21 bytes"):
            decode(encode_footer(V1, FULL._replace(obj_id_len=21)))
        with pytest.raises(FormatError, match="object ids of 31 bytes"):
            decode(encode_footer(V2_SHA1, longest), V2_SHA1)
