"""`pyreftable dump`: tables and stacks as git wrote them, and damaged ones.

git has no such command, so what it says is compared with the listings that git made of the same
tables, with the library's own readers, and with the layout of the format.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyreftable.table import Table
from tests.command_server import Outcome
from tests.support import init_repo, run_git
from tests.twins import run_ours

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
TABLES = sorted(path.name for path in (FIXTURES / "tables").glob("*.ref"))

Entry = dict[str, Any]


def dump(*args: str, folder: Path) -> Outcome:
    """Run the command in `folder`."""
    return run_ours(["dump", *args], folder)


def dump_json(path: str, folder: Path) -> list[Entry]:
    """The entries of a table or stack; the command must succeed."""
    outcome = dump("--json", path, folder=folder)
    assert (outcome.status, outcome.stderr) == (0, b"")
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def of_kind(kind: str, entries: list[Entry]) -> Iterator[Entry]:
    """The entries of one kind, without saying so."""
    for entry in entries:
        if entry["kind"] == kind:
            yield {key: value for key, value in entry.items() if key != "kind"}


SMALL = """\
table all-kinds.ref: 424 bytes, version 1, sha1, block size 4096, update indexes 1 to 4
ref block at 0: takes 170 bytes, length 170, restarts at 28 51
  HEAD  update 1  symref refs/heads/main
  refs/heads/link  update 4  symref refs/heads/main
  refs/heads/main  update 3  oid {main}
  refs/tags/v1  update 2  oid {tag}  peeled {old}
log block at 170: takes 186 bytes, length 515, restarts at 4 198
  HEAD  update 3  {old} -> {main}  {who}  1700004800 +1245  moved\\n
  HEAD  update 2  {null} -> {old}  {who}  1700004200 -0800  created\\n
  refs/heads/link  update 4  {null} -> {main}  {who}  1700005400 -0030  linked\\n
  refs/heads/main  update 3  {old} -> {main}  {who}  1700004800 +1245  moved\\n
  refs/heads/main  update 2  {null} -> {old}  {who}  1700004200 -0800  created\\n
footer at 356: ref index 0, objects 0 (ids of 0 bytes), object index 0, logs 170, log index 0
"""


def test_text_of_a_small_table() -> None:
    expected = SMALL.format(
        main="107ea71318e90fb85f421e822e8256ff7eb773fb",
        tag="7d0e8352e14b2c0baa09889c783d5612a0a8fc5f",
        old="de67f72882f601028d2128da9d82dd0602e6a83b",
        null="0" * 40,
        who="C O Mitter <committer@example.com>",
    )
    outcome = dump("all-kinds.ref", folder=FIXTURES / "tables")
    assert outcome == Outcome(0, expected.encode(), b"")


@pytest.mark.parametrize("name", TABLES)
def test_every_record_is_there(name: str) -> None:
    """The records that the table's own iterators give, and no others."""
    entries = dump_json(name, FIXTURES / "tables")
    table = Table.open(os.fspath(FIXTURES / "tables" / name))
    keys = ("name", "update_index", "oid", "peeled", "target", "deleted")
    refs = [tuple(entry.get(key) for key in keys) for entry in of_kind("ref", entries)]
    assert refs == [
        (
            text(ref.refname),
            ref.update_index,
            hexed(ref.oid),
            hexed(ref.peeled),
            None if ref.target is None else text(ref.target),
            True if ref.is_deletion else None,
        )
        for ref in table.refs()
    ]
    logs = [
        (entry["name"], entry["update_index"], entry.get("new_oid", ""), entry.get("message", ""))
        for entry in of_kind("log", entries)
    ]
    assert logs == [
        (text(log.refname), log.update_index, log.new_oid.hex(), text(log.message))
        for log in table.logs()
    ]
    table.close()


def text(name: bytes) -> str:
    """What JSON makes of a name."""
    return name.decode("utf-8", "surrogateescape")


def hexed(oid: bytes | None) -> str | None:
    """An id in hex, if any."""
    return None if oid is None else oid.hex()


