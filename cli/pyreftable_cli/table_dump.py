"""What a table file holds, as entries: a kind and its fields, in file order.

    table   name, size, version, hash, block_size, min_update_index, max_update_index
    block   type, offset, length, full_size, restarts
    ref     name, update_index, and oid, peeled or target; or deleted
    log     name, update_index, old_oid, new_oid, committer, email, time, tz, message; or deleted
    obj     prefix, positions (none: all ref blocks)
    index   last (the key that ends the block), position; for logs update_index too
    footer  offset, ref_index, obj, obj_id_len, obj_index, log, log_index

Offsets and lengths are in bytes; a block's length is the one in its header: it includes the file
header in the first block, and is the inflated one for logs. Ids are hex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.format import block as blocks
from pyreftable.format import decoding
from pyreftable.format.header import footer_size
from pyreftable.format.records import RefRecord, decode_log, split_log_key
from pyreftable.refs.text import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyreftable.format.block import Block
    from pyreftable.table import Table

    Fields = dict[str, object]
    Entry = tuple[str, Fields]

_TYPE_NAMES = {blocks.REF: "ref", blocks.OBJ: "obj", blocks.LOG: "log", blocks.INDEX: "index"}


def table_fields(table: Table) -> Fields:
    """What a table says of itself."""
    return {
        "name": table.name,
        "size": table.size,
        "version": table.version,
        "hash": table.hash.name,
        "block_size": table.block_size,
        "min_update_index": table.min_update_index,
        "max_update_index": table.max_update_index,
    }


def entries(table: Table) -> Iterator[Entry]:
    """All there is in a table. Raises `FormatError` on reaching damage, not before."""
    yield "table", table_fields(table)
    section = blocks.REF
    for block in table.blocks():
        yield "block", _block_fields(block)
        if block.type == blocks.REF:
            yield from _refs(table, block)
        elif block.type == blocks.LOG:
            yield from _logs(table, block)
        elif block.type == blocks.OBJ:
            yield from _objects(block)
        else:
            yield from _index(block, section)
            continue
        section = block.type
    offset = table.size - footer_size(table.version)
    yield "footer", {"offset": offset, **table.footer._asdict()}


def _block_fields(block: Block) -> Fields:
    return {
        "type": _TYPE_NAMES[block.type],
        "offset": block.offset,
        "length": len(block.data),
        "full_size": block.full_size,
        "restarts": block.restart_offsets,
    }


def _refs(table: Table, block: Block) -> Iterator[Entry]:
    run = decoding.decode_refs(
        block, block.records, block.restarts, table.min_update_index, table.hash.size
    )
    for name, value_type, value, index in zip(*run, strict=True):
        record = RefRecord(name, index, value_type, value)
        fields: Fields = {"name": as_text(name), "update_index": index}
        if record.oid is not None:
            fields["oid"] = record.oid.hex()
        if record.peeled is not None:
            fields["peeled"] = record.peeled.hex()
        if record.target is not None:
            fields["target"] = as_text(record.target)
        if record.is_deletion:
            fields["deleted"] = True
        yield "ref", fields


def _logs(table: Table, block: Block) -> Iterator[Entry]:
    size = table.hash.size
    run = decoding.decode_logs(block, block.records, block.restarts, size)
    for key, value_type, value in zip(run.keys, run.types, run.values, strict=True):
        record = decode_log(key, value_type, value, size)
        fields: Fields = {"name": as_text(record.refname), "update_index": record.update_index}
        if record.is_deletion:
            fields["deleted"] = True
        else:
            fields |= {
                "old_oid": record.old_oid.hex(),
                "new_oid": record.new_oid.hex(),
                "committer": as_text(record.committer_name),
                "email": as_text(record.email),
                "time": record.time,
                "tz": f"{record.tz_offset:+05d}",
                "message": as_text(record.message),
            }
        yield "log", fields


def _objects(block: Block) -> Iterator[Entry]:
    for prefix, positions in zip(*blocks.decode_obj(block), strict=True):
        yield "obj", {"prefix": prefix.hex(), "positions": positions}


def _index(block: Block, section: bytes) -> Iterator[Entry]:
    """`section` is the type of the blocks that the index is about: it says what its keys are."""
    for key, position in zip(*blocks.decode_index(block), strict=True):
        if section == blocks.OBJ:
            fields: Fields = {"last": key.hex()}
        elif section == blocks.LOG:
            name, update_index = split_log_key(key)
            fields = {"last": as_text(name), "update_index": update_index}
        else:
            fields = {"last": as_text(key)}
        yield "index", {**fields, "position": position}
