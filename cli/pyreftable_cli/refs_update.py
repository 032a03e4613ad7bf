"""`refs update`: set a ref, create or delete it; with an old value only if it holds that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .options import Table
from .refs_writing import (
    CREATE_REFLOG,
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

USAGE = (
    "refs update [--message=<reason>] [--no-deref] [--create-reflog] "
    "<ref> <new-value> [<old-value>]"
)


def main(context: Context, argv: list[str]) -> int:
    """Run `refs update`; returns the exit status."""
    settings = Settings()
    table = Table((USAGE,), (MESSAGE, NO_DEREF, CREATE_REFLOG))
    arguments = context.parse_options(table, argv, settings)
    if not 2 <= len(arguments) <= 3:
        wrong_arguments("update requires reference name, new value and an optional old value")
    message = check_message(context, settings)
    name = arguments[0]
    new = object_id(context, arguments[1], "new object ID")
    old = object_id(context, arguments[2], "old object ID") if len(arguments) == 3 else None

    def act() -> None:
        transaction = context.store.transaction(message)
        transaction.update(
            name, new, old, deref=not settings.no_deref, create_reflog=settings.create_reflog
        )
        transaction.commit()

    return apply(context, act, f"update_ref failed for ref '{name}': ")
