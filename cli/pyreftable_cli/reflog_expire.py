"""`reflog expire`, `reflog delete` and `reflog drop`: entries and whole logs go away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import ReftableError
from pyreftable.refs.reflog import find_reflog, reflog_names, reflog_names_everywhere

from .context import encode
from .exits import Fatal, UsageExit
from .options import Option, Table, callback, flag
from .reflog import ERROR_STATUS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyreftable.refs.reflog import ReflogEntry

    from .context import Context

    Judge = Callable[[ReflogEntry], bool]

EXPIRE_USAGE = """\
reflog expire [--expire=<time>] [--expire-unreachable=<time>]
                  [--rewrite] [--updateref] [--stale-fix]
                  [--dry-run | -n] [--verbose] [--all [--single-worktree] | <refs>...]"""
DELETE_USAGE = """\
reflog delete [--rewrite] [--updateref]
                  [--dry-run | -n] [--verbose] <ref>@{<specifier>}..."""
DROP_USAGE = "reflog drop [--all [--single-worktree] | <refs>...]"


class _Settings:
    """The values of the options. Times are seconds since the epoch; entries before them go."""

    def __init__(self) -> None:
        self.dry_run = False
        self.rewrite = False
        self.updateref = False
        self.verbose = False
        self.expire: int | None = None
        self.expire_unreachable: int | None = None
        self.stale_fix = False
        self.all = False
        self.single_worktree = False


def _set_time(option: Option, settings: object, value: str | None, unset: bool) -> None:
    from pyreftable.refs.approxidate import parse_expiry

    moment = parse_expiry(value or "")
    if moment is None:
        raise Fatal(f"invalid timestamp '{value}' given to '--{option.long}'")
    setattr(settings, option.dest, moment)


_REWRITE_HELP = "rewrite the old SHA1 with the new SHA1 of the entry that now precedes it"

_COMMON = (
    flag("n", "dry-run", "do not actually prune any entries"),
    flag("", "rewrite", _REWRITE_HELP),
    flag("", "updateref", "update the reference to the value of the top reflog entry"),
    flag("", "verbose", "print extra information on screen"),
)

_EXPIRE_OPTIONS = (
    callback(
        "",
        "expire",
        "timestamp",
        "prune entries older than the specified time",
        _set_time,
        negatable=False,
    ),
    callback(
        "",
        "expire-unreachable",
        "timestamp",
        "prune entries older than <time> that are not reachable from the current tip of the branch",
        _set_time,
        negatable=False,
    ),
    flag("", "stale-fix", "prune any reflog entries that point to broken commits"),
    flag("", "all", "process the reflogs of all references"),
    flag("", "single-worktree", "limits processing to reflogs from the current worktree only"),
)

_DROP_OPTIONS = (
    flag("", "all", "drop the reflogs of all references"),
    flag("", "single-worktree", "drop reflogs from the current worktree only"),
)


def _expire(context: Context, argv: list[str]) -> int:
    from pyreftable.refs.reflog_expiry import Expiry, ExpiryRules

    settings = _Settings()
    table = Table((EXPIRE_USAGE,), (*_COMMON, *_EXPIRE_OPTIONS))
    arguments = context.parse_options(table, argv, settings)
    store = context.store
    rules = ExpiryRules(
        store.repository.config,
        total=settings.expire,
        unreachable=settings.expire_unreachable,
    )
    tells_marking = settings.stale_fix and settings.verbose
    if tells_marking:
        context.stdout.write(b"Marking reachable objects...")
    expiry = Expiry(store, rules, stale_fix=settings.stale_fix)
    if tells_marking:
        context.stdout.write(b"\n")
    pruned = b"would prune" if settings.dry_run else b"prune"
    status = _prune(context, settings, _all_logs(context, settings), expiry.judge, pruned)
    found = [_find(context, argument) for argument in arguments]
    if None in found:
        status = ERROR_STATUS
    named = [name for name in found if name is not None]
    # Even in a dry run git says that it prunes a log that was named.
    return status | _prune(context, settings, named, expiry.judge, b"prune")


def _delete(context: Context, argv: list[str]) -> int:
    settings = _Settings()
    arguments = context.parse_options(Table((DELETE_USAGE,), _COMMON), argv, settings)
    if not arguments:
        context.error("no reflog specified to delete")
        return ERROR_STATUS
    status = 0
    for argument in arguments:
        status |= _delete_entry(context, settings, argument)
    return status


def _delete_entry(context: Context, settings: _Settings, argument: str) -> int:
    from pyreftable.refs.reflog_expiry import select_entry

    short, at, rest = argument.partition("@{")
    selector, brace, _ = rest.partition("}")
    if not at or not brace:
        context.error(f"not a reflog: {argument}")
        return ERROR_STATUS
    found = find_reflog(context.store, short)
    if found is None:
        context.error(f"no reflog for '{argument}'")
        return ERROR_STATUS
    wanted = select_entry(context.store.reflog(found.name), selector)
    pruned = b"would prune" if settings.dry_run else b"prune"

    def judge(entry: ReflogEntry) -> bool:
        return wanted is not None and entry.update_index == wanted.update_index

    return _prune(context, settings, (found.name,), lambda _: judge, pruned)


def _drop(context: Context, argv: list[str]) -> int:
    settings = _Settings()
    arguments = context.parse_options(Table((DROP_USAGE,), _DROP_OPTIONS), argv, settings)
    if arguments and settings.all:
        raise UsageExit(usage="usage: references specified along with --all\n")
    status = 0
    for name in _all_logs(context, settings):
        status |= _drop_log(context, name)
    for argument in arguments:
        found = _find(context, argument)
        status |= ERROR_STATUS if found is None else _drop_log(context, found)
    return status


def _drop_log(context: Context, name: str) -> int:
    try:
        context.store.delete_reflog(name)
    except ReftableError as error:
        context.error(f"cannot drop the reflog of '{name}': {error}")
        return ERROR_STATUS
    return 0


def _all_logs(context: Context, settings: _Settings) -> list[str]:
    if not settings.all:
        return []
    names = reflog_names if settings.single_worktree else reflog_names_everywhere
    return names(context.store)


def _find(context: Context, argument: str) -> str | None:
    found = find_reflog(context.store, argument)
    if found is None:
        context.error(f"reflog could not be found: '{argument}'")
        return None
    return found.name


def _prune(
    context: Context,
    settings: _Settings,
    names: Sequence[str],
    judge_of: Callable[[str], Judge],
    pruned: bytes,
) -> int:
    """Prune these logs; tells of each entry what becomes of it if that was asked for."""

    def telling(name: str) -> Judge:
        judge = judge_of(name)

        def tell(entry: ReflogEntry) -> bool:
            goes = judge(entry)
            word = pruned if goes else b"keep"
            context.stdout.write(word + b" " + encode(entry.message) + b"\n")
            return goes

        return tell

    failures = context.store.expire_reflogs(
        names,
        telling if settings.verbose else judge_of,
        rewrite=settings.rewrite,
        update_ref=settings.updateref,
        dry_run=settings.dry_run,
    )
    for name, error in failures:
        context.error(f"cannot expire the reflog of '{name}': {error}")
    return ERROR_STATUS if failures else 0


RUN = {"expire": _expire, "delete": _delete, "drop": _drop}
