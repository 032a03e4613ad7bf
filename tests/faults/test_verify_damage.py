"""`refs verify`: each kind of damage is found and named; healthy stores give no finding.

Damage is planted in a store's own files: a field is spoilt at an offset that is computed from the
layout, and the CRC repaired where it covers the field, so that one thing is wrong and no other.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pyreftable.errors import FormatError
from pyreftable.format.block import INDEX, LOG, OBJ, REF
from pyreftable.format.check import Problem
from pyreftable.format.records import DELETION, OID, OID_AND_PEELED, SYMREF, LogRecord, RefRecord
from pyreftable.hashes import SHA1, SHA256
from pyreftable.refs.fsck_config import Severities
from pyreftable.refs.repository import discover
from pyreftable.refs.store import RefStore
from pyreftable.refs.verify import Finding, verify
from pyreftable.stack import StackOptions
from pyreftable.stack.cleaning import SAFE_AGE
from pyreftable.table import Table
from pyreftable.table_check import check_table
from pyreftable.write_options import WriteOptions
from pyreftable.writer import TableWriter
from tests.faults.damage import Intact, check_reading, intact
from tests.plain_format import Assembly, Item, index_item, obj_item, plain_varint, ref_item
from tests.stack_tools import listed, oid
from tests.support import git_env, init_repo, run_git
from tests.table_tools import Bytes, build, footer_offset, log, ref, repaired, sorted_logs, splice
from tests.twins import run_ours

# Short, so that their lengths are one byte each in the first record of a block.
NAMES = [b"refs/b/%03d" % number for number in range(90)]
SMALL = WriteOptions(block_size=256, restart_interval=4)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RefStore]:
    """A store of two tables: HEAD, and 60 branches with logs over many blocks and indexes."""
    repo = init_repo(tmp_path / "repo")
    options = StackOptions(write=SMALL, auto_compact=False)
    repository = discover(repo, environ=git_env(repo))
    with RefStore(repository, options) as store:
        store.stack().add(lambda writer, _: fill(writer))
        yield store


def fill(writer: TableWriter) -> None:
    index, size = writer.min_update_index, writer.hash.size
    for number, name in enumerate(NAMES, 1):
        writer.add_ref(RefRecord(name, index, OID, oid(number << 40 | number, size)))
    for number, name in enumerate(NAMES, 1):
        who = (b"A U Thor", b"author@example.com", 1_700_000_000, 0)
        new = oid(number, size)
        writer.add_log(LogRecord(name, index, bytes(size), new, *who, b"made %d\n" % number))


def folder_of(store: RefStore) -> Path:
    return Path(store.repository.git_dir) / "reftable"


def table_path(store: RefStore, position: int = -1) -> Path:
    folder = folder_of(store)
    return folder / listed(folder)[position]


def findings(store: RefStore, *, strict: bool = False) -> list[Finding]:
    return list(verify(store, Severities(store.repository.config, strict=strict)))


def blocks(path: Path, kind: bytes) -> list[tuple[int, bytes]]:
    """Position and (inflated) bytes of the blocks of one kind."""
    table = Table.open(os.fspath(path))
    found = [(block.offset, block.data) for block in table.blocks() if block.type == kind]
    table.close()
    return found


def spoil(path: Path, offset: int, new: bytes, *, repair: bool = False) -> None:
    """Overwrite bytes of a file; with `repair` make the footer agree again."""
    data = splice(path.read_bytes(), offset, new)
    path.write_bytes(repaired(data) if repair else data)


def sole(found: list[Finding], what: str) -> Finding:
    """The finding that says `what`; there must be one."""
    matching = [finding for finding in found if what in finding.what]
    assert matching, f"{what!r} is not among {found}"
    return matching[0]


def test_the_store_is_worth_damaging(store: RefStore) -> None:
    kinds = {kind: len(blocks(table_path(store), kind)) for kind in (REF, OBJ, LOG, INDEX)}
    assert min(kinds.values()) > 3, kinds
    assert findings(store) == []


# Damage to one table's bytes. Each gives file, offset and what must be said; `ref` where one can
# be named.

Planted = tuple[int, str, str | None]


def bad_magic(path: Path) -> Planted:
    spoil(path, 0, b"REFX", repair=False)
    return 0, "no reftable", None


def bad_version(path: Path) -> Planted:
    spoil(path, 4, b"\3")
    return 4, "unknown reftable version", None


def footer_crc(path: Path) -> Planted:
    size = path.stat().st_size
    spoil(path, size - 1, bytes([path.read_bytes()[-1] ^ 1]))
    return size - 4, "CRC-32", None


def footer_differs(path: Path) -> Planted:
    data = path.read_bytes()
    end = footer_offset(data)
    fixed = splice(data, end + 8, b"\x7f")
    body = fixed[end:-4]
    from zlib import crc32

    path.write_bytes(fixed[:-4] + crc32(body).to_bytes(4, "big"))
    return end, "does not repeat the header", None


def truncated(path: Path) -> Planted:
    data = path.read_bytes()[:-100]
    path.write_bytes(data)
    return len(data) - 4, "CRC-32", None


def update_indices_reversed(path: Path) -> Planted:
    # The CRC is in the footer, which is not looked at once the header is wrong.
    spoil(path, 8, (99).to_bytes(8, "big"))
    return 8, "is above the largest", None


def ref_block_type(path: Path) -> Planted:
    position = blocks(path, REF)[2][0]
    spoil(path, position, b"x")
    return position, "no block starts here", None


def ref_block_length(path: Path) -> Planted:
    position = blocks(path, REF)[-1][0]
    spoil(path, position + 1, b"\x7f\xff\xff")
    return position, "bytes where", None


def padding(path: Path) -> Planted:
    position, data = blocks(path, REF)[1]
    end = position + len(data)
    spoil(path, end + 1, b"!")
    return end, "padding is not zero", None


def restart_offset(path: Path) -> Planted:
    position, data = blocks(path, REF)[1]
    at = position + len(data) - 5
    offset = int.from_bytes(data[-5:-2], "big")
    spoil(path, at, (offset + 1).to_bytes(3, "big"))
    return at, "restart", None


def restart_with_prefix(path: Path) -> Planted:
    """The restart table's second entry leads to a record whose key is not whole."""
    position, data = blocks(path, REF)[1]
    count = int.from_bytes(data[-2:], "big")
    at = position + len(data) - 2 - 3 * (count - 1)
    second = 4 + 2 + len(NAMES[0]) + 1 + 20
    spoil(path, at, second.to_bytes(3, "big"))
    return at, "a record without a whole key", None


