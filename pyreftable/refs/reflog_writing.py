"""Changing reflogs themselves: create, delete, append to, expire.

A log is deleted entry by entry: the format has no other mark. A log that loses its last entry
keeps an existence marker, an entry whose ids are both null. Source: git's behaviour.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import LockError, ObjectMissingError, TransactionError
from ..format.records import OID, OID_AND_PEELED, LogRecord, RefRecord
from .names import check_refname, is_pseudo_ref, refname_is_safe
from .reflog import Reflog, ReflogEntry

if TYPE_CHECKING:
    from ..stack import Addition, Stack
    from ..writer import TableWriter
    from .store import RefStore

Judge = Callable[[ReflogEntry], bool]


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


def append_entry(store: RefStore, name: str, old: bytes, new: bytes, message: bytes) -> None:
    """Add an entry to the log of `name`, which is created if need be; the ref stays as it is.

    `old` and `new` are raw ids. The reference-transaction hook is asked, as git asks it: with no
    ref to name. Git 2.55 deletes the log when `new` is null; here it is an entry like others.
    Raises `TransactionError` for a name that cannot have a log, `HookError`, `LockError`.
    """
    from .identity import clean_message, committer

    if is_pseudo_ref(name):
        what = f"refusing to update reflog for pseudoref '{name}'"
        raise TransactionError(what, refname=name)
    if not (check_refname(name, allow_onelevel=True) if any(new) else refname_is_safe(name)):
        raise TransactionError(f"refusing to update reflog with bad name '{name}'", refname=name)
    stack, key = store.locate(name)
    who = committer(store.repository)
    text = clean_message(message)[: store.options.write.block_size // 2]
    with store.transaction() as transaction:
        transaction.prepare()
        with _addition(stack) as addition:
            index = addition.next_update_index
            entry = LogRecord(
                key, index, old, new, who.name, who.email, who.time, who.tz_offset, text
            )
            addition.write_table(lambda writer: writer.add_log(entry))
            addition.commit()


def expire_reflog(
    store: RefStore,
    name: str,
    should_prune: Judge,
    *,
    rewrite: bool = False,
    update_ref: bool = False,
    dry_run: bool = False,
) -> None:
    """Drop the entries for which `should_prune` says so; it is asked oldest first.

    `rewrite` closes the gaps: an entry's old id becomes the new id of the one kept before it.
    `update_ref` sets the ref, unless it is a symref, to the newest entry kept. `dry_run` only
    asks.
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
        ref = merged.ref(key) if update_ref else None
        moves = ref is not None and ref.oid is not None and last is not None and any(last)
        new_ref = _ref_at(store, key, addition, last) if moves and last is not None else None
        if last is None:
            rewritten.append(_marker(store, key, addition.next_update_index))

        def fill(writer: TableWriter) -> None:
            if new_ref is not None:
                writer.add_ref(new_ref)
            writer.add_logs(reversed(rewritten))

        addition.write_table(fill)
        addition.commit()


def _addition(stack: Stack) -> Addition:
    try:
        return stack.addition()
    except LockError as error:
        # As where a transaction fails to lock: git's words, and the file's path.
        raise LockError(f"cannot lock references: {error}", path=error.path) from error


def _ref_at(store: RefStore, key: bytes, addition: Addition, oid: bytes) -> RefRecord:
    try:
        peeled = store.objects.peel(oid.hex())
    except ObjectMissingError:
        peeled = None
    if peeled is None:
        return RefRecord(key, addition.next_update_index, OID, oid)
    return RefRecord(key, addition.next_update_index, OID_AND_PEELED, oid + bytes.fromhex(peeled))


def _marker(store: RefStore, key: bytes, update_index: int) -> LogRecord:
    return LogRecord(key, update_index, store.hash.null, store.hash.null)
