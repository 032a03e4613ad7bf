"""Object names that `update-ref` is given: nearly always full ids, else whatever git reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.errors import FatalRevisionError, RevisionError

from .exits import Fatal

if TYPE_CHECKING:
    from .context import Context

# Some 10 MB; a batch that names more objects than this gains little from remembering them.
_REMEMBERED = 1 << 16


class ObjectNames:
    """Turns object names into raw ids. Full ids are taken as they are, whether stored or not.

    `full_ids` are those met so far, for the hot loop; `full_id` adds to it.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._hash = context.store.hash
        self.null = self._hash.null
        self.full_ids: dict[str, bytes] = {}

    def full_id(self, text: str) -> bytes | None:
        """The id that `text` is in hexadecimal; `None` if it is anything else."""
        known = self.full_ids.get(text)
        if known is not None:
            return known
        if len(text) != self._hash.hex_size:
            return None
        try:
            oid = bytes.fromhex(text)
        except ValueError:
            return None
        if len(oid) != self._hash.size:
            # It skips blanks.
            return None
        if len(self.full_ids) >= _REMEMBERED:
            self.full_ids.clear()
        self.full_ids[text] = oid
        return oid

    def object_id(self, name: str) -> bytes | None:
        """The id of the object that `name` stands for, `None` if there is none.

        Raises `Fatal` where git has more to say than that the name is invalid.
        """
        oid = self.full_id(name)
        if oid is not None:
            return oid
        from pyreftable.refs.revision import resolve_object_name

        try:
            found = resolve_object_name(self._context.store, name, warn=self._context.warning)
        except FatalRevisionError as error:
            raise Fatal(str(error)) from error
        except RevisionError:
            return None
        return bytes.fromhex(found)
