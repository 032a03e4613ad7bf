"""Changing reflogs themselves: create, delete, expire.

A log is deleted entry by entry: the format has no other mark. A log that loses its last entry
keeps an existence marker, an entry whose ids are both null. Source: git's behaviour.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..format.records import OID, OID_AND_PEELED, LogRecord, RefRecord
from .reflog import Reflog, ReflogEntry

if TYPE_CHECKING:
    from ..stack import Addition
    from ..writer import TableWriter
    from .store import RefStore


def create_reflog(store: RefStore, name: str) -> None:
    """Start an empty log for `name`, unless it has one."""
    stack, key = store.locate(name)
    with stack.addition() as addition:
        if Reflog(addition.snapshot.merged, key).exists:
            return
        marker = _marker(store, key, addition.next_update_index)
        addition.write_table(lambda writer: writer.add_log(marker))
        addition.commit()


def delete_reflog(store: RefStore, name: str) -> None:
    """Delete the log of `name`, its existence included; no error where there is none."""
    stack, key = store.locate(name)
    with stack.addition() as addition:
        records = Reflog(addition.snapshot.merged, key).records()
        tombstones = [LogRecord.deletion(key, record.update_index) for record in records]
        addition.write_table(lambda writer: writer.add_logs(tombstones))
        addition.commit()


def expire_reflog(
    store: RefStore,
    name: str,
    should_prune: Callable[[ReflogEntry], bool],
    *,
    rewrite: bool = False,
    update_ref: bool = False,
    dry_run: bool = False,
) -> None:
    """Drop the entries for which `should_prune` says so; it is asked oldest first.

    `rewrite` closes the gaps: an entry's old id becomes the new id of the one kept before it.
    `update_ref` sets the ref to the newest entry kept. `dry_run` only asks.
    """
    stack, key = store.locate(name)
    with stack.addition() as addition:
        merged = addition.snapshot.merged
        records = [r for r in Reflog(merged, key).records() if not r.is_existence_marker]
        rewritten: list[LogRecord] = []
        last: bytes | None = None
        for record in reversed(records):
            if should_prune(ReflogEntry.of(record)):
                rewritten.append(LogRecord.deletion(key, record.update_index))
                continue
            rewritten.append(record._replace(old_oid=last) if rewrite and last else record)
            last = record.new_oid
        if dry_run:
            return
        ref = merged.ref(key)
        moves = update_ref and last is not None and ref is not None
        new_ref = _ref_at(store, key, addition, last) if moves and last is not None else None
        if last is None:
            rewritten.append(_marker(store, key, addition.next_update_index))

        def fill(writer: TableWriter) -> None:
            if new_ref is not None:
                writer.add_ref(new_ref)
            writer.add_logs(reversed(rewritten))

        addition.write_table(fill)
        addition.commit()


def _ref_at(store: RefStore, key: bytes, addition: Addition, oid: bytes) -> RefRecord:
    peeled = store.objects.peel(oid.hex())
    if peeled is None:
        return RefRecord(key, addition.next_update_index, OID, oid)
    return RefRecord(key, addition.next_update_index, OID_AND_PEELED, oid + bytes.fromhex(peeled))


def _marker(store: RefStore, key: bytes, update_index: int) -> LogRecord:
    return LogRecord(key, update_index, store.hash.null, store.hash.null)
