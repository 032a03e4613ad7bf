"""Renaming and copying a ref with its reflog, as `git branch -m` and `-c` do.

A rename takes two update indices in one table: at the first the old ref and its log go, at the
second the new ref comes, so that the new log can hold both the deletion and the creation.
Source: git's behaviour, checked against `git refs rename` and `git branch -m`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import RefNameError, TransactionError
from ..format.records import DELETION, SYMREF, LogRecord, RefRecord, log_key
from .conflicts import check_name_available
from .identity import clean_message, committer
from .names import check_refname
from .reflog import Reflog

if TYPE_CHECKING:
    from ..stack import Addition
    from ..writer import TableWriter
    from .store import RefStore


def copy_ref(store: RefStore, old: str, new: str, message: bytes, *, delete_old: bool) -> None:
    """Make `new` what `old` is, log included; with `delete_old` this is a rename.

    Raises `TransactionError` when `old` does not exist or is a symref, or `new` cannot be
    created; `RefNameError` for a malformed new name.
    """
    if not check_refname(new, allow_onelevel=True):
        raise RefNameError(f"bad ref name '{new}'")
    stack, new_key = store.locate(new)
    old_key = store.locate(old)[1]
    with stack.addition() as addition:
        record = addition.snapshot.merged.ref(old_key)
        if record is None:
            raise TransactionError(f"refname {old} not found", refname=old)
        if record.value_type == SYMREF:
            what = f"refname {old} is a symbolic ref, copying it is not supported"
            raise TransactionError(what, refname=old)
        if old == new:
            return
        check_name_available(store, new, frozenset((old,)) if delete_old else frozenset())
        content = _CopyContent(store, addition, record, new_key, clean_message(message), delete_old)
        first = addition.next_update_index
        addition.write_table(content.fill, max_update_index=first + delete_old)
        addition.commit()


class _CopyContent:
    """The records of a copy or rename."""

    def __init__(
        self,
        store: RefStore,
        addition: Addition,
        old: RefRecord,
        new_key: bytes,
        message: bytes,
        delete_old: bool,
    ) -> None:
        self.merged = addition.snapshot.merged
        self.old = old
        self.new_key = new_key
        self.delete_old = delete_old
        self.deletion_index = addition.next_update_index
        self.creation_index = self.deletion_index + delete_old
        self.null = store.hash.null
        who = committer(store.repository)
        self.entry = LogRecord(
            new_key,
            self.creation_index,
            self.null,
            self.null,
            who.name,
            who.email,
            who.time,
            who.tz_offset,
            message[: store.options.write.block_size // 2],
        )

    def fill(self, writer: TableWriter) -> None:
        """Write the refs, then the logs."""
        old = self.old
        refs = [old._replace(refname=self.new_key, update_index=self.creation_index)]
        if self.delete_old:
            refs.append(RefRecord(old.refname, self.deletion_index, DELETION, b""))
        writer.add_refs(sorted(refs))
        writer.add_logs(
            sorted(self._logs(), key=lambda log: log_key(log.refname, log.update_index))
        )

    def _logs(self) -> list[LogRecord]:
        oid = self.old.oid or self.null
        logs = [self.entry._replace(new_oid=oid)]
        if self.delete_old:
            deletion = self.entry._replace(update_index=self.deletion_index, old_oid=oid)
            logs.append(deletion)
            head = self.merged.ref(b"HEAD")
            if head is not None and head.target == self.old.refname:
                logs.append(deletion._replace(refname=b"HEAD"))
        for record in Reflog(self.merged, self.old.refname).records():
            logs.append(record._replace(refname=self.new_key))
            if self.delete_old:
                logs.append(LogRecord.deletion(record.refname, record.update_index))
        return logs
