"""A transaction: updates are queued, checked under the stacks' locks, and become one table each.

open -> `prepare` (locks taken, everything checked, hooks asked) -> `commit` or `abort`. Nothing
is written before `commit`, and a refusal at any point changes nothing. Source: git's ref
transactions, whose refusals and messages these are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from ..errors import CallerError, ObjectMissingError, Rejection, TransactionError
from .bulk import Columns
from .names import all_valid, check_refname, is_pseudo_ref, parse_worktree_ref, refname_is_safe
from .text import as_text
from .update import Update, logged_message

if TYPE_CHECKING:
    from .checks import Plan
    from .store import RefStore

Value = str | bytes

_MANY = 100
#: Objects looked up together; fewer than the object store remembers.
_PREFETCH = 1 << 15


class Transaction:
    """Queued updates of `store`; made by `RefStore.transaction`.

    Names are `str` or bytes; object ids are hex `str` or raw bytes. For an old value, all zeros
    or an empty string demand that the ref does not exist, `None` that nothing is checked. Of an
    old id and an old target at most one may be given. `deref=False` changes a symref itself
    rather than what it points to; `create_reflog` starts a log where none would be; `message`
    overrides the transaction's.

    Every queuing method raises `TransactionError` for what can be refused at once: a bad name, an
    object that does not exist, a branch that would not point to a commit.
    """

    def __init__(self, store: RefStore, message: Value = "", *, batch: bool = False) -> None:
        self.store = store
        self.batch = batch
        self._updates: list[Update] = []
        self._columns: Columns | None = None
        #: Updates refused one by one in batch mode: `rejection` and `rejection_details` say why.
        self.rejected: list[Update] = []
        self._message = logged_message(message)
        self._null = store.hash.null
        self._plan: Plan | None = None
        self._state = "open"
        self._known_objects: dict[bytes, tuple[str, bytes | None]] = {}

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if self._state != "closed":
            (self.commit if error is None else self.abort)()

    @property
    def updates(self) -> list[Update]:
        """What was queued, in that order; after `prepare` also what that came to."""
        self._spread_columns()
        return self._updates

    @property
    def columns(self) -> Columns | None:
        """All that was queued, where it is much and nothing but what columns hold (see `bulk`)."""
        columns = self._columns
        if self._updates or columns is None or len(columns.names) < _MANY:
            return None
        return columns

    def _spread_columns(self) -> None:
        if self._columns is not None:
            self._updates += self._columns.updates(self._message)
            self._columns = None

    # Queuing

    def update(
        self,
        name: Value,
        new: Value,
        old: Value | None = None,
        *,
        deref: bool = True,
        create_reflog: bool = False,
        message: Value | None = None,
    ) -> None:
        """Set `name` to the object `new`; all zeros or an empty string delete it."""
        self._queue(
            name,
            new_oid=self._oid(new),
            old_oid=None if old is None else self._oid(old),
            deref=deref,
            create_reflog=create_reflog,
            message=message,
        )

    def create(
        self,
        name: Value,
        new: Value,
        *,
        deref: bool = True,
        create_reflog: bool = False,
        message: Value | None = None,
    ) -> None:
        """Set `name`, which must not exist, to the object `new`."""
        oid = self._oid(new)
        if oid == self._null:
            self._refuse(f"'{as_text(name)}' has neither a valid OID nor a target", as_text(name))
        self._queue(
            name,
            new_oid=oid,
            old_oid=self._null,
            deref=deref,
            create_reflog=create_reflog,
            message=message,
        )

    def delete(
        self,
        name: Value,
        old: Value | None = None,
        *,
        deref: bool = True,
        message: Value | None = None,
    ) -> None:
        """Delete `name` and its reflog; with `old`, only if it holds that id."""
        oid = None if old is None else self._oid(old)
        if oid == self._null:
            raise CallerError(f"delete {as_text(name)}: the old id is all zeros")
        self._queue(name, new_oid=self._null, old_oid=oid, deref=deref, message=message)

    def verify(self, name: Value, old: Value, *, deref: bool = True) -> None:
        """Demand that `name` holds `old` (all zeros: does not exist) when this commits."""
        self._queue(name, old_oid=self._oid(old), deref=deref)

    def symref_update(
        self,
        name: Value,
        target: Value,
        *,
        old_target: Value | None = None,
        old: Value | None = None,
        deref: bool = True,
        create_reflog: bool = False,
        message: Value | None = None,
    ) -> None:
        """Make `name` a symref to `target`."""
        self._queue(
            name,
            new_target=as_text(target),
            old_target=None if old_target is None else as_text(old_target),
            old_oid=None if old is None else self._oid(old),
            deref=deref,
            create_reflog=create_reflog,
            message=message,
        )

    def symref_create(
        self,
        name: Value,
        target: Value,
        *,
        deref: bool = True,
        create_reflog: bool = False,
        message: Value | None = None,
    ) -> None:
        """Make `name`, which must not exist, a symref to `target`."""
        self.symref_update(
            name,
            target,
            old=self._null,
            deref=deref,
            create_reflog=create_reflog,
            message=message,
        )

    def symref_delete(
        self, name: Value, old_target: Value | None = None, *, message: Value | None = None
    ) -> None:
        """Delete the symref `name`; with `old_target`, only if it points there."""
        target = None if old_target is None else as_text(old_target)
        self._queue(name, new_oid=self._null, old_target=target, deref=False, message=message)

    def symref_verify(self, name: Value, old_target: Value | None = None) -> None:
        """Demand that `name` is a symref to `old_target`; without one, that it does not exist."""
        if old_target is None:
            self._queue(name, old_oid=self._null, deref=False)
        else:
            self._queue(name, old_target=as_text(old_target), deref=False)

    def queue_many(
        self,
        names: Sequence[str],
        new_oids: Sequence[bytes | None],
        old_oids: Sequence[bytes | None],
        *,
        deref: bool = True,
    ) -> bool:
        """Queue many updates of refs under `refs/` at once: the bulk form.

        Raw ids as `Update` has them: no new one verifies, all zeros delete or must not exist.
        Where something would be refused the answer is false and nothing is queued: queue them
        one by one for the error.
        """
        self._expect("open")
        lines = "\n" + "\n".join(names)
        if lines.count("\nrefs/") < len(names) or not all_valid(names):
            return False
        distinct = {oid for oid in new_oids if oid is not None and oid != self._null}
        if not self._know_objects(distinct):
            return False
        known = self._known_objects
        odd = {oid for oid in distinct if known[oid][0] != "commit"}
        if odd and "\nrefs/heads/" in lines:
            for name, new in zip(names, new_oids, strict=True):
                if new in odd and name.startswith("refs/heads/"):
                    return False
        peeled = {oid: behind for oid in odd if (behind := known[oid][1]) is not None}
        self._columns_for(deref).extend(names, new_oids, old_oids, peeled)
        return True

    def _columns_for(self, deref: bool) -> Columns:
        if self._columns is None or self._columns.deref != deref:
            self._spread_columns()
            self._columns = Columns(deref)
        return self._columns

    # Committing

    def prepare(self) -> None:
        """Lock the stacks and check every update, without writing anything.

        Raises `TransactionError` for the first update refused (in batch mode only where it
        concerns the whole), `LockError` when a stack stays locked; then the transaction is
        aborted.
        """
        from .checks import prepare

        self._expect("open")
        self._state = "closed"
        self._plan = prepare(self)
        self._state = "prepared"

    def commit(self) -> None:
        """Make the updates visible, all or none; prepares first if need be.

        Raises what `prepare` raises, `WriteError` for what no table can hold, `StorageError`.
        """
        from .committing import commit

        if self._state == "open":
            self.prepare()
        self._expect("prepared")
        plan, self._plan = self._plan, None
        self._state = "closed"
        if plan is not None:
            commit(self, plan)

    def abort(self) -> None:
        """Give the locks back and forget the updates."""
        from .hooks import run_transaction_hook

        if self._state == "closed":
            raise CallerError("the transaction is already committed or aborted")
        self.release()
        run_transaction_hook(self, "aborted")

    def release(self) -> None:
        """Give the locks back without telling the hook, as when git dies; again does nothing."""
        plan, self._plan = self._plan, None
        self._state = "closed"
        if plan is not None:
            plan.release()

    def reject(self, update: Update, error: TransactionError) -> None:
        """In batch mode set `update` aside with the reason; otherwise raise the error."""
        if not self.batch or error.reason is Rejection.GENERIC:
            raise error
        update.rejection = error.reason
        update.rejection_details = str(error)
        self.rejected.append(update)

    def _expect(self, state: str) -> None:
        if self._state != state:
            raise CallerError(f"the transaction is {self._state}, not {state}")

    # Border checks

    def _queue(
        self,
        name: Value,
        *,
        new_oid: bytes | None = None,
        old_oid: bytes | None = None,
        new_target: str | None = None,
        old_target: str | None = None,
        deref: bool = True,
        create_reflog: bool = False,
        message: Value | None = None,
    ) -> None:
        self._expect("open")
        refname = as_text(name)
        sets_oid = new_oid is not None and new_oid != self._null
        self._check_name(refname, strict=sets_oid)
        peeled = self._check_object(refname, new_oid) if new_oid is not None and sets_oid else None
        has_more = create_reflog or message is not None or new_target is not None
        if not has_more and old_target is None and refname.startswith("refs/"):
            self._columns_for(deref).append(refname, new_oid, old_oid, peeled)
            return
        self.updates.append(
            Update(
                refname,
                new_oid=new_oid,
                old_oid=old_oid,
                new_target=new_target,
                old_target=old_target,
                peeled=peeled,
                deref=deref,
                create_reflog=create_reflog,
                message=self._message if message is None else logged_message(message),
            )
        )

    def _check_name(self, refname: str, *, strict: bool) -> None:
        if is_pseudo_ref(refname):
            self._refuse(f"refusing to update pseudoref '{refname}'", refname)
        good = check_refname(refname, allow_onelevel=True) if strict else refname_is_safe(refname)
        if good and refname.startswith("worktrees/"):
            # Git writes a record of that very name, which nothing can read.
            good = bool(parse_worktree_ref(refname).refname)
        if not good:
            self._refuse(f"refusing to update ref with bad name '{refname}'", refname)

    def _check_object(self, refname: str, oid: bytes) -> bytes | None:
        """That the object exists and suits the ref; its peeled id if it is an annotated tag."""
        if oid not in self._known_objects and not self._know_objects([oid]):
            message = f"trying to write ref '{refname}' with nonexistent object {oid.hex()}"
            self._refuse(message, refname, Rejection.INVALID_NEW_VALUE)
        kind, peeled = self._known_objects[oid]
        if kind != "commit" and (refname == "HEAD" or refname.startswith("refs/heads/")):
            message = f"trying to write non-commit object {oid.hex()} to branch '{refname}'"
            self._refuse(message, refname, Rejection.INVALID_NEW_VALUE)
        return peeled

    def _know_objects(self, oids: Iterable[bytes]) -> bool:
        """Look each object up once; whether all exist."""
        unknown = [oid for oid in oids if oid not in self._known_objects]
        objects = self.store.objects
        for at, oid in enumerate(unknown):
            if at % _PREFETCH == 0 and len(unknown) > 1:
                objects.prefetch(oid.hex() for oid in unknown[at : at + _PREFETCH])
            info = objects.info(oid.hex())
            if info is None:
                return False
            self._known_objects[oid] = info[0], self._peel(oid) if info[0] == "tag" else None
        return True

    def _peel(self, oid: bytes) -> bytes | None:
        try:
            peeled = self.store.objects.peel(oid.hex())
        except ObjectMissingError:
            # Git writes the ref of a tag whose object is gone without a peeled id.
            return None
        return None if peeled is None else bytes.fromhex(peeled)

    def _oid(self, value: Value) -> bytes:
        """The raw id of a hex or raw one; raises `CallerError`."""
        size = self.store.hash.size
        try:
            raw = bytes.fromhex(value) if isinstance(value, str) else value
        except ValueError:
            raise CallerError(f"{value!r} is no object id") from None
        if not raw:
            return self._null
        if len(raw) != size:
            raise CallerError(f"{value!r} is no {self.store.hash.name} object id")
        return raw

    def _refuse(
        self, message: str, refname: str, reason: Rejection = Rejection.GENERIC
    ) -> NoReturn:
        raise TransactionError(message, reason=reason, refname=refname)
