"""Committing a prepared transaction: each stack's updates become the records of one table.

Deleting a ref deletes its log, entry by entry; every other change writes an entry where
`core.logAllRefUpdates`, an existing log or the caller asks for one. Tables of all stacks are
written before the first list is swapped, so that a full disk stops everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import EntryTooLargeError, TransactionError
from ..format.records import (
    DELETION,
    OID,
    OID_AND_PEELED,
    SYMREF,
    LogRecord,
    RefRecord,
    log_key,
)
from ..writer import ref_run
from .hooks import run_transaction_hook
from .names import should_autocreate_reflog
from .reflog import Reflog
from .settings import log_all_ref_updates
from .text import as_bytes

if TYPE_CHECKING:
    from ..format.block import Run
    from .checks import Plan, StackPlan
    from .identity import Identity
    from .store import RefStore
    from .transaction import Transaction
    from .update import Update


def commit(transaction: Transaction, plan: Plan) -> None:
    """Write and publish; releases the plan's locks in any case.

    Raises `TransactionError` for what fits in no block, with the reason as its cause, and
    `StorageError`.
    """
    try:
        for stack_plan in plan.stacks.values():
            run = stack_plan.run
            if run is not None:
                stack_plan.addition.write_records(run)
            elif stack_plan.updates:
                content = _TableContent(transaction.store, stack_plan)
                stack_plan.addition.write_records(content.refs(), content.logs())
        for stack_plan in plan.stacks.values():
            stack_plan.addition.commit()
    except EntryTooLargeError as error:
        raise TransactionError("reftable: transaction failure: entry too large") from error
    finally:
        plan.release()
    run_transaction_hook(transaction, "committed")


class _TableContent:
    """The records of one stack's part of a transaction."""

    def __init__(self, store: RefStore, plan: StackPlan) -> None:
        self.store = store
        self.merged = plan.addition.snapshot.merged
        self.index = plan.addition.next_update_index
        self.updates = sorted(plan.updates, key=lambda update: update.key)
        self.has_logs = any(table.has_logs for table in self.merged.tables)
        self.mode = log_all_ref_updates(store.repository)
        self.message_limit = store.options.write.block_size // 2
        self._committer: Identity | None = None

    def refs(self) -> Run:
        """The ref records, in the order of their names."""
        return ref_run([record for update in self.updates if (record := self._ref(update))])

    def logs(self) -> list[LogRecord]:
        """The log records, in key order."""
        logs = [log for update in self.updates for log in self._logs(update)]
        logs.sort(key=lambda log: log_key(log.refname, log.update_index))
        return logs

    def _ref(self, update: Update) -> RefRecord | None:
        if update.log_only or not update.has_new:
            return None
        if update.new_target is not None:
            target = as_bytes(update.new_target)
            return RefRecord(update.key, self.index, SYMREF, target)
        oid = update.new_oid or b""
        if update.is_deletion:
            return RefRecord(update.key, self.index, DELETION, b"")
        if update.peeled is not None:
            return RefRecord(update.key, self.index, OID_AND_PEELED, oid + update.peeled)
        return RefRecord(update.key, self.index, OID, oid)

    def _logs(self, update: Update) -> Iterator[LogRecord]:
        if not update.has_new:
            return
        if update.is_deletion and not update.is_symref:
            if self.has_logs:
                for record in Reflog(self.merged, update.key).records():
                    yield LogRecord.deletion(record.refname, record.update_index)
        elif update.create_reflog or self._is_logged(update):
            new_oid = self._logged_oid(update)
            if new_oid is not None:
                yield self._entry(update, new_oid)

    def _is_logged(self, update: Update) -> bool:
        if should_autocreate_reflog(update.refname, self.mode):
            return True
        return self.has_logs and Reflog(self.merged, update.key).exists

    def _logged_oid(self, update: Update) -> bytes | None:
        """The id that the entry names as new; a symref that dangles gets no entry."""
        if update.new_target is None:
            return update.new_oid
        oid = self.store.read(update.new_target)
        return None if oid is None else bytes.fromhex(oid)

    def _entry(self, update: Update, new_oid: bytes) -> LogRecord:
        if self._committer is None:
            from .identity import committer

            self._committer = committer(self.store.repository)
        who = self._committer
        return LogRecord(
            update.key,
            self.index,
            update.current_oid,
            new_oid,
            who.name,
            who.email,
            who.time,
            who.tz_offset,
            # With its line end, because an entry between two null ids (the branch of HEAD
            # deleted while unborn) would otherwise be taken for a mere existence marker.
            update.message[: self.message_limit] + b"\n",
        )
