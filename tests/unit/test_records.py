"""Records: what ref and log records say of themselves, log keys, and the bytes of values."""

from __future__ import annotations

import pytest

from pyreftable.errors import FormatError
from pyreftable.format.records import (
    LogRecord,
    RefRecord,
    decode_log,
    encode_log_value,
    encode_obj_value,
    log_key,
    split_log_key,
)
from pyreftable.hashes import SHA1, SHA256, HashAlgorithm
from tests.plain_format import obj_item, plain_varint
from tests.table_tools import log

A, B = b"a" * 20, b"b" * 20
LAST_INDEX = (1 << 64) - 1


class TestRefRecord:
    def test_deletion_has_no_value(self) -> None:
        record = RefRecord(b"refs/heads/main", 1, 0, b"")
        assert record.is_deletion
        assert (record.oid, record.peeled, record.target) == (None, None, None)

    def test_oid(self) -> None:
        record = RefRecord(b"refs/heads/main", 1, 1, A)
        assert not record.is_deletion
        assert (record.oid, record.peeled, record.target) == (A, None, None)

    @pytest.mark.parametrize("algorithm", [SHA1, SHA256])
    def test_oid_and_peeled_are_halves_of_the_value(self, algorithm: HashAlgorithm) -> None:
        tag, commit = b"t" * algorithm.size, b"c" * algorithm.size
        record = RefRecord(b"refs/tags/v1", 1, 2, tag + commit)
        assert (record.oid, record.peeled, record.target) == (tag, commit, None)

    def test_symref(self) -> None:
        record = RefRecord(b"HEAD", 1, 3, b"refs/heads/main")
        assert not record.is_deletion
        assert (record.oid, record.peeled, record.target) == (None, None, b"refs/heads/main")


class TestLogKey:
    @pytest.mark.parametrize("index", [0, 1, 255, 1 << 32, LAST_INDEX])
    def test_splits_into_what_it_was_made_of(self, index: int) -> None:
        assert split_log_key(log_key(b"refs/heads/main", index)) == (b"refs/heads/main", index)

    def test_bytes(self) -> None:
        """The update index is subtracted from 2^64-1, big endian, after a NUL."""
        assert log_key(b"HEAD", 1) == b"HEAD\0" + b"\xff" * 7 + b"\xfe"

    def test_newest_entry_of_a_ref_comes_first(self) -> None:
        keys = [log_key(b"a", index) for index in (300, 256, 255, 1, 0)]
        assert keys == sorted(keys)

    def test_name_decides_before_update_index(self) -> None:
        """Even where one name starts with the other: the NUL is below any name's byte."""
        keys = [log_key(b"a", 0), log_key(b"a-b", LAST_INDEX), log_key(b"a/b", 5)]
        assert keys == sorted(keys)
        assert log_key(b"a", LAST_INDEX) > b"a"

    @pytest.mark.parametrize("key", [b"", b"\0" + bytes(8), b"HEAD", b"HEAD." + bytes(8)])
    def test_other_bytes_are_refused(self, key: bytes) -> None:
        with pytest.raises(FormatError, match="no ref name, NUL and update index"):
            split_log_key(key)


class TestLogRecord:
    def test_deletion_carries_nothing(self) -> None:
        record = LogRecord.deletion(b"HEAD", 7)
        assert record == LogRecord(b"HEAD", 7)
        assert record.is_deletion
        assert not record.is_existence_marker
        assert encode_log_value(record) == b""
        assert decode_log(log_key(b"HEAD", 7), 0, b"", 20) == record

    def test_existence_marker_is_an_update_between_null_ids(self) -> None:
        assert LogRecord(b"HEAD", 1, bytes(20), bytes(20)).is_existence_marker
        assert not LogRecord(b"HEAD", 1, bytes(20), A).is_existence_marker
        assert not LogRecord(b"HEAD", 1, A, bytes(20)).is_existence_marker

    def test_value_bytes(self) -> None:
        record = LogRecord(b"HEAD", 1, A, B, b"N", b"e@x", 300, -130, b"m\n")
        expected = A + B + b"\x01N\x03e@x" + plain_varint(300) + b"\xff\x7e" + b"\x02m\n"
        assert encode_log_value(record) == expected

    @pytest.mark.parametrize("algorithm", [SHA1, SHA256])
    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"committer_name": b"", "email": b"", "message": b"", "time": 0, "tz_offset": 0},
            {"committer_name": b"n" * 127, "email": b"e" * 128, "message": b"m" * 16_512},
            {"time": LAST_INDEX, "tz_offset": 32_767},
            {"tz_offset": -32_768},
            {"tz_offset": -1},
            {"message": b"two\nlines\n"},
            {"committer_name": "Zoë".encode("latin-1")},
        ],
    )
    def test_decodes_to_what_was_encoded(
        self, algorithm: HashAlgorithm, fields: dict[str, object]
    ) -> None:
        record = log("refs/heads/main", 5, size=algorithm.size, **fields)
        key = log_key(record.refname, record.update_index)
        assert decode_log(key, 1, encode_log_value(record), algorithm.size) == record


class TestObjValue:
    @pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 200])
    def test_count_is_in_the_type_up_to_seven(self, count: int) -> None:
        positions = [0, 4096, 4097, *range(8192, 8192 * 200, 8192)][:count]
        item = obj_item(b"id", *positions)
        assert encode_obj_value(positions) == (item.kind, item.payload)

    def test_known_bytes(self) -> None:
        assert encode_obj_value([]) == (0, b"\0")
        assert encode_obj_value([0, 4096]) == (2, b"\0" + plain_varint(4096))
        assert encode_obj_value(list(range(8))) == (0, b"\x08\0" + b"\1" * 7)
