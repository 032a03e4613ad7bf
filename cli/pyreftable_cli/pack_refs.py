"""`pack-refs`: merge a stack's tables into one, or as the geometric rule says.

Patterns choose which refs the files storage packs; a stack is merged whole, so for it they are
taken and change nothing, as in git.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import EntryTooLargeError, LockError, ReftableError
from pyreftable.refs.optimizing import optimize

from .context import encode
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
    if context.store.ref_storage == "files":
        return _pack_files(context, settings)
    try:
        optimize(context.store, auto=settings.auto, progress=context.progress())
    except LockError:
        context.error("unable to compact stack: data is locked")
        return FAILURE_STATUS
    except EntryTooLargeError:
        context.error("unable to compact stack: entry too large")
        return FAILURE_STATUS
    except ReftableError as error:
        context.error(f"unable to compact stack: {error}")
        return FAILURE_STATUS
    return 0


def _pack_files(context: Context, settings: _Settings) -> int:
    """For the other storage: patterns count, and what is not said is said by git's default."""
    from pyreftable.refs.files_packing import Choice, pack
    from pyreftable.refs.files_reading import FilesReader

    store = context.store
    includes = [encode(pattern) for pattern in settings.include]
    if settings.all:
        includes.append(b"*")
    choice = Choice(
        includes or [b"refs/tags/*"],
        [encode(pattern) for pattern in settings.exclude],
        settings.auto,
        settings.prune,
    )
    pack(
        FilesReader(store.repository.common_dir, store.hash, store.objects),
        store.objects,
        store.repository.config,
        choice,
        lambda name: context.error(f"{name} does not point to a valid object!"),
    )
    return 0
