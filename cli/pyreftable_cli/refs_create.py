"""`refs create`: make a ref that does not exist yet."""

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

USAGE = "refs create [--message=<reason>] [--no-deref] [--create-reflog] <ref> <new-value>"


def main(context: Context, argv: list[str]) -> int:
    """Run `refs create`; returns the exit status."""
    settings = Settings()
    table = Table((USAGE,), (MESSAGE, NO_DEREF, CREATE_REFLOG))
    arguments = context.parse_options(table, argv, settings)
    if len(arguments) != 2:
        wrong_arguments("create requires reference name and an object ID")
    message = check_message(context, settings)
    name, value = arguments
    new = object_id(context, value, "object ID")
    if not new.strip("0"):
        context.die("cannot create reference with null new object ID")

    def act() -> None:
        transaction = context.store.transaction(message)
        transaction.create(
            name, new, deref=not settings.no_deref, create_reflog=settings.create_reflog
        )
        transaction.commit()

    return apply(context, act, f"update_ref failed for ref '{name}': ")