def restart_count_zero(path: Path) -> Planted:
    position, data = blocks(path, REF)[1]
    at = position + len(data) - 2
    spoil(path, at, b"\0\0")
    return at, "restart count 0", None


def key_order(path: Path) -> Planted:
    """The first name of a block sorts before the last of the block before."""
    position = blocks(path, REF)[1][0]
    at = position + 4 + 2
    spoil(path, at, b"refs/a/")
    return position + 4, "is not above", None


def value_type(path: Path) -> Planted:
    position, data = blocks(path, REF)[1]
    at = position + 4 + 1
    spoil(path, at, bytes([data[5] & 0xF8 | 5]))
    return position, "value type 5", None


def ref_update_index(path: Path) -> Planted:
    position, data = blocks(path, REF)[1]
    length = data[5] >> 3
    name = data[6 : 6 + length].decode()
    spoil(path, position + 6 + length, b"\x09")
    return position + 4, "above the table's largest", name


def index_position(path: Path) -> Planted:
    position, data = blocks(path, INDEX)[0]
    at = 6 + (data[5] >> 3)
    assert data[at] == 0
    spoil(path, position + at, b"\1")
    return position + 4, "index says 1", None


def index_key(path: Path) -> Planted:
    position, data = blocks(path, INDEX)[0]
    at = 6 + (data[5] >> 3) - 1
    spoil(path, position + at, b"\xff")
    return position + 4, "index says last key", None


