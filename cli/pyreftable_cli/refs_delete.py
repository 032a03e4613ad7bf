"""`refs delete`: delete a ref and its reflog; with an old value only if it holds that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .options import Table
from .refs_writing import (
    MESSAGE,
    NO_DEREF,
    Settings,
    apply,
    check_message,
    object_id,
    wrong_arguments,
)

if TYPE_CHECKING:
    from .context import Context

USAGE = "refs delete [--message=<reason>] [--no-deref] <ref> [<old-value>]"


def main(context: Context, argv: list[str]) -> int:
    """Run `refs delete`; returns the exit status."""
    settings = Settings()
    arguments = context.parse_options(Table((USAGE,), (MESSAGE, NO_DEREF)), argv, settings)
    if not 1 <= len(arguments) <= 2:
        wrong_arguments("delete requires reference name and an optional old object ID")
    message = check_message(context, settings)
    name = arguments[0]
    old = object_id(context, arguments[1], "old object ID") if len(arguments) == 2 else None
    if old is not None and not old.strip("0"):
        context.die("cannot delete reference with null old object ID")

    def act() -> None:
        transaction = context.store.transaction(message)
        transaction.delete(name, old, deref=not settings.no_deref)
        transaction.commit()

    return apply(context, act)
