"""Which ref a branch follows: what `@{upstream}` and `@{push}` stand for.

Source: git-config(1), `branch.<name>.*`, `remote.<name>.*` and `push.default`; gitrevisions(7).
The messages are git's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import RevisionError
from .names import dwim_candidates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .protocols import RefReader, Settings


def upstream_of(branch: str, config: Settings, refs: RefReader) -> str:
    """Full name of the ref that `branch` (a short name) follows.

    Raises `RevisionError` if it follows none, or one that is not stored here.
    """
    remote, merge = config.get(f"branch.{branch}.remote"), config.get_all(f"branch.{branch}.merge")
    if remote is None or not merge:
        if refs.read(f"refs/heads/{branch}") is None:
            raise RevisionError(f"no such branch: '{branch}'")
        raise RevisionError(f"no upstream configured for branch '{branch}'")
    tracking = apply_refspecs(config.get_all(f"remote.{remote}.fetch"), merge[0])
    if tracking is None and remote == ".":
        candidates = [name for name in dwim_candidates(merge[0]) if refs.read(name) is not None]
        return candidates[0] if len(candidates) == 1 else merge[0]
    if tracking is None:
        raise RevisionError(f"upstream branch '{merge[0]}' not stored as a remote-tracking branch")
    return tracking


def push_target_of(branch: str, config: Settings, refs: RefReader) -> str:
    """Full name of the ref that remembers where `branch` is pushed to.

    Raises `RevisionError` if pushing it has no destination, or none that is stored here.
    """
    remote = _push_remote(branch, config)
    refname = f"refs/heads/{branch}"
    push_refspecs = config.get_all(f"remote.{remote}.push")
    if push_refspecs:
        destination = apply_refspecs(push_refspecs, refname)
        if destination is None:
            raise RevisionError(f"push refspecs for '{remote}' do not include '{branch}'")
        return _tracking(remote, destination, config)
    if config.get_bool(f"remote.{remote}.mirror"):
        return _tracking(remote, refname, config)
    return _default_push_target(branch, remote, config, refs)


def _default_push_target(branch: str, remote: str, config: Settings, refs: RefReader) -> str:
    default = config.get("push.default") or "simple"
    if default == "nothing":
        raise RevisionError("push has no destination (push.default is 'nothing')")
    if default in ("matching", "current"):
        return _tracking(remote, f"refs/heads/{branch}", config)
    upstream = upstream_of(branch, config, refs)
    if default in ("upstream", "tracking"):
        return upstream
    if _tracking(remote, f"refs/heads/{branch}", config) != upstream:
        raise RevisionError("cannot resolve 'simple' push to a single destination")
    return upstream


def _push_remote(branch: str, config: Settings) -> str:
    for key in (f"branch.{branch}.pushremote", "remote.pushdefault", f"branch.{branch}.remote"):
        remote = config.get(key)
        if remote is not None:
            return remote
    remotes = config.subsections("remote")
    return remotes[0] if len(remotes) == 1 else "origin"


def _tracking(remote: str, refname: str, config: Settings) -> str:
    remote = _known_by_url(remote, config)
    tracking = apply_refspecs(config.get_all(f"remote.{remote}.fetch"), refname)
    if tracking is None:
        raise RevisionError(
            f"push destination '{refname}' on remote '{remote}' has no local tracking branch"
        )
    return tracking


def _known_by_url(remote: str, config: Settings) -> str:
    """The one remote that is pushed to the URL `remote`; `remote` itself if that is a name."""
    names = config.subsections("remote")
    if remote in names:
        return remote
    urls = {
        name: config.get_all(f"remote.{name}.pushurl") or config.get_all(f"remote.{name}.url")
        for name in names
    }
    matches = [name for name in names if remote in urls[name]]
    return matches[0] if len(matches) == 1 else remote


def apply_refspecs(refspecs: Iterable[str], refname: str) -> str | None:
    """What the first of `refspecs` (`[+]SOURCE:DESTINATION`) that matches makes of `refname`.

    `None` too where a negative one (`^SOURCE`) forbids it.
    """
    refspecs = list(refspecs)
    if _is_excluded(refspecs, refname):
        return None
    for refspec in refspecs:
        source, colon, destination = refspec.removeprefix("+").rpartition(":")
        if colon and not refspec.startswith("^"):
            mapped = _mapped(source, destination, refname)
            if mapped is not None:
                return mapped
    return None


def _mapped(source: str, destination: str, refname: str) -> str | None:
    """`destination` for `refname`, if `source` matches it: as it is, or with one star."""
    if source == refname:
        return destination
    start, star, end = source.partition("*")
    fits = len(refname) >= len(start) + len(end)
    if star and fits and refname.startswith(start) and refname.endswith(end):
        return destination.replace("*", refname[len(start) : len(refname) - len(end)], 1)
    return None


def _is_excluded(refspecs: list[str], refname: str) -> bool:
    """Whether a negative refspec matches a source that a positive one can make of `refname`.

    That git takes the name for a destination here makes negative refspecs matter only where both
    sides of a refspec are alike.
    """
    negative = [refspec[1:] for refspec in refspecs if refspec.startswith("^")]
    if not negative:
        return False
    sources = []
    for refspec in refspecs:
        if not refspec.startswith("^"):
            source, _, destination = refspec.removeprefix("+").partition(":")
            key = (destination or source) if "*" in source else source
            sources.append(_mapped(key, source, refname))
    return any(
        source is not None and _mapped(pattern, pattern, source) is not None
        for pattern in negative
        for source in sources
    )
