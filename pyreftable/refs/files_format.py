"""The bytes of git's older ref storage, "files": no file, no folder, only their content.

    packed-refs   # pack-refs with: peeled fully-peeled sorted
                  <hex id> <name>
                  ^<hex id>              what the annotated tag above finally points to
    a loose ref   <hex id>  or  ref: <name>
    a log         <old id> <new id> <name> <email> in angle brackets <seconds> <zone> TAB <message>

Why our own reader and writer: neither library that could do this does. GitPython 3.2 lists no
root refs, has no peeled values, cannot write packed-refs, knows SHA-1 only and drops log entries'
bytes that are not UTF-8; dulwich 1.2 does not see root refs (`FOO_HEAD`) and fails on a log entry
without a message, which git writes.

Source: `gitrepository-layout`, `git-pack-refs`, and git's behaviour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import FormatError, PackedRefsError
from ..format.records import OID, OID_AND_PEELED, SYMREF, LogRecord, RefRecord

PACKED_HEADER = b"# pack-refs with: peeled fully-peeled sorted \n"
_TRAITS = b"# pack-refs with:"
_HEX = frozenset(b"0123456789abcdefABCDEF")


class PackedRefs(NamedTuple):
    """The refs of a `packed-refs`: raw ids by name, and what is known of their peeled values.

    `peeled` holds the raw peeled ids. `fully_peeled`: those without one are no annotated tags;
    `tags_peeled`: that holds for names under `refs/tags/`.
    """

    oids: dict[bytes, bytes]
    peeled: dict[bytes, bytes]
    fully_peeled: bool
    tags_peeled: bool

    def knows_peeled(self, name: bytes) -> bool:
        """Whether no peeled id for `name` means that there is none."""
        return self.fully_peeled or (self.tags_peeled and name.startswith(b"refs/tags/"))


def parse_packed_refs(data: bytes, hash_size: int, path: str) -> PackedRefs:
    """The content of a `packed-refs`; raises `FormatError` in git's words for what is none."""
    if data and not data.endswith(b"\n"):
        line = data[data.rfind(b"\n") + 1 :]
        raise _bad("unterminated", line, path)
    lines = data.split(b"\n")[:-1]
    traits: list[bytes] = []
    if lines and lines[0].startswith(_TRAITS):
        traits = lines.pop(0)[len(_TRAITS) :].split()
    fully = b"fully-peeled" in traits
    found = PackedRefs({}, {}, fully, fully or b"peeled" in traits)
    name = b""
    width = 2 * hash_size
    for line in lines:
        if line.startswith(b"^") and name and _is_hex(line[1:], width):
            found.peeled[name] = bytes.fromhex(line[1:].decode())
        elif _is_hex(line[:width], width) and line[width : width + 1].isspace():
            name = line[width + 1 :]
            found.oids[name] = bytes.fromhex(line[:width].decode())
        elif not line.startswith(b"#"):
            raise _bad("unexpected", line, path)
    return found


def format_packed_refs(records: Iterable[RefRecord]) -> Iterator[bytes]:
    """A `packed-refs` with these records, which are in name order and hold ids."""
    yield PACKED_HEADER
    for record in records:
        yield b"%s %s\n" % (_hex(record.oid or b""), record.refname)
        if record.peeled is not None:
            yield b"^%s\n" % _hex(record.peeled)


def parse_loose_ref(data: bytes, name: bytes, hash_size: int) -> RefRecord | None:
    """The ref in the file of that name (update index 0); `None` if its content is none."""
    if data.startswith(b"ref:"):
        return RefRecord(name, 0, SYMREF, data[4:].strip())
    width = 2 * hash_size
    if not _is_hex(data[:width], width) or not (data[width : width + 1] or b"\n").isspace():
        return None
    return RefRecord(name, 0, OID, bytes.fromhex(data[:width].decode()))


def format_loose_ref(record: RefRecord) -> bytes:
    """The content of the file that holds this ref alone."""
    if record.value_type == SYMREF:
        return b"ref: %s\n" % record.value
    return _hex(record.oid or b"") + b"\n"


def with_peeled(record: RefRecord, peeled: bytes | None) -> RefRecord:
    """A record with an object id, with that peeled id added."""
    if peeled is None or record.value_type != OID:
        return record
    return record._replace(value_type=OID_AND_PEELED, value=record.value + peeled)


def parse_log_line(line: bytes, name: bytes, hash_size: int) -> LogRecord | None:
    """The entry on a line of a log (update index 0); `None` where git would skip the line."""
    width = 2 * hash_size
    ids, rest = line[: 2 * width + 2], line[2 * width + 2 :]
    old, space, new = ids[:width], ids[width : width + 1], ids[width + 1 : 2 * width + 1]
    if not (_is_hex(old, width) and _is_hex(new, width) and space == ids[-1:] == b" "):
        return None
    identity, tab, message = rest.partition(b"\t")
    before, bracket, date = identity.rpartition(b"> ")
    who, opened, email = before.partition(b"<")
    seconds, _, zone = date.partition(b" ")
    if not (bracket and opened and seconds.isdigit() and _is_zone(zone)):
        return None
    return LogRecord(
        name,
        0,
        bytes.fromhex(old.decode()),
        bytes.fromhex(new.decode()),
        who.removesuffix(b" "),
        email,
        int(seconds),
        int(zone),
        message if tab else b"",
    )


def format_log_line(record: LogRecord) -> bytes:
    """The line of a log that holds this entry, its line end included."""
    message = record.message.removesuffix(b"\n")
    who = record.committer_name + b" " if record.committer_name else b""
    return b"%s %s %s<%s> %d %+05d%s\n" % (
        _hex(record.old_oid),
        _hex(record.new_oid),
        who,
        record.email,
        record.time,
        record.tz_offset,
        b"\t" + message if message else b"",
    )


def _hex(oid: bytes) -> bytes:
    return oid.hex().encode()


def _is_hex(text: bytes, width: int) -> bool:
    return len(text) == width and _HEX.issuperset(text)


def _is_zone(text: bytes) -> bool:
    return text[:1] in (b"+", b"-") and 1 < len(text) <= 6 and text[1:].isdigit()


def _bad(what: str, line: bytes, path: str) -> FormatError:
    shown = line[:80].decode("utf-8", "surrogateescape")
    return PackedRefsError(f"{what} line in {path}: {shown}")
