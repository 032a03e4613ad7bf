"""Fuzzing the table reader with spoilt fixtures, by hand:

    python -m tests.faults.fuzz_table [seconds] [seed]

Seeds are the tables in `fixtures/`. Half of the time one byte is changed, and what is read must
be what `damage` says; else the damage is wild, the CRC often made right again, and nothing but
`FormatError` may come of it. The first table that breaks a rule is written to a file, and the
exit code is 1. `test_fuzz_table` runs a few rounds, so that this stays runnable.
"""

from __future__ import annotations

import faulthandler
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyreftable.errors import FormatError
from tests.faults.damage import Intact, check_reading, intact
from tests.table_tools import repaired, splice

FIXTURES = Path(__file__).parents[2] / "fixtures"
HANG_S = 60


def seeds() -> list[Intact]:
    """The fixtures' tables, whole."""
    return [intact(path.read_bytes()) for path in sorted(FIXTURES.rglob("*.ref"))]


def change_byte(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data))
    new = dice.choice([data[at] ^ 1 << dice.randrange(8), data[at] ^ 0xFF, dice.randrange(256)])
    return splice(data, at, bytes([new]))


def overwrite(data: bytes, dice: random.Random) -> bytes:
    run = dice.choice([b"\0", b"\xff", b"\x80", dice.randbytes(1)]) * dice.choice([1, 2, 3, 9, 70])
    return splice(data, dice.randrange(len(data)), run)[: len(data)]


def copy_within(data: bytes, dice: random.Random) -> bytes:
    start, length = dice.randrange(len(data)), dice.choice([1, 3, 8, 30, 300])
    return splice(data, dice.randrange(len(data)), data[start : start + length])[: len(data)]


def cut_out(data: bytes, dice: random.Random) -> bytes:
    start = dice.randrange(len(data))
    return data[:start] + data[start + dice.choice([1, 3, 8, 256]) :]


def change_footer(data: bytes, dice: random.Random) -> bytes:
    field = len(data) - 4 - 8 * dice.randint(1, 5)
    if field < 0:
        return data
    value = int.from_bytes(data[field : field + 8], "big")
    new = dice.choice([0, value + 1, value >> 1, dice.randrange(len(data) << 5), 1 << 63])
    return splice(data, field, new.to_bytes(8, "big"))


WILD: list[Callable[[bytes, random.Random], bytes]] = [
    change_byte,
    overwrite,
    copy_within,
    cut_out,
    change_footer,
]


def spoil(data: bytes, dice: random.Random) -> bytes:
    """Damage of any kind, and how much of it varies."""
    for _ in range(dice.choice([1, 1, 2, 5])):
        data = dice.choice(WILD)(data, dice) or data
    if dice.random() < 0.7:
        try:
            return repaired(data)
        except FormatError:
            pass
    return data


def run_round(wholes: list[Intact], dice: random.Random) -> bytes | None:
    """One damaged table, read; its bytes if that broke a rule."""
    whole = dice.choice(wholes)
    mild = dice.random() < 0.5
    data = change_byte(whole.data, dice) if mild else spoil(whole.data, dice)
    try:
        check_reading(data, whole, compare=mild)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return data
    return None


def main(argv: list[str]) -> int:
    seconds = float(argv[0]) if argv else 60.0
    seed = int(argv[1]) if argv[1:] else random.randrange(1 << 32)
    dice = random.Random(seed)
    wholes = seeds()
    deadline = time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < deadline:
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        data = run_round(wholes, dice)
        rounds += 1
        if data is not None:
            with tempfile.NamedTemporaryFile("wb", suffix=".ref", delete=False) as file:
                file.write(data)
            print(f"seed {seed}, round {rounds}: see {file.name}", file=sys.stderr)
            return 1
    faulthandler.cancel_dump_traceback_later()
    print(f"seed {seed}: {rounds} rounds, no fault")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
