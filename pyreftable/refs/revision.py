"""Object names: from `HEAD`, `v1.0^{commit}` or `main@{1}~2` to an object id.

An object name is read from its end, as git reads it: a suffix (`~n`, `^n`, `^{type}`) applies to
the name before it; what carries no suffix is a full id, a ref (perhaps with `@{…}`), the output
of `git describe`, or an abbreviated id, tried in this order; and `tree:path` is tried last.

Not supported, with an error that says so: `:/text` and `^{/text}` (they search history), `:path`
(it reads the index) and paths relative to the current folder (`HEAD:./path`).

Source: gitrevisions(7), and git's behaviour. Grafts and replace refs are not followed; the
boundary of a shallow clone is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..errors import FatalRevisionError, ObjectMissingError, RefNameError, RevisionError
from .branch_names import expand_branch, prior_checkout, split_selector
from .names import check_refname, dwim_candidates
from .object_content import commit_parents, commit_tree, parse_tag, tree_entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from .protocols import RevisionStore
    from .reflog_lookup import LogValue

_HEX = frozenset("0123456789abcdefABCDEF")
_DIGITS = "0123456789"
_TYPES = frozenset({"commit", "tree", "blob", "tag", "object"})

# More digits than git's limit on generations and parents (2**31 - 1) has.
_TOO_MANY_DIGITS = 11


class _Found(NamedTuple):
    """A ref or log that a short name stands for, its present id, and how many refs it may mean."""

    name: str
    oid: str
    matches: int


def resolve_object_name(
    store: RevisionStore, name: str, *, warn: Callable[[str], None] | None = None
) -> str:
    """The full hex id that `name` stands for. A full id is taken as it is, stored or not.

    `warn` is given what git would warn of, such as an ambiguous name. Raises `RevisionError` if
    `name` stands for nothing, or for several objects.
    """
    resolver = _Resolver(store, warn)
    oid = resolver.resolve(name)
    if oid is None:
        reason = f" ({resolver.reason})" if resolver.reason else ""
        raise RevisionError(f"not a valid object name: '{name}'{reason}")
    return oid


class _Resolver:
    """The reading of one name. Methods answer `None` where a reading does not apply or fails."""

    def __init__(self, store: RevisionStore, warn: Callable[[str], None] | None) -> None:
        self.store = store
        self.config = store.repository.config
        self.objects = store.objects
        self.warn = warn or (lambda _: None)
        self.counts_ambiguity = warn is not None and (
            self.config.get_bool("core.warnambiguousrefs") is not False
        )
        self.reason = ""
        self.shallow: frozenset[str] | None = None

    def resolve(self, name: str) -> str | None:
        try:
            oid = self._object(name, None)
            if oid is not None or ":" not in name:
                return oid
            return self._path_in_tree(name)
        except ObjectMissingError as error:
            self.reason = str(error)
            return None

    # Suffixes

    def _object(self, text: str, hint: str | None) -> str | None:
        """The object `text`; `hint` is the type that decides between abbreviated ids."""
        base = text.rstrip(_DIGITS)
        if base.endswith(("~", "^")):
            digits = text[len(base) :]
            if len(digits) >= _TOO_MANY_DIGITS:
                return None
            number = int(digits or 1)
            step = self._ancestor if base.endswith("~") else self._parent
            return step(base[:-1], number)
        return (
            self._typed(text)
            or self._basic(text)
            or self._described(text)
            or self._abbreviated(text, hint)
        )

    def _commit(self, text: str) -> str | None:
        oid = self._object(text, "committish")
        return None if oid is None else self._peel_to(oid, "commit")

    def _parent(self, text: str, number: int) -> str | None:
        commit = self._commit(text)
        if commit is None or number == 0:
            return commit
        parents = self._parents(commit)
        return parents[number - 1] if number <= len(parents) else None

    def _ancestor(self, text: str, generations: int) -> str | None:
        commit = self._commit(text)
        while commit is not None and generations:
            commit = next(iter(self._parents(commit)), None)
            generations -= 1
        return commit

    def _parents(self, commit: str) -> list[str]:
        if self.shallow is None:
            self.shallow = _shallow_commits(self.store.repository.common_dir)
        _, body = self.objects.read(commit)
        return [] if commit in self.shallow else commit_parents(body, commit)

    def _typed(self, text: str) -> str | None:
        """`NAME^{type}`, `NAME^{}` and `NAME^{/text}`."""
        base, caret, wanted = text.rpartition("^{")
        if not base or not caret or not wanted.endswith("}"):
            return None
        wanted = wanted[:-1]
        if wanted and wanted not in _TYPES and not wanted.startswith("/"):
            return None
        wanted_type = "commit" if wanted.startswith("/") else wanted
        oid = self._object(base, {"commit": "committish", "tree": "treeish"}.get(wanted_type))
        if oid is None or self.objects.info(oid) is None:
            return None
        if wanted == "object":
            return oid
        if not wanted:
            return self.objects.peel(oid) or oid
        if len(wanted) > 1 and wanted.startswith("/"):
            raise FatalRevisionError(f"'{text}': commits cannot be searched by their message here")
        return self._peel_to(oid, wanted_type)

    def _peel_to(self, oid: str, wanted: str) -> str | None:
        """Follow tags, and a commit to its tree, until the object is of the type `wanted`."""
        while True:
            info = self.objects.info(oid)
            if info is None:
                raise ObjectMissingError(f"object {oid} is missing")
            if info[0] == wanted:
                return oid
            if info[0] == "tag":
                oid, _ = parse_tag(self.objects.read(oid)[1], oid)
            elif info[0] == "commit" and wanted != "tag":
                oid = commit_tree(self.objects.read(oid)[1], oid)
            else:
                self.reason = f"object {oid} is a {info[0]}, not a {wanted}"
                return None

    # Ids and refs

    def _basic(self, text: str) -> str | None:
        if self._is_full_id(text):
            return text.lower()
        base, selector, is_prior = split_selector(text)
        if base is None or (base and _is_odd_path(base)):
            return None
        if is_prior:
            prior = prior_checkout(base, self.store)
            if prior is not None and self._is_full_id(prior.text):
                return prior.text.lower()
        if selector is None:
            found = self._ref(base)
        else:
            found = self._logged_ref(base) if base else self._ref("HEAD")
        if found is None:
            return None
        if self.counts_ambiguity and (found.matches > 1 or self._matches_an_id(base)):
            self.warn(f"refname '{base}' is ambiguous.")
        return found.oid if selector is None else self._logged_value(found, base, selector)

    def _is_full_id(self, text: str) -> bool:
        return len(text) == self.store.repository.hash.hex_size and _HEX.issuperset(text)

    def _candidates(self, text: str) -> list[str]:
        try:
            expanded = expand_branch(text, self.store, self.config)
        except RevisionError as error:
            raise FatalRevisionError(str(error)) from error
        return dwim_candidates(text if expanded is None else expanded)

    def _ref(self, text: str) -> _Found | None:
        """The ref that `text` is short for; later candidates only count as ambiguity."""
        first: _Found | None = None
        for candidate in self._candidates(text):
            found = self._resolved(candidate)
            if found is None:
                continue
            first = first._replace(matches=first.matches + 1) if first else found
            if not self.counts_ambiguity:
                break
        return first

    def _resolved(self, refname: str) -> _Found | None:
        try:
            resolved = self.store.resolve(refname)
            oid, is_symref = resolved.oid, resolved.is_symref
        except RefNameError:
            # Either it is no name at all, or a symref that leads in circles, or to no name.
            oid, is_symref = None, check_refname(refname, allow_onelevel=True)
        if oid is None:
            if is_symref and refname != "HEAD":
                self.warn(f"ignoring dangling symref {refname}")
            return None
        return _Found(resolved.name, oid, 1)

    def _logged_ref(self, text: str) -> _Found | None:
        """The ref with a log that `text` is short for, or the one that its symref leads to."""
        first: _Found | None = None
        for candidate in self._candidates(text):
            found = self._resolved(candidate)
            if found is None:
                continue
            for name in dict.fromkeys((candidate, found.name)):
                if self.store.reflog(name).exists:
                    found = found._replace(name=name)
                    first = first._replace(matches=first.matches + 1) if first else found
                    break
            if first and not self.counts_ambiguity:
                break
        return first

    def _logged_value(self, found: _Found, base: str, selector: str) -> str | None:
        from .reflog_lookup import read_selector, value_at

        index, moment = read_selector(selector)
        if index is None and moment is None:
            return None

        value = value_at(
            self.store.reflog(found.name),
            found.oid,
            index=index,
            moment=moment,
            warn=self.warn,
            name=found.name,
        )
        if value.entries is not None:
            self._check_reach(value, found.name, base, index, moment)
        return value.oid

    def _check_reach(
        self, value: LogValue, name: str, base: str, index: int | None, moment: int | None
    ) -> None:
        """Deal with a log that does not go back as far as asked.

        The value before the oldest entry is known too: that entry's old value. The epoch itself
        (`main@{never}`) is no time to git, but an index that no log has.
        """
        if value.oldest is None and index != 0:
            raise FatalRevisionError(f"log for {name} is empty")
        shown = base
        if not base:
            is_branch = name.startswith("refs/heads/")
            shown = name.removeprefix("refs/heads/") if is_branch else "HEAD"
        if moment and value.oldest is not None:
            from .reflog_lookup import rfc2822

            self.warn(f"log for '{shown}' only goes back to {rfc2822(value.oldest)}")
        elif index != value.entries or not value.oid.strip("0"):
            raise FatalRevisionError(f"log for '{shown}' only has {value.entries} entries")

    # Abbreviated ids

    def _matches_an_id(self, text: str) -> bool:
        return len(self.objects.expand(text)) == 1

    def _described(self, text: str) -> str | None:
        """`v1.0-3-gabcdef`, what `git describe` prints: the id at its end, a commit's."""
        rest = text.rstrip("0123456789abcdefABCDEF")
        if not rest.endswith("-g") or rest == text:
            return None
        tag, dash, count = rest[:-2].rpartition("-")
        if not dash or not count or not _HEX.issuperset(count):
            return None
        if not check_refname(tag, allow_onelevel=True):
            return None
        return self._abbreviated(text[len(rest) :], "commit")

    def _abbreviated(self, text: str, hint: str | None) -> str | None:
        candidates = self.objects.expand(text)
        if len(candidates) > 1:
            wanted = hint or self.config.get("core.disambiguate") or "none"
            if wanted != "none":
                candidates = [oid for oid in candidates if self._is_a(oid, wanted)]
            if len(candidates) != 1:
                self.reason = f"short object ID {text.lower()} is ambiguous"
                return None
        return candidates[0] if candidates else None

    def _is_a(self, oid: str, wanted: str) -> bool:
        try:
            if wanted in ("committish", "treeish"):
                oid = self.objects.peel(oid) or oid
        except ObjectMissingError:
            return False
        found = self.objects.info(oid)
        kinds = {"committish": ("commit",), "treeish": ("commit", "tree")}.get(wanted, (wanted,))
        return found is not None and found[0] in kinds

    # Paths

    def _path_in_tree(self, name: str) -> str | None:
        if name.startswith(":/") and len(name) > 2:
            raise FatalRevisionError(f"'{name}': commits cannot be searched by their message here")
        if name.startswith(":"):
            raise FatalRevisionError(f"'{name}': the index cannot be read here")
        base, path = _split_path(name)
        oid = None if path is None else self._object(base, "treeish")
        if oid is None or path is None:
            return None
        if path.startswith(("./", "../")):
            raise FatalRevisionError(f"'{name}': relative paths are not supported here")
        return self._entry(oid, os.fsencode(path))

    def _entry(self, oid: str, path: bytes) -> str | None:
        tree = self._peel_to(oid, "tree")
        if tree is None or not path:
            return tree
        wanted, slash, rest = path.partition(b"/")
        for name, is_tree, entry in tree_entries(self.objects.read(tree)[1], tree):
            if name == wanted and (is_tree or not slash):
                return self._entry(entry, rest) if rest else entry
        return None


def _shallow_commits(common_dir: str) -> frozenset[str]:
    """The commits whose parents a shallow clone left out."""
    try:
        with open(os.path.join(common_dir, "shallow")) as file:
            return frozenset(file.read().split())
    except FileNotFoundError:
        return frozenset()


def _is_odd_path(text: str) -> bool:
    """Whether a slash stands at the start, at the end, or after a component of dots only."""
    return any(not part.strip(".") for part in text.split("/"))


def _split_path(name: str) -> tuple[str, str | None]:
    """Cut `TREE:PATH` at its first colon outside of braces; no colon: no path."""
    depth = 0
    for position, character in enumerate(name):
        if character in "@^" and name[position + 1 : position + 2] == "{":
            depth += 1
        elif depth and character == "}":
            depth -= 1
        elif not depth and character == ":":
            return name[:position], name[position + 1 :]
    return name, None
