"""The `reference-transaction` hook: told of a transaction in each of its phases.

    preparing    before the stacks are locked
    prepared     locked and checked, nothing written yet
    committed    everything is visible
    aborted      given up, for whatever reason but a refusal in preparing

The phase is the hook's argument; its input has a line `<old> <new> <ref>` for every update of a
ref. Ids of all zeros mean "not given" or "no ref"; `ref:<name>` stands for a symref's target. In
the later phases the updates are those that were really made: the target's in a symref's place.
A failure in the first two phases aborts the transaction.

Source: `githooks`, section "reference-transaction".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import HookError
from .text import as_bytes

if TYPE_CHECKING:
    from .transaction import Transaction
    from .update import Update

_EVENT = "reference-transaction"


def run_transaction_hook(transaction: Transaction, phase: str) -> bool:
    """Run the hook if there is one; whether it succeeded. Raises `ConfigError`."""
    return transaction.store.hooks.run(_EVENT, phase, lambda: _lines(transaction))


def hook_error(phase: str) -> HookError:
    """The error for a hook that refused in that phase."""
    return HookError(f"in '{phase}' phase, update aborted by the reference-transaction hook")


def _lines(transaction: Transaction) -> bytes:
    null = transaction.store.hash.null_hex
    return as_bytes(
        "".join(_line(update, null) for update in transaction.updates if not update.log_only)
    )


def _line(update: Update, null: str) -> str:
    old = _value(update.old_oid, update.old_target, null)
    new = _value(update.new_oid, update.new_target, null)
    return f"{old} {new} {update.refname}\n"


def _value(oid: bytes | None, target: str | None, null: str) -> str:
    if target is not None:
        return f"ref:{target}"
    return null if oid is None else oid.hex()
