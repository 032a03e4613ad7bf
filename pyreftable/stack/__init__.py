"""A mutable sequence of tables in one place, that many processes read and write at once."""

from typing import TYPE_CHECKING

from .files import remove_files_on_signals
from .options import LogExpiry, StackOptions, StackStats
from .snapshot import Snapshot
from .stack import Stack
from .storage import DirectoryStorage, Storage

if TYPE_CHECKING:
    from .addition import Addition

__all__ = [
    "Addition",
    "DirectoryStorage",
    "LogExpiry",
    "Snapshot",
    "Stack",
    "StackOptions",
    "StackStats",
    "Storage",
    "remove_files_on_signals",
]


def __getattr__(name: str) -> object:
    """`Addition` comes when it is asked for: who only reads need not load the writer."""
    if name == "Addition":
        from .addition import Addition

        return Addition
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
