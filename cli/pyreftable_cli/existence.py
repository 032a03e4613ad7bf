"""Whether a ref exists, as `refs exists` and `show-ref --exists` tell it.

A module of its own because scripts ask this in loops: it imports nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import DataError, WorldError

if TYPE_CHECKING:
    from .context import Context


def report_existence(context: Context, name: str) -> int:
    """Status 0 if there is a ref of exactly that name, 2 if not, 1 if that cannot be told.

    A symref counts, wherever it leads; so does a ref whose object is missing.
    """
    store = context.store
    try:
        ref = store.get(name)
    except (DataError, WorldError) as error:
        return context.error(f"failed to look up reference: {error}")
    if ref is None:
        context.error("reference does not exist")
        return 2
    return 0
