"""The bytes that git writes are the bytes that we write, for the same records and options.

Tables come from `fixtures/`, and from the real git, driven at random. Each is read and written
anew: the result must be the same file. Log blocks are deflated by another zlib than git's, so
those are held against git's after inflating; the rest of such a file may be shifted by that, and
is the same but for positions.

git has no setting for unpadded tables and never writes one: their layout rests on round trips
(`tests/property`), and on the rule, stated in git's document and in `test_writer`, that their
blocks follow each other at once and that more than one in a section make an index.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import crcmod.predefined  # type: ignore[import-untyped]
import pytest

from pyreftable.format.block import INDEX, LOG, Block, decode_index
from pyreftable.format.header import Footer
from pyreftable.format.records import SYMREF, LogRecord, RefRecord
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from tests.interop.git_tables import FEWEST_TABLES, GitTables
from tests.table_tools import build, footer_offset, open_table

FIXTURES = Path(__file__).parents[2] / "fixtures"
TABLES = sorted((FIXTURES / "tables").glob("*.ref"))
REPOSITORIES = 22
CRC32 = crcmod.predefined.mkCrcFun("crc-32")

NAMED = pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)


def story_of(path: Path) -> dict[str, Any]:
    """What git said of a table when it was made: settings, refs and logs of the stack."""
    return json.loads(path.with_suffix(".json").read_text())  # type: ignore[no-any-return]


#: Tables that were all of their stack, so that what git listed is what is in them.
LISTED = pytest.mark.parametrize(
    "path",
    [path for path in TABLES if story_of(path)["is_whole_stack"]],
    ids=lambda path: path.stem,
)


def rewritten(data: bytes, options: WriteOptions) -> bytes:
    """The table's records, written by us."""
    table = open_table(data)
    return build(
        table.refs(),
        table.logs(),
        options=options,
        hash=table.hash,
        low=table.min_update_index,
        high=table.max_update_index,
    )


class Outline(NamedTuple):
    """A table less what depends on the length of deflated bytes."""

    head: bytes
    blocks: list[object]
    footer: Footer


def outline(data: bytes) -> Outline:
    table = open_table(data)
    blocks = list(table.blocks())
    numbers = {block.offset: number for number, block in enumerate(blocks)}
    logs = next((block.offset for block in blocks if block.type == LOG), footer_offset(data))

    def content(block: Block) -> object:
        if block.offset > logs and block.type == INDEX:
            keys, positions = decode_index(block)
            restarts = len(block.restart_offsets)
            return restarts, list(zip(keys, [numbers[at] for at in positions], strict=True))
        return block.data

    last = table.footer._replace(log_index=numbers.get(table.footer.log_index, 0))
    return Outline(data[:logs], [content(block) for block in blocks], last)


def check_same(theirs: bytes, options: WriteOptions) -> None:
    """Byte for byte, but for how logs deflate."""
    ours = rewritten(theirs, options)
    if not open_table(theirs).has_logs:
        assert ours == theirs
        return
    assert outline(ours) == outline(theirs)
    if stored_sizes(ours) == stored_sizes(theirs):
        end = footer_offset(theirs)
        assert ours[end:] == theirs[end:]


def stored_sizes(data: bytes) -> list[int]:
    return [block.full_size for block in open_table(data).blocks()]


def check_crc(data: bytes) -> None:
    """By an implementation that is neither zlib nor ours."""
    end = footer_offset(data)
    assert int.from_bytes(data[-4:], "big") == CRC32(data[end:-4])
    header_len = 24 if data[4] == 1 else 28
    assert CRC32(data[:header_len]) == CRC32(data[end : end + header_len])


def options_of(path: Path) -> WriteOptions:
    settings = story_of(path)["settings"]
    return WriteOptions(
        block_size=settings.get("blockSize", 0),
        restart_interval=settings.get("restartInterval", 0),
        index_objects=settings.get("indexObjects", "true") == "true",
        exact_log_message=True,
    )


