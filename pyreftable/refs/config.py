"""Configuration as one mapping: what `git config` would answer, typed.

A key is `section.variable` or `section.subsection.variable`; section and variable name are taken
in any case, the subsection as it is. Nothing is read before the first question; what was read
then stays (a program that wants later changes discovers the repository again).

Source: `git-config`, sections "Syntax" and "Values".
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .config_parser import canonical_key
from .config_values import INT64, entry_bool, entry_int, expand_path, parse_bool_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .config_parser import Entry


class Config:
    """Entries of all files and scopes that apply; where a key is set twice the last one wins.

    `load` is called once, with the first question, and returns the entries in the order of
    precedence; what it raises comes out of that question (`ConfigError`). `environ` serves to
    expand `~` in paths. Safe to share between threads.
    """

    __slots__ = ("_environ", "_load", "_loaded")

    def __init__(
        self, load: Callable[[], Sequence[Entry]], environ: Mapping[str, str] = os.environ
    ) -> None:
        self._load = load
        self._environ = environ
        self._loaded: tuple[Sequence[Entry], dict[str, list[Entry]]] | None = None

    def __iter__(self) -> Iterator[Entry]:
        """All entries, those that win last."""
        return iter(self._read()[0])

    def entries(self, key: str) -> Sequence[Entry]:
        """Every setting of `key`, the winning one last; raises `ConfigError` for a bad key."""
        return self._read()[1].get(canonical_key(key), ())

    def entry(self, key: str) -> Entry | None:
        """The winning setting of `key`, `None` if it is not set anywhere."""
        entries = self.entries(key)
        return entries[-1] if entries else None

    def get(self, key: str) -> str | None:
        """The value of `key`, `None` if it is not set.

        Raises `ConfigError` when it is set without a value, as git does for all but booleans.
        """
        entry = self.entry(key)
        return None if entry is None else _text(entry)

    def get_all(self, key: str) -> list[str]:
        """All values of `key`, the winning one last; raises as `get`."""
        return [_text(entry) for entry in self.entries(key)]

    def get_bool(self, key: str) -> bool | None:
        """The boolean value of `key` (set without a value: true), `None` if it is not set."""
        entry = self.entry(key)
        return None if entry is None else entry_bool(entry)

    def get_bool_or_str(self, key: str) -> bool | str | None:
        """As `get_bool`, but a value that is no boolean (in words) comes back as it is."""
        entry = self.entry(key)
        if entry is None:
            return None
        if entry.value is None:
            return True
        value = parse_bool_text(entry.value)
        return entry.value if value is None else value

    def get_int(self, key: str, within: range = INT64) -> int | None:
        """The number that `key` is set to, `None` if it is not set.

        `within` is the range of the type that git reads it as. A unit `k`, `m` or `g` counts.
        Raises `ConfigError` for what is no number or out of range.
        """
        entry = self.entry(key)
        return None if entry is None else entry_int(entry, within)

    def get_path(self, key: str) -> str | None:
        """The path that `key` is set to with `~` expanded, `None` if it is not set.

        A path marked `:(optional)` that does not exist counts as not set. A relative path comes
        back relative: to what, depends on the key.
        """
        value = self.get(key)
        if value is None:
            return None
        path = expand_path(value.removeprefix(":(optional)"), self._environ)
        if path is None:
            raise ConfigError(f"failed to expand user dir in: '{value}'")
        if value.startswith(":(optional)") and not os.path.exists(path):
            return None
        return path

    def items(self) -> Iterator[tuple[str, str | None]]:
        """All keys with their values, those that win last."""
        return ((entry.key, entry.value) for entry in self)

    def section(self, name: str) -> Iterator[tuple[str | None, str, Entry]]:
        """(subsection, variable, entry) of everything in section `name`, what wins last.

        The subsection is `None` for keys that have none: `gc.reflogExpire` is (`None`,
        "reflogexpire"), `gc.refs/heads/*.reflogExpire` is ("refs/heads/*", "reflogexpire").
        """
        prefix = name.lower() + "."
        for entry in self:
            if entry.key.startswith(prefix):
                subsection, dot, variable = entry.key[len(prefix) :].rpartition(".")
                yield (subsection if dot else None), variable, entry

    def subsections(self, name: str) -> list[str]:
        """The subsections that section `name` has, in the order in which they first appear."""
        found = (subsection for subsection, _, _ in self.section(name))
        return list(dict.fromkeys(name for name in found if name is not None))

    def _read(self) -> tuple[Sequence[Entry], dict[str, list[Entry]]]:
        # Two threads may both get here; both read the same, and either result may stay.
        if self._loaded is None:
            entries = self._load()
            by_key: dict[str, list[Entry]] = {}
            for entry in entries:
                by_key.setdefault(entry.key, []).append(entry)
            self._loaded = entries, by_key
        return self._loaded


def bad_variable(entry: Entry, reason: str) -> ConfigError:
    """The error for a setting that its reader cannot use, with `reason` as its cause."""
    path = entry.origin.path
    if path is None:
        error = ConfigError(f"unable to parse '{entry.key}' from command-line config")
    else:
        error = ConfigError(
            f"bad config variable '{entry.key}' in file '{path}' at line {entry.line}"
        )
    error.__cause__ = ConfigError(reason)
    return error


def _text(entry: Entry) -> str:
    if entry.value is None:
        raise bad_variable(entry, f"missing value for '{entry.key}'")
    return entry.value
