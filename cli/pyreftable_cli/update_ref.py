"""`pyreftable update-ref`: set or delete one ref, or many by commands on standard input.

Source: git-update-ref(1); messages and exit codes are git's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pyreftable.errors import ConfigError, HookError, ReftableError

from .options import Table, bit, flag, string
from .update_ref_names import ObjectNames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .context import Context

_BATCH = 1

# What ends git on the spot, with no word of the update that was under way.
_FATAL_ALONE = (ConfigError, HookError)

TABLE = Table(
    [
        "update-ref [<options>] -d <refname> [<old-oid>]",
        "update-ref [<options>]    <refname> <new-oid> [<old-oid>]",
        "update-ref [<options>] --stdin [-z] [--batch-updates]",
    ],
    [
        string("m", "", "reason", "reason of the update", dest="message"),
        flag("d", "", "delete the reference", dest="delete"),
        flag("", "no-deref", "update <refname> not the one it points to"),
        flag("z", "", "stdin has NUL-terminated arguments", dest="end_null"),
        flag("", "stdin", "read updates from stdin"),
        flag("", "create-reflog", "create a reflog"),
        bit("0", "batch-updates", "flags", _BATCH, "batch reference updates"),
    ],
)


class _Settings:
    def __init__(self) -> None:
        self.message: str | None = None
        self.delete = False
        self.no_deref = False
        self.end_null = False
        self.stdin = False
        self.create_reflog = False
        self.flags = 0


def main(context: Context, argv: Sequence[str]) -> int:
    """Run the command; its exit status."""
    if list(argv) not in (["-h"], ["--help"], ["--help-all"]):
        # As in git, no repository is the first complaint.
        context.store  # noqa: B018
    settings = _Settings()
    arguments = context.parse_options(TABLE, argv, settings)
    if settings.message == "":
        context.die("Refusing to perform update with empty message.")
    if settings.stdin:
        if settings.delete or arguments:
            _usage(context)
        return _from_stdin(context, settings)
    if settings.flags & _BATCH:
        context.die("--batch-updates can only be used with --stdin")
    fewest = 1 if settings.delete else 2
    if settings.end_null or not fewest <= len(arguments) <= fewest + 1:
        _usage(context)
    if settings.delete:
        return _delete(context, settings, *arguments)
    return _update(context, settings, *arguments)


def _usage(context: Context) -> NoReturn:
    context.usage_error("", TABLE)


def _from_stdin(context: Context, settings: _Settings) -> int:
    from .update_ref_stdin import Session

    session = Session(
        context,
        ObjectNames(context),
        message=settings.message or "",
        batch=bool(settings.flags & _BATCH),
        deref=not settings.no_deref,
        create_reflog=settings.create_reflog,
        nul_terminated=settings.end_null,
    )
    return session.run(context.stdin)


def _delete(
    context: Context, settings: _Settings, refname: str, old_name: str | None = None
) -> int:
    old = _old_id(context, ObjectNames(context), old_name)
    try:
        transaction = context.store.transaction(settings.message or "")
        # As git has always had it, all zeros mean "whatever it holds" here.
        expected = old if old and any(old) else None
        transaction.delete(refname, expected, deref=not settings.no_deref)
        transaction.commit()
    except _FATAL_ALONE:
        raise
    except ReftableError as error:
        return context.error(str(error))
    return 0


def _update(
    context: Context,
    settings: _Settings,
    refname: str,
    new_name: str,
    old_name: str | None = None,
) -> int:
    names = ObjectNames(context)
    new = names.object_id(new_name)
    if new is None:
        context.die(f"{new_name}: not a valid SHA1")
    old = _old_id(context, names, old_name)
    try:
        transaction = context.store.transaction(settings.message or "")
        transaction.update(
            refname,
            new,
            old,
            deref=not settings.no_deref,
            create_reflog=settings.create_reflog,
        )
        transaction.commit()
    except _FATAL_ALONE:
        raise
    except ReftableError as error:
        context.die(f"update_ref failed for ref '{refname}': {error}")
    return 0


def _old_id(context: Context, names: ObjectNames, name: str | None) -> bytes | None:
    """The old id given; empty for "must not exist", `None` if none is given."""
    if not name:
        return None if name is None else b""
    old = names.object_id(name)
    if old is None:
        context.die(f"{name}: not a valid old SHA1")
    return old
