"""How a table is laid out: apart from `writer`, which those who only read need not load."""

from __future__ import annotations

from typing import NamedTuple


class WriteOptions(NamedTuple):
    """How tables are laid out; the names and defaults are git's.

    `block_size` in bytes, up to 16,777,215 (0: the default). `restart_interval`: every how
    many records a whole key is stored, 1 to 65,535 (0: the default). `unpadded`: blocks follow
    each other without padding. `index_objects`: write the obj section. `exact_log_message`:
    store messages as they are; otherwise they must be one line and get a line end.
    """

    block_size: int = 4096
    restart_interval: int = 16
    unpadded: bool = False
    index_objects: bool = True
    exact_log_message: bool = False
