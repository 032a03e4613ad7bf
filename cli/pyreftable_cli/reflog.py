"""`reflog`: show reflogs and change them. Source: `git-reflog`.

Here are the subcommands that are short; `reflog_show` and `reflog_expire` have the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .options import Table

if TYPE_CHECKING:
    from .context import Context

SUBCOMMANDS = ("show", "list", "exists", "write", "delete", "drop", "expire")

SHOW_USAGE = "reflog [show] [<log-options>] [<ref>]"
_LIST_USAGE = "reflog list"
_EXISTS_USAGE = "reflog exists <ref>"
_WRITE_USAGE = "reflog write <ref> <old-oid> <new-oid> <message>"


def main(context: Context, argv: list[str]) -> int:
    """Run `reflog`; without a subcommand it shows. Returns the exit status."""
    if argv in (["-h"], ["--help"], ["--help-all"]):
        return _explain(context, argv)
    name = argv[0] if argv else ""
    if name in ("list", "exists", "write"):
        run = {"list": _list, "exists": _exists, "write": _write}[name]
        return run(context, argv[1:])
    if name in ("delete", "drop", "expire"):
        from .reflog_expire import RUN

        return RUN[name](context, argv[1:])
    from .reflog_show import main as show

    return show(context, argv[1:] if name == "show" else argv)


def _explain(context: Context, argv: list[str]) -> int:
    from .reflog_expire import DELETE_USAGE, DROP_USAGE, EXPIRE_USAGE

    usage = (
        SHOW_USAGE,
        _LIST_USAGE,
        _EXISTS_USAGE,
        _WRITE_USAGE,
        DELETE_USAGE,
        DROP_USAGE,
        EXPIRE_USAGE,
    )
    context.parse_options(Table(usage, ()), argv, object())
    return 0


def _list(context: Context, argv: list[str]) -> int:
    from .context import encode

    arguments = context.parse_options(Table((_LIST_USAGE,), ()), argv, object())
    if arguments:
        context.error(f"list does not accept arguments: '{arguments[0]}'")
        return ERROR_STATUS
    context.stdout.writelines(encode(name) + b"\n" for name in context.store.reflog_names())
    return 0


def _exists(context: Context, argv: list[str]) -> int:
    from pyreftable.refs.names import check_refname

    table = Table((_EXISTS_USAGE,), ())
    arguments = context.parse_options(table, argv, object())
    if not arguments:
        context.usage_error("", table)
    name = arguments[0]
    if not check_refname(name, allow_onelevel=True):
        context.die(f"invalid ref format: {name}")
    return 0 if context.store.reflog(name).exists else 1


def _write(context: Context, argv: list[str]) -> int:
    from pyreftable.errors import ConfigError, HookError, ReftableError
    from pyreftable.refs.names import check_refname, is_root_ref

    table = Table((_WRITE_USAGE,), ())
    arguments = context.parse_options(table, argv, object())
    if len(arguments) != 4:
        context.usage_error("", table)
    name, old, new, message = arguments
    if not is_root_ref(name) and not check_refname(name):
        context.die(f"invalid reference name: {name}")
    store = context.store
    old_oid = _object_id(context, old, "old")
    new_oid = _object_id(context, new, "new")
    try:
        store.append_to_reflog(name, old_oid, new_oid, message)
    except (ConfigError, HookError):
        raise
    except ReftableError as error:
        context.die(f"cannot commit reflog update: {error}")
    return 0


def _object_id(context: Context, text: str, which: str) -> str:
    """The full id that `text` begins with (git looks no further), of an object that exists."""
    from pyreftable.refs.store import is_hex

    store = context.store
    oid = text[: store.hash.hex_size].lower()
    if not is_hex(oid, store.hash):
        context.die(f"invalid {which} object ID: '{text}'")
    if oid != store.hash.null_hex and store.objects.info(oid) is None:
        context.die(f"{which} object '{text}' does not exist")
    return oid


#: What git's reflog commands end with where others end with 1.
ERROR_STATUS = 255
