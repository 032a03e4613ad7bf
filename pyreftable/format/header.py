"""Header and footer of a table.

    header  "REFT" version(1) block_size(3) min_update_index(8) max_update_index(8)
            and in version 2 hash_id(4): 24 or 28 bytes
    footer  the header again, then be64 each: ref index position, obj position << 5 | id length,
            obj index position, log position, log index position, and be32 CRC-32 of all before
            it: 68 or 72 bytes

Version 1 means SHA-1. A position of 0 means "absent", but for the ref section, which, where
there is one, starts at 0. Source: git's reftable document, sections "Header" and "Footer".
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple
from zlib import crc32

from ..errors import FormatError
from ..hashes import BY_FORMAT_ID, SHA1, HashAlgorithm

MAGIC = b"REFT"
MAX_BLOCK_SIZE = (1 << 24) - 1
MAX_ID_LEN = 31
_FIXED = Struct(">4sB3sQQ")
_POSITIONS = Struct(">QQQQQ")
_CRC = Struct(">I")


class Header(NamedTuple):
    """What a table says of itself; `block_size` is in bytes, 0 where blocks are unaligned."""

    version: int
    block_size: int
    min_update_index: int
    max_update_index: int
    hash: HashAlgorithm

    @property
    def size(self) -> int:
        """Bytes of the encoded header."""
        return header_size(self.version)


class Footer(NamedTuple):
    """Where the sections are: absolute byte positions, 0 for absent."""

    ref_index: int = 0
    obj: int = 0
    obj_id_len: int = 0
    obj_index: int = 0
    log: int = 0
    log_index: int = 0


def header_size(version: int) -> int:
    """Bytes of a header of that version: 24 or 28."""
    return 24 if version == 1 else 28


def footer_size(version: int) -> int:
    """Bytes of a footer of that version: 68 or 72."""
    return 68 if version == 1 else 72


def encode_header(header: Header) -> bytes:
    """The header's 24 or 28 bytes."""
    fixed = _FIXED.pack(
        MAGIC,
        header.version,
        header.block_size.to_bytes(3, "big"),
        header.min_update_index,
        header.max_update_index,
    )
    return fixed if header.version == 1 else fixed + header.hash.format_id


def decode_header(data: bytes, path: str | None = None) -> Header:
    """The header that starts `data`; raises `FormatError`."""
    if len(data) < 24:
        raise FormatError(f"{len(data)} bytes are too few for a header", path=path, offset=0)
    magic, version, block_size, low, high = _FIXED.unpack_from(data)
    if magic != MAGIC:
        raise FormatError(f"starts with {magic!r}, not {MAGIC!r}: no reftable", path=path, offset=0)
    if version not in (1, 2):
        raise FormatError(f"unknown reftable version {version}", path=path, offset=4)
    algorithm: HashAlgorithm | None = SHA1
    if version == 2:
        algorithm = BY_FORMAT_ID.get(data[24:28])
    if algorithm is None:
        raise FormatError(f"unknown hash id {data[24:28]!r}", path=path, offset=24)
    if low > high:
        what = f"smallest update index {low} is above the largest, {high}"
        raise FormatError(what, path=path, offset=8)
    return Header(version, int.from_bytes(block_size, "big"), low, high, algorithm)


def encode_footer(header: Header, footer: Footer) -> bytes:
    """The footer's 68 or 72 bytes, its CRC-32 included."""
    body = encode_header(header) + _POSITIONS.pack(
        footer.ref_index,
        footer.obj << 5 | footer.obj_id_len,
        footer.obj_index,
        footer.log,
        footer.log_index,
    )
    return body + _CRC.pack(crc32(body))


def decode_footer(
    data: bytes, offset: int, head: bytes, header: Header, path: str | None = None
) -> Footer:
    """The footer whose bytes are `data`, found at file offset `offset`.

    `head` are the file's first bytes, which the footer must repeat, and `header` what they say.
    Raises `FormatError` when the CRC is wrong, when the header differs, or when sections overlap
    or leave the file.
    """
    head_size, size = (24, 68) if header.version == 1 else (28, 72)
    if len(data) < size:
        raise FormatError("the file ends before its footer", path=path, offset=offset)
    (stored,) = _CRC.unpack_from(data, len(data) - 4)
    actual = crc32(data[:-4])
    if stored != actual:
        what = f"footer's CRC-32 is {stored:08x}, its bytes give {actual:08x}"
        raise FormatError(what, path=path, offset=offset + len(data) - 4)
    if data[:head_size] != head[:head_size]:
        raise FormatError("footer does not repeat the header", path=path, offset=offset)
    ref_index, obj, obj_index, log, log_index = _POSITIONS.unpack_from(data, head_size)
    at = offset + head_size
    last = 0
    for position in (ref_index, obj >> 5, obj_index, log, log_index):
        if position:
            if position <= last or position >= offset:
                what = f"section position {position} is not between {last} and {offset}"
                raise FormatError(what, path=path, offset=at)
            last = position
        at += 8
    if obj >> 5 and not 0 < obj & MAX_ID_LEN <= header.hash.size:
        what = f"object ids of {obj & MAX_ID_LEN} bytes in the obj section"
        raise FormatError(what, path=path, offset=offset + head_size + 8)
    return Footer(ref_index, obj >> 5, obj & MAX_ID_LEN, obj_index, log, log_index)
