"""Git's reftable ref storage in pure Python.

`RefStore` is the way in for most: refs of a repository, read and written as git does. Below it
lie `Stack`, `Merged`, `Table` and `TableWriter`. Names load when they are first used, so that
`import pyreftable` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .errors import (
        CallerError,
        ConfigError,
        DataError,
        EntryTooLargeError,
        FatalRevisionError,
        FormatError,
        HookError,
        LockError,
        ObjectMissingError,
        OutdatedError,
        PackedRefsError,
        RefNameError,
        ReftableError,
        Rejection,
        RepositoryError,
        RevisionError,
        StorageError,
        TableVanishedError,
        TransactionError,
        WorldError,
        WriteError,
    )
    from .format.records import LogRecord, RefRecord
    from .hashes import SHA1, SHA256, HashAlgorithm
    from .merged import Merged
    from .refs.reflog import Reflog, ReflogEntry
    from .refs.repository import Repository, discover
    from .refs.store import Ref, RefStore, Resolved
    from .refs.transaction import Transaction
    from .stack import Addition, LogExpiry, Snapshot, Stack, StackOptions
    from .table import Table
    from .write_options import WriteOptions
    from .writer import TableWriter

__version__ = "0.1.0"

_HOME = {
    "errors": (
        "CallerError ConfigError DataError EntryTooLargeError FatalRevisionError FormatError "
        "HookError LockError ObjectMissingError OutdatedError PackedRefsError RefNameError "
        "ReftableError Rejection RepositoryError RevisionError StorageError "
        "TableVanishedError TransactionError WorldError WriteError"
    ),
    "format.records": "LogRecord RefRecord",
    "hashes": "HashAlgorithm SHA1 SHA256",
    "merged": "Merged",
    "refs.reflog": "Reflog ReflogEntry",
    "refs.repository": "Repository discover",
    "refs.store": "Ref RefStore Resolved",
    "refs.transaction": "Transaction",
    "stack": "Addition LogExpiry Snapshot Stack StackOptions",
    "table": "Table",
    "write_options": "WriteOptions",
    "writer": "TableWriter",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = [
    "SHA1",
    "SHA256",
    "Addition",
    "CallerError",
    "ConfigError",
    "DataError",
    "EntryTooLargeError",
    "FatalRevisionError",
    "FormatError",
    "HashAlgorithm",
    "HookError",
    "LockError",
    "LogExpiry",
    "LogRecord",
    "Merged",
    "ObjectMissingError",
    "OutdatedError",
    "PackedRefsError",
    "Ref",
    "RefNameError",
    "RefRecord",
    "RefStore",
    "Reflog",
    "ReflogEntry",
    "ReftableError",
    "Rejection",
    "Repository",
    "RepositoryError",
    "Resolved",
    "RevisionError",
    "Snapshot",
    "Stack",
    "StackOptions",
    "StorageError",
    "Table",
    "TableVanishedError",
    "TableWriter",
    "Transaction",
    "TransactionError",
    "WorldError",
    "WriteError",
    "WriteOptions",
    "__version__",
    "discover",
]


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value
