"""Moving all refs and logs of a repository from one storage to the other.

At every instant the configuration names a storage that is whole; renaming the new configuration
into place is the one step that changes which. So a migration that is interrupted anywhere leaves
a repository that works, at worst with files that nobody reads (git deletes the old storage
before the new one is there).

    1. `config` is locked; to leave reftable, `tables.list` too: nobody writes meanwhile
    2. the new storage is written into `ref_migration.XXXXXX`, whole, and synced
    3. its parts are moved to where they belong; the old storage does not look there
    4. the configuration is replaced
    5. what is left of the old storage is deleted

A path in `extensions.refStorage` stays: then both storages lie there, without the stubs.

Step 3 works because the two overlap only in HEAD, which any program must find but a reftable
repository does not read, and in `refs/heads`, a stub there.

Annotated tags get their peeled ids, both ways. Source: `git-refs`, `migrate`; messages are git's.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from ..errors import CallerError, RepositoryError
from ..progress import SILENCE, Progress, counted_one_by_one, estimated_logs, estimated_refs
from ..stack import Stack, StackOptions
from .config_writing import ConfigFile
from .creation import STUB_HEAD, STUB_HEADS, set_format, share
from .files_format import parse_loose_ref
from .files_reading import FilesReader, number_logs, refuse_broken
from .files_writing import write_logs, write_refs
from .names import is_root_ref
from .objects import open_objects
from .settings import shared_permissions, stack_options
from .text import as_bytes

if TYPE_CHECKING:
    from ..merged import Merged
    from ..writer import TableWriter
    from .objects import ObjectStore
    from .repository import Repository

_FILES_PARTS = ("logs", "packed-refs")


def migrate(
    repository: Repository,
    ref_storage: str,
    *,
    reflogs: bool = True,
    dry_run: bool = False,
    progress: Progress = SILENCE,
) -> str | None:
    """Store the refs of `repository` as `ref_storage` ("files" or "reftable") from now on.

    With `dry_run` the new storage is only written; the folder that holds it is returned. Without
    `reflogs` they are dropped. `progress` is told of refs and log entries. Raises `CallerError`
    where there is nothing to do or git refuses, `DataError` for a ref that cannot be moved,
    `LockError`, `StorageError`, `RepositoryError`; then the repository is as before.
    """
    _refuse(repository, ref_storage)
    with _locked_config(repository) as config, _open_objects(repository) as objects:
        move = _ToFiles if ref_storage == "files" else _ToReftable
        return move(repository, config, objects, progress).run(reflogs=reflogs, dry_run=dry_run)


def _refuse(repository: Repository, ref_storage: str) -> None:
    if repository.ref_storage == ref_storage:
        raise CallerError(f"repository already uses '{ref_storage}' format")
    if repository.worktrees():
        raise CallerError("migrating repositories with worktrees is not supported yet")
    if "GIT_REFERENCE_BACKEND" in repository.environ:
        raise CallerError("migrating refs of a storage that only the environment names")


@contextmanager
def _locked_config(repository: Repository) -> Iterator[ConfigFile]:
    config = ConfigFile(os.path.join(repository.common_dir, "config"))
    try:
        yield config
    finally:
        config.close()


@contextmanager
def _open_objects(repository: Repository) -> Iterator[ObjectStore]:
    """The repository's objects, closed at the end."""
    objects = open_objects(repository)
    try:
        yield objects
    finally:
        objects.close()


class _Migration:
    """What both directions share."""

    def __init__(
        self,
        repository: Repository,
        config: ConfigFile,
        objects: ObjectStore,
        progress: Progress,
    ) -> None:
        self.repository = repository
        self.config = config
        self.objects = objects
        self.progress = progress
        self.is_elsewhere = repository.ref_storage_path is not None
        self.home = repository.ref_directory() if self.is_elsewhere else repository.common_dir
        self.options: StackOptions = stack_options(repository)
        self.aside = ""

    def _make_aside(self) -> None:
        try:
            self.aside = tempfile.mkdtemp(prefix="ref_migration.", dir=self.home)
        except OSError as error:
            what = f"cannot create migration directory: {error.strerror}"
            raise RepositoryError(what) from error

    def _share_aside(self) -> None:
        """Give what was written the permissions of `core.sharedRepository`."""
        entry = self.repository.config.entry("core.sharedRepository")
        shared = 0 if entry is None else shared_permissions(entry)
        for folder, folders, files in os.walk(self.aside) if shared else ():
            for name in (*folders, *files):
                share(os.path.join(folder, name), shared)

    def _discard_aside(self) -> None:
        shutil.rmtree(self.aside, ignore_errors=True)

    def _commit(self, ref_storage: str) -> None:
        """Step 4, after all that was written before has reached the disk."""
        if self.options.fsync:
            _sync_all()
        path = self.repository.ref_storage_path
        value = ref_storage if path is None else f"{ref_storage}://{path}"
        set_format(self.config, self.repository.hash, value)
        self.config.write()
        if self.options.fsync:
            _sync_all()

    def _path(self, name: str) -> str:
        return os.path.join(self.home, name)

    def _move_in(self, name: str) -> None:
        """Move a part from aside to its place; what a migration once left there goes."""
        _remove(self._path(name))
        os.rename(os.path.join(self.aside, name), self._path(name))

    def _remove_file_refs(self, *, keep: frozenset[str]) -> None:
        """Delete refs and logs that are files, but for root refs in `keep` and HEAD."""
        self.progress.start("Deleting old files")
        for name in _FILES_PARTS:
            _remove(self._path(name), self.progress)
        if os.path.isdir(self._path("refs")):
            for name in os.listdir(self._path("refs")):
                if os.path.isdir(self._path(f"refs/{name}")) or name != "heads":
                    _remove(self._path(f"refs/{name}"), self.progress)
        for name in os.listdir(self.home):
            if is_root_ref(name) and name != "HEAD" and name not in keep and self._is_ref(name):
                _remove(self._path(name))

    def _is_ref(self, name: str) -> bool:
        path = self._path(name)
        if os.path.isdir(path):
            return False
        with open(path, "rb") as file:
            data = file.read()
        return parse_loose_ref(data, as_bytes(name), self.repository.hash.size) is not None


