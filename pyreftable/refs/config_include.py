"""The conditions of `includeIf.<condition>.path`.

    gitdir:PATTERN  gitdir/i:PATTERN       where the git directory is
    worktree:PATTERN  worktree/i:PATTERN   where the work tree is
    onbranch:PATTERN                       the branch that HEAD is on
    hasconfig:remote.*.url:PATTERN         whether some remote has such a URL

Any other condition is false, so that files may use those of newer gits.

Source: `git-config`, section "Conditional includes".
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .config_files import REMOTE_URL_CONDITION
from .config_parser import bad_line
from .config_values import expand_path
from .wildmatch import wildmatch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .config_files import ConfigContext
    from .config_parser import Entry


def condition_holds(
    condition: str,
    entry: Entry,
    context: ConfigContext,
    remote_urls: Callable[[], Sequence[str]],
) -> bool:
    """Whether `condition`, which stands in `entry`, is true in `context`.

    `remote_urls` is called only by the condition that asks for them. Raises `ConfigError` for a
    pattern relative to the file when `entry` comes from no file.
    """
    keyword, colon, pattern = condition.partition(":")
    if not colon:
        return False
    ignore_case = keyword.endswith("/i")
    if keyword in ("gitdir", "gitdir/i"):
        places = [context.git_dir, context.logical_git_dir]
        return _any_place_matches(places, pattern, ignore_case, entry, context)
    if keyword in ("worktree", "worktree/i"):
        return _any_place_matches([context.work_tree], pattern, ignore_case, entry, context)
    if keyword == "onbranch":
        branch = context.branch() if context.branch is not None else None
        return branch is not None and _matches(_with_whole_folder(pattern), branch)
    if condition.startswith(REMOTE_URL_CONDITION):
        glob = condition.removeprefix(REMOTE_URL_CONDITION)
        return any(_matches(glob, url) for url in remote_urls())
    return False


def _any_place_matches(
    places: Sequence[str | None],
    pattern: str,
    ignore_case: bool,
    entry: Entry,
    context: ConfigContext,
) -> bool:
    """Whether a place, or what its symbolic links lead to, lies where `pattern` says."""
    given = [place for place in places if place is not None]
    if not given:
        return False
    pattern, literal = _absolute_pattern(pattern, entry, context)
    for place in [os.path.realpath(given[0]), *given]:
        # The file's own folder may contain wildcards; they are names here, not patterns.
        head, expected = place[:literal], pattern[:literal]
        if ignore_case:
            head, expected = head.lower(), expected.lower()
        if head == expected and _matches(pattern[literal:], place[literal:], ignore_case):
            return True
    return False


def _absolute_pattern(pattern: str, entry: Entry, context: ConfigContext) -> tuple[str, int]:
    """The pattern for whole paths, and how many characters at its start are no pattern."""
    pattern = expand_path(pattern, context.environ, resolve_home=True) or pattern
    literal = 0
    if pattern.startswith("./"):
        if entry.origin.path is None:
            raise bad_line(entry, "relative config include conditionals must come from files")
        folder = os.path.dirname(os.path.realpath(entry.origin.path)).rstrip("/")
        pattern = folder + pattern[1:]
        literal = len(folder) + 1
    elif not os.path.isabs(pattern):
        pattern = f"**/{pattern}"
    return _with_whole_folder(pattern), literal


def _with_whole_folder(pattern: str) -> str:
    return f"{pattern}**" if pattern.endswith("/") else pattern


def _matches(pattern: str, text: str, ignore_case: bool = False) -> bool:
    return wildmatch(os.fsencode(pattern), os.fsencode(text), pathname=True, casefold=ignore_case)
