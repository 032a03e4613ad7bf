"""Writes one table: records in key order become the bytes that git writes for them.

    [header + ref blocks] [ref index] [obj blocks] [obj index] [log blocks] [log index] footer

A section gets an index when it has more blocks than a reader should scan: over three when
blocks are padded, over one when not. Index levels are added until the top one is that short.
The obj section is written only when the ref section has an index. All but log blocks are
padded to the block size unless options say otherwise; padding is written before the next
block, so the last one has none, and the log section starts without it.

For the same records and options the result equals git's byte for byte (log blocks: after
inflating).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice

from .errors import EntryTooLargeError, WriteError
from .format import varint
from .format.block import INDEX, LOG, OBJ, REF, Run
from .format.block_writer import BlockWriter
from .format.header import MAX_BLOCK_SIZE, MAX_ID_LEN, Footer, Header, encode_footer, encode_header
from .format.records import (
    OID,
    OID_AND_PEELED,
    SYMREF,
    LogRecord,
    RefRecord,
    encode_log_value,
    encode_obj_value,
    log_key,
    split_log_key,
)
from .hashes import SHA1, HashAlgorithm
from .object_positions import ObjectPositions
from .write_options import WriteOptions

_CHUNK = 1024
# One for each ref block of some four million refs; 5 MiB.
_MOST_VARINTS = 1 << 15


class TableWriter:
    """Writes a table through `write`, which takes bytes.

    `min_update_index` and `max_update_index` bound the update indices of its records. Refs come
    first, in name order; logs after them, in key order. Raises `WriteError` for what the table
    cannot hold; what was written by then is no table.
    """

    def __init__(
        self,
        write: Callable[[bytes], object],
        *,
        hash: HashAlgorithm = SHA1,
        options: WriteOptions = WriteOptions(),
        min_update_index: int,
        max_update_index: int,
    ) -> None:
        _check_options(options)
        if not 0 <= min_update_index <= max_update_index <= varint.MAX_VALUE:
            raise WriteError(f"update indices {min_update_index} to {max_update_index}: no range")
        self.hash = hash
        self.options = options
        self.min_update_index = min_update_index
        self.max_update_index = max_update_index
        self.refs_written = 0
        self.logs_written = 0
        self.size = 0
        self._write = write
        self._block_size = options.block_size or WriteOptions().block_size
        version = 1 if hash == SHA1 else 2
        self._header = Header(version, self._block_size, min_update_index, max_update_index, hash)
        self._next = 0
        self._padding = 0
        self._block: BlockWriter | None = self._new_block(REF)
        self._index: list[tuple[bytes, int]] = []
        self._section_start = 0
        self._last_key = b""
        self._block_oids: set[bytes] = set()
        self._object_positions = ObjectPositions(hash.size)
        self._footer = Footer()

    @property
    def is_empty(self) -> bool:
        """Whether no record was added."""
        return not self.refs_written and not self.logs_written

    def add_ref(self, record: RefRecord) -> None:
        """Add one ref; its update index is absolute."""
        self.add_refs((record,))

    def add_refs(self, records: Iterable[RefRecord]) -> None:
        """Add refs in ascending order of their names."""
        iterator = iter(records)
        while chunk := list(islice(iterator, _CHUNK)):
            self.add_ref_run(ref_run(chunk))

    def add_ref_run(self, run: Run) -> None:
        """Add refs given as parallel lists: the bulk form of `add_refs`."""
        if not run.keys:
            return
        if self._block is None or self._block.kind != REF:
            raise WriteError(f"ref {run.keys[0]!r} comes after logs or the table's end")
        if min(run.update_indexes) < self.min_update_index or (
            max(run.update_indexes) > self.max_update_index
        ):
            raise WriteError(
                f"a ref from {run.keys[0]!r} on has an update index outside "
                f"{self.min_update_index} to {self.max_update_index}"
            )
        self._add(run.keys, run.types, self._ref_payloads(run), run)
        self.refs_written += len(run.keys)

    def add_log(self, record: LogRecord) -> None:
        """Add one reflog entry."""
        self.add_logs((record,))

    def add_logs(self, records: Iterable[LogRecord]) -> None:
        """Add reflog entries in key order: by name, each name's newest first."""
        iterator = iter(records)
        while chunk := list(islice(iterator, _CHUNK)):
            self.add_log_run(encode_logs(chunk, self.hash, self.options))

    def add_log_run(self, run: Run) -> None:
        """Add reflog entries with values already encoded: the bulk form, as compaction needs it.

        The caller answers for the messages (see `WriteOptions.exact_log_message`).
        """
        if not run.keys:
            return
        for key, value_type in zip(run.keys, run.types, strict=True):
            index = split_log_key(key)[1]
            if value_type and index > self.max_update_index:
                raise WriteError(f"log {key!r} has an update index above {self.max_update_index}")
        if self._block is not None and self._block.kind == REF:
            self._finish_section()
            self._padding, self._next = 0, self._next - self._padding
            self._start_section(LOG)
        self._add(run.keys, run.types, run.values, None)
        self.logs_written += len(run.keys)

    def finish(self) -> None:
        """Write what is pending and the footer. An empty table is a header and a footer."""
        self._finish_section()
        self._block = None
        self._padding = 0
        if not self._next:
            self._emit(encode_header(self._header), 0)
        self._emit(encode_footer(self._header, self._footer), 0)

    # Records to blocks

    def _add(
        self,
        keys: Sequence[bytes],
        types: Sequence[int],
        payloads: Sequence[bytes],
        refs: Run | None,
    ) -> None:
        if keys and keys[0] <= self._last_key:
            raise WriteError(f"key {keys[0]!r} is not above its predecessor {self._last_key!r}")
        at = 0
        while True:
            block = self._open_block()
            end = block.extend(keys, types, payloads, at)
            if refs is not None and self.options.index_objects:
                self._collect_oids(refs, at, end)
            if end == len(keys):
                break
            if not block.entries:
                what = f"{keys[end]!r} fits in no block of {self._block_size} bytes"
                raise EntryTooLargeError(what)
            if keys[end] <= block.last_key:
                raise WriteError(
                    f"key {keys[end]!r} is not above its predecessor {block.last_key!r}"
                )
            kind = block.kind
            self._flush_block()
            self._block = self._new_block(kind)
            at = end
        if keys:
            self._last_key = keys[-1]

    def _ref_payloads(self, run: Run) -> list[bytes]:
        low = self.min_update_index
        encode = varint.encode
        size = self.hash.size
        first = run.update_indexes[0]
        if (
            set(run.types) == {OID}
            and set(map(len, run.values)) == {size}
            and run.update_indexes.count(first) == len(run.keys)
        ):
            # What a big transaction writes: ids alone, at one update index.
            prefix = encode(first - low)
            return [prefix + value for value in run.values]
        payloads = []
        for value_type, value, index in zip(run.types, run.values, run.update_indexes, strict=True):
            if value_type == OID:
                expected = size
            elif value_type == OID_AND_PEELED:
                expected = 2 * size
            elif value_type == SYMREF:
                expected = len(value)
                value = encode(expected) + value
                expected = len(value)
            else:
                expected = 0
            if len(value) != expected or not 0 <= value_type <= SYMREF:
                raise WriteError(
                    f"value {value!r} is not of type {value_type} for {self.hash.name}"
                )
            payloads.append(encode(index - low) + value)
        return payloads

    def _collect_oids(self, run: Run, start: int, end: int) -> None:
        size = self.hash.size
        oids = self._block_oids
        if set(run.types[start:end]) == {OID}:
            oids.update(run.values[start:end])
            return
        for value_type, value in zip(run.types[start:end], run.values[start:end], strict=True):
            if value_type == OID:
                oids.add(value)
            elif value_type == OID_AND_PEELED:
                oids.add(value[:size])
                oids.add(value[size:])

    # Blocks to sections

    def _new_block(self, kind: bytes) -> BlockWriter:
        header = b"" if self._next else encode_header(self._header)
        interval = self.options.restart_interval or WriteOptions().restart_interval
        return BlockWriter(kind, self._block_size, interval, header)

    def _open_block(self) -> BlockWriter:
        if self._block is None:
            raise WriteError("the table is finished")
        return self._block

    def _start_section(self, kind: bytes) -> None:
        self._section_start = self._next
        self._last_key = b""
        self._block = self._new_block(kind)

    def _flush_block(self) -> None:
        block = self._open_block()
        if not block.entries:
            return
        data = block.finish()
        padded = not self.options.unpadded and block.kind != LOG
        self._index.append((block.last_key, self._next))
        if self._block_oids:
            self._object_positions.add(self._block_oids, self._next)
            self._block_oids.clear()
        padding = self._block_size - len(data) if padded else 0
        self._emit(data, padding)
        self._next += len(data) + padding

    def _emit(self, data: bytes, padding: int) -> None:
        if self._padding:
            self._write(bytes(self._padding))
            self.size += self._padding
        self._write(data)
        self.size += len(data)
        self._padding = padding

    def _finish_section(self) -> None:
        block = self._block
        if block is None:
            return
        kind, start = block.kind, self._section_start
        self._flush_block()
        has_blocks = self._next > start
        index = self._write_index()
        if kind == REF:
            self._footer = self._footer._replace(ref_index=index)
            if index and self.options.index_objects:
                self._write_obj_section()
        elif kind == OBJ:
            self._footer = self._footer._replace(obj=start if has_blocks else 0, obj_index=index)
        else:
            self._footer = self._footer._replace(log=start, log_index=index)

    def _write_index(self) -> int:
        """Index levels over the section just written; the top one's position, 0 if none."""
        threshold = 1 if self.options.unpadded else 3
        position = 0
        while len(self._index) > threshold:
            entries, self._index = self._index, []
            position = self._next
            self._block = self._new_block(INDEX)
            self._last_key = b""
            keys = [key for key, _ in entries]
            payloads = [varint.encode(offset) for _, offset in entries]
            self._add(keys, [0] * len(keys), payloads, None)
            self._flush_block()
        self._index = []
        return position

    def _write_obj_section(self) -> None:
        objects = self._object_positions
        id_len = max(objects.longest_shared_prefix(), 1) + 1
        if id_len > MAX_ID_LEN:
            # The footer has no room for it; git lets it spill into the section's position.
            return
        self._start_section(OBJ)
        encode = lru_cache(_MOST_VARINTS)(varint.encode)
        for oids, positions in objects.drain():
            values = [encode_obj_value(each, encode) for each in positions]
            self._add_objs([oid[:id_len] for oid in oids], values)
        self._footer = self._footer._replace(obj_id_len=id_len)
        self._finish_section()

    def _add_objs(self, keys: list[bytes], values: list[tuple[int, bytes]]) -> None:
        types = [value_type for value_type, _ in values]
        payloads = [payload for _, payload in values]
        at = 0
        while (at := self._open_block().extend(keys, types, payloads, at)) < len(keys):
            # A full block makes room; what a whole block cannot hold says "scan all refs".
            if self._open_block().entries:
                self._flush_block()
                self._block = self._new_block(OBJ)
            elif payloads[at] == encode_obj_value([])[1]:
                what = f"object id {keys[at].hex()} fits in no block of {self._block_size} bytes"
                raise EntryTooLargeError(what)
            else:
                types[at], payloads[at] = encode_obj_value([])


