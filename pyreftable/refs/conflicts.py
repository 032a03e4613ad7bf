"""Directory/file conflicts: `refs/a` and `refs/a/b` cannot both exist.

New names are checked against the store and against the other names of their transaction. The
whole batch is first probed in one sorted pass; only if something is in the way are names looked
at one by one, in their order, for the message that git would give.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..errors import Rejection, TransactionError
from ..merged import Merged
from ..probe import first_ref_below, has_refs_below, refs_among
from .text import as_bytes, as_text
from .update import Update

if TYPE_CHECKING:
    from .store import RefStore


def check_available(
    store: RefStore,
    updates: Sequence[Update],
    refnames: Collection[str],
    reject: Callable[[Update, TransactionError], None],
) -> None:
    """Check that the refs of `updates`, which do not exist, can be created.

    `refnames` are all names the transaction touches. Each conflict goes to `reject`, which may
    raise it or set the update aside.
    """
    if not updates:
        return
    views = _views(store)
    if not _in_the_way(views, [update.refname for update in updates], refnames):
        return
    conflicting: set[str] = set()
    for update in updates:
        message = _conflict(store, views, update.refname, refnames, conflicting)
        if message:
            error = TransactionError(
                message, reason=Rejection.NAME_CONFLICT, refname=update.refname
            )
            reject(update, error)


def check_name_available(store: RefStore, refname: str, skip: frozenset[str] = frozenset()) -> None:
    """Check one name against the store, as if the refs in `skip` did not exist.

    Raises `TransactionError`.
    """
    message = _conflict(store, _views(store), refname, (), set(), skip)
    if message:
        raise TransactionError(message, reason=Rejection.NAME_CONFLICT, refname=refname)


def parents(refname: str) -> Iterator[str]:
    """`refs`, `refs/a` and so on: the directories a ref's name lies in, outermost first."""
    slash = refname.find("/")
    while slash >= 0:
        yield refname[:slash]
        slash = refname.find("/", slash + 1)


def _views(store: RefStore) -> list[Merged]:
    stacks = [store.stack(), store.worktree_stack]
    return [stack.snapshot().merged for stack in stacks if stack is not None]


def _in_the_way(views: Iterable[Merged], names: Sequence[str], refnames: Collection[str]) -> bool:
    """Whether anything at all conflicts; the batch's fast answer."""
    if not _folders(refnames).isdisjoint(refnames):
        return True
    folders = sorted(map(as_bytes, _folders(names)))
    keys = sorted(map(as_bytes, names))
    return any(refs_among(view, folders) or has_refs_below(view, keys) for view in views)


def _folders(names: Iterable[str]) -> set[str]:
    """Every directory that one of `names` lies in; each distinct one is cut up once."""
    folders: set[str] = set()
    level = {name.rpartition("/")[0] for name in names}
    while level:
        folders |= level
        level = {name.rpartition("/")[0] for name in level} - folders
    folders.discard("")
    return folders


def _conflict(
    store: RefStore,
    views: Iterable[Merged],
    refname: str,
    refnames: Collection[str],
    conflicting: set[str],
    skip: frozenset[str] = frozenset(),
) -> str | None:
    """What is in the way of `refname`, in git's words and in its order of looking."""
    for folder in parents(refname):
        if folder in skip:
            continue
        if folder in conflicting or store.get(folder) is not None:
            conflicting.add(folder)
            return f"'{folder}' exists; cannot create '{refname}'"
        if folder in refnames:
            return f"cannot process '{refname}' and '{folder}' at the same time"
    hidden = frozenset(map(as_bytes, skip))
    below = [first_ref_below(view, as_bytes(refname) + b"/", hidden) for view in views]
    found = min((name for name in below if name is not None), default=None)
    if found is not None:
        return f"'{as_text(found)}' exists; cannot create '{refname}'"
    inside = min((name for name in refnames if name.startswith(refname + "/")), default=None)
    if inside is not None:
        return f"cannot process '{refname}' and '{inside}' at the same time"
    return None