@pytest.mark.parametrize("name", TABLES)
def test_what_git_lists_is_there(name: str) -> None:
    """Where the table is the whole stack, its refs are those that git listed.

    git lists no dangling HEAD, so only what is under `refs/` is compared.
    """
    facts = json.loads((FIXTURES / "tables" / name).with_suffix(".json").read_text())
    if not facts["is_whole_stack"]:
        return
    entries = dump_json(name, FIXTURES / "tables")
    live = [
        entry
        for entry in of_kind("ref", entries)
        if entry["name"].startswith("refs/") and not entry.get("deleted")
    ]
    listed = [ref for ref in facts["refs"] if ref[0].startswith("refs/")]
    assert [entry["name"] for entry in live] == [ref[0] for ref in listed]
    plain = [(e["oid"], e.get("peeled", "")) for e in live if "oid" in e]
    assert plain == [(oid, peeled) for _, oid, peeled, target in listed if not target]


@pytest.mark.parametrize("name", TABLES)
def test_blocks_cover_the_file(name: str) -> None:
    """Each block begins where the one before it ends, the footer where the last one does."""
    entries = dump_json(name, FIXTURES / "tables")
    (table,), (footer,) = of_kind("table", entries), of_kind("footer", entries)
    position = 0
    header = 24 if table["version"] == 1 else 28
    for block in of_kind("block", entries):
        assert block["offset"] == position
        first = header + 4 if position == 0 else 4
        assert block["restarts"][0] == first
        position += block["full_size"]
    assert footer["offset"] == position
    assert table["size"] == position + (68 if table["version"] == 1 else 72)


@pytest.mark.parametrize("name", ["many-blocks.ref", "long-logs.ref", "many-blocks-sha256.ref"])
def test_indexes_lead_to_the_blocks(name: str) -> None:
    """An index entry's key is the last key of the block that it points to."""
    entries = dump_json(name, FIXTURES / "tables")
    last: dict[int, tuple[str, object]] = {}
    position = 0
    pairs: list[tuple[int, tuple[str, object]]] = []
    for entry in entries:
        if entry["kind"] == "block":
            position = entry["offset"]
        elif entry["kind"] in ("ref", "log"):
            number = entry["update_index"] if entry["kind"] == "log" else None
            last[position] = (entry["name"], number)
        elif entry["kind"] == "obj":
            last[position] = (entry["prefix"], None)
        elif entry["kind"] == "index":
            last[position] = (entry["last"], entry.get("update_index"))
            pairs.append((entry["position"], last[position]))
    assert pairs
    assert all(last[position] == key for position, key in pairs)


def test_objects_say_which_blocks_hold_them() -> None:
    entries = dump_json("many-objects.ref", FIXTURES / "tables")
    blocks = [block["offset"] for block in of_kind("block", entries) if block["type"] == "ref"]
    objects = list(of_kind("obj", entries))
    assert objects
    assert all(set(entry["positions"]) <= set(blocks) for entry in objects)
    shown = dump("many-objects.ref", folder=FIXTURES / "tables").stdout.decode()
    assert f"  {objects[0]['prefix']}  in blocks at " in shown


def test_text_keeps_a_record_on_its_line() -> None:
    """Log messages end in a line feed; text shows it, JSON has it."""
    lines = dump("all-kinds.ref", folder=FIXTURES / "tables").stdout.splitlines()
    entries = dump_json("all-kinds.ref", FIXTURES / "tables")
    assert len(lines) == len(entries)
    assert next(of_kind("log", entries))["message"] == "moved\n"


# Stacks


@pytest.mark.parametrize("path", [".", "reftable", "refs", "../sha1.git"])
def test_stack_of_a_repository(path: str) -> None:
    folder = FIXTURES / "sha1.git"
    names = (folder / "reftable" / "tables.list").read_text().split()
    entries = dump_json(path, folder)
    (stack,) = of_kind("stack", entries)
    assert stack["tables"] == len(names)
    assert os.path.realpath(folder / stack["path"]) == os.path.realpath(folder / "reftable")
    tables = list(of_kind("table", entries))
    assert [table["name"] for table in tables] == names
    assert [table["size"] for table in tables] == [
        (folder / "reftable" / name).stat().st_size for name in names
    ]
    lines = dump(path, folder=folder).stdout.decode().splitlines()
    assert lines[0] == f"stack {stack['path']}, {len(names)} tables"
    assert len(lines) == 1 + len(names)


