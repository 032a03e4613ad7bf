"""Readers never wait: look-ups and listings while a writer commits as fast as it can.

    python -m perf.readers --help

One reader and at most one writer, in two threads or in two processes. The reader looks up refs at
random, and after every thousandth lists a handful of refs. The writer updates one ref per
transaction, with syncing on or off. With compaction its commits end with an auto-compaction;
without, it merges the tables only once there are `MOST_TABLES`, lest files run out. A writer that
works on another store shows what a busy, syncing neighbour costs on this machine by itself.

    rate      look-ups per second of the reader
    p95       95th percentile of the time of one look-up, seconds
    longest   the longest look-up, seconds
    waited    share of the time that the reader spent waiting for a lock
    idle      share of the time that the reader was not on a processor, for whatever reason (the
              interpreter lock of the other thread, other processes)
    commits   transactions per second of the writer
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, Protocol

from perf.program import Figures
from perf.repositories import (
    MOST_OBJECTS,
    Repositories,
    object_ids,
    open_store,
    ref_name,
)
from pyreftable.refs.store import RefStore
from pyreftable.stack import DirectoryStorage, Stack, StackOptions
from pyreftable.stack.storage import ListLock, Lock

MOST_TABLES = 200
_LISTING_EVERY = 1000
_NAMES = 10_000
_PATIENCE_S = 60


class Setting(NamedTuple):
    """Whether reader and writer are processes; the writer, if there is one."""

    processes: bool
    writer: bool = True
    fsync: bool = False
    compaction: bool = False
    elsewhere: bool = False

    def __str__(self) -> str:
        where = "processes" if self.processes else "threads"
        if not self.writer:
            return f"readers in {where}, no writer"
        sync = "syncing" if self.fsync else "not syncing"
        compaction = "compacting" if self.compaction else "not compacting"
        there = " in another store" if self.elsewhere else ""
        return f"readers in {where}, writer {sync}, {compaction}{there}"


SETTINGS = tuple(
    setting
    for processes in (True, False)
    for setting in (
        Setting(processes, writer=False),
        *(
            Setting(processes, True, fsync, auto)
            for fsync in (True, False)
            for auto in (True, False)
        ),
        *((Setting(True, True, True, True, elsewhere=True),) if processes else ()),
    )
)


class Event(Protocol):
    """What threads and processes have in common to tell each other one thing."""

    def set(self) -> None:
        """Tell it."""

    def is_set(self) -> bool:
        """Whether it was told."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is told; False when the time is over."""


# Waiting for locks


class _Waits:
    """Adds up, for each thread, the seconds that it spent getting locks."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}

    @property
    def seconds(self) -> float:
        """What the calling thread has waited so far."""
        return self._seconds.get(threading.get_ident(), 0.0)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count what happens inside as waiting."""
        start = time.perf_counter()
        try:
            yield
        finally:
            waited = self.seconds + time.perf_counter() - start
            self._seconds[threading.get_ident()] = waited


class _TimedStorage(DirectoryStorage):
    """The only locks there are, files, are taken through it."""

    def __init__(self, directory: str, options: StackOptions, waits: _Waits) -> None:
        super().__init__(directory, options.fsync, options.file_mode)
        self._waits = waits

    def lock(self, timeout_ms: int) -> ListLock:
        with self._waits.timed():
            return super().lock(timeout_ms)

    def lock_table(self, name: str) -> Lock:
        with self._waits.timed():
            return super().lock_table(name)


class _TimedStore(RefStore):
    """A ref store on one stack whose locks are timed."""

    def __init__(self, store: RefStore) -> None:
        super().__init__(store.repository, store.options)
        folder = Path(self.repository.ref_directory(None)) / "reftable"
        self.waits = _Waits()
        storage = _TimedStorage(str(folder), self.options, self.waits)
        self._timed = Stack(storage, self.options)

    def __enter__(self) -> _TimedStore:
        return self

    def stack(self, worktree: str | None = None) -> Stack:
        return self._timed if worktree is None else super().stack(worktree)


# Reader and writer


