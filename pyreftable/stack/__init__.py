"""A mutable sequence of tables in one place, that many processes read and write at once."""

from .addition import Addition
from .files import remove_files_on_signals
from .options import LogExpiry, StackOptions, StackStats
from .snapshot import Snapshot
from .stack import Stack
from .storage import DirectoryStorage, Storage

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
