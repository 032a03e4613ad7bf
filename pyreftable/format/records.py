"""The records of a reftable, and the bytes of their values.

A record in a block is `varint(prefix_len) varint(suffix_len << 3 | value_type) suffix value`.
The key is built from the previous record's key; this module owns what follows it:

    ref    varint(update_index - table's minimum), then by value type
           0 deletion   nothing
           1            oid
           2            oid, peeled oid          (an annotated tag)
           3            varint(len) target       (a symbolic ref)
    log    key is `refname NUL be64(2^64-1 - update_index)`: newest first
           0 deletion   nothing
           1 update     old oid, new oid, varint(len) name, varint(len) email, varint(time),
                        be16(tz_offset, signed), varint(len) message
    obj    key is an object id prefix; value type is the count of positions if 1 to 7,
           else 0 and varint(count) follows; then varint(position), varint(delta) ...
    index  varint(block position); the key is the last key of that block

Source: git's reftable document, sections "Ref record" to "Log record".
"""

from __future__ import annotations

from itertools import chain
from operator import sub
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from ..errors import FormatError
from . import varint

if TYPE_CHECKING:
    from collections.abc import Callable

DELETION = 0
OID = 1
OID_AND_PEELED = 2
SYMREF = 3
LOG_UPDATE = 1

MAX_UPDATE_INDEX = varint.MAX_VALUE
_BE64 = Struct(">Q")
_TZ = Struct(">h")


class RefRecord(NamedTuple):
    """One ref in one table.

    `value` is raw: nothing for a deletion, the object id (value type 1), the object id and the
    peeled id one after the other (value type 2), or the target's name (value type 3).
    """

    refname: bytes
    update_index: int
    value_type: int
    value: bytes

    @property
    def is_deletion(self) -> bool:
        """Whether this is a tombstone, hiding the name in older tables."""
        return self.value_type == DELETION

    @property
    def oid(self) -> bytes | None:
        """The raw object id, or `None` for a symref or deletion."""
        if self.value_type == OID:
            return self.value
        if self.value_type == OID_AND_PEELED:
            return self.value[: len(self.value) // 2]
        return None

    @property
    def peeled(self) -> bytes | None:
        """The raw id of what an annotated tag finally points to, where it is recorded."""
        return self.value[len(self.value) // 2 :] if self.value_type == OID_AND_PEELED else None

    @property
    def target(self) -> bytes | None:
        """The name a symbolic ref points to."""
        return self.value if self.value_type == SYMREF else None


class LogRecord(NamedTuple):
    """One reflog entry in one table; a deletion has empty ids and no other data.

    `time` is in seconds since the epoch; `tz_offset` is git's decimal form (+0130 is 130).
    """

    refname: bytes
    update_index: int
    old_oid: bytes = b""
    new_oid: bytes = b""
    committer_name: bytes = b""
    email: bytes = b""
    time: int = 0
    tz_offset: int = 0
    message: bytes = b""

    @classmethod
    def deletion(cls, refname: bytes, update_index: int) -> LogRecord:
        """The tombstone of one entry."""
        return cls(refname, update_index)

    @property
    def is_deletion(self) -> bool:
        """Whether this hides the entry of the same name and update index in older tables."""
        return not self.new_oid

    @property
    def is_existence_marker(self) -> bool:
        """Whether this is git's "the log exists, but is empty": both ids are null."""
        return not (self.is_deletion or any(self.old_oid) or any(self.new_oid))


def log_key(refname: bytes, update_index: int) -> bytes:
    """The key of a log record; sorts a ref's entries newest first."""
    return refname + b"\0" + _BE64.pack(MAX_UPDATE_INDEX - update_index)


def split_log_key(key: bytes) -> tuple[bytes, int]:
    """Ref name and update index of a log record's key; raises `FormatError`."""
    if len(key) < 10 or key[-9]:
        raise FormatError(f"log key {key!r} is no ref name, NUL and update index")
    return key[:-9], MAX_UPDATE_INDEX - _BE64.unpack_from(key, len(key) - 8)[0]


def encode_log_value(record: LogRecord) -> bytes:
    """The bytes of a log record after its key (see the module's layout)."""
    if record.is_deletion:
        return b""
    return b"".join(
        (
            record.old_oid,
            record.new_oid,
            varint.encode(len(record.committer_name)),
            record.committer_name,
            varint.encode(len(record.email)),
            record.email,
            varint.encode(record.time),
            _TZ.pack(record.tz_offset),
            varint.encode(len(record.message)),
            record.message,
        )
    )


def decode_log(key: bytes, value_type: int, value: bytes, hash_size: int) -> LogRecord:
    """A log record from its key and its value's bytes; raises `FormatError`."""
    refname, update_index = split_log_key(key)
    if value_type == DELETION:
        return LogRecord(refname, update_index)
    pos = 2 * hash_size
    name, pos = _decode_string(value, pos)
    email, pos = _decode_string(value, pos)
    time, pos = varint.decode(value, pos)
    tz_offset: int = _TZ.unpack_from(value, pos)[0]
    message, pos = _decode_string(value, pos + 2)
    old_oid, new_oid = value[:hash_size], value[hash_size : 2 * hash_size]
    return LogRecord(refname, update_index, old_oid, new_oid, name, email, time, tz_offset, message)


def _decode_string(data: bytes, pos: int) -> tuple[bytes, int]:
    length, pos = varint.decode(data, pos)
    return data[pos : pos + length], pos + length


def encode_obj_value(
    positions: int | list[int], encode: Callable[[int], bytes] = varint.encode
) -> tuple[int, bytes]:
    """Value type and bytes of an obj record: one position, or a list in ascending order.

    No positions mean "scan all ref blocks". `encode` makes varints: who encodes many values may
    bring one that remembers, since blocks stand at like distances.
    """
    if isinstance(positions, int):
        return 1, encode(positions)
    count = len(positions)
    distances = map(encode, map(sub, positions, chain((0,), positions)))
    if 0 < count < 8:
        return count, b"".join(distances)
    return 0, encode(count) + b"".join(distances)