def obj_position(path: Path) -> Planted:
    position, data = blocks(path, OBJ)[0]
    assert data[5] & 7 == 1
    at = 6 + (data[5] >> 3)
    spoil(path, position + at, bytes([data[at] + 1]))
    return position, "obj section has", None


def obj_id(path: Path) -> Planted:
    position, data = blocks(path, OBJ)[-1]
    spoil(path, position + 6 + (data[5] >> 3) - 1, b"\xfe")
    return position, "which no ref has", None


def log_not_inflating(path: Path) -> Planted:
    position = blocks(path, LOG)[1][0]
    spoil(path, position + 6, b"\xff\xff")
    return position, "does not inflate", None


def log_length(path: Path) -> Planted:
    position, data = blocks(path, LOG)[1]
    spoil(path, position + 1, (len(data) - 1).to_bytes(3, "big"))
    return position, "inflates to", None


def log_position_in_footer(path: Path) -> Planted:
    """The footer's log position leads into the refs."""
    data = path.read_bytes()
    at = footer_offset(data) + 24 + 24
    spoil(path, at, (999_999).to_bytes(8, "big"), repair=True)
    return at, "section position", None


TABLE_DAMAGE: list[Callable[[Path], Planted]] = [
    bad_magic,
    bad_version,
    footer_crc,
    footer_differs,
    truncated,
    update_indices_reversed,
    ref_block_type,
    ref_block_length,
    padding,
    restart_offset,
    restart_with_prefix,
    restart_count_zero,
    key_order,
    value_type,
    ref_update_index,
    index_position,
    index_key,
    obj_position,
    obj_id,
    log_not_inflating,
    log_length,
    log_position_in_footer,
]


@pytest.mark.parametrize("plant", TABLE_DAMAGE, ids=lambda plant: str(plant.__name__))
def test_damage_in_a_table(store: RefStore, plant: Callable[[Path], Planted]) -> None:
    path = table_path(store)
    offset, what, name = plant(path)
    finding = sole(findings(store), what)
    assert finding.severity == "error"
    assert finding.file == os.fspath(path)
    assert finding.offset is not None
    assert 0 <= finding.offset - offset < 64, finding
    if name is not None:
        assert finding.ref == name


@pytest.mark.parametrize("plant", TABLE_DAMAGE, ids=lambda plant: str(plant.__name__))
def test_command_on_damage_in_a_table(store: RefStore, plant: Callable[[Path], Planted]) -> None:
    path = table_path(store)
    _, what, _ = plant(path)
    work_tree = Path(store.repository.git_dir).parent
    outcome = run_ours(["refs", "verify"], work_tree)
    assert outcome.status == 255
    lines = os.fsdecode(outcome.stdout).splitlines()
    assert any(line.startswith(f"error: {path}, offset ") and what in line for line in lines)
    assert b"Traceback" not in outcome.stderr


# Damage to the stack.


def test_missing_table(store: RefStore) -> None:
    path = table_path(store)
    path.unlink()
    finding = sole(findings(store), "listed, but gone")
    assert (finding.file, finding.severity) == (os.fspath(path), "error")


def test_orphaned_table(store: RefStore) -> None:
    orphan = table_path(store).with_name("0x000000000007-0x000000000007-01234567.ref")
    shutil.copy(table_path(store), orphan)
    finding = sole(findings(store), "not listed")
    assert (finding.file, finding.severity) == (os.fspath(orphan), "warning")
    assert sole(findings(store, strict=True), "not listed").severity == "error"


def test_left_over_files(store: RefStore) -> None:
    folder = folder_of(store)
    temporary = folder / "0x000000000007-0x000000000007.temp.abc123"
    lock = folder / "tables.list.lock"
    for path in (temporary, lock):
        path.touch()
    assert findings(store) == []
    for path in (temporary, lock):
        past = path.stat().st_mtime - SAFE_AGE - 60
        os.utime(path, (past, past))
    assert {finding.file for finding in findings(store)} == {os.fspath(temporary), os.fspath(lock)}


