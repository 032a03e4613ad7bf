"""`symbolic-ref`: show, set and delete symbolic refs. Source: `git-symbolic-ref`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import ConfigError, HookError, RefNameError, ReftableError
from pyreftable.refs.names import check_refname, shorten

from .context import encode
from .options import Table, counter, flag, string

if TYPE_CHECKING:
    from .context import Context

# Of these git dies, where other refusals are an error message and status 1.
_FATAL = (ConfigError, HookError)

_TABLE = Table(
    (
        "symbolic-ref [-m <reason>] <name> <ref>",
        "symbolic-ref [-q] [--short] [--no-recurse] <name>",
        "symbolic-ref --delete [-q] <name>",
    ),
    (
        counter("q", "quiet", "suppress error message for non-symbolic (detached) refs"),
        flag("d", "delete", "delete symbolic ref"),
        flag("", "short", "shorten ref output"),
        flag("", "recurse", "recursively dereference (default)"),
        string("m", "", "reason", "reason of the update", dest="message"),
    ),
)


class _Settings:
    """The values of the options."""

    def __init__(self) -> None:
        self.quiet = 0
        self.delete = False
        self.short = False
        self.recurse = True
        self.message: str | None = None


def main(context: Context, argv: list[str]) -> int:
    """Run `symbolic-ref`; returns the exit status."""
    settings = _Settings()
    arguments = context.parse_options(_TABLE, argv, settings)
    if settings.message == "":
        context.die("Refusing to perform update with empty message")
    if len(arguments) != 1 and (len(arguments) != 2 or settings.delete):
        context.usage_error("", _TABLE)
    if settings.delete:
        return _delete(context, arguments[0])
    if len(arguments) == 1:
        return _show(context, arguments[0], settings)
    return _set(context, arguments[0], arguments[1], settings.message or "")


def _show(context: Context, name: str, settings: _Settings) -> int:
    target = _target(context, name, recurse=settings.recurse)
    if target is None:
        if settings.quiet:
            return 1
        context.die(f"ref {name} is not a symbolic ref")
    if settings.short:
        store = context.store
        target = shorten(target, lambda other: store.read(other) is not None)
    context.stdout.write(encode(target) + b"\n")
    return 0


def _target(context: Context, name: str, *, recurse: bool) -> str | None:
    try:
        return context.store.symbolic_ref(name, recurse=recurse)
    except RefNameError:
        context.die(f"No such ref: {name}")


def _delete(context: Context, name: str) -> int:
    if _target(context, name, recurse=False) is None:
        context.die(f"Cannot delete {name}, not a symbolic ref")
    if name == "HEAD":
        context.die("deleting 'HEAD' is not allowed")
    try:
        with context.store.transaction() as transaction:
            transaction.delete(name, deref=False)
    except _FATAL:
        raise
    except ReftableError as error:
        return context.error(str(error))
    return 0


def _set(context: Context, name: str, target: str, message: str) -> int:
    if name == "HEAD" and not target.startswith("refs/"):
        context.die("Refusing to point HEAD outside of refs/")
    if not check_refname(target, allow_onelevel=True):
        context.die(f"Refusing to set '{name}' to invalid ref '{target}'")
    store = context.store
    try:
        store.set_symbolic_ref(name, target, message)
    except _FATAL:
        raise
    except ReftableError as error:
        return context.error(str(error))
    return 0
