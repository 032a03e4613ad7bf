"""Damaged bytes: every truncation, every byte flipped in turn, and files that are no tables.

What must hold is told in `damage`. The damage here is blind; `test_damaged_fields` spoils one
field at a time, with the CRC repaired.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pyreftable.errors import FormatError
from pyreftable.hashes import SHA256
from pyreftable.table import Table
from pyreftable.writer import WriteOptions
from tests.faults.damage import NAME, Intact, check_reading, intact
from tests.table_tools import build, log, make_value, open_table, ref, splice

FIXTURES = Path(__file__).parents[2] / "fixtures"


def sample(options: WriteOptions, **arguments: object) -> Intact:
    """A small table with everything in it: all value types, two index levels, objs, logs."""
    hash = arguments.get("hash")
    size = 32 if hash == SHA256 else 20
    refs = []
    for number in range(22):
        name, kind = b"refs/%x/%02d" % (number // 8, number), (1, 1, 2, 0, 1, 3)[number % 6]
        refs.append(ref(name, 1 + number % 3 * 60, kind, make_value(name, kind, size)))
    logs = [
        log(b"refs/%d" % (number // 2), 9 - number % 2, size=size, committer_name=b"C", email=b"e@x")
        for number in range(10)
    ]
    logs = [
        entry._replace(message=b"m%d\n" % number) if number % 4 else type(entry)(*entry[:2])
        for number, entry in enumerate(logs)
    ]
    return intact(build(refs, logs, options=options, high=200, **arguments))  # type: ignore[arg-type]


SAMPLES = {
    "padded": sample(WriteOptions(block_size=150, restart_interval=2)),
    "unpadded": sample(WriteOptions(180, 3, unpadded=True), hash=SHA256),
    "one-block": sample(WriteOptions(restart_interval=4)),
    "logs-only": intact(build(logs=[log("a", 2), log("a", 1), log("b", 1)])),
    "empty": intact(build()),
}
WHOLE = pytest.mark.parametrize("whole", SAMPLES.values(), ids=SAMPLES.keys())


def test_samples_have_everything_in_them() -> None:
    for name in ("padded", "unpadded"):
        footer = open_table(SAMPLES[name].data).footer
        assert all(footer)
        assert not check_reading(SAMPLES[name].data, SAMPLES[name])
        kinds = {record.value_type for record in SAMPLES[name].refs}
        assert kinds == {0, 1, 2, 3}


@WHOLE
def test_truncated_at_every_length(whole: Intact) -> None:
    for length in range(len(whole.data)):
        with pytest.raises(FormatError) as caught:
            Table.open_bytes(whole.data[:length]) if False else open_table(
                whole.data[:length], NAME
            )
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
def test_one_bit_of_every_byte_flipped_in_turn(whole: Intact) -> None:
    """One bit is what a disk or memory loses; which bit, changes from byte to byte."""
    for at, byte in enumerate(whole.data):
        check_reading(splice(whole.data, at, bytes([byte ^ (1 << at * 5 % 8)])), whole)


@WHOLE
def test_runs_of_bytes_overwritten(whole: Intact) -> None:
    dice = random.Random(len(whole.data))
    for _ in range(150):
        at = dice.randrange(len(whole.data))
        run = dice.choice([bytes, dice.randbytes])(dice.choice([2, 3, 8, 64]))
        data = splice(whole.data, at, run)[: len(whole.data)]
        check_reading(data, whole)


@pytest.mark.parametrize(
    "path", [__file__, str(FIXTURES / "sha1.git" / "HEAD"), str(FIXTURES / "make.py")]
)
def test_foreign_files(path: str) -> None:
    with pytest.raises(FormatError, match="no reftable|too few") as caught:
        Table.open(path)
    assert (caught.value.path, caught.value.offset) == (path, 0)


@pytest.mark.parametrize("seed", range(30))
def test_noise_behind_a_header(seed: int) -> None:
    dice = random.Random(seed)
    head = SAMPLES["padded"].data[: dice.choice([4, 5, 24])]
    assert check_reading(head + dice.randbytes(dice.randrange(2000)), SAMPLES["padded"])
