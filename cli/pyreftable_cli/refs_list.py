"""`refs list`: `for-each-ref` under git's newer name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .for_each_ref import list_refs

if TYPE_CHECKING:
    from .context import Context


def main(context: Context, argv: list[str]) -> int:
    """Run `refs list`; returns the exit status."""
    return list_refs(context, argv, "refs list")