def test_tables_out_of_order(store: RefStore) -> None:
    folder = folder_of(store)
    names = listed(folder)
    (folder / "tables.list").write_text("".join(f"{name}\n" for name in reversed(names)))
    finding = sole(findings(store), "update indices begin at")
    assert finding.file == os.fspath(folder / names[0])


def test_table_listed_twice(store: RefStore) -> None:
    folder = folder_of(store)
    names = listed(folder)
    (folder / "tables.list").write_text("".join(f"{name}\n" for name in [*names, names[-1]]))
    assert sole(findings(store), "is listed twice").file == os.fspath(folder / "tables.list")


def test_damaged_list(store: RefStore) -> None:
    path = folder_of(store) / "tables.list"
    path.write_bytes(path.read_bytes()[:-1])
    finding = sole(findings(store), "no line end")
    assert (finding.file, finding.severity) == (os.fspath(path), "error")


def test_foreign_hash(store: RefStore) -> None:
    data = build([ref("refs/heads/x", 3, 1, bytes(31) + b"\1")], hash=SHA256, low=3, high=3)
    name = "0x000000000003-0x000000000003-00000001.ref"
    folder = folder_of(store)
    (folder / name).write_bytes(data)
    with open(folder / "tables.list", "a") as file:
        file.write(f"{name}\n")
    finding = sole(findings(store), "object ids are sha256")
    assert finding.file == os.fspath(folder / name)


def test_name_and_header_differ(store: RefStore) -> None:
    folder = folder_of(store)
    old = listed(folder)[-1]
    new = old.replace("0x000000000002-", "0x000000000001-", 1)
    (folder / old).rename(folder / new)
    text = (folder / "tables.list").read_text()
    (folder / "tables.list").write_text(text.replace(old, new))
    finding = sole(findings(store), "name says update indices 1 to 2")
    assert (finding.file, finding.severity) == (os.fspath(folder / new), "warning")


@pytest.mark.parametrize(
    "name",
    [
        "foo-bar-e4d12d59.ref",
        "0x00000000zzzz-0x00000000zzzz-e4d12d59.ref",
        "0x000000000001-0x000000000002-e4d12d59.abc",
        "0x000000000001-0x000000000002-e4d12d59.refabc",
    ],
)
def test_bad_table_name_as_git_says_it(store: RefStore, name: str) -> None:
    folder = folder_of(store)
    old = listed(folder)[-1]
    (folder / old).rename(folder / name)
    text = (folder / "tables.list").read_text()
    (folder / "tables.list").write_text(text.replace(old, name))
    work_tree = Path(store.repository.git_dir).parent
    message = f"{name}: badReftableTableName: invalid reftable table name\n"
    for words, status, severity in (
        (["refs", "verify"], 0, "warning"),
        (["refs", "verify", "--strict"], 255, "error"),
        (["-c", "fsck.badReftableTableName=error", "refs", "verify"], 255, "error"),
    ):
        outcome = run_ours(words, work_tree)
        assert (outcome.status, outcome.stderr.decode()) == (status, f"{severity}: {message}")
    outcome = run_ours(["-c", "fsck.badReftableTableName=ignore", "refs", "verify"], work_tree)
    assert (outcome.status, outcome.stderr) == (0, b"")


# Refs that are well stored, and wrong.


