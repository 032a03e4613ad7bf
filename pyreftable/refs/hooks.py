"""The `reference-transaction` hook.

Called in each phase ("preparing", "prepared", "committed", "aborted") with a line
`<old> <new> <ref>` for every update of a ref on its standard input; ids of all zeros mean "not
given" or "no ref", `ref:<name>` stands for a symref's target. A failure in the first two phases
aborts the transaction. Source: githooks(5).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .text import as_bytes

if TYPE_CHECKING:
    from .transaction import Transaction
    from .update import Update

_NAME = "reference-transaction"


def run_transaction_hook(transaction: Transaction, phase: str) -> int:
    """Run the hook if there is one; its exit code, or 0."""
    repository = transaction.store.repository
    path = os.path.join(repository.hooks_dir, _NAME)
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        return 0
    return _run(transaction, path, phase)


def _run(transaction: Transaction, path: str, phase: str) -> int:
    import subprocess

    repository = transaction.store.repository
    environment = dict(repository.environ)
    environment["GIT_DIR"] = os.path.abspath(repository.git_dir)
    lines = "".join(
        _line(update, transaction.store.hash.null_hex)
        for update in transaction.updates
        if not update.log_only
    )
    done = subprocess.run(
        [os.path.abspath(path), phase],
        input=as_bytes(lines),
        cwd=repository.work_tree or repository.git_dir,
        env=environment,
        stdout=2,
        check=False,
    )
    return done.returncode


def _line(update: Update, null: str) -> str:
    old = _value(update.old_oid, update.old_target, null)
    new = _value(update.new_oid, update.new_target, null)
    return f"{old} {new} {update.refname}\n"


def _value(oid: bytes | None, target: str | None, null: str) -> str:
    if target is not None:
        return f"ref:{target}"
    return null if oid is None else oid.hex()
