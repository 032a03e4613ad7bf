"""The object look-ups that a ref store needs: existence, type, peeling, abbreviated ids.

`ObjectStore` is the seam: whoever brings another object database implements it. `open_objects`
gives the ordinary one, which reads loose objects itself and leaves packs to gitdb (SHA-1) or to
a git process (SHA-256, or where gitdb is not installed or cannot read a pack). Both come into
play only when an object is not loose and there are packs at all.

Each distinct object is looked at once; what was found is remembered, what was missing is not,
because objects appear while a repository is in use but do not change.

Replace refs (`refs/replace/`) are not followed: an id means the object of that id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..errors import ObjectMissingError, ReftableError, RepositoryError
from .loose import loose_ids, loose_info, loose_read, object_directories
from .object_content import parse_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import TypeVar

    from .packs import PackSource
    from .protocols import ObjectsHome

    Answer = TypeVar("Answer")

#: Fewest digits of an abbreviated object id.
MINIMUM_ABBREV = 4

# Some 220 bytes an entry, so about 28 MiB at most; far more objects than refs usually name.
_CACHE_LIMIT = 1 << 17

# git knows the empty tree without it being stored.
_EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}

# From so many objects on, listing folders pays, and starting a git process.
_MANY = 1000

_HEX = frozenset("0123456789abcdef")


class ObjectStore(Protocol):
    """What a ref store asks of an object database. Ids are full, lower-case hex."""

    def info(self, hexid: str) -> tuple[str, int] | None:
        """Type ("commit", "tree", "blob" or "tag") and size in bytes, `None` if missing."""

    def prefetch(self, hexids: Iterable[str]) -> None:
        """Look these up together, so that `info` on each is cheap; missing ones are no error."""

    def read(self, hexid: str) -> tuple[str, bytes]:
        """Type and body; raises `ObjectMissingError`."""

    def peel(self, hexid: str) -> str | None:
        """The id that an annotated tag leads to through all tags; `None` if it is no tag.

        Raises `ObjectMissingError` if the object, or one on the way, is missing or broken.
        """

    def expand(self, prefix: str) -> list[str]:
        """All ids that start with `prefix`, sorted; none for fewer than four digits."""

    def close(self) -> None:
        """Let go of files and processes. The store may be used again, at the price of opening."""


def open_objects(repository: ObjectsHome) -> ObjectStore:
    """The objects of `repository`, its alternates included. Opens nothing yet."""
    return StoredObjects(repository)


class StoredObjects:
    """Loose objects read here, packed ones by a `PackSource`; see the module's docstring.

    Safe to use from several threads at once.

    `info`, `read` and `expand` raise `RepositoryError` when packs must be read and neither gitdb
    nor git can read them.
    """

    def __init__(self, repository: ObjectsHome) -> None:
        self._repository = repository
        self._found_directories: list[str] | None = None
        self._pack_source: PackSource | None = None
        self._git: PackSource | None = None
        self._git_fails = False
        self._infos: dict[str, tuple[str, int]] = {}
        self._peeled: dict[str, str | None] = {}
        self._empty_tree = _EMPTY_TREES[repository.hash.name]

    @property
    def _directories(self) -> list[str]:
        if self._found_directories is None:
            home = self._repository
            self._found_directories = list(object_directories(home.common_dir, home.environ))
        return self._found_directories

    def info(self, hexid: str) -> tuple[str, int] | None:
        found = self._infos.get(hexid)
        if found is not None:
            return found
        found = self._loose_info(hexid) or self._in_packs(lambda packs: packs.info(hexid))
        if found is None and hexid == self._empty_tree:
            found = "tree", 0
        return self._remember(hexid, found)

    def prefetch(self, hexids: Iterable[str]) -> None:
        wanted = [hexid for hexid in dict.fromkeys(hexids) if hexid not in self._infos]
        loose = self._loose_among(wanted)
        packed = [
            h for h in wanted if h not in loose or self._remember(h, self._loose_info(h)) is None
        ]
        if not packed:
            return
        answers = self._ask_git(packed) if len(packed) >= _MANY else None
        if answers is None:
            answers = self._in_packs(lambda packs: list(packs.info_many(packed)))
        for hexid, found in zip(packed, answers or (), strict=False):
            self._remember(hexid, found)

    def _loose_among(self, hexids: Sequence[str]) -> Collection[str]:
        """Those of the ids that may be loose; many are told by listing the folders."""
        if len(hexids) < _MANY:
            return hexids
        size = self._repository.hash.hex_size
        folders = {hexid[:2] for hexid in hexids}
        there = (loose_ids(d, folder, size) for d in self._directories for folder in folders)
        return set().union(*there)

    def _ask_git(self, hexids: Sequence[str]) -> list[tuple[str, int] | None] | None:
        """The answers of a git process, which for many are quicker; `None` if there is no git."""
        if self._git_fails or not self._has_packs():
            return None
        try:
            return list(self._open_git().info_many(hexids))
        except RepositoryError:
            self._git_fails = True
            return None

    def _loose_info(self, hexid: str) -> tuple[str, int] | None:
        for directory in self._directories:
            found = loose_info(directory, hexid)
            if found is not None:
                return found
        return None

    def _remember(self, hexid: str, found: tuple[str, int] | None) -> tuple[str, int] | None:
        if found is not None:
            if len(self._infos) >= _CACHE_LIMIT:
                self._infos.clear()
            self._infos[hexid] = found
        return found

    def read(self, hexid: str) -> tuple[str, bytes]:
        for directory in self._directories:
            found = loose_read(directory, hexid)
            if found is not None:
                return found
        found = self._in_packs(lambda packs: packs.read(hexid))
        if found is None and hexid == self._empty_tree:
            found = "tree", b""
        if found is None:
            raise ObjectMissingError(f"object {hexid} is missing")
        return found

    def peel(self, hexid: str) -> str | None:
        if hexid in self._peeled:
            return self._peeled[hexid]
        peeled = self._follow_tags(hexid)
        if len(self._peeled) >= _CACHE_LIMIT:
            self._peeled.clear()
        self._peeled[hexid] = peeled
        return peeled

    def _follow_tags(self, hexid: str) -> str | None:
        current = hexid
        while True:
            found = self.info(current)
            if found is None:
                raise ObjectMissingError(f"object {current} is missing")
            if found[0] != "tag":
                return None if current == hexid else current
            current, expected = parse_tag(self.read(current)[1], current)
            target = self.info(current)
            if target is not None and target[0] != expected:
                raise ObjectMissingError(f"object {current} is a {target[0]}, not a {expected}")

    def expand(self, prefix: str) -> list[str]:
        prefix = prefix.lower()
        hex_size = self._repository.hash.hex_size
        if not MINIMUM_ABBREV <= len(prefix) <= hex_size or not _HEX.issuperset(prefix):
            return []
        found = set(self._in_packs(lambda packs: list(packs.expand(prefix))) or ())
        for directory in self._directories:
            found.update(loose_ids(directory, prefix, hex_size))
        return sorted(found)

    def close(self) -> None:
        sources = self._pack_source, self._git
        self._pack_source = self._git = None
        for source in sources:
            if source is not None:
                source.close()

    def _in_packs(self, ask: Callable[[PackSource], Answer]) -> Answer | None:
        """What the packs answer; `None` if there are none.

        gitdb checks little of what it reads, so a pack that it does not understand may raise
        anything: then git gets the question, and all that follow.
        """
        source = self._pack_source
        if source is None:
            source = self._open_packs()
            if source is None:
                return None
        try:
            return ask(source)
        except ReftableError:
            raise
        except Exception:
            source.close()
            self._pack_source = self._open_git()
            return ask(self._pack_source)

    def _open_packs(self) -> PackSource | None:
        from .packs import GitdbPacks

        if not self._has_packs():
            return None
        if self._repository.hash.name == "sha1":
            try:
                self._pack_source = GitdbPacks(self._directories)
            except ImportError:
                self._pack_source = self._open_git()
        else:
            self._pack_source = self._open_git()
        return self._pack_source

    def _has_packs(self) -> bool:
        from .packs import has_packs

        return any(has_packs(directory) for directory in self._directories)

    def _open_git(self) -> PackSource:
        from .cat_file import CatFile

        if self._git is None:
            self._git = CatFile(self._repository)
        return self._git
