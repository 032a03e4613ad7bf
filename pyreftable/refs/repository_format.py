"""`core.repositoryFormatVersion` and `extensions.*`: what a program must know to go on.

Version 0 knows four extensions, which git honoured before there was a version 1, and ignores
those it does not know; all others it refuses. Version 1 refuses an extension it does not know.

These come from the repository's own `config` alone: no other file, no include, no `-c`.

Source: git's "Git Repository Format Versions" document and `git-config`, `extensions.*`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import RepositoryError
from ..hashes import BY_NAME, SHA1
from .config_parser import bad_line
from .config_values import INT32, entry_bool, entry_int

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..errors import ConfigError
    from .config_parser import Entry

MAX_VERSION = 1
REF_STORAGES = ("files", "reftable")


class RepositoryFormat:
    """The repository's format as its `config` says; without a version in it, the default.

    `is_bare` and `work_tree` are `core.bare` and `core.worktree`, `None` when not set.
    `ref_storage_path` is the path of a URI in `extensions.refStorage`, `None` for a plain name.
    """

    __slots__ = (
        "compat_object_format",
        "hash",
        "is_bare",
        "ref_storage",
        "ref_storage_path",
        "unknown",
        "v1_only",
        "version",
        "work_tree",
        "worktree_config",
    )

    def __init__(self) -> None:
        self.version: int | None = None
        self.hash = SHA1
        self.compat_object_format: str | None = None
        self.ref_storage = "files"
        self.ref_storage_path: str | None = None
        self.worktree_config = False
        self.is_bare: bool | None = None
        self.work_tree: str | None = None
        self.unknown: list[str] = []
        self.v1_only: list[str] = []

    @classmethod
    def read(cls, entries: Iterable[Entry]) -> RepositoryFormat:
        """The format that the entries of a repository's `config` give.

        Raises `ConfigError` for a bad value, `RepositoryError` for a format that is not known.
        """
        result = cls()
        for entry in entries:
            if entry.key == "core.repositoryformatversion":
                result.version = entry_int(entry, INT32)
            elif entry.key.startswith("extensions."):
                result._extension(entry)
            else:
                result.worktree_entry(entry)
        if result.version is None or result.version < 0:
            return cls()
        result._verify(result.version)
        return result

    def worktree_entry(self, entry: Entry) -> None:
        """Take an entry that a worktree's own configuration may set, too."""
        if entry.key == "core.bare":
            self.is_bare = entry_bool(entry)
        elif entry.key == "core.worktree":
            self.work_tree = _value(entry)

    def set_ref_storage(self, uri: str) -> bool:
        """Take `NAME` or `NAME://PATH`; returns whether git knows a storage of that name."""
        name, separator, path = uri.partition("://")
        if name not in REF_STORAGES:
            return False
        self.ref_storage = name
        self.ref_storage_path = path if separator else None
        return True

    def _extension(self, entry: Entry) -> None:
        name = entry.key.removeprefix("extensions.")
        if name == "worktreeconfig":
            self.worktree_config = entry_bool(entry)
        elif name == "preciousobjects":
            entry_bool(entry)
        elif name == "partialclone":
            _value(entry)
        elif name != "noop":
            self._newer_extension(name, entry)

    def _newer_extension(self, name: str, entry: Entry) -> None:
        if name in ("objectformat", "compatobjectformat"):
            self._object_format(name, entry)
        elif name == "refstorage":
            if not self.set_ref_storage(_value(entry)):
                raise _invalid(entry)
        elif name in ("relativeworktrees", "submodulepathconfig"):
            entry_bool(entry)
        elif name != "noop-v1":
            self.unknown.append(name)
            return
        self.v1_only.append(name)

    def _object_format(self, name: str, entry: Entry) -> None:
        algorithm = BY_NAME.get(_value(entry))
        if algorithm is None:
            raise _invalid(entry)
        if name == "objectformat":
            self.hash = algorithm
            return
        if self.compat_object_format is not None:
            reason = f"'{entry.key}' already specified as '{self.compat_object_format}'"
            raise bad_line(entry, reason)
        self.compat_object_format = algorithm.name

    def _verify(self, version: int) -> None:
        if version > MAX_VERSION:
            raise RepositoryError(f"Expected git repo version <= {MAX_VERSION}, found {version}")
        if version >= 1 and self.unknown:
            raise _listing("unknown repository extension", self.unknown)
        if version == 0 and self.v1_only:
            raise _listing("repo version is 0, but v1-only extension", self.v1_only)


def _listing(what: str, names: Sequence[str]) -> RepositoryError:
    plural = "s" if len(names) > 1 else ""
    return RepositoryError(f"{what}{plural} found:" + "".join(f"\n\t{name}" for name in names))


def _value(entry: Entry) -> str:
    if entry.value is None:
        raise bad_line(entry, f"missing value for '{entry.key}'")
    return entry.value


def _invalid(entry: Entry) -> ConfigError:
    return bad_line(entry, f"invalid value for '{entry.key}': '{entry.value}'")
