"""One queued update of a transaction, in the state the checks have brought it to."""

from __future__ import annotations

from ..errors import Rejection
from .text import as_bytes


class Update:
    """What one ref is to become, and under which conditions.

    Ids are raw bytes; `None` means "not given" (an update without new value only verifies), all
    zeros "must not exist" (old) or "delete" (new). Of id and target at most one is given, for
    old and new each. `key` is the ref's name in the stack that holds it.
    """

    __slots__ = (
        "create_reflog",
        "current_oid",
        "deref",
        "is_symref",
        "key",
        "log_only",
        "message",
        "new_oid",
        "new_target",
        "old_oid",
        "old_target",
        "parent",
        "peeled",
        "refname",
        "rejection",
        "rejection_details",
        "via_head",
    )

    def __init__(
        self,
        refname: str,
        *,
        new_oid: bytes | None = None,
        old_oid: bytes | None = None,
        new_target: str | None = None,
        old_target: str | None = None,
        peeled: bytes | None = None,
        deref: bool = True,
        create_reflog: bool = False,
        log_only: bool = False,
        message: bytes = b"",
    ) -> None:
        self.refname = refname
        self.key = b""
        self.new_oid = new_oid
        self.old_oid = old_oid
        self.new_target = new_target
        self.old_target = old_target
        self.peeled = peeled
        self.deref = deref
        self.create_reflog = create_reflog
        self.log_only = log_only
        self.message = message
        # What the checks find out.
        self.parent: Update | None = None
        self.via_head = False
        self.is_symref = False
        self.current_oid = b""
        self.rejection: Rejection | None = None
        self.rejection_details = ""

    @property
    def has_new(self) -> bool:
        """Whether a new value is given; otherwise the update only verifies the old one."""
        return self.new_oid is not None or self.new_target is not None

    @property
    def is_deletion(self) -> bool:
        """Whether the new value is "no ref"."""
        return self.new_oid is not None and not any(self.new_oid)

    @property
    def expects_existing(self) -> bool:
        """Whether the old value given demands that the ref exists."""
        if self.log_only:
            return False
        return self.old_target is not None or bool(self.old_oid and any(self.old_oid))

    @property
    def first_refname(self) -> str:
        """The name the caller gave, where this update stands for a symref's target."""
        update = self
        while update.parent is not None:
            update = update.parent
        return update.refname


def logged_message(message: str | bytes) -> bytes:
    """A message as a log holds it: in one line."""
    if not message:
        return b""
    from .identity import clean_message

    return clean_message(as_bytes(message))
