"""Changing reflogs themselves: create, delete, append to. See `reflog_pruning` for the rest.

A log is deleted entry by entry: the format has no other mark. A log without entries has an
existence marker, an entry whose ids are both null. Source: git's behaviour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import LockError, TransactionError
from ..format.records import LogRecord
from .names import check_refname, is_pseudo_ref, refname_is_safe
from .reflog import Reflog

if TYPE_CHECKING:
    from ..stack import Addition, Stack
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


def _addition(stack: Stack) -> Addition:
    try:
        return stack.addition()
    except LockError as error:
        # As where a transaction fails to lock: git's words, and the file's path.
        raise LockError(f"cannot lock references: {error}", path=error.path) from error


def _marker(store: RefStore, key: bytes, update_index: int) -> LogRecord:
    return LogRecord(key, update_index, store.hash.null, store.hash.null)
