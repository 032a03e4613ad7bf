"""Preparing a transaction: lock the stacks, check every update, plan what is written.

The rules are git's: an update of a symref is split into a log entry for the symref and an update
of what it points to; an update of the branch that HEAD points to adds a log entry for HEAD; old
values must match; what changes nothing is not written. Git's messages speak of locking a ref,
though only the stack is locked; scripts know them, so they are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ..errors import LockError, RefNameError, Rejection, TransactionError
from ..format.block import Run
from ..format.records import SYMREF, RefRecord
from ..probe import refs_among
from .bulk import Batch, may_be_plain, plan_run, sorted_batch
from .conflicts import check_available, check_long_names
from .hooks import hook_error, run_transaction_hook
from .text import as_bytes, as_text
from .update import Update

if TYPE_CHECKING:
    from ..stack import Addition, Stack
    from .transaction import Transaction


class StackPlan:
    """What one transaction does to one stack, which is locked by `addition`.

    Either `updates`, or for a plain batch the finished `run` of ref records.
    """

    def __init__(self, stack: Stack, addition: Addition) -> None:
        self.stack = stack
        self.addition = addition
        self.updates: list[Update] = []
        self.run: Run | None = None
        self.current: dict[bytes, RefRecord] = {}


class Plan:
    """The locked stacks of a prepared transaction, in the order in which they were locked."""

    def __init__(self) -> None:
        self.stacks: dict[Stack, StackPlan] = {}

    def release(self) -> None:
        """Roll back every addition: locks and temporary files go."""
        for plan in self.stacks.values():
            plan.addition.rollback()


def prepare(transaction: Transaction) -> Plan:
    """Lock and check; the caller owns the plan. Raises `TransactionError`, `LockError`."""
    if "GIT_QUARANTINE_PATH" in transaction.store.repository.environ:
        # Objects that a push brings are not the repository's own until its hooks agree.
        raise TransactionError("ref updates forbidden inside quarantine environment")
    batch = _plain_batch(transaction)
    if batch is None:
        _refuse_duplicates(transaction.updates)
    if not run_transaction_hook(transaction, "preparing"):
        run_transaction_hook(transaction, "aborted")
        raise hook_error("preparing")
    plan = None if batch is None else _plan_in_bulk(transaction, batch)
    if plan is None:
        plan = _plan_one_by_one(transaction)
    try:
        is_agreed = run_transaction_hook(transaction, "prepared")
    except BaseException:
        plan.release()
        raise
    if not is_agreed:
        plan.release()
        run_transaction_hook(transaction, "aborted")
        raise hook_error("prepared")
    return plan


def _plain_batch(transaction: Transaction) -> Batch | None:
    """The updates as sorted columns, where they may be plain enough for that."""
    columns = transaction.columns
    batch = None if columns is None else sorted_batch(columns)
    return batch if batch is not None and may_be_plain(transaction.store, batch) else None


def _plan_in_bulk(transaction: Transaction, batch: Batch) -> Plan | None:
    """The plan of a batch; `None` if it turns out not to be plain, or a hook took it apart."""
    columns = transaction.columns
    if columns is None:
        return None
    stack = transaction.store.stack()
    plan = Plan()
    try:
        plan.stacks[stack] = stack_plan = StackPlan(stack, _locked(stack))
        stack_plan.run = plan_run(transaction.store, stack_plan.addition, batch, columns.peeled)
    except BaseException:
        plan.release()
        raise
    if stack_plan.run is None:
        plan.release()
        return None
    return plan


def _plan_one_by_one(transaction: Transaction) -> Plan:
    plan = _lock(transaction)
    try:
        _Checker(transaction, plan).run()
    except BaseException:
        plan.release()
        raise
    return plan


def _locked(stack: Stack) -> Addition:
    try:
        return stack.addition()
    except LockError as error:
        raise LockError(f"cannot lock references: {error}", path=error.path) from error


def _refuse_duplicates(updates: Sequence[Update]) -> None:
    if len({update.refname for update in updates}) == len(updates):
        return
    # Of several, git names the first in byte order.
    names = sorted((update.refname for update in updates), key=as_bytes)
    twice = next(name for name, following in pairwise(names) if name == following)
    raise TransactionError(f"multiple updates for ref '{twice}' not allowed", refname=twice)


def _lock(transaction: Transaction) -> Plan:
    """Lock every stack the updates touch, always in the same order, and read current values."""
    locate = transaction.store.locate
    keys: dict[Stack, list[bytes]] = {}
    for update in transaction.updates:
        stack, update.key = locate(update.refname)
        keys.setdefault(stack, []).append(update.key)
    check_long_names(transaction.updates, locate)
    for stack in _stacks_behind(transaction, keys):
        keys.setdefault(stack, [])
    plan = Plan()
    try:
        for stack in sorted(keys, key=lambda stack: stack.storage.location):
            plan.stacks[stack] = stack_plan = StackPlan(stack, _locked(stack))
            merged = stack_plan.addition.snapshot.merged
            stack_plan.current = refs_among(merged, sorted(keys[stack]))
    except BaseException:
        plan.release()
        raise
    return plan


def _stacks_behind(transaction: Transaction, touched: Collection[Stack]) -> Iterator[Stack]:
    """The stacks that the checks will need besides: where our symrefs lead, where our HEAD is.

    What is read here may change before the locks are taken; then a stack is locked late, out of
    the order, as git always does it.
    """
    store = transaction.store
    own, shared = store.worktree_stack, store.stack()
    if own is None or (own in touched and shared in touched):
        return
    if own in touched:
        merged = own.snapshot().merged
        for update in transaction.updates:
            record = merged.ref(update.key) if update.deref else None
            if record is not None and record.target is not None:
                yield store.locate(as_text(record.target))[0]
    elif shared in touched:
        head = store.get("HEAD")
        if head is not None and any(u.refname == head.target for u in transaction.updates):
            yield own


class _Checker:
    """Walks the updates, and those that are added on the way."""

    def __init__(self, transaction: Transaction, plan: Plan) -> None:
        self.transaction = transaction
        self.store = transaction.store
        self.plan = plan
        self.null = transaction.store.hash.null
        self.refnames = {update.refname for update in transaction.updates}
        self.unborn: list[Update] = []
        head = transaction.store.get("HEAD")
        self.head_target = head.target if head else None

    def run(self) -> None:
        # The list grows while it is walked: split symrefs and HEAD's log entries are appended.
        for update in self.transaction.updates:
            try:
                self._check(update)
            except TransactionError as error:
                self._reject(update, error)
        check_available(self.store, self.unborn, self.refnames, self._reject)
        for stack_plan in self.plan.stacks.values():
            stack_plan.updates = [u for u in stack_plan.updates if u.rejection is None]

    def _reject(self, update: Update, error: TransactionError) -> None:
        self.transaction.reject(update, error)
        self.refnames.discard(update.refname)

    def _check(self, update: Update) -> None:
        if update.refname == self.head_target and not update.log_only and not update.via_head:
            self._log_for_head(update)
        stack_plan = self._plan_for(update)
        record = stack_plan.current.get(update.key)
        if record is None:
            self._check_missing(update, stack_plan)
            return
        if record.value_type == SYMREF:
            self._follow(update, as_text(record.value))
        else:
            update.current_oid = record.oid or self.null
        self._check_old_value(update, record)
        if (
            update.is_symref
            or update.log_only
            or update.new_target is not None
            or (update.new_oid is not None and update.new_oid != update.current_oid)
        ):
            stack_plan.updates.append(update)

    def _plan_for(self, update: Update) -> StackPlan:
        """The plan of the update's stack; an update that was added may bring a new one."""
        stack, update.key = self.store.locate(update.refname)
        stack_plan = self.plan.stacks.get(stack)
        if stack_plan is None:
            stack_plan = self.plan.stacks[stack] = StackPlan(stack, _locked(stack))
        if update.parent is not None or update.log_only:
            record = stack_plan.addition.snapshot.merged.ref(update.key)
            if record is not None:
                stack_plan.current[update.key] = record
        return stack_plan

    def _check_missing(self, update: Update, stack_plan: StackPlan) -> None:
        update.current_oid = self.null
        if update.expects_existing:
            message = (
                f"cannot lock ref '{update.first_refname}': "
                f"unable to resolve reference '{update.refname}'"
            )
            self._refuse(update, message, Rejection.NONEXISTENT_REF)
        self.unborn.append(update)
        if update.has_new and not update.is_deletion:
            stack_plan.updates.append(update)

    def _log_for_head(self, update: Update) -> None:
        """Add the log entry that HEAD gets when its branch moves."""
        if "HEAD" in self.refnames:
            message = (
                f"multiple updates for 'HEAD' (including one via its referent "
                f"'{update.refname}') are not allowed"
            )
            self._refuse(update, message, Rejection.NAME_CONFLICT)
        head = Update(
            "HEAD",
            new_oid=update.new_oid if update.new_oid is not None else None,
            old_oid=update.old_oid,
            peeled=update.peeled,
            deref=False,
            create_reflog=update.create_reflog,
            log_only=True,
            message=update.message,
        )
        if update.new_target is not None:
            # Git logs the null id here; what the target holds is only known when it is written.
            head.new_oid = self.null
        self.transaction.updates.append(head)

    def _follow(self, update: Update, target: str) -> None:
        """The ref is a symref: log it, and update what it points to unless told not to."""
        update.is_symref = True
        resolved = self._resolved(update.refname)
        update.current_oid = resolved or self.null
        if not update.deref:
            if resolved is None and (update.old_oid is not None or update.old_target is not None):
                message = f"cannot lock ref '{update.refname}': error reading reference"
                self._refuse(update, message, Rejection.GENERIC)
            return
        if target in self.refnames:
            message = (
                f"multiple updates for '{target}' (including one via symref "
                f"'{update.refname}') are not allowed"
            )
            self._refuse(update, message, Rejection.NAME_CONFLICT)
        behind = Update(
            target,
            new_oid=update.new_oid,
            old_oid=update.old_oid,
            new_target=update.new_target,
            old_target=update.old_target,
            peeled=update.peeled,
            create_reflog=update.create_reflog,
            message=update.message,
        )
        behind.parent = update
        behind.via_head = update.via_head or update.key == b"HEAD"
        self.refnames.add(target)
        self.transaction.updates.append(behind)
        update.log_only = True
        update.deref = False

    def _resolved(self, refname: str) -> bytes | None:
        """The id behind a symref, null if it dangles; `None` if it cannot be followed."""
        try:
            oid = self.store.resolve(refname).oid
        except RefNameError:
            return None
        return self.null if oid is None else bytes.fromhex(oid)

    def _check_old_value(self, update: Update, record: RefRecord) -> None:
        if update.old_target is not None:
            self._check_old_target(update, record)
        elif update.old_oid is not None and not update.log_only:
            self._check_old_oid(update, update.old_oid, record)

    def _check_old_target(self, update: Update, record: RefRecord) -> None:
        name = update.first_refname
        if not update.is_symref:
            message = (
                f"cannot lock ref '{name}': expected symref with target "
                f"'{update.old_target}': but is a regular ref"
            )
            self._refuse(update, message, Rejection.EXPECTED_SYMREF)
        target = as_text(record.value)
        if target != update.old_target:
            message = (
                f"verifying symref target: '{name}': is at {target} "
                f"but expected {update.old_target}"
            )
            self._refuse(update, message, Rejection.INCORRECT_OLD_VALUE)

    def _check_old_oid(self, update: Update, old_oid: bytes, record: RefRecord) -> None:
        where = f"cannot lock ref '{update.first_refname}': "
        current = update.current_oid
        if current == old_oid:
            # A dangling symref looks like no ref; creating over it would destroy it.
            if not update.deref and update.is_symref and old_oid == self.null:
                message = where + "dangling symref already exists"
                self._refuse(update, message, Rejection.CREATE_EXISTS)
        elif old_oid == self.null:
            self._refuse(update, where + "reference already exists", Rejection.CREATE_EXISTS)
        elif current == self.null:
            message = f"{where}reference is missing but expected {old_oid.hex()}"
            self._refuse(update, message, Rejection.NONEXISTENT_REF)
        else:
            message = f"{where}is at {current.hex()} but expected {old_oid.hex()}"
            self._refuse(update, message, Rejection.INCORRECT_OLD_VALUE)

    def _refuse(self, update: Update, message: str, reason: Rejection) -> None:
        raise TransactionError(message, reason=reason, refname=update.refname)
