"""How long an abbreviated object id is by default.

`core.abbrev`, or by the number of objects: with 2**n of them two ids share n/2 bits by chance,
so that many bits in hex digits, rounded up, and seven digits at least. Counting is done as git
does it: what the pack indexes say, and 256 times the loose objects in one of 256 folders.

Source: `git-config`, `core.abbrev`; pack index layout: git's `gitformat-pack`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyreftable.refs.loose import object_directories

if TYPE_CHECKING:
    from pyreftable.refs.repository import Repository

_MINIMUM = 4
_FALLBACK = 7
_SAMPLE_FOLDER = "17"
_V2_MAGIC = b"\xfftOc"
_FANOUT_END = 256 * 4


def default_length(repository: Repository) -> int:
    """Hex digits of an abbreviated id; at least the whole id's length means "do not abbreviate"."""
    setting = repository.config.get("core.abbrev")
    if setting is None or setting.lower() == "auto":
        count = approximate_object_count(repository)
        bits = max(count.bit_length(), 1)
        return max((bits + 1) // 2, _FALLBACK)
    if setting.lower() in ("no", "off", "false"):
        return repository.hash.hex_size
    number = repository.config.get_int("core.abbrev")
    return _FALLBACK if number is None or number < _MINIMUM else number


def approximate_object_count(repository: Repository) -> int:
    """About how many objects there are, alternates included."""
    loose_name_length = repository.hash.hex_size - 2
    total = 0
    for directory in object_directories(repository.common_dir, repository.environ):
        sample = _entries(os.path.join(directory, _SAMPLE_FOLDER))
        total += 256 * sum(len(name) == loose_name_length for name in sample)
        folder = os.path.join(directory, "pack")
        indexes = [name for name in _entries(folder) if name.endswith(".idx")]
        total += sum(_indexed_objects(os.path.join(folder, name)) for name in indexes)
    return total


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _indexed_objects(path: str) -> int:
    """The last entry of a pack index's fan-out table; 0 where the file cannot be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(8 + _FANOUT_END)
    except OSError:
        return 0
    end = _FANOUT_END + (8 if head.startswith(_V2_MAGIC) else 0)
    return int.from_bytes(head[end - 4 : end], "big")
