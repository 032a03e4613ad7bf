"""What `refs create`, `update`, `delete` and `rename` share: options, checks, outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pyreftable.errors import (
    ConfigError,
    FatalRevisionError,
    HookError,
    ReftableError,
    RevisionError,
)
from pyreftable.refs.revision import resolve_object_name

from .exits import UsageExit
from .options import flag, string

if TYPE_CHECKING:
    from collections.abc import Callable

    from .context import Context

MESSAGE = string("", "message", "reason", "reason of the update")
NO_DEREF = flag("", "no-deref", "update <refname> not the one it points to")
CREATE_REFLOG = flag("", "create-reflog", "create a reflog")


class Settings:
    """The values of the options."""

    def __init__(self) -> None:
        self.message: str | None = None
        self.no_deref = False
        self.create_reflog = False


def check_message(context: Context, settings: Settings) -> str:
    """The message for the reflogs; an empty one is refused, as git does."""
    if settings.message == "":
        context.die("refusing to perform update with empty message")
    return settings.message or ""


def object_id(context: Context, name: str, what: str) -> str:
    """The id (hex) that `name` stands for; `what` calls it in the message if there is none."""
    try:
        return resolve_object_name(context.store, name)
    except FatalRevisionError:
        raise
    except RevisionError:
        context.die(f"invalid {what}: '{name}'")


def apply(context: Context, act: Callable[[], object], prefix: str = "") -> int:
    """Do it; a failure is an error message and status 1, but a hook's refusal ends all."""
    try:
        act()
    except (ConfigError, HookError):
        raise
    except ReftableError as error:
        return context.error(f"{prefix}{error}")
    return 0


def wrong_arguments(message: str) -> NoReturn:
    """End as git does for a wrong number of arguments: one line, status 129."""
    raise UsageExit(usage=f"usage: {message}\n")
