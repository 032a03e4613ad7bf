"""Short-hands that stand for a branch: `@`, `@{-1}`, `main@{upstream}`, `@{push}`.

Source: gitrevisions(7) and `git check-ref-format --branch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import RefNameError, RevisionError
from .names import shorten
from .tracking import push_target_of, upstream_of

if TYPE_CHECKING:
    from .protocols import BranchStore, Settings

_UPSTREAM_MARKS = ("@{upstream}", "@{u}")
_PUSH_MARKS = ("@{push}",)


class Expansion(NamedTuple):
    """What the first `length` characters of a text stand for."""

    text: str
    length: int


def mark_at(text: str, position: int) -> str | None:
    """The tracking mark at `position` of `text` as it is written there, or `None`."""
    for mark in (*_UPSTREAM_MARKS, *_PUSH_MARKS):
        written = text[position : position + len(mark)]
        if written.lower() == mark:
            return written
    return None


def expand_branch(text: str, store: BranchStore, config: Settings) -> str | None:
    """The name that the short-hand `text` stands for; `None` if it is no short-hand.

    The name is short where that is unambiguous. Raises `RevisionError` for a tracking mark on a
    branch that tracks nothing.
    """
    found = _expand(text, store, config)
    return found.text if found is not None and found.length == len(text) else None


def _expand(text: str, store: BranchStore, config: Settings) -> Expansion | None:
    prior = prior_checkout(text, store)
    if prior is not None:
        return _continue(text, prior, store, config)
    if text.startswith("@") and text[1:2] != "{" and (text == "@" or text.startswith("@@{")):
        return _continue(text, Expansion("HEAD", 1), store, config)
    position = text.find("@")
    while position >= 0:
        mark = mark_at(text, position)
        if mark is not None and ":" not in text[:position]:
            target = _follow_mark(text[:position], mark, store, config)
            return Expansion(target, position + len(mark))
        position = text.find("@", position + 1)
    return None


def _continue(
    text: str, start: Expansion, store: BranchStore, config: Settings
) -> Expansion | None:
    """Expand what `start` gave together with the rest of `text`: `@{-1}@{u}`."""
    if start.length == len(text):
        return start
    whole = start.text + text[start.length :]
    further = _expand(whole, store, config)
    if further is None:
        return start
    return Expansion(further.text, further.length - len(start.text) + start.length)


def _follow_mark(branch: str, mark: str, store: BranchStore, config: Settings) -> str:
    if branch in ("", "HEAD"):
        branch = current_branch(store)
    target_of = push_target_of if mark.lower() in _PUSH_MARKS else upstream_of
    return shorten(target_of(branch, config, store), lambda name: store.read(name) is not None)


def current_branch(store: BranchStore) -> str:
    """Short name of the branch that `HEAD` is on; raises `RevisionError` if it is on none."""
    try:
        head = store.resolve("HEAD")
    except RefNameError:
        head = None
    if head is None or not head.is_symref or not head.name.startswith("refs/heads/"):
        raise RevisionError("HEAD does not point to a branch")
    return head.name.removeprefix("refs/heads/")


def prior_checkout(text: str, store: BranchStore) -> Expansion | None:
    """The branch (or commit id) left at the N-th last checkout, if `text` starts with `@{-N}`."""
    number, closed, _ = text.removeprefix("@{-").partition("}")
    if not (text.startswith("@{-") and closed and number.isascii() and number.isdigit()):
        return None
    remaining = int(number)
    for entry in store.reflog("HEAD") if remaining else ():
        start, moved, rest = entry.message.partition("checkout: moving from ")
        if start or not moved or " to " not in rest:
            continue
        remaining -= 1
        if remaining == 0:
            return Expansion(rest.partition(" to ")[0], len("@{-}") + len(number))
    return None


def split_selector(text: str) -> tuple[str | None, str | None, bool]:
    """Cut `@{…}` off a ref: (ref, what is in the braces if it selects a log entry, is `@{-N}`).

    The ref is `None` where `@{-N}` stands anywhere but in front.
    """
    position = text.rfind("@{", 0, len(text) - 2) if text.endswith("}") else -1
    if position < 0 or mark_at(text, position) is not None:
        return text, None, False
    if text[position + 2] != "-":
        return text[:position], text[position + 2 : -1], False
    return (text, None, True) if position == 0 else (None, None, False)
