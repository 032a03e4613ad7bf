"""Which configuration files apply to a command, and reading them in git's order.

    system    /etc/gitconfig               (GIT_CONFIG_SYSTEM, GIT_CONFIG_NOSYSTEM)
    global    $XDG_CONFIG_HOME/git/config, then ~/.gitconfig          (GIT_CONFIG_GLOBAL)
    local     config in the common directory
    worktree  config.worktree in the git directory, with extensions.worktreeConfig
    command   environment variables and `-c`, see `config_command`

Each `include.path` and each `includeIf.<condition>.path` whose condition holds is followed by
the entries of the file it names. Later entries win, so the order is the precedence.

Source: `git-config`, sections "FILES", "SCOPES" and "Includes".
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .config_parser import Entry, Origin, bad_line, parse_config
from .config_values import env_bool, expand_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .config_command import Parameter
    from .config_parser import Scope

    FileCache = dict[tuple[Scope, str], Sequence[Entry]]

REMOTE_URL_CONDITION = "hasconfig:remote.*.url:"

_MAX_INCLUDE_DEPTH = 10
_COMMAND_VARIABLES = ("GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS")


class ConfigContext:
    """What decides which files apply; immutable after construction but for the cache `files`.

    Without `git_dir` (and with it `common_dir`) only the system, global and command scopes
    apply. `logical_git_dir` is the git directory as its user spelled it, where that differs by
    symbolic links; `branch` answers the short name of the branch that HEAD is on.
    """

    __slots__ = (
        "branch",
        "common_dir",
        "environ",
        "files",
        "git_dir",
        "logical_git_dir",
        "parameters",
        "work_tree",
        "worktree_config",
    )

    def __init__(
        self,
        environ: Mapping[str, str],
        parameters: Sequence[Parameter] = (),
        *,
        git_dir: str | None = None,
        common_dir: str | None = None,
        logical_git_dir: str | None = None,
        work_tree: str | None = None,
        worktree_config: bool = False,
        branch: Callable[[], str | None] | None = None,
        files: FileCache | None = None,
    ) -> None:
        self.environ = environ
        self.parameters = parameters
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.logical_git_dir = logical_git_dir
        self.work_tree = work_tree
        self.worktree_config = worktree_config
        self.branch = branch
        self.files: FileCache = {} if files is None else files


def read_file(
    path: str, scope: Scope, cache: FileCache, *, may_be_unreadable: bool = False
) -> Sequence[Entry]:
    """The entries of one file, none if there is no such file; read once for each `cache`.

    Discovery looks at some files before the whole configuration is read: the cache spares
    reading those twice. Raises `ConfigError` when the file cannot be read or parsed, but with
    `may_be_unreadable` a lack of permission counts as no file.
    """
    cached = cache.get((scope, path))
    if cached is not None:
        return cached
    entries: Sequence[Entry] = ()
    try:
        with open(path, "rb", buffering=0) as file:
            entries = parse_config(file.read(), Origin(scope, path))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        if not (may_be_unreadable and isinstance(error, PermissionError)):
            raise ConfigError(f"unable to access '{path}': {error.strerror}") from error
    cache[scope, path] = entries
    return entries


def read_sequence(context: ConfigContext, *, assume_remote_conditions: bool = False) -> list[Entry]:
    """All entries that apply in `context`, those that win last.

    With `assume_remote_conditions` every `hasconfig:remote.*.url:` condition holds: the first of
    the two passes that such a condition takes. Raises `ConfigError`.
    """
    reader = _Reader(context, assume_remote_conditions)
    for scope, path in _sources(context):
        # Another user's home may be closed to us, and that is no reason to fail.
        reader.add(read_file(path, scope, context.files, may_be_unreadable=scope == "global"))
    if context.parameters or any(name in context.environ for name in _COMMAND_VARIABLES):
        from .config_command import command_entries

        reader.add(command_entries(context.environ, context.parameters))
    return reader.entries


def _sources(context: ConfigContext) -> list[tuple[Scope, str]]:
    environ = context.environ
    sources: list[tuple[Scope, str]] = []
    if not env_bool(environ, "GIT_CONFIG_NOSYSTEM", False):
        sources.append(("system", environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig")))
    explicit = environ.get("GIT_CONFIG_GLOBAL")
    if explicit is not None:
        sources.append(("global", explicit))
    else:
        home = environ.get("HOME")
        xdg = environ.get("XDG_CONFIG_HOME") or (None if home is None else f"{home}/.config")
        if xdg is not None:
            sources.append(("global", f"{xdg}/git/config"))
        if home is not None:
            sources.append(("global", f"{home}/.gitconfig"))
    if context.common_dir is not None:
        sources.append(("local", f"{context.common_dir}/config"))
        if context.worktree_config:
            sources.append(("worktree", f"{context.git_dir}/config.worktree"))
    return sources


class _Reader:
    """Collects entries and follows their includes."""

    def __init__(self, context: ConfigContext, assume_remote_conditions: bool) -> None:
        self.context = context
        self.entries: list[Entry] = []
        self._assume_remote_conditions = assume_remote_conditions
        self._remote_urls: list[str] | None = None
        self._depth = 0
        self._forbid_remote_urls = False

    def add(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            key = entry.key
            self.entries.append(entry)
            # One comparison keeps the usual entry, which is no include, cheap.
            if key.startswith("include"):
                self._follow(entry)
            elif self._forbid_remote_urls and _is_remote_url(key):
                raise ConfigError(
                    "remote URLs cannot be configured in file directly or indirectly included by "
                    "includeIf.hasconfig:remote.*.url"
                )

    def remote_urls(self) -> list[str]:
        """Every `remote.<name>.url` there is, for `hasconfig:` conditions."""
        if self._remote_urls is None:
            entries = read_sequence(self.context, assume_remote_conditions=True)
            self._remote_urls = [
                entry.value
                for entry in entries
                if entry.value is not None and _is_remote_url(entry.key)
            ]
        return self._remote_urls

    def _follow(self, entry: Entry) -> None:
        if entry.key == "include.path":
            self._include(entry)
            return
        section, _, rest = entry.key.partition(".")
        condition, dot, name = rest.rpartition(".")
        if section != "includeif" or not dot or name != "path":
            return
        if self._assume_remote_conditions and condition.startswith(REMOTE_URL_CONDITION):
            forbidden, self._forbid_remote_urls = self._forbid_remote_urls, True
            self._include(entry)
            self._forbid_remote_urls = forbidden
            return
        from .config_include import condition_holds

        if condition_holds(condition, entry, self.context, self.remote_urls):
            self._include(entry)

    def _include(self, entry: Entry) -> None:
        origin = entry.origin
        if entry.value is None:
            raise bad_line(entry, f"missing value for '{entry.key}'")
        path = expand_path(entry.value, self.context.environ)
        if path is None:
            raise bad_line(entry, f"could not expand include path '{entry.value}'")
        if not os.path.isabs(path):
            if origin.path is None:
                raise bad_line(entry, "relative config includes must come from files")
            path = os.path.join(os.path.dirname(origin.path), path)
        included = read_file(path, origin.scope, self.context.files)
        if not included:
            return
        if self._depth == _MAX_INCLUDE_DEPTH:
            raise ConfigError(
                f"exceeded maximum include depth ({_MAX_INCLUDE_DEPTH}) while including\n"
                f"\t{path}\nfrom\n\t{origin.path or 'the command line'}\n"
                "This might be due to circular includes."
            )
        self._depth += 1
        self.add(included)
        self._depth -= 1


def _is_remote_url(key: str) -> bool:
    return key.startswith("remote.") and key.endswith(".url") and key.count(".") > 1