def _check_options(options: WriteOptions) -> None:
    if not 0 <= options.block_size <= MAX_BLOCK_SIZE:
        raise WriteError(f"block size {options.block_size} is not in 0 to {MAX_BLOCK_SIZE}")
    if not 0 <= options.restart_interval <= 65535:
        raise WriteError(f"restart interval {options.restart_interval} is not in 0 to 65535")


def ref_run(records: Sequence[RefRecord]) -> Run:
    """Ref records as a run."""
    if not records:
        return Run([], [], [], [])
    names, indexes, types, values = (list(column) for column in zip(*records, strict=True))
    return Run(names, types, values, indexes)


def encode_logs(logs: Sequence[LogRecord], hash: HashAlgorithm, options: WriteOptions) -> Run:
    """Reflog entries as a run, as `TableWriter.add_log_run` takes it.

    Raises `WriteError` for what no log record can hold.
    """
    exact = options.exact_log_message
    checked = [_checked_log(log, hash, exact) for log in logs]
    keys = [log_key(log.refname, log.update_index) for log in checked]
    types = [0 if log.is_deletion else 1 for log in checked]
    return Run(keys, types, [encode_log_value(log) for log in checked], [])


def _checked_log(record: LogRecord, hash: HashAlgorithm, exact: bool) -> LogRecord:
    if not record.refname or b"\0" in record.refname:
        raise WriteError(f"log for the name {record.refname!r}")
    if not 0 <= record.update_index <= varint.MAX_VALUE:
        raise WriteError(f"log of {record.refname!r} at update index {record.update_index}")
    if record.is_deletion and not record.old_oid:
        return record
    if len(record.old_oid) != hash.size or len(record.new_oid) != hash.size:
        raise WriteError(f"log of {record.refname!r} has ids that are not {hash.name}")
    if not (0 <= record.time <= varint.MAX_VALUE and -32768 <= record.tz_offset <= 32767):
        when = f"{record.time} {record.tz_offset:+05d}"
        raise WriteError(f"log of {record.refname!r} has a time that no record holds: {when}")
    if exact or record.is_existence_marker:
        return record
    message = record.message.rstrip(b"\n")
    if b"\n" in message:
        raise WriteError(f"log message of {record.refname!r} has more than one line")
    return record._replace(message=message + b"\n")
