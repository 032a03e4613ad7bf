"""The ref store: git's refs on reftable stacks, read and written without git.

Shared refs and those of the main worktree live in the main stack; each linked worktree has a
stack of its own refs. `main-worktree/...` and `worktrees/NAME/...` reach across. `FETCH_HEAD` and
`MERGE_HEAD` are files that look like refs and are only read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import RefNameError, RepositoryError
from ..format.records import OID, RefRecord
from ..hashes import HashAlgorithm
from ..stack import Stack
from .listing import RefRun, list_refs
from .names import PER_WORKTREE_PREFIXES, check_refname, is_pseudo_ref, parse_worktree_ref
from .settings import stack_options
from .text import as_bytes, as_text

if TYPE_CHECKING:
    from ..stack import StackOptions
    from .hook_programs import HookPrograms
    from .objects import ObjectStore
    from .reflog import Reflog, ReflogEntry
    from .reflog_pruning import LogFailure
    from .repository import Repository
    from .transaction import Transaction
    from .worktrees import WorktreeHead

_MAX_SYMREF_DEPTH = 5
_NO_WORKTREES = ("", ".", "..")
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


class Ref(NamedTuple):
    """One ref as stored: an object id (and for an annotated tag the peeled id), or a target.

    Ids are hex. Exactly one of `oid` and `target` is given.
    """

    name: str
    oid: str | None
    target: str | None = None
    peeled: str | None = None


class Resolved(NamedTuple):
    """Where following symrefs from a name ends: the last name, and its id (hex).

    `oid` is `None` where that ref does not exist: an unborn branch, a dangling symref.
    """

    name: str
    oid: str | None
    is_symref: bool


class RefStore:
    """The refs of `repository`; `options` overrides how its stacks are read and written.

    Every method may raise `StorageError`, `TableVanishedError` and `FormatError`. Readers in
    several threads may share a store. Raises `RepositoryError` when the repository does not
    store its refs in reftables.
    """

    #: The storage that this class reads, by its git name.
    ref_storage = "reftable"

    def __init__(self, repository: Repository, options: StackOptions | None = None) -> None:
        if repository.ref_storage != self.ref_storage:
            raise RepositoryError(
                f"{repository.git_dir}: refs are stored as '{repository.ref_storage}', "
                f"not as '{self.ref_storage}'"
            )
        self.repository = repository
        self.hash: HashAlgorithm = repository.hash
        self._options = options or stack_options(repository)
        self._stacks: dict[str | None, Stack] = {}
        self._objects: ObjectStore | None = None
        self._hooks: HookPrograms | None = None

    @classmethod
    def open(
        cls,
        path: str = ".",
        *,
        git_dir: str | None = None,
        environ: Mapping[str, str] | None = None,
        config: Sequence[str | tuple[str, str | None]] = (),
    ) -> RefStore:
        """The store of the repository that git would find from `path`.

        `git_dir` names the repository itself, `environ` replaces the process environment,
        `config` are `key=value` settings that override the files'. A repository that stores its
        refs in files can be read, not written. Raises `RepositoryError`.
        """
        from .repository import discover

        env = os.environ if environ is None else environ
        repository = discover(path, git_dir=git_dir, environ=env, config=config)
        if cls is RefStore and repository.ref_storage == "files":
            from .files_store import FilesRefStore

            return FilesRefStore(repository)
        return cls(repository)

    def __enter__(self) -> RefStore:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of tables, files and processes."""
        for stack in self._stacks.values():
            stack.close()
        self._stacks.clear()
        if self._objects is not None:
            self._objects.close()
            self._objects = None

    @property
    def objects(self) -> ObjectStore:
        """The repository's objects; opened at the first look-up."""
        if self._objects is None:
            from .objects import open_objects

            self._objects = open_objects(self.repository)
        return self._objects

    @property
    def hooks(self) -> HookPrograms:
        """The repository's hooks."""
        if self._hooks is None:
            from .hook_programs import HookPrograms

            self._hooks = HookPrograms(self.repository)
        return self._hooks

    # Stacks

    @property
    def options(self) -> StackOptions:
        """How the stacks are read and written."""
        return self._options

    def stack(self, worktree: str | None = None) -> Stack:
        """The main stack, or that of the linked worktree of that name."""
        stack = self._stacks.get(worktree)
        if stack is None:
            folder = self.repository.ref_directory(worktree)
            stack = Stack.open(os.path.join(folder, "reftable"), self._options)
            self._stacks[worktree] = stack
        return stack

    @property
    def worktree_stack(self) -> Stack | None:
        """The stack of the linked worktree we are in; `None` in the main worktree."""
        name = self.repository.worktree_name
        return None if name is None else self.stack(name)

    def locate(self, refname: str) -> tuple[Stack, bytes]:
        """The stack that holds `refname`, and its name there.

        Raises `RefNameError` for a long name with what cannot be a worktree.
        """
        kind, worktree, bare_name = parse_worktree_ref(refname)
        if worktree in _NO_WORKTREES:
            raise RefNameError(f"bad ref name '{refname}'")
        if kind == "current":
            worktree = self.repository.worktree_name
        return self.stack(worktree), as_bytes(bare_name)

    # Reading

    def get(self, name: str) -> Ref | None:
        """The ref of exactly that name, not followed; `None` if there is none."""
        if name.startswith("refs/") and not name.startswith(PER_WORKTREE_PREFIXES):
            # What `locate` would say, for those who look up many.
            stack, key = self.stack(), as_bytes(name)
        elif is_pseudo_ref(name):
            return self._read_pseudo_ref(name)
        else:
            try:
                stack, key = self.locate(name)
            except RefNameError:
                return None
        record = stack.snapshot().merged.ref(key) if key else None
        return None if record is None else as_ref(name, record)

    def resolve(self, name: str) -> Resolved:
        """Follow symrefs from `name`, at most five reads deep.

        Raises `RefNameError` where a name on the way is malformed or the chain is too long.
        """
        is_symref = False
        for _ in range(_MAX_SYMREF_DEPTH):
            if not check_refname(name, allow_onelevel=True):
                raise RefNameError(f"bad ref name '{name}'")
            ref = self.get(name)
            if ref is None or ref.target is None:
                return Resolved(name, ref.oid if ref else None, is_symref)
            is_symref = True
            name = ref.target
        raise RefNameError(f"symbolic refs lead more than {_MAX_SYMREF_DEPTH} deep at '{name}'")

    def read(self, name: str) -> str | None:
        """The id (hex) that `name` finally holds; `None` where it leads to no ref, or is bad."""
        try:
            return self.resolve(name).oid
        except RefNameError:
            return None

    def symbolic_ref(self, name: str, *, recurse: bool = True) -> str | None:
        """What the symref `name` finally leads to; `None` if it is no symref, or no ref at all.

        The target need not exist. Without `recurse` only `name` itself is read. Raises
        `RefNameError` as `resolve` does.
        """
        if recurse:
            resolved = self.resolve(name)
            return resolved.name if resolved.is_symref else None
        if not check_refname(name, allow_onelevel=True):
            raise RefNameError(f"bad ref name '{name}'")
        ref = self.get(name)
        return None if ref is None else ref.target

    def ref_runs(self, prefix: bytes = b"", *, root_refs: bool = False) -> Iterator[RefRun]:
        """The refs whose name starts with `prefix`, in order, in bulk (see `RefRun`).

        Without `root_refs` only names under `refs/` are listed. All runs come from one snapshot.
        """
        worktree = self.worktree_stack
        return list_refs(
            self.stack().snapshot().merged,
            None if worktree is None else worktree.snapshot().merged,
            prefix,
            root_refs=root_refs,
        )

    def refs(self, prefix: str = "", *, root_refs: bool = False) -> Iterator[Ref]:
        """The refs whose name starts with `prefix`, in byte order of their names."""
        start = as_bytes(prefix)
        for run in self.ref_runs(start, root_refs=root_refs):
            for name, value_type, value in zip(*run, strict=True):
                record = RefRecord(name, 0, value_type, value)
                yield as_ref(as_text(name), record)

    def worktrees(self) -> list[WorktreeHead]:
        """The worktrees of the repository with their HEADs, the main one first."""
        from .worktrees import worktree_heads

        return worktree_heads(self)

    def refs_for(self, oid: str) -> Iterator[Ref]:
        """The shared refs whose id or peeled id is `oid` (hex); uses the tables' obj sections."""
        for record in self.stack().snapshot().merged.refs_for(bytes.fromhex(oid)):
            yield as_ref(as_text(record.refname), record)

    def reflog(self, name: str) -> Reflog:
        """The log of exactly that name; it may not exist."""
        from .reflog import Reflog

        stack, key = self.locate(name)
        return Reflog(stack.snapshot().merged, key)

    def reflog_names(self) -> Iterator[str]:
        """The refs that have a log: shared ones, and those of the worktree we are in."""
        from .reflog import reflog_names

        return iter(reflog_names(self))

    # Writing

    def transaction(self, message: str | bytes = "", *, batch: bool = False) -> Transaction:
        """A transaction; as a context manager it commits, or aborts on an exception.

        `message` goes to the reflogs. With `batch`, updates that do not apply are rejected one
        by one (see `Transaction.rejected`), and the others are made.
        """
        from .transaction import Transaction

        return Transaction(self, message, batch=batch)

    def set_symbolic_ref(self, name: str, target: str, message: str | bytes = "") -> None:
        """Make `name` itself a symref to `target`, which need not exist. Raises
        `TransactionError`, and `RefNameError` for a target that cannot be a ref.
        """
        if not check_refname(target, allow_onelevel=True):
            raise RefNameError(f"bad ref name '{target}'")
        with self.transaction(message) as transaction:
            transaction.symref_update(name, target, deref=False)

    def create_reflog(self, name: str) -> None:
        """Start an empty log for `name`, unless it has one."""
        from .reflog_writing import create_reflog

        create_reflog(self, name)

    def delete_reflog(self, name: str) -> None:
        """Delete the log of `name`; no error where there is none."""
        from .reflog_writing import delete_reflog

        delete_reflog(self, name)

    def append_to_reflog(self, name: str, old: str, new: str, message: str | bytes = "") -> None:
        """Add an entry (hex ids) to the log of `name`, ref or not. Raises `TransactionError`."""
        from .reflog_writing import append_entry

        append_entry(self, name, bytes.fromhex(old), bytes.fromhex(new), as_bytes(message))

    def expire_reflog(
        self,
        name: str,
        should_prune: Callable[[ReflogEntry], bool] | None = None,
        *,
        rewrite: bool = False,
        update_ref: bool = False,
        dry_run: bool = False,
    ) -> None:
        """Drop entries of the log of `name`: those for which `should_prune` (asked oldest first)
        is true, or without it those that have expired by the configuration (`gc.reflogExpire`).

        `rewrite` closes the gaps in the chain of ids; `update_ref` sets the ref, unless it is a
        symref, to the newest entry kept; `dry_run` only asks.
        """
        from .reflog_pruning import Manner, prune_log

        prune_log(self, name, should_prune, Manner(rewrite, update_ref, dry_run))

    def expire_reflogs(
        self,
        names: Iterable[str],
        judge_of: Callable[[str], Callable[[ReflogEntry], bool]] | None = None,
        *,
        rewrite: bool = False,
        update_ref: bool = False,
        dry_run: bool = False,
    ) -> list[LogFailure]:
        """`expire_reflog` for many logs, each with the judge that `judge_of` gives for its name.

        Neighbours of one stack are written together. Those that fail are returned, and stay as
        they were.
        """
        from .reflog_pruning import Manner, prune_logs

        return prune_logs(self, names, judge_of, Manner(rewrite, update_ref, dry_run))

    def rename(self, old: str, new: str, message: str | bytes = "") -> None:
        """Rename `old` to `new`, its log with it. Raises `TransactionError`."""
        from .copying import copy_ref

        copy_ref(self, old, new, as_bytes(message), delete_old=True)

    def copy(self, old: str, new: str, message: str | bytes = "") -> None:
        """Make `new` a copy of `old`, its log included. Raises `TransactionError`."""
        from .copying import copy_ref

        copy_ref(self, old, new, as_bytes(message), delete_old=False)

    def _read_pseudo_ref(self, name: str) -> Ref | None:
        path = os.path.join(self.repository.git_dir, name)
        try:
            with open(path, "rb") as file:
                content = as_text(file.read())
        except (FileNotFoundError, IsADirectoryError):
            return None
        if content.startswith("ref:"):
            return Ref(name, None, content[4:].strip())
        oid = content[: self.hash.hex_size]
        rest = content[self.hash.hex_size :]
        if not is_hex(oid, self.hash) or (rest and not rest[0].isspace()):
            raise RepositoryError(f"{path}: holds no object id")
        return Ref(name, oid.lower())


def as_ref(name: str, record: RefRecord) -> Ref:
    """The ref that a live record holds, under the name it was asked by."""
    if record.value_type == OID:
        # As fast as a named tuple can be made.
        return tuple.__new__(Ref, (name, record.value.hex(), None, None))
    oid, peeled, target = record.oid, record.peeled, record.target
    return Ref(
        name,
        None if oid is None else oid.hex(),
        None if target is None else as_text(target),
        None if peeled is None else peeled.hex(),
    )


def is_hex(text: str, algorithm: HashAlgorithm) -> bool:
    """Whether `text` is a full object id in hexadecimal."""
    return len(text) == algorithm.hex_size and _HEX_DIGITS.issuperset(text)
