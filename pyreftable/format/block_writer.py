"""Writing one block: the twin of `block`, whose module shows the layout.

Keys are shortened against the previous key, except at every `restart_interval`-th record. Any
record that shares nothing with its predecessor becomes a restart as well, as in git. A record
fits when the restart table, grown by its own entry, still does: that makes blocks end exactly
where git's do.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import WriteError
from . import varint
from .block import HEADER_LEN, LOG, MAX_RESTARTS, deflate


class BlockWriter:
    """Collects records of one type until the block is full.

    `block_size` is the most bytes the finished (for logs: not yet deflated) block may have,
    `header` the file header where this is the table's first block.
    """

    def __init__(self, kind: bytes, block_size: int, restart_interval: int, header: bytes) -> None:
        self.kind = kind
        self.block_size = block_size
        self.restart_interval = restart_interval
        self.entries = 0
        self.last_key = b""
        self._header = header
        self._parts: list[bytes] = []
        self._restarts: list[int] = []
        self._next = len(header) + HEADER_LEN

    def extend(
        self, keys: Sequence[bytes], types: Sequence[int], payloads: Sequence[bytes], start: int
    ) -> int:
        """Add records from position `start` of the parallel sequences while they fit.

        Returns the position of the first that did not fit. `payloads` are the encoded values.
        Raises `WriteError` when a key is not above the one before it.
        """
        # One flat loop on purpose: writing tables spends its time here. The highest bit of two
        # keys' XOR, as numbers, ends their common prefix. A key of the same length that differs
        # from the last one where that one differed from its own predecessor needs no numbers.
        small, small_limit = varint.SMALL, varint.SMALL_LIMIT
        as_int = int.from_bytes
        append = self._parts.append
        restarts, pos = self._restarts, self._next
        limit = self.block_size - 2 - 3 * len(restarts)
        interval = self.restart_interval
        until_restart = -self.entries % interval
        last, last_len = self.last_key, len(self.last_key)
        last_int: int | None = None
        prefix, stem, value_type, head, size = 0, b"", -1, b"", 0
        at, end = start, len(keys)
        while at < end:
            key = keys[at]
            key_len = len(key)
            payload = payloads[at]
            if (
                prefix
                and until_restart
                and key_len == last_len
                and key[prefix] > last[prefix]
                and types[at] == value_type
                and key.startswith(stem)
            ):
                grown = pos + size + len(payload)
                if grown > limit:
                    break
                last_int = None
            else:
                if key <= last:
                    self._set(pos, at - start, last)
                    raise WriteError(f"key {key!r} is not above its predecessor {last!r}")
                key_int = None
                if until_restart:
                    key_int = as_int(key, "big")
                    if last_int is None:
                        last_int = as_int(last, "big")
                    if key_len == last_len:
                        prefix = key_len - ((key_int ^ last_int).bit_length() + 7 >> 3)
                    elif key_len > last_len:
                        differs = key_int >> (key_len - last_len << 3) ^ last_int
                        prefix = last_len - (differs.bit_length() + 7 >> 3)
                    else:
                        differs = key_int ^ last_int >> (last_len - key_len << 3)
                        prefix = key_len - (differs.bit_length() + 7 >> 3)
                else:
                    prefix = 0
                    until_restart = interval
                value_type = types[at]
                length_and_type = key_len - prefix << 3 | value_type
                if length_and_type < small_limit and prefix < small_limit:
                    head = small[prefix] + small[length_and_type]
                else:
                    head = varint.encode(prefix) + varint.encode(length_and_type)
                size = len(head) + key_len - prefix
                grown = pos + size + len(payload)
                if prefix or len(restarts) >= MAX_RESTARTS:
                    if grown > limit:
                        break
                elif grown > limit - 3:
                    break
                else:
                    limit -= 3
                    restarts.append(pos)
                stem = key[:prefix]
                last_int = key_int
            append(head)
            append(key[prefix:])
            append(payload)
            pos = grown
            last, last_len = key, key_len
            until_restart -= 1
            at += 1
        self._set(pos, at - start, last)
        return at

    def _set(self, pos: int, added: int, last: bytes) -> None:
        self._next, self.last_key = pos, last
        self.entries += added

    def finish(self) -> bytes:
        """The block's bytes (deflated, for logs), the file header before them if it has one."""
        restarts = b"".join([offset.to_bytes(3, "big") for offset in self._restarts])
        count = len(self._restarts).to_bytes(2, "big")
        length = self._next + len(restarts) + 2
        head = self._header + self.kind + length.to_bytes(3, "big")
        body = b"".join((*self._parts, restarts, count))
        return head + (deflate(body) if self.kind == LOG else body)
