"""Pruning reflogs: entries go, and what they leave behind may be closed up.

A stretch of logs of one stack, in order of their names, is pruned under one lock and by one table.
That table holds what changes, and no more: a tombstone for each entry that goes, and an entry
whose old id changes. (Git writes those that stay, too; readers see the same.) A log that loses
its last entry keeps an existence marker.

As if each log had a table of its own, which is how git does it, each has its own update index, for
its marker and its ref.

Records are handled with values undecoded: most stay, or go, by their time alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..errors import EntryTooLargeError, ObjectMissingError, ReftableError
from ..format.block import LOG, Run
from ..format.block_writer import BlockWriter
from ..format.header import header_size
from ..format.records import (
    DELETION,
    LOG_UPDATE,
    OID,
    OID_AND_PEELED,
    LogRecord,
    RefRecord,
    decode_log,
    encode_log_value,
    log_key,
    split_log_key,
)
from ..write_options import WriteOptions
from .reflog import ReflogEntry
from .reflog_expiry import Expiry, ExpiryRules, LogJudge
from .text import as_text

if TYPE_CHECKING:
    from ..merged import Merged
    from ..stack import Addition, Stack
    from ..writer import TableWriter
    from .store import RefStore

Judge = Callable[[ReflogEntry], bool]

_NOTHING = Run([], [], [], [])


class LogFailure(NamedTuple):
    """A log that could not be pruned, and why."""

    name: str
    error: ReftableError


class Manner(NamedTuple):
    """What else is done.

    `rewrite` closes the gaps: an entry's old id becomes the new id of the one kept before it.
    `update_ref` sets the ref, unless it is a symref, to the newest entry kept. `dry_run` only
    asks.
    """

    rewrite: bool = False
    update_ref: bool = False
    dry_run: bool = False


def prune_log(store: RefStore, name: str, judge: Judge | None, manner: Manner) -> None:
    """`prune_logs` for one log; raises what it failed of."""
    judge_of = None if judge is None else lambda _: judge
    for failure in prune_logs(store, (name,), judge_of, manner):
        raise failure.error


def prune_logs(
    store: RefStore,
    names: Iterable[str],
    judge_of: Callable[[str], Judge] | None,
    manner: Manner,
) -> list[LogFailure]:
    """Drop the entries of each log of `names` for which its judge says so; what failed.

    The logs are done in the order given, the entries of each are judged oldest first, under the
    lock of the log's stack: without judges, by the configuration. A log that fails stays as it
    is, and does not keep the others back.
    """
    if judge_of is None:
        judge_of = Expiry(store, ExpiryRules(store.repository.config)).judge
    failures: list[LogFailure] = []
    logs: list[_Log] = []
    for name in names:
        try:
            logs.append(_Log(name, *store.locate(name)))
        except ReftableError as error:
            failures.append(LogFailure(name, error))
    pruning = _Pruning(store, judge_of, manner)
    for stretch in _stretches(logs):
        failures += pruning.prune(stretch)
    return failures


class _Log(NamedTuple):
    """A log: the name it was asked for by, and where it is."""

    name: str
    stack: Stack
    key: bytes


def _stretches(logs: Iterable[_Log]) -> Iterator[list[_Log]]:
    """Cut `logs` where another stack's follow, or one that does not come after in order."""
    stretch: list[_Log] = []
    for log in logs:
        if stretch and (log.stack is not stretch[-1].stack or log.key <= stretch[-1].key):
            yield stretch
            stretch = []
        stretch.append(log)
    if stretch:
        yield stretch


class _Change(NamedTuple):
    """What is to be written for one log."""

    logs: Run
    ref: RefRecord | None