class TestFixtures:
    def test_there_are_tables_of_every_kind(self) -> None:
        tables = [Table.open(str(path)) for path in TABLES]
        assert len(tables) >= 15
        assert {table.hash.name for table in tables} == {"sha1", "sha256"}
        kinds = {(table.has_refs, table.has_logs) for table in tables}
        assert kinds == {(True, True), (True, False), (False, True)}
        assert any(table.footer.obj_index for table in tables)
        assert {record.value_type for table in tables for record in table.refs()} == {0, 1, 2, 3}
        for table in tables:
            table.close()

    @NAMED
    def test_bytes(self, path: Path) -> None:
        check_same(path.read_bytes(), options_of(path))

    @NAMED
    def test_crc(self, path: Path) -> None:
        data = path.read_bytes()
        check_crc(data)
        check_crc(rewritten(data, options_of(path)))

    @LISTED
    def test_refs_are_what_git_lists(self, path: Path) -> None:
        records = {record.refname: record for record in open_table(path.read_bytes()).refs()}
        listed = {
            name.encode("utf-8", "surrogateescape"): (oid, peeled, target)
            for name, oid, peeled, target in story_of(path)["refs"]
        }
        for name, record in records.items():
            if name in listed:
                assert described(record, listed[name][0]) == listed[name]
            else:
                # git leaves out what points nowhere.
                assert record.target
                assert record.target not in records
        assert set(listed) <= set(records)

    @LISTED
    def test_logs_are_what_git_lists(self, path: Path) -> None:
        logs: dict[str, list[list[str]]] = {}
        for record in open_table(path.read_bytes()).logs():
            if not record.is_existence_marker:
                name = record.refname.decode("utf-8", "surrogateescape")
                logs.setdefault(name, []).append(entry_of(record))
        assert logs == story_of(path)["logs"]


def described(record: RefRecord, resolved: str) -> tuple[str, str, str]:
    """As git lists it; a symref's id is that of its target."""
    if record.value_type == SYMREF:
        return resolved, "", (record.target or b"").decode("utf-8", "surrogateescape")
    return (record.oid or b"").hex(), (record.peeled or b"").hex(), ""


def entry_of(record: LogRecord) -> list[str]:
    when = f"{record.time} {record.tz_offset:+05d}"
    texts = (record.committer_name, record.email, record.message.removesuffix(b"\n"))
    name, email, message = (text.decode("utf-8", "surrogateescape") for text in texts)
    return [record.new_oid.hex(), name, email, when, message]


class TestRandomTables:
    """At least 22 * 24 = 528 tables."""

    @pytest.mark.parametrize("seed", range(REPOSITORIES))
    def test_bytes_and_crc(self, tmp_path: Path, seed: int) -> None:
        tables = GitTables(tmp_path, random.Random(seed)).make()
        assert len(tables) >= FEWEST_TABLES
        for table in tables:
            check_crc(table.data)
            check_same(table.data, table.options)

    def test_more_restarts_than_a_block_can_count(self, tmp_path: Path) -> None:
        made = GitTables(tmp_path, random.Random(0))
        options = WriteOptions(block_size=16_777_215, restart_interval=1)
        for key, value in (("blockSize", 16_777_215), ("restartInterval", 1)):
            made.git("config", f"reftable.{key}", str(value))
        made.git("config", "core.logAllRefUpdates", "false")
        made.git("config", "reftable.indexObjects", "true")
        (oid,) = {made.git("hash-object", "-w", "--stdin", data="x")}
        made.git(
            "update-ref",
            "--stdin",
            data="".join(f"create refs/x/{number:05} {oid}\n" for number in range(66_000)),
        )
        made.collect()
        largest = max((table.data for table in made.found.values()), key=len)
        assert len(next(open_table(largest).blocks()).restart_offsets) == 65_535
        check_same(largest, options)