def put(store: RefStore, *records: RefRecord) -> None:
    def add(writer: TableWriter, snapshot: object) -> None:
        writer.add_refs(record._replace(update_index=writer.min_update_index) for record in records)

    store.stack().add(add)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            RefRecord(b"HEAD", 0, SYMREF, b"refs/tags/v1"),
            "error: HEAD: badHeadTarget: HEAD points to non-branch 'refs/tags/v1'",
        ),
        (
            RefRecord(b"refs/heads/sym", 0, SYMREF, b"garbage"),
            "error: refs/heads/sym: badReferentName: points to invalid refname 'garbage'",
        ),
        (
            RefRecord(b"refs/heads/sym", 0, SYMREF, b"logs/maint"),
            "warning: refs/heads/sym: symrefTargetIsNotARef: points to non-ref target 'logs/maint'",
        ),
        (
            RefRecord(b"refs/heads/null", 0, OID, bytes(20)),
            "error: refs/heads/null: badRefOid: points to invalid object ID '" + "0" * 40 + "'",
        ),
        (
            RefRecord(b"refs/heads/bad..name", 0, OID, oid(1)),
            "error: refs/heads/bad..name: badRefName: invalid refname format",
        ),
    ],
)
def test_wrong_refs(store: RefStore, record: RefRecord, message: str) -> None:
    put(store, record)
    outcome = run_ours(["refs", "verify"], Path(store.repository.git_dir).parent)
    assert outcome.stderr.decode() == message + "\n"
    assert outcome.status == (255 if message.startswith("error") else 0)


def test_refs_in_each_others_way(store: RefStore) -> None:
    names = [b"refs/x", b"refs/x.y", b"refs/x/y", b"refs/x/y/z", b"refs/x0"]
    put(store, *(RefRecord(name, 0, OID, oid(1)) for name in names))
    found = [(finding.ref, finding.what) for finding in findings(store)]
    assert found == [
        ("refs/x/y", "lies below the ref 'refs/x'"),
        ("refs/x/y/z", "lies below the ref 'refs/x'"),
        ("refs/x/y/z", "lies below the ref 'refs/x/y'"),
    ]


# Options, worktrees, output.


def test_worktree_stacks(tmp_path: Path) -> None:
    repo = init_repo(tmp_path / "repo")
    run_git(["commit", "--quiet", "--allow-empty", "-m", "one"], repo)
    run_git(["worktree", "add", "--quiet", "../linked"], repo)
    folder = repo / ".git" / "worktrees" / "linked" / "reftable"
    for place in (repo, tmp_path / "linked"):
        assert run_ours(["refs", "verify"], place) == (0, b"", b"")
    for name in listed(folder):
        (folder / name).unlink()
    (folder / "tables.list").write_text("garbage\n")
    for place in (repo, tmp_path / "linked"):
        outcome = run_ours(["refs", "verify"], place)
        assert outcome.status == 255
        assert outcome.stderr == b"error: reftable stack for worktree 'linked' is broken\n"
        assert outcome.stdout.decode() == f"error: {folder / 'garbage'}: listed, but gone\n"


def test_verbose_and_arguments(store: RefStore) -> None:
    work_tree = Path(store.repository.git_dir).parent
    outcome = run_ours(["refs", "verify", "--verbose"], work_tree)
    lines = ["Checking references consistency"]
    lines += [f"Checking table: {name}" for name in listed(folder_of(store))]
    assert outcome == (0, b"", "".join(f"{line}\n" for line in lines).encode())
    outcome = run_ours(["refs", "verify", "more"], work_tree)
    assert outcome == (129, b"", b"usage: 'git refs verify' takes no arguments\n")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("fsck.nothing=warn", "fatal: Unhandled message id: nothing\n"),
        ("fsck.badRefOid=loud", "fatal: Unknown fsck message type: 'loud'\n"),
        ("fsck.nulInHeader=warn", "fatal: Cannot demote nulinheader to warn\n"),
    ],
)
def test_bad_settings(store: RefStore, setting: str, message: str) -> None:
    work_tree = Path(store.repository.git_dir).parent
    outcome = run_ours(["-c", setting, "refs", "verify"], work_tree)
    assert outcome == (128, b"", message.encode())