def test_stacks_of_a_linked_worktree(repo_sha1: Path) -> None:
    tree = run_git(["mktree"], repo_sha1).stdout.decode().strip()
    commit = run_git(["commit-tree", "-m", "m", tree], repo_sha1).stdout.decode().strip()
    run_git(["update-ref", "refs/heads/main", commit], repo_sha1)
    run_git(["worktree", "add", "--quiet", "-b", "other", "../linked"], repo_sha1)
    entries = dump_json(".", repo_sha1.parent / "linked")
    paths = [os.path.realpath(entry["path"]) for entry in of_kind("stack", entries)]
    git_dir = Path(os.path.realpath(repo_sha1 / ".git"))
    assert paths == [
        os.fspath(git_dir / "reftable"),
        os.fspath(git_dir / "worktrees" / "linked" / "reftable"),
    ]


def test_empty_stack(tmp_path: Path) -> None:
    init_repo(tmp_path, bare=True)
    (tmp_path / "reftable" / "tables.list").write_text("")
    assert dump(".", folder=tmp_path).stdout.endswith(b", 0 tables\n")


# Damage


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    """A copy of a stack of several tables."""
    shutil.copytree(FIXTURES / "sha1.git" / "reftable", tmp_path / "reftable")
    return tmp_path / "reftable"


def test_missing_and_damaged_tables_are_reported(stack: Path) -> None:
    names = (stack / "tables.list").read_text().split()
    (stack / names[0]).unlink()
    (stack / names[1]).write_bytes(b"not a table")
    outcome = dump(".", folder=stack)
    assert outcome.status == 1
    lines = outcome.stderr.decode().splitlines()
    assert lines[0] == f"error: cannot open './{names[0]}': No such file or directory"
    assert lines[1].startswith(f"error: ./{names[1]}, offset 0: ")
    assert len(lines) == 2
    assert len(outcome.stdout.splitlines()) == 1 + len(names) - 2


def test_damage_is_shown_where_it_is_reached(tmp_path: Path) -> None:
    """Everything before the damaged block is printed, then the fault with its offset."""
    data = bytearray((FIXTURES / "tables" / "many-blocks.ref").read_bytes())
    data[2 * 256 + 4 + 1] = 0xFF
    (tmp_path / "broken.ref").write_bytes(data)
    outcome = dump("broken.ref", folder=tmp_path)
    assert outcome.status == 128
    whole = dump("many-blocks.ref", folder=FIXTURES / "tables").stdout.splitlines()
    shown = outcome.stdout.splitlines()
    assert shown[1:] == whole[1 : len(shown)]
    assert b"ref block at 256:" in outcome.stdout
    assert outcome.stderr.startswith(b"fatal: broken.ref, offset 5")


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["nothing.ref"], 128, b"fatal: cannot open 'nothing.ref': No such file or directory\n"),
        ([], 129, b"error: expected one file or directory\n"),
        (["a", "b"], 129, b"error: expected one file or directory\n"),
        (["--bogus"], 129, b"error: unknown option `bogus'\n"),
    ],
)
def test_wrong_arguments(tmp_path: Path, args: list[str], status: int, message: bytes) -> None:
    outcome = dump(*args, folder=tmp_path)
    assert outcome.status == status
    assert outcome.stdout == b""
    assert outcome.stderr.startswith(message)
    assert (b"\nusage: git dump [--json] " in outcome.stderr) == (status == 129)


def test_folder_that_is_no_repository(tmp_path: Path) -> None:
    outcome = dump(".", folder=tmp_path)
    assert outcome.status == 128
    assert outcome.stderr.startswith(b"fatal: not a git repository")


def test_help(tmp_path: Path) -> None:
    outcome = dump("-h", folder=tmp_path)
    assert outcome.status == 0
    assert outcome.stdout.startswith(b"usage: git dump [--json] (<file> | <directory>)\n")
