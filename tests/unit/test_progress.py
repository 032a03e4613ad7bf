"""What long work tells of how far it is: estimates beforehand, counts on the way."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from pyreftable.format.records import OID, LogRecord, RefRecord
from pyreftable.progress import estimated_logs, estimated_refs
from pyreftable.refs.fsck_config import Severities
from pyreftable.refs.migration import migrate
from pyreftable.refs.optimizing import optimize
from pyreftable.refs.store import RefStore
from pyreftable.refs.verify import verify
from pyreftable.stack import Stack
from pyreftable.table import Table
from tests.support import git_env, init_repo, run_git

FIXTURES = Path(__file__).parents[2] / "fixtures"
BIG = 1200
SMALL = 300
REFS = BIG + SMALL


class Listener:
    """A `Progress` that remembers: stretches of work as (what, total, done)."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int | None, int]] = []

    def start(self, what: str, total: int | None = None) -> None:
        self.told.append((what, total, 0))

    def advance(self, count: int) -> None:
        what, total, done = self.told[-1]
        self.told[-1] = (what, total, done + count)

    def done(self, what: str) -> int:
        """How much was done of that, in all stretches together."""
        return sum(done for name, _, done in self.told if name == what)


def fill(stack: Stack, numbers: Iterable[int], *, logs: bool = True) -> None:
    """Add a table with a ref, and a log entry, for each number."""
    with stack.addition() as addition:
        index, oid = addition.next_update_index, bytes(19)
        names = {b"refs/heads/branch-%05d" % n: oid + bytes([n % 250 + 1]) for n in numbers}

        def write(writer: object) -> None:
            add_ref, add_log = writer.add_ref, writer.add_log  # type: ignore[attr-defined]
            for name, value in names.items():
                add_ref(RefRecord(name, index, OID, value))
            for name, value in names.items() if logs else ():
                add_log(LogRecord(name, index, bytes(20), value, b"a", b"a@b", 1, 0, b"made\n"))

        addition.write_table(write)
        addition.commit()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with many refs in two tables, and a log entry for each."""
    path = init_repo(tmp_path / "repo")
    with RefStore.open(str(path), environ=git_env(path)) as store:
        fill(store.stack(), range(BIG))
        # Small enough for no auto-compaction.
        fill(store.stack(), range(BIG, REFS))
    return path


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("tables/*.ref")), ids=lambda path: path.stem)
def test_estimates(path: Path) -> None:
    """Few blocks are counted; of many, the first ones speak for the rest."""
    table = Table.open(str(path))
    refs, logs = len(list(table.refs())), len(list(table.logs()))
    assert 0.7 * refs <= estimated_refs([table]) <= 1.4 * refs
    assert 0.7 * logs <= estimated_logs([table]) <= 1.4 * logs
    assert estimated_refs([table, table]) == 2 * estimated_refs([table])
    table.close()


def test_estimates_of_a_big_table(tmp_path: Path) -> None:
    with Stack.open(str(tmp_path)) as stack:
        fill(stack, range(4 * BIG))
        tables = stack.snapshot().tables
        assert estimated_refs(tables) == pytest.approx(4 * BIG, rel=0.1)
        assert estimated_logs(tables) == pytest.approx(4 * BIG, rel=0.1)


def test_a_damaged_table_is_no_trouble(tmp_path: Path) -> None:
    """Who reads it says what is wrong."""
    data = bytearray((FIXTURES / "tables" / "many-blocks.ref").read_bytes())
    data[30] ^= 0xFF
    path = tmp_path / "damaged.ref"
    path.write_bytes(data)
    table = Table.open(str(path))
    assert estimated_refs([table]) >= 0
    table.close()


def test_optimize(repo: Path) -> None:
    listener = Listener()
    with RefStore.open(str(repo), environ=git_env(repo)) as store:
        before = sum(1 for _ in store.stack().snapshot().merged.refs())
        optimize(store, progress=listener)
    assert listener.done("Merging refs") == before
    assert listener.done("Merging log entries") == REFS


def test_verify(repo: Path) -> None:
    listener = Listener()
    with RefStore.open(str(repo), environ=git_env(repo)) as store:
        severities = Severities(store.repository.config, strict=False)
        assert list(verify(store, severities, progress=listener)) == []
        tables = store.stack().snapshot().tables
        records = sum(len(list(t.refs())) + len(list(t.logs())) for t in tables)
        refs = sum(1 for _ in store.stack().snapshot().merged.refs())
    assert listener.done("Checking records") == records
    assert listener.done("Checking refs") == refs


def test_migrate(repo: Path) -> None:
    """Both ways; and the names that git lists stay the same."""
    listed = run_git(["for-each-ref", "--format=%(refname) %(objectname)"], repo, check=False)
    for storage in ("files", "reftable"):
        listener = Listener()
        with RefStore.open(str(repo), environ=git_env(repo)) as store:
            migrate(store.repository, storage, progress=listener)
        # HEAD is one of the refs.
        assert listener.done("Writing refs") == REFS + 1
        assert listener.done("Writing log entries") == REFS
        if storage == "reftable":
            assert listener.done("Reading logs") == REFS
            assert listener.done("Deleting old files") >= REFS
    again = run_git(["for-each-ref", "--format=%(refname) %(objectname)"], repo, check=False)
    assert again.stdout == listed.stdout