def read(store: _TimedStore, names: Sequence[str], seconds: float) -> Figures:
    """Look up `names`, again and again, for so long."""
    for name in names[:100]:
        store.get(name)
    clock = time.perf_counter
    times: list[float] = []
    waited, cpu = store.waits.seconds, time.thread_time()
    start = clock()
    end = start + seconds
    before = start
    while before < end:
        for name in names[:_LISTING_EVERY]:
            before = clock()
            store.get(name)
            times.append(clock() - before)
        for _ in store.refs(names[0][:-1]):
            pass
        names = [*names[_LISTING_EVERY:], *names[:_LISTING_EVERY]]
    elapsed = clock() - start
    times.sort()
    return {
        "rate": len(times) / elapsed,
        "p95": times[len(times) * 95 // 100],
        "longest": times[-1],
        "waited": (store.waits.seconds - waited) / elapsed,
        "idle": max(0.0, 1 - (time.thread_time() - cpu) / elapsed),
    }


def write(
    store: RefStore, names: Sequence[str], oids: Sequence[str], started: Event, stop: Event
) -> float:
    """Commit until told to stop; transactions per second. Each time round the names move on."""
    start = time.perf_counter()
    commits = 0
    while not stop.is_set():
        with store.transaction() as transaction:
            turn, at = divmod(commits, len(names))
            transaction.update(names[at], oids[turn % len(oids)])
        commits += 1
        started.set()
        if not store.options.auto_compact and len(store.stack().cached.names) >= MOST_TABLES:
            store.stack().compact_all()
    return commits / (time.perf_counter() - start)


def read_beside_writer(repository: Path, setting: Setting, size: int, seconds: float) -> Figures:
    """Figures of one run in a "many" store of `size` refs, which is changed."""
    run = _in_processes if setting.processes else _in_threads
    return run(repository, setting, size, seconds)


def _names(size: int, seed: int) -> list[str]:
    chosen = random.Random(seed)
    return [ref_name(chosen.randrange(size), size) for _ in range(min(size, _NAMES))]


def _in_threads(repository: Path, setting: Setting, size: int, seconds: float) -> Figures:
    """Both share the store, and so its stack and snapshots."""
    started, stop = threading.Event(), threading.Event()
    oids = object_ids(min(size, MOST_OBJECTS))[:2]
    rates: list[float] = []
    with (
        open_store(repository, fsync=setting.fsync, auto_compact=setting.compaction) as plain,
        _TimedStore(plain) as store,
    ):

        def work() -> None:
            rates.append(write(store, _names(size, 2), oids, started, stop))

        if not setting.writer:
            return read(store, _names(size, 1), seconds)
        thread = threading.Thread(target=work)
        thread.start()
        try:
            _await(started)
            figures = read(store, _names(size, 1), seconds)
        finally:
            stop.set()
            thread.join()
    return figures | {"commits": rates[0]}


def _in_processes(repository: Path, setting: Setting, size: int, seconds: float) -> Figures:
    """Each in a fresh process."""
    context = multiprocessing.get_context("spawn")
    started, stop = context.Event(), context.Event()
    written = repository
    if setting.elsewhere:
        written = repository.with_name(f"{repository.name}-elsewhere")
        shutil.copytree(repository, written)
    results, result = context.Pipe(duplex=False)
    commits, commit = context.Pipe(duplex=False)
    writer = context.Process(
        target=_writing_process, args=(written, setting, size, started, stop, commit)
    )
    reader = context.Process(target=_reading_process, args=(repository, size, seconds, result))
    if setting.writer:
        writer.start()
    try:
        if setting.writer:
            _await(started)
        reader.start()
        figures = _receive(results, seconds)
        reader.join()
    finally:
        stop.set()
    if setting.writer:
        figures["commits"] = _receive(commits, 0)["commits"]
        writer.join()
    if setting.elsewhere:
        shutil.rmtree(written)
    return figures


def _reading_process(repository: Path, size: int, seconds: float, result: Connection) -> None:
    with open_store(repository) as plain, _TimedStore(plain) as store:
        result.send(read(store, _names(size, 1), seconds))


def _writing_process(
    repository: Path, setting: Setting, size: int, started: Event, stop: Event, result: Connection
) -> None:
    oids = object_ids(min(size, MOST_OBJECTS))[:2]
    names = _names(size, 2)
    with open_store(repository, fsync=setting.fsync, auto_compact=setting.compaction) as store:
        result.send({"commits": write(store, names, oids, started, stop)})


def _await(started: Event) -> None:
    if not started.wait(_PATIENCE_S):
        raise RuntimeError("the writer commits nothing")


def _receive(results: Connection, seconds: float) -> Figures:
    if not results.poll(seconds + _PATIENCE_S):
        raise RuntimeError("a process gave no figures")
    figures: Figures = results.recv()
    return figures


def main(argv: Sequence[str] | None = None) -> None:
    """Run every setting once and print its figures."""
    parser = argparse.ArgumentParser(prog="python -m perf.readers")
    parser.add_argument("--size", type=int, default=10_000, help="refs (default: 10000)")
    parser.add_argument("--seconds", type=float, default=10, help="per setting (default: 10)")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        repositories = Repositories(Path(scratch))
        source = repositories.get("many", options.size)
        for setting in SETTINGS:
            copy = repositories.copy(source)
            figures = read_beside_writer(copy, setting, options.size, options.seconds)
            print(setting, *(f"{name} {value:.6g}" for name, value in figures.items()), sep="  ")


if __name__ == "__main__":
    main()
