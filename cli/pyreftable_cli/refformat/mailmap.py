"""`.mailmap`: other names and addresses for the persons in commits and tags.

    Proper Name <commit@email>
    <proper@email> <commit@email>
    Proper Name <proper@email> [Commit Name] <commit@email>

It is read from the top folder of the worktree (in a bare repository: from `HEAD:.mailmap`), then
from `mailmap.blob` and `mailmap.file`. Names and addresses match in any case.

Source: `gitmailmap`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from pyreftable.errors import ObjectMissingError, RevisionError

if TYPE_CHECKING:
    from pyreftable.refs.store import RefStore

_SPACE = b" \t\n\v\f\r"


class Identity(NamedTuple):
    """A name and an address; `None` stays as it is."""

    name: bytes | None = None
    email: bytes | None = None


class Mailmap:
    """The mailmap of a repository; read when it is first applied."""

    def __init__(self, store: RefStore) -> None:
        self._store = store
        # Address -> commit name, or None for any, -> what to show. Keys are in lower case.
        self._entries: dict[bytes, dict[bytes | None, Identity]] | None = None

    def apply(self, line: bytes) -> bytes:
        """`line`, which begins `Name <email>`, with both as the mailmap has them."""
        name, open_mark, rest = line.partition(b"<")
        email, close_mark, rest = rest.partition(b">")
        if not open_mark or not close_mark or b"\n" in name + email:
            return line
        name = name.strip(_SPACE)
        by_name = self._read().get(email.lower(), {})
        found = by_name.get(name.lower(), by_name.get(None, Identity()))
        if found == Identity():
            return line
        shown = name if found.name is None else found.name, found.email or email
        return b"%b <%b>" % shown + rest

    def _read(self) -> dict[bytes, dict[bytes | None, Identity]]:
        if self._entries is None:
            self._entries = {}
            for text in self._texts():
                for line in text.split(b"\n"):
                    if not line.startswith(b"#"):
                        self._add(line, self._entries)
        return self._entries

    def _texts(self) -> list[bytes]:
        repository = self._store.repository
        texts: list[bytes] = []
        blob = repository.config.get("mailmap.blob")
        top = repository.work_tree
        if repository.is_bare or top is None:
            blob = blob or "HEAD:.mailmap"
        else:
            texts += _file(os.path.join(top, ".mailmap"), follow=False)
        if blob:
            texts += self._blob(blob)
        path = repository.config.get_path("mailmap.file")
        return texts + (_file(path, follow=True) if path else [])

    def _blob(self, name: str) -> list[bytes]:
        from pyreftable.refs.revision import resolve_object_name

        with suppress(RevisionError, ObjectMissingError):
            kind, body = self._store.objects.read(resolve_object_name(self._store, name))
            if kind == "blob":
                return [body]
        return []

    @staticmethod
    def _add(line: bytes, entries: dict[bytes, dict[bytes | None, Identity]]) -> None:
        name, email, rest = _name_and_email(line)
        if not email:
            return
        old_name, old_email, _ = _name_and_email(rest)
        new_email = email if old_email is not None else None
        by_name = entries.setdefault((email if old_email is None else old_email).lower(), {})
        if old_email is not None and old_name:
            by_name[old_name.lower()] = Identity(name or None, new_email)
            return
        known = by_name.get(None, Identity())
        by_name[None] = Identity(name or known.name, new_email or known.email)


def _name_and_email(text: bytes) -> tuple[bytes, bytes | None, bytes]:
    """The name and the address that `text` begins with, and what follows; no address: `None`."""
    name, open_mark, rest = text.partition(b"<")
    email, close_mark, rest = rest.partition(b">")
    if not open_mark or not close_mark:
        return b"", None, b""
    return name.strip(_SPACE), email, rest


def _file(path: str, *, follow: bool) -> list[bytes]:
    """The contents of a file, if it is there; not through a symbolic link unless `follow`."""
    if not follow and os.path.islink(path):
        return []
    try:
        with open(path, "rb") as file:
            return [file.read()]
    except OSError:
        return []
