"""`ahead-behind` and `is-base`: how refs stand to a commit that the field names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import RevisionError
from pyreftable.refs.text import as_bytes

from ..exits import Fatal

if TYPE_CHECKING:
    from .atoms import Atom
    from .batch import RefBatch
    from .fields import Field
    from .lookup import Lookup


class AheadBehind:
    """Two numbers: commits that the ref has and `base` has not, and the other way round."""

    __slots__ = ("_base", "_lookup")

    def __init__(self, base: str, lookup: Lookup) -> None:
        self._base = base
        self._lookup = lookup

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`. One walk serves all refs of the batch."""
        from pyreftable.refs.ancestry import ahead_behind

        commits = [self._commit(value) for value in batch.values]
        tips = list(dict.fromkeys(commit for commit in commits if commit is not None))
        counts = ahead_behind(self._lookup.history, [self._base], tips)
        texts = {tip: b"%d %d" % row[0] for tip, row in zip(tips, counts, strict=True)}
        return [b"" if commit is None else texts[commit] for commit in commits]

    def sort_column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        return self.column(batch)

    def _commit(self, value: bytes) -> str | None:
        commit = self._lookup.commit_of(value)
        if commit is None:
            self._lookup.complain_of_no_commit(value[: self._lookup.hash_size].hex())
        return commit


class IsBase:
    """`(name)` for the one ref that the commit `name` was most likely branched off from.

    The choice is made among all refs listed: `choose` must see them before any is shown.
    """

    __slots__ = ("_chosen", "_lookup", "_text", "_tip")

    def __init__(self, name: str, tip: str, lookup: Lookup) -> None:
        self._text = as_bytes(f"({name})")
        self._tip = tip
        self._lookup = lookup
        self._chosen: bytes | None = None

    def choose(self, batch: RefBatch) -> None:
        """Find the ref among those of `batch`, which is in the order of the names."""
        from pyreftable.refs.ancestry import nearest_base

        commits = [self._lookup.commit_of(value) for value in batch.values]
        for value, commit in zip(batch.values, commits, strict=True):
            if commit is None:
                self._lookup.complain_of_bad_tag(value[: self._lookup.hash_size].hex())
        found = nearest_base(self._lookup.history, self._tip, commits)
        self._chosen = None if found is None else batch.names[found]

    def column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        return [self._text if name == self._chosen else b"" for name in batch.names]

    def sort_column(self, batch: RefBatch) -> list[bytes]:
        """See `Field`."""
        return self.column(batch)


def ahead_behind(atom: Atom, lookup: Lookup) -> Field:
    """`ahead-behind:<committish>`."""
    return AheadBehind(_commit_argument(atom, lookup)[1], lookup)


def is_base(atom: Atom, lookup: Lookup) -> Field:
    """`is-base:<committish>`."""
    field = IsBase(*_commit_argument(atom, lookup), lookup)
    lookup.choosers.append(field.choose)
    return field


def _commit_argument(atom: Atom, lookup: Lookup) -> tuple[str, str]:
    """The argument, and the id of the commit that it names; raises `Fatal`."""
    from pyreftable.refs.revision import resolve_object_name

    name = atom.argument
    if name is None:
        raise Fatal(f"expected format: %({atom.name}:<committish>)")
    try:
        oid = resolve_object_name(lookup.store, name, warn=lookup.warn)
    except RevisionError:
        raise Fatal(f"failed to find '{name}'") from None
    commit = lookup.history.commit_of(oid)
    if commit is None:
        lookup.complain_of_no_commit(oid)
        raise Fatal(f"failed to find '{name}'")
    return name, commit
