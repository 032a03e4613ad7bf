"""The settings that govern how a repository's refs are written, as the layers below take them.

    reftable.blockSize restartInterval indexObjects geometricFactor lockTimeout
    core.sharedRepository core.fsync core.fsyncMethod core.logAllRefUpdates
    pyreftable.suppressDeletions

Source: `git-config`; limits and messages are git's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import ConfigError
from ..stack import StackOptions
from ..write_options import WriteOptions
from .config_values import INT64, UINT64, entry_bool, env_bool

if TYPE_CHECKING:
    from .config import Config
    from .config_parser import Entry
    from .names import ReflogMode
    from .repository import Repository

_MAX_BLOCK_SIZE = (1 << 24) - 1
_MAX_RESTART_INTERVAL = (1 << 16) - 1
_MAX_GEOMETRIC_FACTOR = (1 << 8) - 1

_GROUP = 0o660
_EVERYBODY = 0o664
_SHARED_WORDS = {
    "umask": 0,
    "group": _GROUP,
    "all": _EVERYBODY,
    "world": _EVERYBODY,
    "everybody": _EVERYBODY,
}

# The components whose names `core.fsync` may use, and whether each includes references.
_FSYNC_COMPONENTS = {
    "loose-object": False,
    "pack": False,
    "pack-metadata": False,
    "commit-graph": False,
    "index": False,
    "objects": False,
    "reference": True,
    "derived-metadata": False,
    "committed": True,
    "added": True,
    "all": True,
}


def stack_options(repository: Repository) -> StackOptions:
    """How the stacks of `repository` are written; raises `ConfigError` for a bad setting."""
    config = repository.config
    defaults = StackOptions()
    return StackOptions(
        hash=repository.hash,
        # Ours, not git's: for measuring what deletions cost when readers may not see them.
        suppress_deletions=config.get_bool("pyreftable.suppressDeletions") or False,
        write=write_options(config),
        geometric_factor=_at_most(
            config,
            "reftable.geometricFactor",
            _MAX_GEOMETRIC_FACTOR,
            "reftable geometric factor cannot exceed 255",
            defaults.geometric_factor,
        ),
        auto_compact=env_bool(repository.environ, "GIT_TEST_REFTABLE_AUTOCOMPACTION", True),
        lock_timeout_ms=_lock_timeout(config, defaults.lock_timeout_ms),
        file_mode=shared_file_mode(config),
        fsync=syncs_references(config),
    )


def write_options(config: Config) -> WriteOptions:
    """The layout of new tables; 0 stands for the default, as in git."""
    defaults = WriteOptions()
    index_objects = config.get_bool("reftable.indexObjects")
    return WriteOptions(
        block_size=_at_most(
            config,
            "reftable.blockSize",
            _MAX_BLOCK_SIZE,
            "reftable block size cannot exceed 16MB",
            defaults.block_size,
        ),
        # The message names the block size in git, too.
        restart_interval=_at_most(
            config,
            "reftable.restartInterval",
            _MAX_RESTART_INTERVAL,
            "reftable block size cannot exceed 65535",
            defaults.restart_interval,
        ),
        index_objects=defaults.index_objects if index_objects is None else index_objects,
    )


def log_all_ref_updates(repository: Repository) -> ReflogMode:
    """For which refs a reflog is made that does not exist yet, by `core.logAllRefUpdates`.

    "normal" is for HEAD, branches, remote-tracking branches and notes. Unset, it is that with a
    work tree and "none" in a bare repository.
    """
    entry = repository.config.entry("core.logAllRefUpdates")
    if entry is None:
        return "none" if repository.is_bare else "normal"
    if entry.value is not None and entry.value.lower() == "always":
        return "always"
    return "normal" if entry_bool(entry) else "none"


def shared_file_mode(config: Config) -> int | None:
    """The permission bits of new files by `core.sharedRepository`; `None`: the umask decides."""
    entry = config.entry("core.sharedRepository")
    shared = 0 if entry is None else shared_permissions(entry)
    return shared_mode(0o666 & ~_umask(), shared) if shared else None


def shared_mode(mode: int, shared: int) -> int:
    """`mode` of a file as changed by `shared`: bits to add, or when negative the bits to have.

    Nobody gets to write a file that its owner may not write; an executable file may be executed
    by those who may read it.
    """
    bits = abs(shared)
    if not mode & 0o200:
        bits &= ~0o222
    if mode & 0o100:
        bits |= (bits & 0o444) >> 2
    return (mode & ~0o777) | bits if shared < 0 else mode | bits


def syncs_references(config: Config) -> bool:
    """Whether tables are synced, by `core.fsync` and `core.fsyncMethod`.

    They are unless a setting takes the component `reference` out: git leaves it out by default,
    but leaves the default to the platform. `writeout-only` asks for no flush, so nothing that
    syncing would give.
    """
    if config.get("core.fsyncMethod") == "writeout-only":
        return False
    value = config.get("core.fsync")
    return value is None or _fsync_includes_references(value)


def _fsync_includes_references(value: str) -> bool:
    """Whether the list `value` of components includes `reference`, which is in the default.

    As in git a component may be abbreviated, to as little as a letter; `none` empties the
    default only as the last word; names added win over those taken out; an empty one ends the
    list; unknown names, which git warns of, are skipped.
    """
    included, added, removed = True, False, False
    rest: str | None = value
    while rest is not None:
        rest = rest.lstrip(", \t\n\r")
        if rest == "none":
            included = False
        word, comma, rest_of_list = rest.partition(",")
        name = word.removeprefix("-")
        if not name:
            break
        if any(has for known, has in _FSYNC_COMPONENTS.items() if known.startswith(name)):
            added, removed = added or name == word, removed or name != word
        rest = rest_of_list if comma else None
    return (included and not removed) or added


def _at_most(config: Config, key: str, limit: int, message: str, default: int) -> int:
    value = config.get_int(key, UINT64)
    if value is not None and value > limit:
        raise ConfigError(message)
    return value or default


def _lock_timeout(config: Config, default: int) -> int:
    value = config.get_int("reftable.lockTimeout", INT64)
    if value is not None and value < -1:
        raise ConfigError("reftable lock timeout does not support negative values other than -1")
    return default if value is None else value


def shared_permissions(entry: Entry) -> int:
    """The bits of `shared_mode` that a value of `core.sharedRepository` gives; 0 for none.

    Raises `ConfigError`.
    """
    value = entry.value
    if value is None:
        return _GROUP
    if value in _SHARED_WORDS:
        return _SHARED_WORDS[value]
    if value.strip("01234567"):
        return _GROUP if entry_bool(entry) else 0
    mode = int(value or "0", 8)
    if mode in (0, 1, 2):
        return (0, _GROUP, _EVERYBODY)[mode]
    if mode & 0o600 != 0o600:
        raise ConfigError(
            f"problem with core.sharedRepository filemode value (0{mode:03o}).\n"
            "The owner of files must always have read and write permissions."
        )
    return -(mode & 0o666)


def _umask() -> int:
    # The umask can be read only by setting it. For that moment it is a strict one, so that a
    # file which another thread makes just then is not open to everybody.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