def test_json(store: RefStore) -> None:
    put(store, RefRecord(b"refs/heads/null", 0, OID, bytes(20)))
    ref_update_index(table_path(store, 1))
    outcome = run_ours(["refs", "verify", "--json"], Path(store.repository.git_dir).parent)
    assert (outcome.status, outcome.stderr) == (255, b"")
    first, last = (json.loads(line) for line in outcome.stdout.splitlines())
    assert first["file"] == os.fspath(table_path(store, 1))
    assert isinstance(first["offset"], int)
    assert first["ref"].startswith("refs/b/")
    assert (last["id"], last["ref"]) == ("badRefOid", "refs/heads/null")


# Tables by themselves.


def problems(data: bytes) -> list[Problem]:
    return list(check_table(Bytes(data), "some/where.ref"))


def sample(options: WriteOptions) -> Intact:
    refs = [ref(b"refs/heads/n%03d" % n, n % 9 + 1, (1, 2, 3, 0, 1)[n % 5]) for n in range(30)]
    logs = sorted_logs(log(b"refs/heads/n%03d" % n, i) for n in range(6) for i in (2, 4))
    return intact(build(refs, logs, options=options))


@pytest.mark.parametrize(
    "options",
    [SMALL, WriteOptions(block_size=256, unpadded=True), WriteOptions(index_objects=False)],
    ids=["padded", "unpadded", "no obj section"],
)
def test_no_damage_that_a_reader_meets_is_missed(options: WriteOptions) -> None:
    """Whatever byte is changed: if any way of reading raises, the check has a finding."""
    whole = sample(options)
    assert problems(whole.data) == []
    missed = []
    for offset in range(len(whole.data)):
        data = splice(whole.data, offset, bytes([whole.data[offset] ^ (1 << offset % 8)]))
        if not problems(data) and check_reading(data, whole):
            missed.append(offset)
    assert missed == []


@pytest.mark.parametrize("seed", range(200))
def test_noise_never_raises(seed: int) -> None:
    whole = sample(SMALL)
    chance = random.Random(seed)
    data = bytearray(whole.data)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(data))
        data[at : at + 4] = chance.randbytes(chance.randrange(6))
    noisy = bytes(data)
    with suppress(FormatError):
        noisy = repaired(noisy)
    for problem in problems(noisy):
        assert problem.path == "some/where.ref"
        assert problem.offset is not None
        assert 0 <= problem.offset <= len(noisy)


def test_index_that_misses_a_block() -> None:
    table = Assembly(block_size=256)
    names = [b"refs/%d" % n for n in range(5)]
    positions = []
    for name in names:
        table.align()
        positions.append(table.add(REF, ref_item(name)))
    table.align()
    pairs = list(zip(names, positions, strict=True))
    index = table.add(INDEX, *(index_item(name, at) for name, at in pairs[:-1]))
    (problem,) = problems(table.finish(ref_index=index))
    assert (problem.offset, problem.what) == (index, "ref index lists 4 of 5 blocks")


def test_obj_record_that_means_all_blocks() -> None:
    """A record without positions is no damage: a writer may give up on an id in many blocks."""
    table = Assembly(block_size=256)
    value = b"\x11" * 20
    table.add(REF, ref_item(b"refs/a", 1, value))
    obj = table.align().add(OBJ, obj_item(value[:2]))
    assert problems(table.finish(obj=obj, obj_id_len=2)) == []
    table = Assembly(block_size=256)
    table.add(REF, ref_item(b"refs/a", 1, value))
    obj = table.align().add(OBJ, obj_item(b"\x12\x11", 0))
    found = [problem.what for problem in problems(table.finish(obj=obj, obj_id_len=2))]
    assert found == [
        "obj section misses the id 1111 of the refs in [0]",
        "obj section has the id 1211, which no ref has",
    ]


def test_log_above_the_tables_range() -> None:
    table = Assembly(block_size=256, high=5)
    entry = log("refs/heads/a", 9)
    from pyreftable.format.records import encode_log_value
    from tests.table_tools import key_of

    table.add(LOG, Item(key_of(entry), 1, encode_log_value(entry)))
    (problem,) = problems(table.finish())
    assert problem.key == b"refs/heads/a"
    assert "update index 9 is above the table's largest" in problem.what


