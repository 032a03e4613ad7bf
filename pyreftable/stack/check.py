"""Checking a stack: its list, the tables that it names, the files beside them.

The tables of one reading of the list are opened together, as readers do; a compaction that wins
the race makes the list be read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..errors import FormatError, StorageError
from ..format.check import Problem
from ..hashes import HashAlgorithm
from ..progress import SILENCE, Progress
from ..ranged import open_file
from ..table import Table
from ..table_check import check_table
from .cleaning import SAFE_AGE
from .storage import LIST, LOCK_SUFFIX, TABLE_SUFFIX, TEMP_INFIX, DirectoryStorage

_TRIES = 5
_HEX = frozenset("0123456789abcdefABCDEF")


class StackReport(NamedTuple):
    """What a stack's files say: the names in its list, and the tables that could be opened.

    `broken` says that not all could, so that no reader can read the stack; `problems` is what
    was wrong with the list and with opening its tables.
    """

    names: tuple[str, ...]
    tables: tuple[tuple[str, Table], ...]
    broken: bool
    problems: tuple[Problem, ...]


def open_stack(storage: DirectoryStorage, algorithm: HashAlgorithm) -> StackReport:
    """Read the list and open what it names. Raises nothing."""
    for attempt in range(_TRIES):
        report = _open_once(storage, algorithm)
        if not report.broken or attempt + 1 == _TRIES:
            break
        try:
            if storage.read_list().names == report.names:
                break
        except (FormatError, StorageError):
            break
    return report


def _open_once(storage: DirectoryStorage, algorithm: HashAlgorithm) -> StackReport:
    list_path = storage.path(LIST)
    try:
        names = storage.read_list().names
    except FormatError as error:
        return StackReport((), (), True, (Problem.of(error, list_path),))
    except StorageError as error:
        return StackReport((), (), True, (Problem(list_path, None, _cause(error)),))
    problems: list[Problem] = []
    tables: list[tuple[str, Table]] = []
    for name in names:
        path = storage.path(name)
        try:
            table = Table.open(path)
        except FormatError as error:
            problems.append(Problem.of(error, path))
        except OSError as error:
            what = "listed, but gone" if isinstance(error, FileNotFoundError) else str(error)
            problems.append(Problem(path, None, what))
        else:
            if table.hash == algorithm:
                tables.append((name, table))
                continue
            table.close()
            what = f"object ids are {table.hash.name}, the repository's are {algorithm.name}"
            problems.append(Problem(path, 24 if table.version > 1 else 4, what))
    return StackReport(names, tuple(tables), bool(problems), tuple(problems))


def check_order(storage: DirectoryStorage, report: StackReport) -> Iterator[Problem]:
    """No table twice, and each above the one before it in its update indices."""
    for position, name in enumerate(report.names):
        if name in report.names[:position]:
            yield Problem(storage.path(LIST), None, f"{name} is listed twice")
    last: Table | None = None
    for _, table in report.tables:
        if last is not None and table.min_update_index <= last.max_update_index:
            what = (
                f"update indices begin at {table.min_update_index}, "
                f"{last.name} before it ends at {last.max_update_index}"
            )
            yield Problem(table.path, 8, what)
        last = table


def check_content(path: str, progress: Progress = SILENCE) -> Iterator[Problem]:
    """What is wrong inside the table at `path`; see `table_check`. Raises nothing."""
    try:
        source = open_file(path)
    except OSError as error:
        yield Problem(path, None, str(error))
        return
    try:
        yield from check_table(source, path, progress)
    finally:
        source.close()


def check_files(
    storage: DirectoryStorage, report: StackReport, is_listed: Callable[[str], bool]
) -> Iterator[Problem]:
    """Files beside the list that nothing will ever read.

    `is_listed` answers again, now: a table may have been added since the list was read.
    """
    try:
        files = sorted(storage.files())
    except StorageError as error:
        yield Problem(storage.location, None, _cause(error))
        return
    for name, age in files:
        path = storage.path(name)
        if name.endswith(TABLE_SUFFIX):
            if name not in report.names and not is_listed(name):
                yield Problem(path, None, "not listed: left over, or missing from tables.list")
        elif age > SAFE_AGE and (name.endswith(LOCK_SUFFIX) or TEMP_INFIX in name):
            yield Problem(path, None, "left over by a process that died")
    lock = storage.path(LIST + LOCK_SUFFIX)
    if _age(lock) > SAFE_AGE:
        yield Problem(lock, None, "locked for more than a day: left over by a process that died")


def check_range(name: str, table: Table) -> Problem | None:
    """A table's name gives its update indices; do they agree with its header?"""
    low, high = (int(part or "0", 16) for part in name.split("-", 2)[:2])
    if (low, high) == (table.min_update_index, table.max_update_index):
        return None
    what = (
        f"name says update indices {low} to {high}, "
        f"header says {table.min_update_index} to {table.max_update_index}"
    )
    return Problem(table.path, 8, what)


def has_valid_name(name: str) -> bool:
    """Git's check of a table's name: `<hex>-<hex>-<hex>.ref` (or `.log`)."""
    for suffix in (TABLE_SUFFIX, ".log"):
        parts = name.removesuffix(suffix).split("-")
        if name.endswith(suffix) and len(parts) == 3:
            return all(_is_hex(part) for part in parts)
    return False


def _is_hex(text: str) -> bool:
    digits = text[2:] if text[:2] in ("0x", "0X") else text
    return 0 < len(digits.lstrip("0") or "0") <= 16 and _HEX.issuperset(digits)


def _age(path: str) -> float:
    import time

    try:
        return time.time() - os.lstat(path).st_mtime
    except OSError:
        return 0


def _cause(error: StorageError) -> str:
    cause = error.__cause__
    return str(getattr(cause, "strerror", None) or error)
