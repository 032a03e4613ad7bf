"""`--merged`, `--no-merged`, `--contains` and `--no-contains`: refs chosen by their history.

Refs that lead to no commit are left out by all four. One walk serves all refs: what is found for
one is remembered for the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import FatalRevisionError, ObjectMissingError, RevisionError
from pyreftable.refs.ancestry import Contains
from pyreftable.refs.history import Reachable

from ..exits import USAGE_STATUS, CommandExit, Fatal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .batch import RefBatch
    from .lookup import Lookup

    Test = Callable[[str], object]


class HistoryFilter:
    """Filters batches by `limits`: pairs of an option's name and the commit it was given.

    A ref passes an option given several times if it passes for one of the commits; for a `no-`
    option it has to pass for each. Raises `Fatal`, or `CommandExit` when all is said, where a
    limit names no commit.
    """

    def __init__(self, limits: Iterable[tuple[str, str]], lookup: Lookup) -> None:
        self._lookup = lookup
        commits: dict[str, list[str]] = {}
        for option, name in limits:
            commits.setdefault(option, []).append(self._commit(option, name))
        self._tests = [self._test(option, tips) for option, tips in commits.items()]

    def select(self, batches: Iterable[RefBatch]) -> Iterator[RefBatch]:
        """The refs that pass all limits.

        Raises `Fatal`, after the refs before it, at a ref whose history is not all there.
        """
        for batch in batches:
            flags: list[bool] = []
            try:
                for value in batch.values:
                    flags.append(self._passes(value))
            except ObjectMissingError as error:
                yield batch.part(0, len(flags)).where(flags)
                self._lookup.complain(f"Could not read {str(error).rpartition(' ')[2]}")
                self._lookup.complain(str(error))
                raise Fatal("failed to check reachability") from None
            yield batch.where(flags)

    def _passes(self, value: bytes) -> bool:
        commit = self._lookup.commit_of(value)
        if commit is None:
            return False
        return all(bool(test(commit)) is expected for test, expected in self._tests)

    def _test(self, option: str, commits: list[str]) -> tuple[Test, bool]:
        history = self._lookup.history
        if option.endswith("merged"):
            return Reachable(history, commits).__contains__, option == "merged"
        return Contains(history, commits), option == "contains"

    def _commit(self, option: str, name: str) -> str:
        from pyreftable.refs.revision import resolve_object_name

        lookup = self._lookup
        try:
            oid = resolve_object_name(lookup.store, name, warn=lookup.warn)
        except FatalRevisionError:
            raise
        except RevisionError:
            if option.endswith("merged"):
                raise Fatal(f"malformed object name {name}") from None
            lookup.complain(f"malformed object name {name}")
            raise CommandExit(USAGE_STATUS) from None
        commit = lookup.history.commit_of(oid)
        if commit is None:
            lookup.complain_of_no_commit(oid)
            merged = f"option `{option}' must point to a commit"
            lookup.complain(merged if option.endswith("merged") else f"no such commit {name}")
            raise CommandExit(USAGE_STATUS)
        return commit
