"""Tables in memory for the tests of the layers up to `merged`: made, opened, and spoilt."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterable
from typing import TypeVar
from zlib import crc32

import pytest

from pyreftable.errors import FormatError
from pyreftable.format.header import decode_header, footer_size
from pyreftable.format.records import LogRecord, RefRecord, log_key
from pyreftable.hashes import SHA1, HashAlgorithm
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from pyreftable.writer import TableWriter

T = TypeVar("T")

_TRAILING = (b"\x00", b"\xff" * 40)


class Bytes:
    """A `RangedReader` over bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.closed = False

    def read(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]

    def close(self) -> None:
        self.closed = True


def open_table(data: bytes, name: str = "dir/test.ref") -> Table:
    """The table whose file holds `data`."""
    return Table(Bytes(data), name)


def build(
    refs: Iterable[RefRecord] = (),
    logs: Iterable[LogRecord] = (),
    *,
    options: WriteOptions = WriteOptions(),
    hash: HashAlgorithm = SHA1,
    low: int = 1,
    high: int = 100,
) -> bytes:
    """The bytes of a table with these records, which must be in order."""
    out = io.BytesIO()
    writer = TableWriter(
        out.write, hash=hash, options=options, min_update_index=low, max_update_index=high
    )
    writer.add_refs(refs)
    writer.add_logs(logs)
    writer.finish()
    assert writer.size == out.tell()
    return out.getvalue()


def ref(name: str | bytes, index: int = 1, kind: int = 1, value: bytes | None = None) -> RefRecord:
    """A ref record; its value, if not given, is made of the name and has SHA-1's size."""
    name = name.encode() if isinstance(name, str) else name
    return RefRecord(name, index, kind, make_value(name, kind) if value is None else value)


def make_value(name: bytes, kind: int, size: int = SHA1.size) -> bytes:
    """A value of that type that is always the same for the same name."""
    if kind == 0:
        return b""
    if kind == 3:
        return b"refs/heads/target-of-" + name[-8:]
    return random.Random(name).randbytes(kind * size)


def log(name: str | bytes, index: int = 1, *, size: int = SHA1.size, **fields: object) -> LogRecord:
    """A reflog entry; its ids are made of name and update index."""
    name = name.encode() if isinstance(name, str) else name
    number = random.Random(name + b"%d" % index)
    plain = LogRecord(
        name,
        index,
        number.randbytes(size),
        number.randbytes(size),
        b"C O Mitter",
        b"committer@example.com",
        1_700_000_000 + index,
        -130,
        b"update %d of %s\n" % (index, name),
    )
    return plain._replace(**fields)  # type: ignore[arg-type]


def sorted_logs(logs: Iterable[LogRecord]) -> list[LogRecord]:
    """In the order of their keys."""
    return sorted(logs, key=key_of)


def key_of(record: LogRecord) -> bytes:
    """The key of a log record."""
    return log_key(record.refname, record.update_index)


def splice(data: bytes, offset: int, new: bytes) -> bytes:
    """`data` with the bytes from `offset` on replaced."""
    return data[:offset] + new + data[offset + len(new) :]


def repaired(data: bytes) -> bytes:
    """A table whose footer repeats its header again and whose CRC is right again."""
    header = decode_header(data)
    end = len(data) - footer_size(header.version)
    body = data[: header.size] + data[end + header.size : -4]
    return data[:end] + body + crc32(body).to_bytes(4, "big")


def footer_offset(data: bytes) -> int:
    """Where the footer starts."""
    return len(data) - footer_size(decode_header(data).version)


def check_codec(
    encoded: bytes,
    decode: Callable[[bytes], tuple[T, int]],
    encode: Callable[[T], bytes],
) -> T:
    """What every decoder must do: the one value of `encoded`, which is returned.

    `decode` gives the value and the position after it. The whole input is used, every strict
    prefix raises `FormatError`, trailing bytes stay, encoding again gives the same bytes.
    """
    value, end = decode(encoded)
    assert end == len(encoded)
    assert encode(value) == encoded
    for cut in range(len(encoded)):
        with pytest.raises(FormatError):
            decode(encoded[:cut])
    for trailing in _TRAILING:
        assert decode(encoded + trailing) == (value, end)
    return value


def attempt(action: Callable[[], T], path: str, size: int) -> T | FormatError:
    """What `action` gives, or the `FormatError` it raises: which must name a place in the file."""
    try:
        return action()
    except FormatError as error:
        failure = error
    assert failure.path == path
    assert 0 <= (-1 if failure.offset is None else failure.offset) <= size
    return failure
