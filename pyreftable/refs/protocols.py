"""What modules of the ref store ask of others, so that none of them has to import the others.

`Repository`, `Config`, `RefStore` and `Reflog` offer all of this; so can anything else. Only type
checkers import this module: making a protocol takes a fraction of a millisecond, which every
command would pay for several times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..hashes import HashAlgorithm
    from .objects import ObjectStore


class PlainSettings(Protocol):
    """A configuration: the value of a key, as text or as a boolean."""

    def get(self, key: str) -> str | None: ...
    def get_bool(self, key: str) -> bool | None: ...


class Settings(PlainSettings, Protocol):
    """A configuration: also all values of a key, and the subsections of a section."""

    def get_all(self, key: str) -> list[str]: ...
    def subsections(self, name: str) -> list[str]: ...


class IdentityHome(Protocol):
    """A repository, to know who commits to it."""

    @property
    def environ(self) -> Mapping[str, str]: ...
    @property
    def config(self) -> PlainSettings: ...


class ObjectsHome(Protocol):
    """A repository, to find its objects."""

    @property
    def git_dir(self) -> str: ...
    @property
    def common_dir(self) -> str: ...
    @property
    def environ(self) -> Mapping[str, str]: ...
    @property
    def hash(self) -> HashAlgorithm: ...


class RevisionHome(Protocol):
    """A repository, to read object names in it."""

    @property
    def common_dir(self) -> str: ...
    @property
    def config(self) -> Settings: ...
    @property
    def hash(self) -> HashAlgorithm: ...


class LogEntry(Protocol):
    """A reflog entry: hex ids, seconds since the epoch, the zone as a decimal number."""

    @property
    def old_oid(self) -> str: ...
    @property
    def new_oid(self) -> str: ...
    @property
    def time(self) -> int: ...
    @property
    def tz_offset(self) -> int: ...
    @property
    def message(self) -> str: ...


class Log(Protocol):
    """A reflog: iterates newest first."""

    @property
    def exists(self) -> bool: ...
    def __iter__(self) -> Iterator[LogEntry]: ...


class Resolution(Protocol):
    """Where symrefs lead: the last name, its hex id, whether there was a symref at all."""

    @property
    def name(self) -> str: ...
    @property
    def oid(self) -> str | None: ...
    @property
    def is_symref(self) -> bool: ...


class RefReader(Protocol):
    """A ref store, to ask for the id that a full name leads to."""

    def read(self, name: str) -> str | None: ...


class BranchStore(RefReader, Protocol):
    """A ref store, to read short-hands for branches."""

    def resolve(self, name: str) -> Resolution: ...
    def reflog(self, name: str) -> Log: ...


class RevisionStore(BranchStore, Protocol):
    """A ref store, to read object names."""

    @property
    def repository(self) -> RevisionHome: ...
    @property
    def objects(self) -> ObjectStore: ...
