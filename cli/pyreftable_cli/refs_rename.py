"""`refs rename`: give a ref, and its reflog, another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.refs.names import check_refname

from .options import Table
from .refs_writing import MESSAGE, Settings, apply, check_message, wrong_arguments

if TYPE_CHECKING:
    from .context import Context

USAGE = "refs rename [--message=<reason>] <old-ref> <new-ref>"


def main(context: Context, argv: list[str]) -> int:
    """Run `refs rename`; returns the exit status."""
    settings = Settings()
    arguments = context.parse_options(Table((USAGE,), (MESSAGE,)), argv, settings)
    if len(arguments) != 2:
        wrong_arguments("rename requires old and new reference name")
    message = check_message(context, settings)
    for name in arguments:
        if not check_refname(name):
            context.die(f"invalid ref format: '{name}'")
    old, new = arguments
    store = context.store
    if store.read(old) is None:
        context.die(f"reference does not exist: '{old}'")
    if store.read(new) is not None:
        context.die(f"reference already exists: '{new}'")
    return apply(context, lambda: store.rename(old, new, message))
