"""Directory/file conflicts: `refs/a` and `refs/a/b` cannot both exist.

New names are checked against the store and against the other names of their transaction. The
whole batch is first probed in one sorted pass; only if something is in the way are names looked
at one by one, in their order, for the message that git would give.

In a linked worktree the main worktree's own refs are in nobody's way: they are not seen there. A
name that reaches into another worktree is checked against that worktree's refs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..errors import Rejection, TransactionError
from ..merged import Merged
from ..probe import first_ref_below, has_refs_below, refs_among
from .names import is_per_worktree_ref, parse_worktree_ref
from .text import as_bytes, as_text
from .update import Update

if TYPE_CHECKING:
    from ..stack import Stack
    from .store import RefStore

_LONG_NAMES = ("worktrees/", "main-worktree/")


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
    keys = sorted(as_bytes(update.refname) for update in updates)
    touched = [as_bytes(name) for name in refnames]
    reaches_out = any(update.refname.startswith(_LONG_NAMES) for update in updates)
    if not reaches_out and not in_the_way(views_of(store), keys, touched):
        return
    conflicting: set[str] = set()
    for update in updates:
        message = _conflict(store, update.refname, refnames, conflicting)
        if message:
            error = TransactionError(
                message, reason=Rejection.NAME_CONFLICT, refname=update.refname
            )
            reject(update, error)


def check_name_available(store: RefStore, refname: str, skip: frozenset[str] = frozenset()) -> None:
    """Check one name against the store, as if the refs in `skip` did not exist.

    Raises `TransactionError`.
    """
    message = _conflict(store, refname, (), set(), skip)
    if message:
        raise TransactionError(message, reason=Rejection.NAME_CONFLICT, refname=refname)


def check_long_names(
    updates: Sequence[Update], locate: Callable[[str], tuple[Stack, bytes]]
) -> None:
    """Check names against each other that differ, but are one, or in conflict, in their stack.

    Only long names (`main-worktree/HEAD` besides `HEAD`) can be. Raises `TransactionError`.
    """
    if not any(update.refname.startswith(_LONG_NAMES) for update in updates):
        return
    names: dict[tuple[Stack, bytes], str] = {}
    for update in updates:
        first = names.setdefault(locate(update.refname), update.refname)
        if first != update.refname:
            message = f"multiple updates for ref '{first}' not allowed"
            raise TransactionError(message, refname=update.refname)
    for (stack, key), name in names.items():
        for folder in parents(as_text(key)):
            other = names.get((stack, as_bytes(folder)))
            if other is not None:
                message = f"cannot process '{name}' and '{other}' at the same time"
                reason = Rejection.NAME_CONFLICT
                raise TransactionError(message, reason=reason, refname=name)


def parents(refname: str) -> Iterator[str]:
    """`refs`, `refs/a` and so on: the directories a ref's name lies in, outermost first."""
    slash = refname.find("/")
    while slash >= 0:
        yield refname[:slash]
        slash = refname.find("/", slash + 1)


def views_of(store: RefStore) -> list[Merged]:
    """The merged views in which a name may be taken: the main stack's, and our worktree's."""
    stacks = [store.stack(), store.worktree_stack]
    return [stack.snapshot().merged for stack in stacks if stack is not None]


def _views_below(store: RefStore, refname: str) -> list[Merged]:
    """The views in which something below `refname` would be in its way."""
    kind, worktree, _ = parse_worktree_ref(refname)
    if kind in ("main", "other"):
        return [store.stack(worktree).snapshot().merged]
    own = store.worktree_stack
    if own is not None and is_per_worktree_ref(refname + "/"):
        return [own.snapshot().merged]
    return views_of(store)


def in_the_way(
    views: Iterable[Merged],
    keys: Sequence[bytes],
    touched: Sequence[bytes],
    surveyed: Merged | None = None,
) -> bool:
    """Whether anything at all conflicts with the new names `keys`, sorted: the fast answer.

    `touched` are all names of the transaction; in the view `surveyed` nothing lies below them.
    """
    touched_folders = _folders(touched)
    if not touched_folders.isdisjoint(touched):
        return True
    folders = sorted(touched_folders if keys is touched else _folders(keys))
    return any(
        refs_among(view, folders) or (view is not surveyed and has_refs_below(view, keys))
        for view in views
    )


def _folders(names: Iterable[bytes]) -> set[bytes]:
    """Every directory that one of `names` lies in; each distinct one is cut up once."""
    folders: set[bytes] = set()
    level = {name.rpartition(b"/")[0] for name in names}
    while level:
        folders |= level
        level = {name.rpartition(b"/")[0] for name in level} - folders
    folders.discard(b"")
    return folders


def _conflict(
    store: RefStore,
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
    key = parse_worktree_ref(refname).refname
    views = _views_below(store, refname)
    below = [first_ref_below(view, as_bytes(key) + b"/", hidden) for view in views]
    found = min((name for name in below if name is not None), default=None)
    if found is not None:
        prefix = refname.removesuffix(key)
        return f"'{prefix}{as_text(found)}' exists; cannot create '{refname}'"
    inside = min((name for name in refnames if name.startswith(refname + "/")), default=None)
    if inside is not None:
        return f"cannot process '{refname}' and '{inside}' at the same time"
    return None
