"""The two object-id hashes that a table can hold, with their format ids and sizes.

Source: git's reftable document, section "Header (version 2)".
"""

from __future__ import annotations

from typing import NamedTuple


class HashAlgorithm(NamedTuple):
    """An object format: its git name, raw size in bytes, and id in a version 2 header."""

    name: str
    size: int
    format_id: bytes

    @property
    def hex_size(self) -> int:
        """Length of an object id in hexadecimal digits."""
        return 2 * self.size

    @property
    def null(self) -> bytes:
        """The all-zero id, git's "no object"."""
        return bytes(self.size)

    @property
    def null_hex(self) -> str:
        """The all-zero id in hexadecimal."""
        return "0" * (2 * self.size)


SHA1 = HashAlgorithm("sha1", 20, b"sha1")
SHA256 = HashAlgorithm("sha256", 32, b"s256")

BY_NAME = {algorithm.name: algorithm for algorithm in (SHA1, SHA256)}
BY_FORMAT_ID = {algorithm.format_id: algorithm for algorithm in (SHA1, SHA256)}
