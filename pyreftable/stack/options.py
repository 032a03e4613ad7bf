"""What a stack can be told: its options, the expiry of its logs, and what it counts."""

from __future__ import annotations

from typing import NamedTuple

from ..hashes import SHA1, HashAlgorithm
from ..write_options import WriteOptions


class StackOptions(NamedTuple):
    """How a stack is read and written; the defaults are git's.

    `hash`: the object format that every table must have.
    `suppress_deletions`: whether merged iterators skip tombstones themselves. Off, because a
    look-up that lands among tombstones then stops at the first one past its bound.
    `write`: the layout of new tables.
    `geometric_factor`: auto-compaction keeps each table at least this many times as big as the
    next (`reftable.geometricFactor`).
    `auto_compact`: whether a commit ends with an auto-compaction.
    `lock_timeout_ms`: how long to wait for `tables.list.lock` (`reftable.lockTimeout`): 0 fails
    at once, -1 waits for ever.
    `file_mode`: permission bits of tables and list, as `core.sharedRepository` wants them;
    `None` leaves them to the umask.
    `fsync`: whether files are synced before they are named, and the directory after it; off, a
    crash of the machine may lose or damage the stack.
    """

    hash: HashAlgorithm = SHA1
    suppress_deletions: bool = False
    write: WriteOptions = WriteOptions()
    geometric_factor: int = 2
    auto_compact: bool = True
    lock_timeout_ms: int = 100
    file_mode: int | None = None
    fsync: bool = True


class LogExpiry(NamedTuple):
    """Which reflog entries a compaction drops; 0 drops none.

    `time`: those older than this, in seconds since the epoch. `min_update_index`: those with a
    smaller update index. Tombstones carry no time and are kept as long as they hide anything.
    """

    time: int = 0
    min_update_index: int = 0


class StackStats:
    """What one `Stack` has done since it was opened; tests of complexity read these.

    `vanished` and `failed_compactions` count the two failures that are absorbed: a listed table
    that was gone (the list was read again), and an auto-compaction that a commit did without;
    `compaction_error` is the last of those.
    """

    __slots__ = (
        "compaction_error",
        "compactions",
        "failed_compactions",
        "records_compacted",
        "reloads",
        "vanished",
    )

    def __init__(self) -> None:
        self.reloads = 0
        self.vanished = 0
        self.compactions = 0
        self.failed_compactions = 0
        self.compaction_error: Exception | None = None
        self.records_compacted = 0
