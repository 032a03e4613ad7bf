"""Objects for refs to point to, loose or in one pack: no git is needed to prepare anything.

    pack    "PACK" be32(2) be32(count), objects: varint(type, size) deflated content; SHA-1 of all
    index   "\\377tOc" be32(2), 256 be32 fan-out, ids, CRCs, be32 offsets; two SHA-1s

Source: gitformat-pack(5).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from struct import pack

_KINDS = {"commit": 1, "tree": 2, "blob": 3}
_DATE = 1_600_000_000


def blob_ids(count: int) -> list[str]:
    """The ids (hex) of the first `count` blobs that `write_objects` writes."""
    return [_id("blob", _content(number)) for number in range(count)]


def commit_id() -> str:
    """The id (hex) of the one commit that `write_objects` writes."""
    return _id("commit", _commit())


def write_objects(folder: Path, count: int) -> None:
    """Put `count` blobs, one tree and one commit into the object database `folder`, packed."""
    content, index = _pack(_objects(count))
    checksum = content[-20:]
    index += checksum
    stem = folder / "pack" / f"pack-{checksum.hex()}"
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(".pack").write_bytes(content)
    stem.with_suffix(".idx").write_bytes(index + hashlib.sha1(index).digest())


def write_loose(folder: Path, count: int) -> None:
    """Put them there as `write_objects` does, but each in a file of its own."""
    for kind, content in _objects(count):
        oid = _id(kind, content)
        path = folder / oid[:2] / oid[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        head = b"%s %d\0" % (kind.encode(), len(content))
        path.write_bytes(zlib.compress(head + content, 1))


def _objects(count: int) -> list[tuple[str, bytes]]:
    blobs = [("blob", _content(number)) for number in range(count)]
    return [("tree", b""), ("commit", _commit()), *blobs]


def _content(number: int) -> bytes:
    return b"%d\n" % number


def _commit() -> bytes:
    person = f"C <c@example.com> {_DATE} +0000"
    tree = _id("tree", b"")
    return f"tree {tree}\nauthor {person}\ncommitter {person}\n\nOne\n".encode()


def _id(kind: str, content: bytes) -> str:
    return hashlib.sha1(b"%s %d\0%s" % (kind.encode(), len(content), content)).hexdigest()


def _pack(objects: Sequence[tuple[str, bytes]]) -> tuple[bytes, bytes]:
    """A pack, and its index up to the fan-out's end of offsets, without checksums."""
    parts = [b"PACK" + pack(">II", 2, len(objects))]
    offset = len(parts[0])
    rows: list[tuple[bytes, int, int]] = []
    for kind, content in objects:
        part = _head(_KINDS[kind], len(content)) + zlib.compress(content, 1)
        rows.append((bytes.fromhex(_id(kind, content)), zlib.crc32(part), offset))
        parts.append(part)
        offset += len(part)
    data = b"".join(parts)
    return data + hashlib.sha1(data).digest(), _index(sorted(rows))


def _head(kind: int, size: int) -> bytes:
    head = bytearray([kind << 4 | size & 15])
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head)


def _index(rows: Sequence[tuple[bytes, int, int]]) -> bytes:
    counts = [0] * 256
    for oid, _, _ in rows:
        counts[oid[0]] += 1
    fan_out = [sum(counts[: first + 1]) for first in range(256)]
    ids = b"".join(oid for oid, _, _ in rows)
    crcs, offsets = _be32(crc for _, crc, _ in rows), _be32(offset for _, _, offset in rows)
    return b"\377tOc" + pack(">I", 2) + _be32(fan_out) + ids + crcs + offsets


def _be32(numbers: Iterable[int]) -> bytes:
    values = list(numbers)
    return pack(f">{len(values)}I", *values)
