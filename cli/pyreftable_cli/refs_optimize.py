"""`refs optimize`: `pack-refs` under git's newer name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pack_refs import pack_refs

if TYPE_CHECKING:
    from .context import Context


def main(context: Context, argv: list[str]) -> int:
    """Run `refs optimize`; returns the exit status."""
    return pack_refs(context, argv, "refs optimize")
