"""An object's content, as fields ask about it: headers, and the message in its parts.

    header lines, an empty line, then the message:
    subject   up to the first empty line
    body      what follows
    signature from the last line that opens one, where the message of a tag carries one

As in git, the text of a commit or tag ends at the first NUL, if it holds one.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from pyreftable.errors import ObjectMissingError

_SIGNATURES = (
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN PGP MESSAGE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
    b"-----BEGIN SSH SIGNATURE-----",
)


class TagHead(NamedTuple):
    """What an annotated tag names: the hex id and the type of an object; and its own name."""

    target: bytes
    type: bytes
    name: bytes


class ObjectContent:
    """The object `oid` (hex): its type, and the bytes of its content.

    Raises `ObjectMissingError` for a commit or tag whose head is damaged.
    """

    def __init__(self, oid: str, kind: str, body: bytes) -> None:
        self.oid = oid
        self.kind = kind
        self.body = body
        if kind == "commit":
            from pyreftable.refs.object_content import commit_parents, commit_tree

            self.tree = commit_tree(body, oid)
            self.parents = commit_parents(body, oid)
        elif kind == "tag":
            self.tag = _tag_head(body, oid)

    @property
    def has_message(self) -> bool:
        """Whether this is a commit or a tag."""
        return self.kind in ("commit", "tag")

    @cached_property
    def text(self) -> bytes:
        """The content up to the first NUL."""
        return self.body.partition(b"\0")[0] if b"\0" in self.body else self.body

    @cached_property
    def message(self) -> Message:
        """The message of a commit or tag."""
        return Message(self.text)

    def after_header(self, name: bytes) -> bytes | None:
        """All text after the header `name` and a blank; `None` where there is no such header."""
        text, start = self.text, name + b" "
        at = 0
        while at < len(text):
            if text.startswith(start, at):
                return text[at + len(start) :]
            at = text.find(b"\n", at) + 1
            if at == 0 or text.startswith(b"\n", at):
                return None
        return None


class Message:
    """The parts of a message, as slices of `text`: the content of a commit or tag."""

    def __init__(self, text: bytes) -> None:
        start = _message_start(text)
        signature_at = _signature_start(text, start)
        end = text.find(b"\n\n", start)
        if end < 0:
            end = text.find(b"\r\n\r\n", start)
        subject_end = signature_at if end < 0 else min(end, signature_at)
        body_start = subject_end
        while text[body_start : body_start + 1] in (b"\n", b"\r"):
            body_start += 1
        self.whole = text[start:]
        self.unsigned = text[start:signature_at]
        self.signature = text[signature_at:]
        self.subject_lines = text[start:subject_end].rstrip(b"\r\n")
        self.body = text[body_start:]
        self.unsigned_body = text[body_start:signature_at]

    @property
    def subject(self) -> bytes:
        """The subject on one line."""
        return self.subject_lines.replace(b"\r\n", b"\n").replace(b"\n", b" ")

    def first_lines(self, count: int) -> bytes:
        """That many lines, signature apart; all but the first are indented."""
        lines = self.unsigned.split(b"\n")
        if len(lines) <= count and not lines[-1]:
            # What follows the last line end is no line.
            del lines[-1]
        return b"\n    ".join(lines[:count])


def _message_start(text: bytes) -> int:
    """Where the message begins: behind the headers, and all empty lines after them."""
    at = 0 if text.startswith(b"\n") else text.find(b"\n\n") + 1
    if at == 0 and not text.startswith(b"\n"):
        return len(text)
    while text.startswith(b"\n", at):
        at += 1
    return at


def _signature_start(text: bytes, start: int) -> int:
    """Where the last line that opens a signature begins; the end of the text without one."""
    found = -1
    for mark in _SIGNATURES:
        at = text.rfind(mark, start)
        while at > start and text[at - 1] != ord("\n"):
            at = text.rfind(mark, start, at)
        found = max(found, at)
    return len(text) if found < 0 else found


def _tag_head(body: bytes, oid: str) -> TagHead:
    from pyreftable.refs.object_content import parse_tag

    target, kind = parse_tag(body, oid)
    line = body.split(b"\n", 3)[2]
    if not line.startswith(b"tag "):
        raise ObjectMissingError(f"tag {oid} is damaged")
    return TagHead(target.encode(), kind.encode(), line.removeprefix(b"tag "))