class _ToReftable(_Migration):
    def run(self, *, reflogs: bool, dry_run: bool) -> str | None:
        self._make_aside()
        try:
            self._write_table(reflogs=reflogs)
            if dry_run:
                if not self.is_elsewhere:
                    _write_stubs(self.aside)
                return self.aside
            with storage_refusals():
                self._move_in("reftable")
                self._commit("reftable")
        except BaseException:
            self._discard_aside()
            raise
        with storage_refusals():
            self._remove_file_refs(keep=frozenset())
            if self.is_elsewhere:
                _remove(self._path("refs"))
                _remove(self._path("HEAD"))
            else:
                _write_stubs(self.home)
            self._discard_aside()
        return None

    def _write_table(self, *, reflogs: bool) -> None:
        progress = self.progress
        reader = FilesReader(self.home, self.repository.hash, self.objects, progress)
        refs = reader.refs(refuse_broken)
        logs, after = number_logs(reader, 1) if reflogs else ([], 2)
        folder = os.path.join(self.aside, "reftable")
        os.mkdir(folder)

        each = partial(counted_one_by_one, progress=progress)

        def fill(writer: TableWriter) -> None:
            progress.start("Writing refs", len(refs))
            writer.add_refs(each(ref._replace(update_index=1) for ref in refs))
            progress.start("Writing log entries", len(logs))
            writer.add_logs(each(logs))

        with Stack.open(folder, self.options) as stack, stack.addition() as addition:
            addition.write_table(fill, min_update_index=1, max_update_index=max(1, after - 1))
            addition.commit()
        self._share_aside()


class _ToFiles(_Migration):
    def run(self, *, reflogs: bool, dry_run: bool) -> str | None:
        with Stack.open(self._path("reftable"), self.options) as stack, stack.addition() as locked:
            self._make_aside()
            try:
                self._write_files(locked.snapshot.merged, reflogs=reflogs)
                if dry_run:
                    return self.aside
                with storage_refusals():
                    self._move_all_in()
                    self._commit("files")
            except BaseException:
                self._discard_aside()
                raise
            # Its lock goes with it: who waits for that must not write here any more.
            shutil.rmtree(self._path("reftable"), ignore_errors=True)
        with storage_refusals():
            # Windows deletes no open file; now the stack is closed.
            _remove(self._path("reftable"))
            self._discard_aside()
        return None

    def _write_files(self, merged: Merged, *, reflogs: bool) -> None:
        progress = self.progress
        progress.start("Writing refs", estimated_refs(merged.tables))
        live = (record for record in merged.refs() if not record.is_deletion)
        write_refs(self.aside, live, self.objects, progress)
        if reflogs:
            progress.start("Writing log entries", estimated_logs(merged.tables))
            entries = (entry for entry in merged.logs() if not entry.is_deletion)
            write_logs(self.aside, counted_one_by_one(entries, progress))
        self._share_aside()

    def _move_all_in(self) -> None:
        root_refs = frozenset(name for name in os.listdir(self.aside) if is_root_ref(name))
        self._remove_file_refs(keep=root_refs)
        for name in sorted(os.listdir(self.aside), key=lambda name: name == "HEAD"):
            if name != "refs":
                self._move_in_over(name)
        if not os.path.isdir(self._path("refs")):
            self._move_in("refs")
            return
        for name in sorted(os.listdir(os.path.join(self.aside, "refs"))):
            self._move_in(f"refs/{name}")

    def _move_in_over(self, name: str) -> None:
        """As `_move_in`, for what may be a file that must not be gone for a moment."""
        target = self._path(name)
        if os.path.isdir(target) and not os.path.islink(target):
            _remove(target)
        os.replace(os.path.join(self.aside, name), target)


@contextmanager
def storage_refusals() -> Iterator[None]:
    """Turns the disk's refusals into `RepositoryError`."""
    try:
        yield
    except OSError as error:
        what = f"could not move refs: {error.filename}: {error.strerror}"
        raise RepositoryError(what) from error


def _remove(path: str, progress: Progress = SILENCE) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        # Many thousands of logs take their time; `rmtree` would not tell.
        for folder, _, files in os.walk(path):
            for name in files:
                os.unlink(os.path.join(folder, name))
                progress.advance(1)
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _write_stubs(folder: str) -> None:
    """HEAD and `refs/heads` as a reftable repository has them; no refs may be there any more."""
    os.makedirs(os.path.join(folder, "refs"), exist_ok=True)
    _replace(os.path.join(folder, "HEAD"), STUB_HEAD)
    heads = os.path.join(folder, "refs/heads")
    _remove(heads)
    _replace(heads, STUB_HEADS)


def _replace(path: str, content: str) -> None:
    """Put a small file in place in one step."""
    with open(f"{path}.new", "wb") as file:
        file.write(content.encode())
    os.replace(f"{path}.new", path)


def _sync_all() -> None:
    """Write everything down to the disk: one call for what may be thousands of log files."""
    if hasattr(os, "sync"):
        os.sync()
