"""From the store's runs to batches of the refs that are wanted.

Symbolic refs get the value of the ref they lead to; those that lead nowhere are left out, as git
does. Refs that no healthy writer makes (a malformed name, a null id) are reported and left out.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import compress
from typing import TYPE_CHECKING

from pyreftable.errors import RefNameError
from pyreftable.progress import SILENCE, Progress, estimated_refs
from pyreftable.refs.names import check_refname, refname_is_safe
from pyreftable.refs.text import as_bytes, as_text

from ..exits import Fatal
from .batch import RefBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyreftable.refs.listing import RefRun
    from pyreftable.refs.store import RefStore

    from .patterns import RefPatterns

_SYMREF = 3

# Runs are block-sized. Working on more at once saves calls; from some thousands on, the lists no
# longer fit the processor's cache, and a listing takes 15 % longer (measured).
_FIRST_BATCH = 256
_LARGEST_BATCH = 1 << 10

_FORBIDDEN = bytes({*range(0x21), 0x7F, *b"~^:?*[\\"} - {*b"\n"})
_LINE_END_TO_SLASH = bytes.maketrans(b"\n", b"/")
_SUSPICIOUS_WITH_DOT = (b"/.", b"..", b"./", b".lock/")


class Listing:
    """The refs of `store` that match `patterns`, in the order of their names.

    `root_refs` adds HEAD and its like. `after` starts behind that name (which need not exist).
    `warn` gets what is wrong with refs that are left out; `progress` is told of refs read.
    """

    def __init__(
        self,
        store: RefStore,
        patterns: RefPatterns,
        *,
        root_refs: bool = False,
        after: bytes | None = None,
        warn: Callable[[str], None],
        progress: Progress = SILENCE,
    ) -> None:
        self._store = store
        self._patterns = patterns
        self._root_refs = root_refs
        # git seeks the smallest name above the marker that is no valid name itself.
        self._start = None if after is None else after + b"\1"
        self._warn = warn
        self._progress = progress
        self._null = store.hash.null
        self._danger: Fatal | None = None

    def batches(self) -> Iterator[RefBatch]:
        """The refs, some thousands at a time; batches may be empty."""
        prefixes = self._patterns.prefixes()
        if self._progress is not SILENCE:
            # How many refs there are below a prefix is not known before they have been read.
            tables = self._store.stack().snapshot().tables if prefixes == [b""] else ()
            self._progress.start("Listing refs", estimated_refs(tables))
        for prefix in prefixes:
            runs = self._store.ref_runs(prefix, root_refs=self._root_refs)
            for names, types, values in _coalesced(runs):
                yield self._select(names, types, values)
                self._progress.advance(len(names))
                if self._danger is not None:
                    raise self._danger

    def _select(self, names: list[bytes], types: list[int], values: list[bytes]) -> RefBatch:
        if self._start is not None:
            at = bisect_left(names, self._start)
            names, types, values = names[at:], types[at:], values[at:]
        if names and not (_all_valid(names) and min(values)[: len(self._null)] != self._null):
            good = list(self._judged(names, types, values))
            names, types = list(compress(names, good)), list(compress(types, good))
            values = list(compress(values, good))
        batch = RefBatch(names, values, {})
        flags = self._patterns.flags(names)
        if flags is not None:
            batch = batch.where(flags)
        if _SYMREF in types:
            pairs = zip(names, types, strict=True)
            batch = self._resolved(batch, {n for n, value_type in pairs if value_type == _SYMREF})
        return batch

    def _resolved(self, batch: RefBatch, symrefs: set[bytes]) -> RefBatch:
        """`batch` with the values of symbolic refs looked up, dangling ones left out."""
        values = list(batch.values)
        targets: dict[bytes, bytes] = {}
        dangling = False
        for at, name in enumerate(batch.names):
            if name in symrefs:
                target, value = self._follow(as_text(name))
                values[at] = value
                if value:
                    targets[name] = target
                else:
                    dangling = True
        resolved = RefBatch(batch.names, values, targets)
        return resolved.where(values) if dangling else resolved

    def _follow(self, name: str) -> tuple[bytes, bytes]:
        """Where a symbolic ref finally leads: name and raw id; no id where it leads nowhere."""
        try:
            resolved = self._store.resolve(name)
        except RefNameError:
            return b"", b""
        oid = bytes.fromhex(resolved.oid or "")
        return as_bytes(resolved.name), b"" if oid == self._null else oid

    def _judged(self, names: list[bytes], types: list[int], values: list[bytes]) -> Iterator[bool]:
        """For each ref, whether it is good, up to one whose name could lead out of `refs/`.

        What comes before that one is still listed, as git does.
        """
        for raw_name, value_type, value in zip(names, types, values, strict=True):
            name = as_text(raw_name)
            bad_name = not check_refname(name, allow_onelevel=True)
            broken = value_type != _SYMREF and value.startswith(self._null)
            if bad_name and not refname_is_safe(name):
                self._danger = Fatal(f"refname is dangerous: {name}")
                return
            if bad_name:
                self._warn(f"ignoring ref with broken name {name}")
            elif broken:
                self._warn(f"ignoring broken ref {name}")
            yield not (bad_name or broken)


def _coalesced(runs: Iterator[RefRun]) -> Iterator[tuple[list[bytes], list[int], list[bytes]]]:
    """Runs joined into longer ones, up to a size that doubles."""
    names: list[bytes] = []
    types: list[int] = []
    values: list[bytes] = []
    enough = _FIRST_BATCH
    for run in runs:
        names += run.names
        types += run.types
        values += run.values
        if len(names) >= enough:
            yield names, types, values
            names, types, values = [], [], []
            enough = min(2 * enough, _LARGEST_BATCH)
    if names:
        yield names, types, values


def _all_valid(names: list[bytes]) -> bool:
    """Whether all of `names` are well-formed ref names; may say no where one is only unusual.

    With `/` between the names, a name's ends are the ends of a component, and few searches in one
    text see everything (70 ns a name, where `check_refname` takes 1 us).
    """
    lines = b"\n".join(names)
    text = b"/" + lines.translate(_LINE_END_TO_SLASH, _FORBIDDEN) + b"/"
    if len(text) != len(lines) + 2 or lines.count(b"\n") != len(names) - 1 or b"//" in text:
        return False
    if b"@" in text and (b"@{" in text or b"/@/" in text):
        return False
    return b"." not in text or not any(mark in text for mark in _SUSPICIOUS_WITH_DOT)
