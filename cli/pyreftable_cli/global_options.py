"""The options before the subcommand: `-C`, `-c`, `--git-dir` and the others that git knows.

What git keeps in environment variables, settings of `-c` included, goes into the environment
that is handed to the command. `-C` changes the process's directory, as in git, so that later
relative paths start there.

Source: git's manual page, section "OPTIONS".
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .exits import CommandExit, Fatal, UsageExit

if TYPE_CHECKING:
    from collections.abc import Callable

    from .context import Context

USAGE = """\
[-v | --version] [-h | --help] [-C <path>] [-c <name>=<value>]
[--exec-path[=<path>]] [-p | --paginate | -P | --no-pager]
[--no-replace-objects] [--no-lazy-fetch] [--no-optional-locks]
[--no-advice] [--bare] [--git-dir=<path>] [--work-tree=<path>]
[--namespace=<name>] [--config-env=<name>=<envvar>]
<command> [<args>]"""

_PARAMETERS = "GIT_CONFIG_PARAMETERS"
_STOP = ("--help", "-h", "--version", "-v")
_IGNORED = ("-p", "--paginate", "-P", "--no-pager")

#: Options without a value, and the variable that each sets.
_SWITCHES = {
    "--no-replace-objects": ("GIT_NO_REPLACE_OBJECTS", "1"),
    "--no-lazy-fetch": ("GIT_NO_LAZY_FETCH", "1"),
    "--no-optional-locks": ("GIT_OPTIONAL_LOCKS", "0"),
    "--no-advice": ("GIT_ADVICE", "0"),
    "--literal-pathspecs": ("GIT_LITERAL_PATHSPECS", "1"),
    "--no-literal-pathspecs": ("GIT_LITERAL_PATHSPECS", "0"),
    "--glob-pathspecs": ("GIT_GLOB_PATHSPECS", "1"),
    "--noglob-pathspecs": ("GIT_NOGLOB_PATHSPECS", "1"),
    "--icase-pathspecs": ("GIT_ICASE_PATHSPECS", "1"),
}

#: Options with a value (`--opt VALUE` or `--opt=VALUE`): the variable, and git's complaint.
_VARIABLES = {
    "--git-dir": ("GIT_DIR", "no directory given for '--git-dir' option"),
    "--work-tree": ("GIT_WORK_TREE", "no directory given for '--work-tree' option"),
    "--namespace": ("GIT_NAMESPACE", "no namespace given for --namespace"),
    "--attr-source": ("GIT_ATTR_SOURCE", "no attribute source given for --attr-source"),
}

#: Options that take their value after `=` as well; others take it as the next word only.
_VALUED = frozenset({*_VARIABLES, "--config-env"})


def apply_global_options(context: Context, argv: list[str]) -> list[str]:
    """Take the global options off the front of `argv`; returns the rest, subcommand first.

    Raises `UsageExit` (unknown option, missing value), `Fatal` (a directory or variable is not
    there) or `CommandExit` (`--exec-path` without a value, which only asks).
    """
    at = 0
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in _STOP:
        word = argv[at]
        name, equals, value = word.partition("=")
        if word in _SWITCHES:
            variable, setting = _SWITCHES[word]
            context.environ[variable] = setting
        elif word == "--bare":
            _use_current_directory(context)
        elif name == "--exec-path":
            if not equals:
                _print_exec_path(context)
        elif word not in _IGNORED:
            if not equals or name not in _VALUED:
                name = word
                at += 1
                value = argv[at] if at < len(argv) else ""
            _apply_valued(context, name, value, given=at < len(argv))
        at += 1
    return argv[at:]


def _apply_valued(context: Context, name: str, value: str, *, given: bool) -> None:
    """An option that takes a value; `given` is false where the command line ended before it."""
    act: Callable[[Context, str], None]
    if name in _VARIABLES:
        variable, complaint = _VARIABLES[name]
        act = _variable_setter(variable)
    elif name == "-C":
        act, complaint = _change_directory, "no directory given for '-C' option"
    elif name == "-c":
        act, complaint = _add_config, "-c expects a configuration string"
    elif name == "--config-env":
        act, complaint = _add_config_env, "no config key given for --config-env"
    else:
        raise UsageExit(f"unknown option: {name}", usage(context.program))
    if not given:
        raise UsageExit(complaint, usage(context.program))
    act(context, value)


def usage(program: str) -> str:
    """The program's usage line, wrapped under itself."""
    indent = " " * len(f"usage: {program} ")
    return f"usage: {program} " + USAGE.replace("\n", "\n" + indent) + "\n"


def _variable_setter(variable: str) -> Callable[[Context, str], None]:
    def act(context: Context, value: str) -> None:
        context.environ[variable] = value

    return act


def _change_directory(context: Context, path: str) -> None:
    if not path:
        return
    try:
        os.chdir(path)
    except OSError as error:
        raise Fatal(f"cannot change to '{path}': {error.strerror}") from error


def _add_config(context: Context, pair: str) -> None:
    key, equals, value = pair.partition("=")
    _push_config(context, key, value if equals else None)


def _add_config_env(context: Context, spec: str) -> None:
    key, equals, variable = spec.rpartition("=")
    if not equals:
        raise Fatal(f"invalid config format: {spec}")
    if not variable:
        raise Fatal(f"missing environment variable name for configuration '{key}'")
    if variable not in context.environ:
        raise Fatal(f"missing environment variable '{variable}' for configuration '{key}'")
    _push_config(context, key, context.environ[variable])


def _push_config(context: Context, key: str, value: str | None) -> None:
    """Add a setting to the variable in which git's programs hand settings on."""
    word = f"{_quoted(key)}=" if value is None else f"{_quoted(key)}={_quoted(value)}"
    before = context.environ.get(_PARAMETERS)
    context.environ[_PARAMETERS] = f"{before} {word}" if before else word


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''").replace("!", "'\\!'") + "'"


def _use_current_directory(context: Context) -> None:
    context.environ.setdefault("GIT_DIR", os.getcwd())
    context.environ["GIT_IMPLICIT_WORK_TREE"] = "0"


def _print_exec_path(context: Context) -> None:
    context.stdout.write(os.fsencode(os.path.dirname(os.path.abspath(__file__))) + b"\n")
    raise CommandExit(0)
