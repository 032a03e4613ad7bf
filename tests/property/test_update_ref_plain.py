"""The short way through `update-ref --stdin` against the exact reader, which is its oracle."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import example, given
from hypothesis import strategies as st

from pyreftable.hashes import SHA1
from pyreftable.refs.names import all_valid
from pyreftable_cli import update_ref_commands as commands
from pyreftable_cli.context import encode
from pyreftable_cli.update_ref_arguments import TextArguments
from pyreftable_cli.update_ref_names import ObjectNames
from pyreftable_cli.update_ref_plain import scan
from tests.ref_operations import as_text, operations
from tests.twins import Objects, fill

_OBJECTS = Objects(("a" * 40, "b" * 40, "C" * 40), "d" * 40, "e" * 40, "f" * 40, "0f" * 20)
_NULL = SHA1.null

_ACTIONS = {
    "update": commands.queue_update,
    "create": commands.queue_create,
    "delete": commands.queue_delete,
    "verify": commands.queue_verify,
}

Update = tuple[str, bytes | None, bytes | None]


class Recorder:
    """Stands for queue, transaction, context and store at once, and keeps what is queued."""

    deref, create_reflog, batch, hash = True, False, False, SHA1

    def __init__(self) -> None:
        self.queued: list[Update] = []
        self.transaction = self.store = self

    def update(self, name: str, new: bytes, old: bytes | None, **_: object) -> None:
        self.queued.append((name, new or _NULL, _NULL if old == b"" else old))

    def create(self, name: str, new: bytes, **_: object) -> None:
        self.queued.append((name, new, _NULL))

    def delete(self, name: str, old: bytes | None, **_: object) -> None:
        self.queued.append((name, _NULL, old))

    def verify(self, name: str, old: bytes, **_: object) -> None:
        self.queued.append((name, None, old or _NULL))


def _read_exactly(line: str) -> Update:
    """What the exact reader makes of a line; raises `Fatal` if it refuses it."""
    recorder = cast(Any, Recorder())
    command = line.partition(" ")[0]
    ids = ObjectNames(recorder)
    data = encode(line) + b"\n"
    arguments = TextArguments(recorder, ids.object_id, data, len(command) + 1)
    _ACTIONS[command](recorder, arguments)
    queued: list[Update] = recorder.queued
    return queued[0]


plain_lines = operations.map(lambda words: as_text(words, quoted=False).removesuffix("\n"))
odd_lines = st.text(alphabet='ab/" \t\r\0.0', max_size=12).map(lambda text: f"delete {text}")


@given(lines=st.lists(st.one_of(plain_lines, plain_lines, odd_lines), max_size=12))
@example(lines=["create refs/a {c0}", "update refs/a {c1} {c2}", "delete refs/a", "verify refs/a"])
@example(lines=["delete refs/a {c0}", "verify refs/a {zero}", "update refs/a {zero} {c0}"])
@example(lines=['delete "refs/a"', "delete refs/a"])
def test_same_as_the_exact_reader(lines: list[str]) -> None:
    """A line that is taken for plain, with a valid name, means the same to the exact reader."""
    lines = [fill(line, _OBJECTS) for line in lines]
    at = 0
    while at < len(lines):
        plain = scan(lines, at, ObjectNames(cast(Any, Recorder())))
        found = zip(plain.names, plain.new_oids, plain.old_oids, strict=True)
        for line, update in zip(lines[at : plain.end], found, strict=True):
            if all_valid([update[0]]):
                assert update == _read_exactly(line)
        at = plain.end + 1


def test_plain_lines_are_recognized() -> None:
    """The twin of the test above, which would pass if nothing were ever plain."""
    lines = [
        fill(line, _OBJECTS)
        for line in (
            "create refs/a {c0}",
            "update refs/b {upper}",
            "update refs/c {c1} {c2}",
            "update refs/d {zero} {zero}",
            "delete refs/e",
            "delete refs/f {c0}",
            "verify refs/g",
            "verify refs/h {zero}",
            "create refs/i {zero}",
        )
    ]
    plain = scan(lines, 0, ObjectNames(cast(Any, Recorder())))
    assert plain.end == len(lines) - 1
    assert plain.names == [f"refs/{letter}" for letter in "abcdefgh"]
