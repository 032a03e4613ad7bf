"""`refs`: the low-level commands on refs that git gathers under this name.

Each subcommand has a module of its own, `refs_NAME`, imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .context import Context

SUBCOMMANDS = (
    "migrate",
    "verify",
    "list",
    "exists",
    "optimize",
    "create",
    "delete",
    "update",
    "rename",
)


def main(context: Context, argv: list[str]) -> int:
    """Run the subcommand that `argv` starts with; returns its exit status."""
    if not argv or argv[0] not in SUBCOMMANDS:
        return _explain(context, argv)
    from importlib import import_module

    status: int = import_module(f".refs_{argv[0]}", __package__).main(context, argv[1:])
    return status


def _explain(context: Context, argv: list[str]) -> int:
    """Print the usage text because it was asked for, or because of a bad command line."""
    from .for_each_ref import USAGE as LIST_USAGE
    from .options import Table
    from .pack_refs import usage_of
    from .refs_create import USAGE as CREATE_USAGE
    from .refs_delete import USAGE as DELETE_USAGE
    from .refs_exists import USAGE as EXISTS_USAGE
    from .refs_migrate import USAGE as MIGRATE_USAGE
    from .refs_rename import USAGE as RENAME_USAGE
    from .refs_update import USAGE as UPDATE_USAGE
    from .refs_verify import USAGE as VERIFY_USAGE

    usage = (
        MIGRATE_USAGE,
        VERIFY_USAGE,
        LIST_USAGE.format(command="refs list", indent=" " * len("git for-each-ref")),
        EXISTS_USAGE,
        usage_of("refs optimize"),
        CREATE_USAGE,
        DELETE_USAGE,
        UPDATE_USAGE,
        RENAME_USAGE,
    )
    context.parse_options(Table(usage, (), subcommands=SUBCOMMANDS), argv, object())
    return 0
