"""Object directories, their alternates, and the loose objects in them.

A loose object lies at `objects/xx/yyyy…` (its hex id, split after two digits) and inflates to
`TYPE SP SIZE NUL BODY`. Asking whether one exists and what it is takes one file and the first
bytes of its contents: this is most of what a ref store asks, and needs no other package.

Source: gitrepository-layout(5), sections "objects" and "objects/info/alternates";
git(1), `GIT_OBJECT_DIRECTORY` and `GIT_ALTERNATE_OBJECT_DIRECTORIES`.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_O_BINARY: int = getattr(os, "O_BINARY", 0)
_HEX = frozenset("0123456789abcdef")

OBJECT_TYPES = frozenset({"commit", "tree", "blob", "tag"})

# "commit " and a size of 20 digits take 28 bytes; git itself looks at the first 32.
_HEADER_LIMIT = 32
_FIRST_READ = 128

# How deep alternates of alternates are followed; git's limit.
_ALTERNATES_DEPTH = 5


def object_directories(common_dir: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The object directories of a repository, its own first, then each alternate once.

    Lazy: the alternates are read only when the directories before them did not have an object.
    """
    own = environ.get("GIT_OBJECT_DIRECTORY") or os.path.join(common_dir, "objects")
    seen = {os.path.realpath(own)}
    yield own
    listed = environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "")
    for path in _split_paths(listed, os.pathsep):
        yield from _with_alternates(path, seen, _ALTERNATES_DEPTH)
    yield from _alternates_of(own, seen, _ALTERNATES_DEPTH)


def _with_alternates(path: str, seen: set[str], depth: int) -> Iterator[str]:
    real = os.path.realpath(path)
    if real in seen or not os.path.isdir(path):
        return
    seen.add(real)
    yield path
    yield from _alternates_of(path, seen, depth)


def _alternates_of(directory: str, seen: set[str], depth: int) -> Iterator[str]:
    if depth == 0:
        return
    try:
        with open(os.path.join(directory, "info", "alternates"), "rb") as file:
            text = os.fsdecode(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return
    for path in _split_paths(text, "\n"):
        yield from _with_alternates(os.path.join(directory, path), seen, depth - 1)


def _split_paths(text: str, separator: str) -> Iterator[str]:
    """Split a list of paths: `#` starts a comment, quotes one that may hold the separator."""
    while text:
        if text.startswith('"'):
            path, text = _split_quoted(text, separator)
        else:
            path, _, text = text.partition(separator)
        if path and not path.startswith("#"):
            yield path


def _split_quoted(text: str, separator: str) -> tuple[str, str]:
    """The path in the quotes that open `text` and what follows; as it stands if badly quoted."""
    from .quoting import unquote_c_style

    try:
        path, rest = unquote_c_style(os.fsencode(text))
    except ValueError:
        path_text, _, rest_text = text.partition(separator)
        return path_text, rest_text
    return os.fsdecode(path), os.fsdecode(rest)[1:]


def loose_path(directory: str, hexid: str) -> str:
    """Where `directory` keeps the loose object `hexid`."""
    return f"{directory}/{hexid[:2]}/{hexid[2:]}"


def loose_info(directory: str, hexid: str) -> tuple[str, int] | None:
    """Type and size of a loose object; `None` if it is not there or its header is damaged."""
    try:
        descriptor = os.open(loose_path(directory, hexid), os.O_RDONLY | _O_BINARY)
    except OSError:
        return None
    try:
        start = os.read(descriptor, _FIRST_READ)
    finally:
        os.close(descriptor)
    try:
        header = zlib.decompressobj().decompress(start, _HEADER_LIMIT)
    except zlib.error:
        return None
    return _parse_header(header.partition(b"\0"))


def loose_read(directory: str, hexid: str) -> tuple[str, bytes] | None:
    """Type and body of a loose object; `None` if it is not there or damaged."""
    try:
        with open(loose_path(directory, hexid), "rb") as file:
            inflated = zlib.decompress(file.read())
    except (OSError, zlib.error):
        return None
    header, nul, body = inflated.partition(b"\0")
    info = _parse_header((header, nul, body))
    if info is None or info[1] != len(body):
        return None
    return info[0], body


def _parse_header(parts: tuple[bytes, bytes, bytes]) -> tuple[str, int] | None:
    header, nul, _ = parts
    kind, _, size = header.decode("latin-1").partition(" ")
    if not nul or kind not in OBJECT_TYPES or not (size.isascii() and size.isdigit()):
        return None
    return kind, int(size)


def loose_ids(directory: str, prefix: str, hex_size: int) -> Iterator[str]:
    """Hex ids of the loose objects whose id starts with `prefix` (two digits or more)."""
    fan_out, rest = prefix[:2], prefix[2:]
    try:
        entries = os.listdir(f"{directory}/{fan_out}")
    except OSError:
        return
    for entry in entries:
        if entry.startswith(rest) and len(entry) == hex_size - 2 and _HEX.issuperset(entry):
            yield fan_out + entry
