"""The ref store: git's refs on reftable stacks, read and written without git.

Shared refs and those of the main worktree live in the main stack; each linked worktree has a
stack of its own refs. `main-worktree/...` and `worktrees/NAME/...` reach across. `FETCH_HEAD` and
`MERGE_HEAD` are files that look like refs and are only read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import RefNameError, RepositoryError
from ..format.records import RefRecord
from ..hashes import HashAlgorithm
from ..stack import Stack
from .listing import RefRun, list_refs
from .names import check_refname, is_pseudo_ref, parse_worktree_ref
from .settings import stack_options
from .text import as_bytes, as_text

if TYPE_CHECKING:
    from ..stack import StackOptions
    from .objects import ObjectStore
    from .reflog import Reflog
    from .repository import Repository
    from .transaction import Transaction

_MAX_SYMREF_DEPTH = 5
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

    def __init__(self, repository: Repository, options: StackOptions | None = None) -> None:
        if repository.ref_storage != "reftable":
            raise RepositoryError(
                f"{repository.git_dir}: refs are stored as '{repository.ref_storage}', "
                "not as 'reftable'"
            )
        self.repository = repository
        self.hash: HashAlgorithm = repository.hash
        self._options = options or stack_options(repository)
        self._stacks: dict[str | None, Stack] = {}
        self._objects: ObjectStore | None = None

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
        `config` are `key=value` settings that override the files'. Raises `RepositoryError`.
        """
        from .repository import discover

        env = os.environ if environ is None else environ
        return cls(discover(path, git_dir=git_dir, environ=env, config=config))

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
        """The stack that holds `refname`, and its name there."""
        kind, worktree, bare_name = parse_worktree_ref(refname)
        if kind == "current":
            worktree = self.repository.worktree_name
        return self.stack(worktree), as_bytes(bare_name)

    # Reading

    def get(self, name: str) -> Ref | None:
        """The ref of exactly that name, not followed; `None` if there is none."""
        if is_pseudo_ref(name):
            return self._read_pseudo_ref(name)
        stack, key = self.locate(name)
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
        from .reflog import reflog_keys

        worktree = self.worktree_stack
        names = {as_text(key) for key in reflog_keys(self.stack().snapshot().merged)}
        if worktree is not None:
            names = {name for name in names if parse_worktree_ref(name).kind == "shared"}
            names.update(as_text(key) for key in reflog_keys(worktree.snapshot().merged))
        return iter(sorted(names, key=as_bytes))

    # Writing

    def transaction(self, message: str | bytes = "", *, batch: bool = False) -> Transaction:
        """A transaction; as a context manager it commits, or aborts on an exception.

        `message` goes to the reflogs. With `batch`, updates that do not apply are rejected one
        by one (see `Transaction.rejected`), and the others are made.
        """
        from .transaction import Transaction

        return Transaction(self, message, batch=batch)

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
