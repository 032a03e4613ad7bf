"""`init`: create a repository, or bring an existing one up to date.

Templates are not copied (`--template` is taken and ignored). Source: `git-init`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyreftable.hashes import BY_NAME, SHA1
from pyreftable.refs.creation import Blueprint, Existing, create, examine
from pyreftable.refs.names import check_refname
from pyreftable.refs.repository_format import REF_STORAGES

from .context import encode
from .exits import UsageExit
from .options import Option, Table, callback, flag, string

if TYPE_CHECKING:
    from pyreftable.hashes import HashAlgorithm
    from pyreftable.refs.config import Config

    from .context import Context

USAGE = """\
init [-q | --quiet] [--bare] [--template=<template-directory>]
         [--separate-git-dir <git-dir>] [--object-format=<format>]
         [--ref-format=<format>]
         [-b <branch-name> | --initial-branch=<branch-name>]
         [--shared[=<permissions>]] [<directory>]"""

_HINT = """\
Using '{branch}' as the name for the initial branch. This default branch name
will change to "main" in Git 3.0. To configure the initial branch name
to use in all of your new repositories, which will suppress this warning,
call:

\tgit config --global init.defaultBranch <name>

Names commonly chosen instead of 'master' are 'main', 'trunk' and
'development'. The just-created branch can be renamed via this command:

\tgit branch -m <name>

Disable this message with "git config set advice.defaultBranchName false\""""


class _Settings:
    def __init__(self) -> None:
        self.template: str | None = None
        self.bare = False
        #: Bits as in `shared_mode`; `None` leaves it to the configuration.
        self.shared: int | None = None
        self.quiet = False
        self.separate_git_dir: str | None = None
        self.initial_branch: str | None = None
        self.object_format: str | None = None
        self.ref_format: str | None = None


def _set_shared(option: Option, settings: object, value: str | None, unset: bool) -> None:
    from pyreftable.refs.config_parser import Entry, Origin
    from pyreftable.refs.settings import shared_permissions

    bits = shared_permissions(Entry("arg", value, 0, Origin("command", None)))
    settings.shared = bits  # type: ignore[attr-defined]


TABLE = Table(
    (USAGE,),
    (
        string("", "template", "template-directory", "directory from which templates will be used"),
        flag("", "bare", "create a bare repository"),
        callback(
            "",
            "shared",
            "permissions",
            "specify that the git repository is to be shared amongst several users",
            _set_shared,
            optional_value=True,
            negatable=False,
        ),
        flag("q", "quiet", "be quiet"),
        string("", "separate-git-dir", "gitdir", "separate git dir from working tree"),
        string("b", "initial-branch", "name", "override the name of the initial branch"),
        string("", "object-format", "hash", "specify the hash algorithm to use"),
        string("", "ref-format", "format", "specify the reference format to use"),
    ),
)


def main(context: Context, argv: list[str]) -> int:
    """Run `init`; returns the exit status."""
    settings = _Settings()
    arguments = context.parse_options(TABLE, argv, settings)
    separate = settings.separate_git_dir
    if separate and settings.bare:
        context.die("options '--separate-git-dir' and '--bare' cannot be used together")
    if separate:
        settings.separate_git_dir = os.path.realpath(separate)
    if len(arguments) > 1:
        raise UsageExit(usage=f"usage: {context.program} {USAGE}\n")
    if arguments:
        _enter(context, arguments[0])
    return _Init(context, settings, changed_folder=bool(arguments)).run()


