"""What object names need to know of the contents of tags, commits and trees.

A body that is not what its type promises gives `ObjectMissingError`: to a ref store a damaged
object is as good as none. Source: git's object formats, as `git cat-file -p` shows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ObjectMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEX = frozenset("0123456789abcdef")


def parse_tag(body: bytes, hexid: str) -> tuple[str, str]:
    """The id and type of the object that the tag `hexid` names."""
    lines = body.split(b"\n", 2)
    if len(lines) < 3 or not lines[1].startswith(b"type "):
        raise ObjectMissingError(f"tag {hexid} is damaged")
    return _id_after(b"object ", lines[0], hexid), lines[1][len(b"type ") :].decode("latin-1")


def commit_tree(body: bytes, hexid: str) -> str:
    """The id of the tree of the commit `hexid`."""
    return _id_after(b"tree ", body.partition(b"\n")[0], hexid)


def commit_parents(body: bytes, hexid: str) -> list[str]:
    """The ids of the parents of the commit `hexid`, in order."""
    lines = body.partition(b"\n\n")[0].split(b"\n")
    if not lines[0].startswith(b"tree "):
        raise ObjectMissingError(f"commit {hexid} is damaged")
    parents = []
    for line in lines[1:]:
        if not line.startswith(b"parent "):
            break
        parents.append(_id_after(b"parent ", line, hexid))
    return parents


def commit_date(body: bytes) -> int:
    """When a commit was made (seconds since the epoch); 0 where it does not say."""
    at = body.find(b"\ncommitter ")
    line = body[at + 1 : body.find(b"\n", at + 1)] if at >= 0 else b""
    digits = line.rpartition(b"> ")[2].partition(b" ")[0]
    return int(digits) if digits.isdigit() and len(digits) < 20 else 0


def _id_after(keyword: bytes, line: bytes, hexid: str) -> str:
    found = line[len(keyword) :].decode("latin-1")
    if not line.startswith(keyword) or len(found) != len(hexid) or not _HEX.issuperset(found):
        raise ObjectMissingError(f"object {hexid} is damaged")
    return found


def tree_entries(body: bytes, hexid: str) -> Iterator[tuple[bytes, bool, str]]:
    """(name, whether it is a tree, id) of each entry of the tree `hexid`."""
    size = len(hexid) // 2
    position = 0
    while position < len(body):
        nul = body.find(b"\0", position)
        mode, blank, name = body[position:nul].partition(b" ")
        position = nul + 1 + size
        if nul < 0 or not blank or position > len(body):
            raise ObjectMissingError(f"tree {hexid} is damaged")
        yield name, mode in (b"40000", b"040000"), body[nul + 1 : position].hex()
