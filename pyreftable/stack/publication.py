"""What additions and compactions share: tables on their way into the list.

Tables get their names before the list names them, and lose them again if it never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import ReftableError

if TYPE_CHECKING:
    from .storage import ListLock, Storage, TableFile


class Publication:
    """Named tables on their way into the list, under its lock.

    `commit` or `rollback` ends it, and the lock with it.

    Rolling back after `commit` began has to look before it deletes. An interrupt may arrive, or
    an error be reported, when the list has already been replaced; deleting its tables then would
    destroy the stack.
    """

    def __init__(self, storage: Storage, lock: ListLock) -> None:
        self._storage = storage
        self._lock = lock
        self._names: list[str] = []
        self._list_may_be_new = False

    @property
    def names(self) -> tuple[str, ...]:
        """The tables published so far, oldest first."""
        return tuple(self._names)

    def publish(self, file: TableFile, min_update_index: int, max_update_index: int) -> str:
        """Name a finished table after its range; its name."""
        name = self._storage.new_name(min_update_index, max_update_index)
        self._names.append(name)
        try:
            file.publish(name)
        except BaseException:
            # An interrupt may come after the rename: delete it, whether it is there or not.
            self._storage.remove(name)
            self._names.remove(name)
            raise
        return name

    def commit(self, names: Sequence[str]) -> None:
        """Replace the list by `names`, durably."""
        self._list_may_be_new = True
        self._lock.replace(names)
        self._names.clear()
        self._storage.sync()

    def rollback(self) -> None:
        """Delete the tables that are not in the list and release its lock. Raises nothing."""
        try:
            names = self._unlisted()
            self._names.clear()
            for name in names:
                self._storage.remove(name)
        finally:
            self._lock.release()

    def _unlisted(self) -> list[str]:
        if not (self._names and self._list_may_be_new):
            return list(self._names)
        try:
            listed = self._storage.read_list().names
        except ReftableError:
            return []  # Better a table too many, which `Stack.clean` deletes, than one too few.
        return [name for name in self._names if name not in listed]
