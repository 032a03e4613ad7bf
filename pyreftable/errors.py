"""Every exception that pyreftable raises, in one hierarchy.

Three faults, three branches: the caller's (`CallerError`: change the call), the data's
(`DataError`: the file or repository is damaged or foreign) and the world's (`WorldError`: a
lock is held, a table vanished, the disk is full; trying again may help).

Reading any bytes yields records or `FormatError`, nothing else.
"""

from __future__ import annotations

from enum import Enum


class ReftableError(Exception):
    """Base of all errors of this library; catch it to catch them all."""


class CallerError(ReftableError):
    """The call asks for something that cannot be done."""


class DataError(ReftableError):
    """What is stored cannot be understood."""


class WorldError(ReftableError):
    """The environment got in the way: locks, races, disks."""


class WriteError(CallerError, ValueError):
    """A record or option that a table cannot hold: unsorted, out of range, too big."""


class EntryTooLargeError(WriteError):
    """A record that fits in no block: the block size is too small, or the name too long."""


class RefNameError(CallerError, ValueError):
    """A ref name that git's check-ref-format refuses."""


class RevisionError(CallerError, LookupError):
    """An object name (id, ref, `HEAD~2`) that does not name an object."""


class FatalRevisionError(RevisionError):
    """An object name at which git stops with this very message, rather than call it invalid."""


class Rejection(Enum):
    """Why a transaction refuses an update; the values are git's `rejected` reasons."""

    GENERIC = "unknown failure"
    NAME_CONFLICT = "refname conflict"
    CREATE_EXISTS = "reference already exists"
    NONEXISTENT_REF = "reference does not exist"
    INCORRECT_OLD_VALUE = "incorrect old value provided"
    INVALID_NEW_VALUE = "invalid new value provided"
    EXPECTED_SYMREF = "expected symref but found regular ref"
    CASE_CONFLICT = "reference conflict due to case-insensitive filesystem"


class TransactionError(CallerError):
    """An update that a transaction refuses; nothing was changed.

    `reason` is git's class of refusal, `refname` the update it concerns (`None` when it
    concerns the transaction as a whole). The message reads like git's.
    """

    def __init__(
        self, message: str, *, reason: Rejection = Rejection.GENERIC, refname: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.refname = refname


class HookError(TransactionError):
    """The `reference-transaction` hook refused the transaction; nothing was changed."""


class FormatError(DataError, ValueError):
    """Bytes that are not a valid table (or part of one).

    `path` names the file (or `None` when only bytes were given) and `offset` is the absolute
    byte offset in it where the fault was seen.
    """

    def __init__(self, what: str, *, path: str | None = None, offset: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        where = self.path or "table"
        if self.offset is not None:
            where += f", offset {self.offset}"
        return f"{where}: {self.what}"


class PackedRefsError(FormatError):
    """A `packed-refs` that git refuses; the message is git's, and names the file itself."""

    def __str__(self) -> str:
        return self.what


class ConfigError(DataError, ValueError):
    """A git configuration file or value that cannot be understood."""


class RepositoryError(DataError):
    """No repository here, or one with an extension or format this library does not know."""


class ObjectMissingError(DataError, LookupError):
    """A ref or tag names an object that the object store does not hold."""


class LockError(WorldError):
    """A lock file exists: another process is at work, or died. `path` is the lock's path."""

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class OutdatedError(WorldError):
    """The stack changed on disk since it was read; reload and try again."""


class TableVanishedError(WorldError):
    """A table that `tables.list` names is gone, and reloading did not help."""


class StorageError(WorldError):
    """The disk refused an operation (full, read-only, no permission); the cause is chained."""
