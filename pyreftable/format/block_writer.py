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
        # One flat loop on purpose: writing tables spends its time here. `last_int` is the last
        # key as a number: the highest bit of its XOR with the next key ends the common prefix.
        small, small_limit = varint.SMALL, varint.SMALL_LIMIT
        as_int = int.from_bytes
        append = self._parts.append
        interval, limit = self.restart_interval, self.block_size - 2
        restarts, entries, pos = self._restarts, self.entries, self._next
        last, last_len = self.last_key, len(self.last_key)
        last_int = as_int(last, "big")
        end = len(keys)
        at = start
        while at < end:
            key = keys[at]
            if key <= last:
                self._next, self.entries, self.last_key = pos, entries, last
                raise WriteError(f"key {key!r} is not above its predecessor {last!r}")
            key_len = len(key)
            key_int = as_int(key, "big")
            prefix = 0
            if entries % interval:
                if key_len == last_len:
                    prefix = key_len - ((key_int ^ last_int).bit_length() + 7 >> 3)
                elif key_len > last_len:
                    differs = key_int >> (key_len - last_len << 3) ^ last_int
                    prefix = last_len - (differs.bit_length() + 7 >> 3)
                else:
                    differs = key_int ^ last_int >> (last_len - key_len << 3)
                    prefix = key_len - (differs.bit_length() + 7 >> 3)
            length_and_type = key_len - prefix << 3 | types[at]
            if length_and_type < small_limit and prefix < small_limit:
                head = small[prefix] + small[length_and_type]
            else:
                head = varint.encode(prefix) + varint.encode(length_and_type)
            payload = payloads[at]
            grown = pos + len(head) + key_len - prefix + len(payload)
            if prefix or len(restarts) >= MAX_RESTARTS:
                if grown + 3 * len(restarts) > limit:
                    break
            elif grown + 3 * len(restarts) + 3 > limit:
                break
            else:
                restarts.append(pos)
            append(head)
            append(key[prefix:] if prefix else key)
            append(payload)
            pos = grown
            last, last_len, last_int = key, key_len, key_int
            entries += 1
            at += 1
        self._next, self.entries, self.last_key = pos, entries, last
        return at

    def finish(self) -> bytes:
        """The block's bytes (deflated, for logs), the file header before them if it has one."""
        restarts = b"".join([offset.to_bytes(3, "big") for offset in self._restarts])
        count = len(self._restarts).to_bytes(2, "big")
        length = self._next + len(restarts) + 2
        head = self._header + self.kind + length.to_bytes(3, "big")
        body = b"".join((*self._parts, restarts, count))
        return head + (deflate(body) if self.kind == LOG else body)
