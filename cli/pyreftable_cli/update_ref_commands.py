"""The commands of `update-ref --stdin` that queue updates: update, create, delete, verify and
their forms for symrefs.

Each function reads its arguments to the line's end before it queues, in git's order, so that the
first mistake is the one reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import Rejection, TransactionError
from pyreftable.refs.names import check_refname

from .context import encode
from .exits import Fatal

if TYPE_CHECKING:
    from pyreftable.refs.transaction import Transaction

    from .context import Context
    from .update_ref_arguments import Arguments


class Queue:
    """Where updates go: the transaction at hand, and how updates are made.

    `deref` is for the next update only, and then goes back to `default_deref`.
    """

    def __init__(
        self, context: Context, transaction: Transaction, *, deref: bool, create_reflog: bool
    ) -> None:
        self.context = context
        self.transaction = transaction
        self.default_deref = deref
        self.deref = deref
        self.create_reflog = create_reflog

    @property
    def is_plain(self) -> bool:
        """Whether no option, of the command line or for the next update, makes it a special one."""
        return self.deref == self.default_deref and not self.create_reflog

    def refuse(self, error: TransactionError, new: bytes, old: bytes | None) -> None:
        """An update was refused as it was queued: a rejection in batch mode, or the end."""
        if not self.transaction.batch or error.reason is Rejection.GENERIC:
            raise error
        self.print_rejection(error.refname or "", new, old, error.reason, str(error))

    def print_rejection(
        self,
        refname: str,
        new: bytes | None,
        old: bytes | None,
        reason: Rejection,
        details: str,
    ) -> None:
        """Tell of an update that is left out. `None` is a value that was not given."""
        if details:
            self.context.error(details)
        line = f"rejected {refname} {self._shown(new)} {self._shown(old)} {reason.value}\n"
        self.context.stdout.write(encode(line))

    def _shown(self, oid: bytes | None) -> str:
        # What C prints for a missing string is what scripts see from git.
        return "(null)" if oid is None else oid.hex() or self.transaction.store.hash.null_hex


def queue_update(queue: Queue, arguments: Arguments) -> None:
    """`update SP <ref> SP <new-oid> [SP <old-oid>]`"""
    refname = arguments.refname("update")
    command = f"update {refname}"
    new = arguments.next_new_oid(command, empty_is_null=True)
    old = arguments.next_old_oid(command)
    arguments.expect_end(command)
    try:
        queue.transaction.update(
            refname, new, old, deref=queue.deref, create_reflog=queue.create_reflog
        )
    except TransactionError as error:
        queue.refuse(error, new, old)


def queue_create(queue: Queue, arguments: Arguments) -> None:
    """`create SP <ref> SP <new-oid>`"""
    refname = arguments.refname("create")
    command = f"create {refname}"
    new = arguments.next_new_oid(command)
    if not any(new):
        raise Fatal(f"{command}: zero <new-oid>")
    arguments.expect_end(command)
    try:
        queue.transaction.create(refname, new, deref=queue.deref, create_reflog=queue.create_reflog)
    except TransactionError as error:
        queue.refuse(error, new, None)


def queue_delete(queue: Queue, arguments: Arguments) -> None:
    """`delete SP <ref> [SP <old-oid>]`"""
    refname = arguments.refname("delete")
    command = f"delete {refname}"
    old = arguments.next_old_oid(command)
    if old is not None and not any(old):
        raise Fatal(f"{command}: zero <old-oid>")
    arguments.expect_end(command)
    queue.transaction.delete(refname, old, deref=queue.deref)


def queue_verify(queue: Queue, arguments: Arguments) -> None:
    """`verify SP <ref> [SP <old-oid>]`"""
    refname = arguments.refname("verify")
    command = f"verify {refname}"
    old = arguments.next_old_oid(command)
    arguments.expect_end(command)
    queue.transaction.verify(refname, old or b"", deref=queue.deref)


def queue_symref_update(queue: Queue, arguments: Arguments) -> None:
    """`symref-update SP <ref> SP <new-target> [SP (ref SP <old-target> | oid SP <old-oid>)]`"""
    refname = arguments.refname("symref-update")
    command = f"symref-update {refname}"
    target = _new_target(arguments, command)
    old_target, old = _old_value(arguments, command)
    arguments.expect_end(command)
    queue.transaction.symref_update(
        refname,
        target,
        old_target=old_target,
        old=old,
        deref=queue.deref,
        create_reflog=queue.create_reflog,
    )


def _new_target(arguments: Arguments, command: str) -> str:
    target = arguments.next_refname()
    if target is None:
        raise Fatal(f"{command}: missing <new-target>")
    return target


def _old_value(arguments: Arguments, command: str) -> tuple[str | None, bytes | None]:
    """The old value of `symref-update`: a target or an id, or neither."""
    kind = arguments.next_text()
    if kind is None:
        return None, None
    value = arguments.next_text()
    if value is None:
        raise Fatal(f"{command}: expected old value")
    if kind == "ref":
        if not check_refname(value, allow_onelevel=True):
            raise Fatal(f"{command}: invalid ref: {value}")
        return value, None
    if kind != "oid":
        raise Fatal(f"{command}: invalid arg '{kind}' for old value")
    oid = arguments.object_id(value)
    if oid is None:
        raise Fatal(f"{command}: invalid oid: {value}")
    return None, oid


def queue_symref_create(queue: Queue, arguments: Arguments) -> None:
    """`symref-create SP <ref> SP <new-target>`"""
    refname = arguments.refname("symref-create")
    command = f"symref-create {refname}"
    target = _new_target(arguments, command)
    arguments.expect_end(command)
    queue.transaction.symref_create(
        refname, target, deref=queue.deref, create_reflog=queue.create_reflog
    )


def queue_symref_delete(queue: Queue, arguments: Arguments) -> None:
    """`symref-delete SP <ref> [SP <old-target>]`"""
    _refuse_deref(queue, "symref-delete")
    refname = arguments.refname("symref-delete")
    old_target = arguments.next_refname()
    arguments.expect_end(f"symref-delete {refname}")
    queue.transaction.symref_delete(refname, old_target)


def queue_symref_verify(queue: Queue, arguments: Arguments) -> None:
    """`symref-verify SP <ref> [SP <old-target>]`"""
    _refuse_deref(queue, "symref-verify")
    refname = arguments.refname("symref-verify")
    old_target = arguments.next_refname()
    arguments.expect_end(f"symref-verify {refname}")
    queue.transaction.symref_verify(refname, old_target)


def _refuse_deref(queue: Queue, command: str) -> None:
    if queue.deref:
        raise Fatal(f"{command}: cannot operate with deref mode")
