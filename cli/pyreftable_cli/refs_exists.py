"""`refs exists`: whether there is a ref of exactly that name, without following it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .existence import report_existence

if TYPE_CHECKING:
    from .context import Context

USAGE = "refs exists <ref>"


def main(context: Context, argv: list[str]) -> int:
    """Run `refs exists`; status 0, 2 if there is none, 1 if it cannot be told."""
    if len(argv) != 1 or argv[0].startswith("-"):
        # Options are the rare case; without them their parser is not even imported.
        from .options import Table

        argv = context.parse_options(Table((USAGE,), ()), argv, object())
    if len(argv) != 1:
        context.die("'git refs exists' requires a reference")
    return report_existence(context, argv[0])