class _Pruning:
    """Prunes one stretch after the other."""

    def __init__(self, store: RefStore, judge_of: Callable[[str], Judge], manner: Manner) -> None:
        self._store = store
        self._judge_of = judge_of
        self._manner = manner
        # Each log gets a number, even where nothing changes and so no table takes it up.
        self._numbers: dict[Stack, int] = {}

    def prune(self, logs: list[_Log]) -> list[LogFailure]:
        """Prune the logs of one stretch; those that failed."""
        errors: dict[str, ReftableError] = {}
        try:
            with logs[0].stack.addition() as addition:
                self._prune(logs, addition, errors)
        except ReftableError as error:
            return [LogFailure(log.name, errors.get(log.name, error)) for log in logs]
        return [LogFailure(name, error) for name, error in errors.items()]

    def _prune(
        self, logs: list[_Log], addition: Addition, errors: dict[str, ReftableError]
    ) -> None:
        stack = logs[0].stack
        first = max(addition.next_update_index, self._numbers.get(stack, 0))
        end = self._numbers[stack] = first + len(logs)
        numbered = zip(range(first, end), logs, strict=True)
        changes = self._changes(numbered, addition.snapshot.merged, errors)
        if self._manner.dry_run:
            for _ in changes:
                pass
            return
        fill = partial(self._fill, changes)
        addition.write_table(fill, min_update_index=first, max_update_index=end - 1)
        addition.commit()

    def _fill(self, changes: Iterable[_Change], writer: TableWriter) -> None:
        if self._manner.update_ref:
            # Refs come before logs: all logs have to be read before the first is written.
            changes = list(changes)
            writer.add_refs(change.ref for change in changes if change.ref is not None)
        for change in changes:
            writer.add_log_run(change.logs)

    def _changes(
        self,
        numbered: Iterable[tuple[int, _Log]],
        merged: Merged,
        errors: dict[str, ReftableError],
    ) -> Iterator[_Change]:
        """What changes in each log; those that cannot be read, or written, are noted and left."""
        reader = LogReader(merged)
        for index, log in numbered:
            try:
                change = self._change(log, index, reader)
            except ReftableError as error:
                errors[log.name] = error
            else:
                yield change

    def _change(self, log: _Log, index: int, reader: LogReader) -> _Change:
        size = self._store.hash.size
        entries = reader.read(log.key)
        goes = _raw_judge(self._judge_of(log.name), size)
        changed, last = _changed(entries, goes, size, rewrite=self._manner.rewrite)
        if not last:
            null = self._store.hash.null
            marker = encode_log_value(LogRecord(log.key, index, null, null))
            _append(changed, log_key(log.key, index), LOG_UPDATE, marker)
        for column in changed.keys, changed.types, changed.values:
            column.reverse()
        _check_fit(changed, log.stack.options.write)
        ref = None
        if self._manner.update_ref and any(last):
            ref = self._moved_ref(log, reader.merged, last, index)
        return _Change(changed, ref)

    def _moved_ref(self, log: _Log, merged: Merged, oid: bytes, index: int) -> RefRecord | None:
        ref = merged.ref(log.key)
        if ref is None or ref.oid is None:
            return None
        try:
            peeled = self._store.objects.peel(oid.hex())
        except ObjectMissingError:
            peeled = None
        if peeled is None:
            return RefRecord(log.key, index, OID, oid)
        return RefRecord(log.key, index, OID_AND_PEELED, oid + bytes.fromhex(peeled))


def _raw_judge(judge: Judge, hash_size: int) -> Callable[[bytes, bytes], bool]:
    """`judge` for a record's key and undecoded value."""
    if isinstance(judge, LogJudge):
        return judge.judge_raw
    return lambda key, value: judge(ReflogEntry.of(decode_log(key, LOG_UPDATE, value, hash_size)))


def _changed(
    entries: Run, goes: Callable[[bytes, bytes], bool], hash_size: int, *, rewrite: bool
) -> tuple[Run, bytes]:
    """The records of one log that change (oldest first), and the new id of the newest entry kept.

    That id is empty where no entry is kept.
    """
    changed = Run([], [], [], [])
    last = b""
    ids_size = 2 * hash_size
    no_ids = bytes(ids_size)
    oldest_first = zip(
        reversed(entries.keys), reversed(entries.types), reversed(entries.values), strict=True
    )
    for key, value_type, value in oldest_first:
        if value_type == DELETION or value.startswith(no_ids):
            continue
        if goes(key, value):
            _append(changed, key, DELETION, b"")
            continue
        if rewrite and last and not value.startswith(last):
            _append(changed, key, LOG_UPDATE, last + value[hash_size:])
        last = value[hash_size:ids_size]
    return changed, last


def _append(run: Run, key: bytes, value_type: int, value: bytes) -> None:
    run.keys.append(key)
    run.types.append(value_type)
    run.values.append(value)


def _check_fit(run: Run, options: WriteOptions) -> None:
    """See that the biggest of one log's records would fit into any block.

    It may have been written with bigger blocks. Found only in the midst of writing, it would
    keep all logs of the table back.
    """
    if not run.keys:
        return
    biggest = max(run.values, key=len)
    size = options.block_size or WriteOptions().block_size
    block = BlockWriter(LOG, size, 1, bytes(header_size(2)))
    if not block.extend(run.keys[:1], [LOG_UPDATE], [biggest], 0):
        name = as_text(split_log_key(run.keys[0])[0])
        raise EntryTooLargeError(f"a log record of '{name}' fits in no block of {size} bytes")


class LogReader:
    """Reads logs of one merged view. Those of neighbouring names take one pass together."""

    def __init__(self, merged: Merged) -> None:
        self.merged = merged
        self._runs: Iterator[Run] = iter(())
        # What `_runs` has given and nobody has read: it follows the log that was read last.
        self._rest = _NOTHING

    def read(self, key: bytes) -> Run:
        """All records of the log of `key`, newest first, tombstones and marker included.

        The names asked for must ascend. Raises `FormatError`; the logs after that can be read.
        """
        # A log's keys are its name, NUL, and the update index.
        start, end = key + b"\0", key + b"\1"
        run, self._rest = self._rest, _NOTHING
        if not run.keys or run.keys[-1] < start:
            self._runs = self.merged.log_runs(start)
            run = next(self._runs, _NOTHING)
        log = Run([], [], [], [])
        while run.keys:
            stop = bisect_left(run.keys, end)
            begin = bisect_left(run.keys, start)
            log.keys.extend(run.keys[begin:stop])
            log.types.extend(run.types[begin:stop])
            log.values.extend(run.values[begin:stop])
            if stop < len(run.keys):
                self._rest = run.slice(stop)
                break
            run = next(self._runs, _NOTHING)
        return log