def _enter(context: Context, folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        context.die(f"cannot mkdir {folder}: {error.strerror}")
    try:
        os.chdir(folder)
    except OSError as error:
        context.die(f"cannot chdir to {folder}: {error.strerror}")


class _Init:
    def __init__(self, context: Context, settings: _Settings, *, changed_folder: bool) -> None:
        self.context = context
        self.settings = settings
        self.environ = context.environ
        if settings.bare and (changed_folder or "GIT_DIR" not in self.environ):
            self.environ["GIT_DIR"] = os.getcwd()
        self.config = _config(context)

    def run(self) -> int:
        """Create the repository and tell where it is."""
        algorithm, storage = self._asked_formats()
        git_dir, work_tree = self._folders()
        if self.settings.separate_git_dir:
            self._separate(git_dir)
            target = self.settings.separate_git_dir
        else:
            target = self._follow(git_dir)
        existing = examine(target, self.environ)
        blueprint = Blueprint(
            target,
            work_tree,
            self._branch(existing),
            self._hash(existing, algorithm),
            self._storage(existing, storage),
            self._shared(),
            _default_work_tree(os.path.realpath(git_dir)),
        )
        create(blueprint, self._environment(target), self.context.config)
        if existing.has_head and self.settings.initial_branch:
            branch = self.settings.initial_branch
            self.context.warning(f"re-init: ignored --initial-branch={branch}")
        if not self.settings.quiet:
            self._report(blueprint, existing)
        return 0

    # Where

    def _folders(self) -> tuple[str, str | None]:
        """The git directory (as given: it may be a `.git` file), and the work tree if any."""
        given = self.environ.get("GIT_DIR")
        tree = self.environ.get("GIT_WORK_TREE")
        if tree is not None and (given is None or self.settings.bare):
            self.context.die(
                "GIT_WORK_TREE (or --work-tree=<directory>) not allowed without specifying "
                "GIT_DIR (or --git-dir=<directory>)"
            )
        git_dir = ".git" if given is None else given
        if self.settings.bare or _looks_bare(git_dir):
            if self.settings.separate_git_dir:
                self.context.die("--separate-git-dir incompatible with bare repository")
            # A work tree that is named shows the guess by the git directory's name to be wrong.
            return git_dir, (None if tree is None else os.path.realpath(tree))
        if tree is None:
            tree = os.path.dirname(git_dir)
        tree = os.path.realpath(tree)
        if not os.access(tree, os.X_OK):
            self.context.die(f"Cannot access work tree '{tree}': No such file or directory")
        return git_dir, tree

    def _follow(self, git_dir: str) -> str:
        from pyreftable.refs.gitdir import Overrides, read_gitfile

        overrides = Overrides(self.environ, os.getcwd())
        return read_gitfile(git_dir, overrides, strict=False) or os.path.realpath(git_dir)

    def _separate(self, git_dir: str) -> None:
        """Move what is at `git_dir` to its new place, and leave a file that leads there."""
        target = self.settings.separate_git_dir or ""
        source = self._follow(git_dir)
        if os.path.isdir(f"{source}/worktrees"):
            self.context.die("moving a repository with linked worktrees is not supported here")
        try:
            if os.path.isdir(source):
                os.rename(source, target)
            with open(git_dir, "wb") as file:
                file.write(b"gitdir: " + os.fsencode(target) + b"\n")
        except OSError as error:
            self.context.die(f"unable to move {source} to {target}: {error.strerror}")

    def _environment(self, git_dir: str) -> dict[str, str]:
        """What a fresh look at the repository should see: it is named, nothing is searched."""
        kept = {key: value for key, value in self.environ.items() if key != "GIT_WORK_TREE"}
        return kept | {"GIT_DIR": git_dir}

    # What

    def _asked_formats(self) -> tuple[HashAlgorithm | None, str | None]:
        name, storage = self.settings.object_format, self.settings.ref_format
        if name is not None and name not in BY_NAME:
            self.context.die(f"unknown hash algorithm '{name}'")
        if storage is not None and storage not in REF_STORAGES:
            self.context.die(f"unknown ref storage format '{storage}'")
        return (None if name is None else BY_NAME[name]), storage

    def _hash(self, existing: Existing, asked: HashAlgorithm | None) -> HashAlgorithm:
        found = existing.format
        if found.version is not None:
            if asked not in (None, found.hash):
                self.context.die("attempt to reinitialize repository with different hash")
            return found.hash
        name = self.environ.get("GIT_DEFAULT_HASH")
        if asked is None and name is not None and name not in BY_NAME:
            self.context.die(f"unknown hash algorithm '{name}'")
        configured = self.config.get("init.defaultObjectFormat")
        if configured is not None and configured not in BY_NAME:
            self.context.warning(f"unknown hash algorithm '{configured}'")
        return asked or BY_NAME.get(name or configured or "", SHA1)

    def _storage(self, existing: Existing, asked: str | None) -> str:
        found = existing.format
        if found.version is not None:
            if asked not in (None, found.ref_storage):
                self.context.die(
                    "attempt to reinitialize repository with different reference storage format"
                )
            return found.ref_storage
        name = self.environ.get("GIT_DEFAULT_REF_FORMAT")
        if asked is None and name is not None and name not in REF_STORAGES:
            self.context.die(f"unknown ref storage format '{name}'")
        return asked or name or self._configured_storage()

    def _configured_storage(self) -> str:
        configured = self.config.get("init.defaultRefFormat")
        if configured in REF_STORAGES:
            return configured
        if configured is not None:
            self.context.warning(f"unknown ref storage format '{configured}'")
        return "reftable" if self.config.get_bool("feature.experimental") else "files"

    def _shared(self) -> int:
        from pyreftable.refs.settings import shared_permissions

        if self.settings.shared is not None:
            return self.settings.shared
        entry = self.config.entry("core.sharedRepository")
        return 0 if entry is None else shared_permissions(entry)

    def _branch(self, existing: Existing) -> str:
        if self.settings.initial_branch is not None:
            return self.settings.initial_branch
        name = self.environ.get("GIT_TEST_DEFAULT_INITIAL_BRANCH_NAME")
        name = name or self.config.get("init.defaultBranch")
        if name is None:
            name = "master"
            if not existing.has_head and not self.settings.quiet:
                self._advise(name)
        if not existing.has_head and not check_refname(f"refs/heads/{name}"):
            self.context.die(f"invalid branch name: init.defaultBranch = {name}")
        return name

    def _advise(self, branch: str) -> None:
        if self.config.get_bool("advice.defaultBranchName") is False:
            return
        if self.environ.get("GIT_ADVICE") in ("0", "false", "no", "off"):
            return
        lines = _HINT.format(branch=branch).split("\n")
        self.context.print_error("".join(f"hint: {line}".rstrip(" ") + "\n" for line in lines))

    def _report(self, blueprint: Blueprint, existing: Existing) -> None:
        what = "Reinitialized existing" if existing.has_head else "Initialized empty"
        shared = " shared" if blueprint.shared else ""
        folder = blueprint.git_dir.removesuffix("/") + "/"
        self.context.stdout.write(encode(f"{what}{shared} Git repository in {folder}\n"))


def _config(context: Context) -> Config:
    """The configuration that counts where there is no repository yet."""
    from pyreftable.refs.config import Config
    from pyreftable.refs.config_files import ConfigContext, read_sequence

    sources = ConfigContext(context.environ, context.config)
    return Config(lambda: read_sequence(sources), context.environ)


def _looks_bare(git_dir: str) -> bool:
    """Git's guess: a git directory that is called `.git` belongs to a work tree."""
    if git_dir in (".", os.getcwd()):
        return True
    return os.path.basename(git_dir) != ".git"


def _default_work_tree(git_dir: str) -> str | None:
    """Where the work tree of `git_dir` is, unless `core.worktree` says otherwise."""
    folder, name = os.path.split(git_dir)
    return folder if name == ".git" else None
