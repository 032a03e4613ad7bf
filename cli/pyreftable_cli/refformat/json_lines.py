"""`--json`: each ref as a JSON object on a line of its own.

Without a format, its members are `refname`, `objectname`, `objecttype` and, for a symbolic ref,
`symref`. With one, they are the fields of the format under their own names, in that order; text
and blocks around them are left out. All values are strings, as the format would show them; bytes
that are not UTF-8 become lone surrogates (`\\udc80` to `\\udcff`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyreftable.refs.text import as_text

from ..exits import Fatal
from .atoms import make_field
from .lookup import MissingObject
from .parser import format_atoms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .batch import RefBatch
    from .lookup import Lookup

_DEFAULT = b"%(refname)%(objectname)%(objecttype)%(symref)"


class JsonFormatter:
    """Shows refs as JSON; `format` names the fields."""

    def __init__(self, format: bytes | None, lookup: Lookup) -> None:
        """Raises `BadFormat`, or `Fatal` for an unknown field."""
        self._omits_symref = format is None
        atoms = format_atoms(_DEFAULT if format is None else format)
        self._fields = {atom.text: make_field(atom, lookup) for atom in atoms}

    def render(self, batch: RefBatch) -> Iterator[bytes]:
        """The lines of all refs of a batch; raises `Fatal` at a ref that cannot be shown."""
        try:
            yield self._text(batch)
            return
        except (MissingObject, Fatal):
            pass
        for at in range(len(batch)):
            try:
                yield self._text(batch.part(at, at + 1))
            except MissingObject as error:
                raise error.about(batch.names[at]) from error

    def _text(self, batch: RefBatch) -> bytes:
        names = list(self._fields)
        columns = [field.column(batch) for field in self._fields.values()]
        lines = []
        for row in zip(*columns, strict=True):
            values = dict(zip(names, map(as_text, row), strict=True))
            if self._omits_symref and not values["symref"]:
                del values["symref"]
            lines.append(json.dumps(values) + "\n")
        return "".join(lines).encode()
