"""Creating a repository on disk, or bringing an existing one up to date ("reinitializing").

    config                 format, object hash, ref storage, file system traits
    objects/info, pack     the object database, empty
    HEAD, refs/            reftable: stubs for programs that look for them; files: the real thing
    reftable/              the stack, with one table that holds HEAD

No template is copied: hooks and descriptions are not what a ref library brings. Source:
`git-init`; order and content of the files are git's, byte for byte where they are fixed.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from ..errors import RefNameError, RepositoryError
from ..format.records import SYMREF, RefRecord
from ..hashes import SHA1, HashAlgorithm
from .config_files import read_file
from .config_writing import ConfigFile
from .gitdir import Overrides, common_dir_of
from .names import check_refname
from .repository_format import RepositoryFormat
from .settings import shared_mode
from .text import as_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..stack import Snapshot
    from ..writer import TableWriter
    from .config_command import Parameter
    from .repository import Repository

STUB_HEAD = "ref: refs/heads/.invalid\n"
STUB_HEADS = "this repository uses the reftable format\n"


class Blueprint(NamedTuple):
    """What to create. `hash` and `ref_storage` are the repository's format, "files" or "reftable".

    `git_dir` is absolute; `work_tree` is `None` for a bare repository, else absolute;
    `default_work_tree` is where git would look for it without being told. `shared` are
    permission bits as in `shared_mode`, 0 for none. `branch` is HEAD's, used only where there is
    no HEAD yet.
    """

    git_dir: str
    work_tree: str | None
    branch: str
    hash: HashAlgorithm = SHA1
    ref_storage: str = "files"
    shared: int = 0
    default_work_tree: str | None = None


class Existing(NamedTuple):
    """What lies in a git directory before anything is created there."""

    format: RepositoryFormat
    has_head: bool


def examine(git_dir: str, environ: Mapping[str, str]) -> Existing:
    """The format that `git_dir` has (version `None` if there is no repository), and its HEAD.

    Raises `RepositoryError` and `ConfigError` for a format that is not known.
    """
    common_dir, _ = common_dir_of(git_dir, Overrides(environ, os.getcwd()))
    form = RepositoryFormat.read(read_file(f"{common_dir}/config", "local", {}) or ())
    return Existing(form, os.path.lexists(f"{git_dir}/HEAD"))


def create(
    blueprint: Blueprint, environ: Mapping[str, str], config: Sequence[Parameter] = ()
) -> Repository:
    """Create what is missing; `config` are settings that override the files'.

    Raises `RefNameError` for a bad branch name, before anything is created (git leaves half a
    repository behind), and `RepositoryError` where the disk refuses.
    """
    git_dir = blueprint.git_dir
    common_dir, _ = common_dir_of(git_dir, Overrides(environ, os.getcwd()))
    is_new = not os.path.lexists(f"{git_dir}/HEAD")
    if is_new and not check_refname(f"refs/heads/{blueprint.branch}"):
        raise RefNameError(f"invalid initial branch name: '{blueprint.branch}'")
    try:
        os.makedirs(git_dir, exist_ok=True)
        share(git_dir, blueprint.shared)
        _write_config(f"{common_dir}/config", blueprint, is_new)
        _create_objects(environ.get("GIT_OBJECT_DIRECTORY") or f"{common_dir}/objects", blueprint)
        _create_refs(git_dir, blueprint, is_new)
    except OSError as error:
        what = f"cannot create {error.filename or git_dir}: {error.strerror}"
        raise RepositoryError(what) from error
    from .repository import discover

    repository = discover(git_dir, git_dir=git_dir, environ=environ, config=config)
    if is_new and blueprint.ref_storage == "reftable":
        _write_head(repository, blueprint.branch)
    return repository


def _create_refs(git_dir: str, blueprint: Blueprint, is_new: bool) -> None:
    if blueprint.ref_storage == "reftable":
        create_stubs(git_dir, blueprint.shared)
        return
    for folder in ("refs", "refs/heads", "refs/tags"):
        _make_folder(f"{git_dir}/{folder}", blueprint.shared)
    share(f"{git_dir}/refs", blueprint.shared)
    if is_new:
        _write_file(f"{git_dir}/HEAD", f"ref: refs/heads/{blueprint.branch}\n", blueprint.shared)


def create_stubs(git_dir: str, shared: int = 0) -> None:
    """The folder of the stack, and the files that keep other programs from going astray."""
    _make_folder(f"{git_dir}/reftable", shared)
    _write_file(f"{git_dir}/HEAD", STUB_HEAD, shared)
    _make_folder(f"{git_dir}/refs", shared)
    _write_file(f"{git_dir}/refs/heads", STUB_HEADS, shared)


def _write_head(repository: Repository, branch: str) -> None:
    from .store import RefStore

    target = as_bytes(f"refs/heads/{branch}")

    def fill(writer: TableWriter, snapshot: Snapshot) -> None:
        writer.add_ref(RefRecord(b"HEAD", writer.min_update_index, SYMREF, target))

    with RefStore(repository) as store:
        store.stack().add(fill)


# Configuration


def _write_config(path: str, blueprint: Blueprint, is_new: bool) -> None:
    if not os.path.exists(path):
        _write_file(path, "", blueprint.shared)
    with ConfigFile(path) as config:
        set_format(config, blueprint.hash, blueprint.ref_storage)
        config.set("core.filemode", _word(_keeps_file_modes(path, is_new)))
        config.set("core.bare", _word(blueprint.work_tree is None))
        if blueprint.work_tree is not None:
            if config.get("core.logallrefupdates") is None:
                config.set("core.logallrefupdates", "true")
            if blueprint.work_tree != blueprint.default_work_tree:
                config.set("core.worktree", blueprint.work_tree)
        if is_new:
            _set_traits(config, blueprint.git_dir)
        if blueprint.shared:
            config.set("core.sharedrepository", _shared_word(blueprint.shared))
            config.set("receive.denyNonFastforwards", "true")
        config.write()


def set_format(config: ConfigFile, algorithm: HashAlgorithm, ref_storage: str) -> None:
    """Write object hash, ref storage and the format's version, the smallest that will do."""
    for key, value, default in (
        ("extensions.objectformat", algorithm.name, SHA1.name),
        ("extensions.refstorage", ref_storage, "files"),
    ):
        if value == default:
            config.unset(key)
        else:
            config.set(key, value)
    config.set("core.repositoryformatversion", "1")
    if not RepositoryFormat.read(config.entries()).v1_only:
        config.set("core.repositoryformatversion", "0")


