"""Damaged bytes: every truncation, every byte flipped in turn, and files that are no tables.

What must hold is told in `damage`. The damage here is blind; `test_damaged_fields` spoils one
field at a time, with the CRC repaired.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pyreftable.errors import FormatError
from pyreftable.format.records import LogRecord
from pyreftable.hashes import SHA1, SHA256, HashAlgorithm
from pyreftable.table import Table
from pyreftable.write_options import WriteOptions
from tests.faults import fuzz_table
from tests.faults.damage import NAME, Intact, check_reading, intact
from tests.table_tools import build, log, make_value, open_table, ref, splice

FIXTURES = Path(__file__).parents[2] / "fixtures"


def sample(options: WriteOptions, hash: HashAlgorithm, count: int) -> Intact:
    """A table with everything in it: all value types, ref index, objs, logs of several blocks."""
    refs = []
    for number in range(count):
        name, kind = (
            b"refs/%x/%02d/%s" % (number // 8, number, b"x" * 12),
            (2, 1, 2, 0, 3)[number % 5],
        )
        refs.append(ref(name, 1 + number % 3 * 60, kind, make_value(name, kind, hash.size)))
    logs = []
    for number in range(count - 4):
        name, index = b"refs/%d" % (number // 2), 9 - number % 2
        entry = log(name, index, size=hash.size, committer_name=b"C", email=b"e@x", message=b"m\n")
        logs.append(entry if number % 4 else LogRecord.deletion(name, index))
    return intact(build(refs, logs, options=options, hash=hash, high=200))


SAMPLES = {
    "padded": sample(WriteOptions(200, 2), SHA256, 11),
    "deep": sample(WriteOptions(120, 1, unpadded=True), SHA1, 15),
    "one-block": sample(WriteOptions(restart_interval=4), SHA1, 9),
    "logs-only": intact(build(logs=[log("a", 2), log("a", 1), log("b", 1)])),
    "empty": intact(build()),
}
WHOLE = pytest.mark.parametrize("whole", SAMPLES.values(), ids=SAMPLES.keys())


def test_samples_have_everything_in_them() -> None:
    for whole in SAMPLES.values():
        assert not check_reading(whole.data, whole)
    for name in ("padded", "deep"):
        footer = open_table(SAMPLES[name].data).footer
        assert footer.ref_index
        assert footer.obj
        assert footer.log_index
        assert {record.value_type for record in SAMPLES[name].refs} == {0, 1, 2, 3}
    deep = open_table(SAMPLES["deep"].data)
    assert deep.footer.obj_index
    index_blocks = [block.offset for block in deep.blocks() if block.type == b"i"]
    assert index_blocks.index(deep.footer.ref_index) > 0


@WHOLE
def test_truncated_at_every_length(whole: Intact) -> None:
    for length in range(len(whole.data)):
        with pytest.raises(FormatError) as caught:
            open_table(whole.data[:length], NAME)
        assert caught.value.path == NAME
        assert caught.value.offset is not None


@WHOLE
def test_truncated_at_the_front(whole: Intact) -> None:
    for length in range(1, len(whole.data)):
        assert check_reading(whole.data[length:], whole)


@WHOLE
def test_bytes_added_at_the_end(whole: Intact) -> None:
    for added in (b"\0", b"\xff", b"REFT", whole.data[-68:], bytes(4096)):
        assert check_reading(whole.data + added, whole)


@WHOLE
def test_every_byte_inverted_in_turn(whole: Intact) -> None:
    raised = 0
    for at, byte in enumerate(whole.data):
        raised += check_reading(splice(whole.data, at, bytes([byte ^ 0xFF])), whole)
    assert raised > len(whole.data) // 5


@WHOLE
def test_one_bit_of_every_other_byte_flipped_in_turn(whole: Intact) -> None:
    """One bit is what a disk or memory loses; which bit, changes from byte to byte."""
    for at in range(0, len(whole.data), 2):
        flipped = whole.data[at] ^ (1 << at * 5 // 2 % 8)
        check_reading(splice(whole.data, at, bytes([flipped])), whole)


@WHOLE
def test_runs_of_bytes_overwritten(whole: Intact) -> None:
    dice = random.Random(len(whole.data))
    for _ in range(80):
        at = dice.randrange(len(whole.data))
        length = dice.choice([2, 3, 8, 64])
        run = bytes(length) if dice.random() < 0.5 else dice.randbytes(length)
        data = splice(whole.data, at, run)[: len(whole.data)]
        check_reading(data, whole)


@pytest.mark.parametrize(
    "path", [__file__, str(FIXTURES / "sha1.git" / "HEAD"), str(FIXTURES / "make.py")]
)
def test_foreign_files(path: str) -> None:
    with pytest.raises(FormatError, match=r"no reftable|too few") as caught:
        Table.open(path)
    assert (caught.value.path, caught.value.offset) == (path, 0)


@pytest.mark.parametrize("seed", range(30))
def test_noise_behind_a_header(seed: int) -> None:
    dice = random.Random(seed)
    head = SAMPLES["padded"].data[: dice.choice([4, 5, 24])]
    assert check_reading(head + dice.randbytes(dice.randrange(2000)), SAMPLES["padded"])


def test_fuzz_table_stays_runnable() -> None:
    """A few rounds with a fixed seed; by hand it runs as long as one likes."""
    dice = random.Random(1)
    wholes = [whole for whole in fuzz_table.seeds() if len(whole.data) < 3000]
    assert len(wholes) >= 5
    assert [fuzz_table.run_round(wholes, dice) for _ in range(150)] == [None] * 150