def test_varints_of_our_oracle() -> None:
    assert plain_varint(16512) == b"\x80\x80\x00"


# Healthy stores.


def random_store(chance: random.Random, repo: Path) -> None:
    """A store that pyreftable writes: several tables, deletions, logs, any layout."""
    sha256 = chance.random() < 0.3
    init_repo(repo, object_format="sha256" if sha256 else "sha1")
    size = (SHA256 if sha256 else SHA1).size
    options = StackOptions(
        hash=SHA256 if sha256 else SHA1,
        write=WriteOptions(
            block_size=chance.choice((256, 512, 4096)),
            restart_interval=chance.choice((1, 2, 16, 1000)),
            unpadded=chance.random() < 0.3,
            index_objects=chance.random() < 0.8,
        ),
        auto_compact=chance.random() < 0.5,
    )
    store = RefStore(discover(repo, environ=git_env(repo)), options)
    ids = [chance.randbytes(size) for _ in range(20)]
    for _ in range(chance.randrange(1, 6)):
        names = sorted({b"refs/heads/%d" % chance.randrange(400) for _ in range(60)})
        store.stack().add(lambda writer, _, names=names: random_table(writer, chance, names, ids))  # type: ignore[misc]
    if chance.random() < 0.3:
        store.stack().compact_all()
    store.close()


def random_table(
    writer: TableWriter, chance: random.Random, names: list[bytes], ids: list[bytes]
) -> None:
    index = writer.min_update_index
    values = {DELETION: b"", SYMREF: b"refs/heads/other"}
    for name in names:
        kind = chance.choice((OID, OID, OID_AND_PEELED, SYMREF, DELETION))
        value = values.get(kind, b"".join(chance.choices(ids, k=kind)))
        writer.add_ref(RefRecord(name, index, kind, value))
    for name in names[::3]:
        size = writer.hash.size
        who = (b"A", b"a@example.com", chance.randrange(1 << 40), chance.randrange(-1200, 1400))
        message = b"m" * chance.randrange(80) + b"\n"
        writer.add_log(LogRecord(name, index, bytes(size), chance.choice(ids), *who, message))


@pytest.mark.parametrize("seed", range(150))
def test_healthy_stores_of_ours(seed: int, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    random_store(random.Random(seed), repo)
    with RefStore.open(os.fspath(repo), environ=git_env(repo)) as store:
        assert findings(store, strict=True) == []


@pytest.mark.parametrize("seed", range(50))
def test_healthy_stores_of_git(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    repo = init_repo(tmp_path / "repo", object_format=chance.choice(("sha1", "sha256")))
    run_git(["config", "reftable.blockSize", str(chance.choice((256, 1024, 4096)))], repo)
    run_git(["config", "reftable.restartInterval", str(chance.choice((1, 16, 200)))], repo)
    run_git(["config", "reftable.indexObjects", chance.choice(("true", "false"))], repo)
    run_git(["commit", "--quiet", "--allow-empty", "-m", "one"], repo)
    run_git(["tag", "-a", "-m", "tag", "v1"], repo)
    existing: set[str] = set()
    for _ in range(chance.randrange(1, 6)):
        names = {f"refs/heads/{chance.randrange(300)}" for _ in range(chance.randrange(1, 80))}
        lines = [f"create {name} HEAD" for name in names - existing]
        lines += [f"delete {name}" for name in names & existing]
        run_git(["update-ref", "--stdin"], repo, input="".join(f"{x}\n" for x in lines).encode())
        existing ^= names
    if chance.random() < 0.3:
        run_git(["reflog", "expire", "--all", "--expire=now"], repo)
    if chance.random() < 0.3:
        run_git(["pack-refs", "--all"], repo)
    with RefStore.open(os.fspath(repo), environ=git_env(repo)) as store:
        assert findings(store, strict=True) == []