def _keeps_file_modes(path: str, is_new: bool) -> bool:
    """Whether the file system keeps the executable bit, as tried on the configuration file."""
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    if os.name == "nt":
        return False
    os.chmod(path, mode ^ stat.S_IXUSR)
    changed = stat.S_IMODE(os.lstat(path).st_mode) != mode
    os.chmod(path, mode)
    return changed and not (is_new and mode & stat.S_IXUSR)


def _set_traits(config: ConfigFile, git_dir: str) -> None:
    probe = f"{git_dir}/t{os.urandom(3).hex()}"
    try:
        os.symlink("testing", probe)
        os.unlink(probe)
    except (OSError, NotImplementedError):
        config.set("core.symlinks", "false")
    if os.path.exists(f"{git_dir}/CoNfIg"):
        config.set("core.ignorecase", "true")


def _shared_word(shared: int) -> str:
    """The value as old programs know it: 1 and 2 for group and everybody, else octal."""
    if shared < 0:
        return f"0{-shared:o}"
    return {0o660: "1", 0o664: "2"}[shared]


def _word(value: bool) -> str:
    return "true" if value else "false"


# Files


def _create_objects(folder: str, blueprint: Blueprint) -> None:
    for path in (folder, f"{folder}/pack", f"{folder}/info"):
        _make_folder(path, blueprint.shared)


def _make_folder(path: str, shared: int) -> None:
    if not os.path.isdir(path):
        os.mkdir(path)
        share(path, shared)


def _write_file(path: str, content: str, shared: int) -> None:
    with open(path, "wb") as file:
        file.write(content.encode("utf-8", "surrogateescape"))
    share(path, shared)


def share(path: str, shared: int) -> None:
    """Adjust a path's permissions; a folder that can be read can be entered, its group stays."""
    if not shared or os.name == "nt":
        return
    old = os.stat(path).st_mode
    new = shared_mode(old, shared)
    if stat.S_ISDIR(old):
        new |= (new & 0o444) >> 2
        if new & 0o060:
            new |= stat.S_ISGID
    if new != old:
        os.chmod(path, stat.S_IMODE(new))
