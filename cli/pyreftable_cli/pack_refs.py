"""`pack-refs`: merge a stack's tables into one, or as the geometric rule says.

Patterns choose which refs the files storage packs; a stack is merged whole, so they are taken
and change nothing, as in git.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import LockError, ReftableError
from pyreftable.refs.optimizing import optimize

from .exits import FAILURE_STATUS
from .options import Table, flag, strings

if TYPE_CHECKING:
    from .context import Context

_USAGE = "[--all] [--no-prune] [--auto] [--include <pattern>] [--exclude <pattern>]"


class _Settings:
    def __init__(self) -> None:
        self.all = False
        self.prune = True
        self.auto = False
        self.include: list[str] = []
        self.exclude: list[str] = []


def usage_of(command: str) -> str:
    """The usage line, for the command of that name."""
    return f"{command} {_USAGE}"


def main(context: Context, argv: list[str]) -> int:
    """Run `pack-refs`; returns the exit status."""
    return pack_refs(context, argv, "pack-refs")


def pack_refs(context: Context, argv: list[str], command: str) -> int:
    """Do what `pack-refs` does; `command` names it in the usage text."""
    table = Table(
        (usage_of(command),),
        (
            flag("", "all", "pack everything"),
            flag("", "prune", "prune loose refs (default)"),
            flag("", "auto", "auto-pack refs as needed"),
            strings("", "include", "pattern", "references to include"),
            strings("", "exclude", "pattern", "references to exclude"),
        ),
    )
    settings = _Settings()
    if context.parse_options(table, argv, settings):
        context.usage_error("", table)
    try:
        optimize(context.store, auto=settings.auto)
    except LockError:
        context.error("unable to compact stack: data is locked")
        return FAILURE_STATUS
    except ReftableError as error:
        context.error(f"unable to compact stack: {error}")
        return FAILURE_STATUS
    return 0
