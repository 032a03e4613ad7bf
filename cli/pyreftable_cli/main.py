"""The entry point: global options, then the subcommand, whose module is imported only then.

Start-up is part of every command's time, so nothing is imported here that a command may not need.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from errno import EPIPE
from typing import TYPE_CHECKING, NoReturn

from .context import Context, program_name
from .exits import FATAL_STATUS, USAGE_STATUS, CommandExit, Fatal, UsageExit
from .global_options import apply_global_options, usage
from .streams import OutputError, reserve_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[[Context, list[str]], int]

_INTERRUPTED_STATUS = 130

#: Subcommand -> (module with its `main`, what it is for).
COMMANDS = {
    "check-ref-format": ("check_ref_format", "tell whether a ref name is well formed"),
    "init": ("init", "create a repository, or reinitialize one"),
    "pack-refs": ("pack_refs", "merge tables, so that reading is faster"),
    "refs": ("refs", "list, check, change, verify, optimize and migrate refs"),
    "rev-parse": ("rev_parse", "find out what a revision or ref name stands for"),
    "show-ref": ("show_ref", "list refs in the local repository"),
    "dump": ("dump", "show what is inside a table, or which tables a stack has"),
    "for-each-ref": ("for_each_ref", "list refs in any order and format"),
    "reflog": ("reflog", "show and change reflogs"),
    "symbolic-ref": ("symbolic_ref", "read, set and delete symbolic refs"),
    "update-ref": ("update_ref", "create, change and delete refs safely"),
}

#: Subcommands that lock and write, and must clean up when a signal ends them.
_WRITERS = frozenset({"init", "pack-refs", "reflog", "refs", "symbolic-ref", "update-ref"})


def run() -> NoReturn:
    """Run the command line of this process, and exit."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        reserve_descriptors()
    # What a command gathers has no cycles: looking for some, often, takes a twentieth of its time.
    gc.set_threshold(200_000, 20, 100)
    status = main(sys.argv[1:])
    # Taking the interpreter's objects apart is a tenth of a short command's time, and longer after
    # a long listing; all that matters is written and closed by now.
    atexit._run_exitfuncs()
    os._exit(status)


def main(argv: list[str]) -> int:
    """Run a command line (without the program's name); returns the exit status.

    A closed pipe at standard output, or an interrupt, ends the process by its signal.
    """
    context = Context(program_name(), dict(os.environ))
    signal_name = ""
    try:
        status = _guarded(context, argv)
        context.flush()
    except OutputError as error:
        status = FATAL_STATUS
        if error.errno == EPIPE:
            signal_name = "SIGPIPE"
        else:
            context.message(f"fatal: write failure on standard output: {error.reason}")
    except KeyboardInterrupt:
        status, signal_name = _INTERRUPTED_STATUS, "SIGINT"
    finally:
        context.close()
    if signal_name:
        _die_of(signal_name)
    return status


def _guarded(context: Context, argv: list[str]) -> int:
    """Run the command; turn what it raises into messages and a status."""
    from pyreftable.errors import ConfigError, ReftableError

    try:
        return _dispatch(context, argv)
    except CommandExit as end:
        return end.status
    except UsageExit as end:
        return _explain_usage(context, end)
    except (Fatal, ReftableError) as error:
        if isinstance(error.__cause__, ConfigError):
            context.error(str(error.__cause__))
        context.message(f"fatal: {error}")
        return FATAL_STATUS


def _dispatch(context: Context, argv: list[str]) -> int:
    words = apply_global_options(context, argv)
    name = words[0] if words else ""
    if name in ("--version", "-v", "version"):
        return _print_version(context)
    if name in ("", "--help", "-h", "help"):
        if len(words) > 1 and words[1] in COMMANDS:
            return _command(context, words[1])(context, ["--help"])
        context.stdout.write(help_text(context.program).encode())
        return 0 if words else 1
    if name not in COMMANDS:
        return _unknown_command(context, name)
    return _command(context, name)(context, words[1:])


def _command(context: Context, name: str) -> Command:
    from importlib import import_module

    context.command = name
    if name in _WRITERS:
        from pyreftable.stack import remove_files_on_signals

        remove_files_on_signals()
    command: Command = import_module(f".{COMMANDS[name][0]}", __package__).main
    return command


def _explain_usage(context: Context, end: UsageExit) -> int:
    if end.asked_for:
        context.stdout.write(end.usage.encode())
        return 0
    if end.message:
        context.message(end.message)
    context.print_error(end.usage)
    return USAGE_STATUS


def _print_version(context: Context) -> int:
    from importlib.metadata import version

    context.stdout.write(f"pyreftable version {version('pyreftable')}\n".encode())
    return 0


def help_text(program: str) -> str:
    """The program's usage and its commands."""
    width = max(map(len, COMMANDS)) + 3
    lines = [usage(program), "Commands:"]
    lines += [f"   {name:{width}}{purpose}" for name, (_, purpose) in sorted(COMMANDS.items())]
    lines += [
        "",
        f"'{program} <command> --help' shows the options of a command, with examples.",
        "",
    ]
    return "\n".join(lines)


def _unknown_command(context: Context, name: str) -> int:
    from difflib import get_close_matches

    program = context.program
    lines = [f"{program}: '{name}' is not a {program} command. See '{program} --help'."]
    similar = get_close_matches(name, COMMANDS)
    if similar:
        lines += ["", f"The most similar command{'s are' if len(similar) > 1 else ' is'}"]
        lines += [f"\t{match}" for match in similar]
    context.print_error("\n".join(lines) + "\n")
    return 1


def _die_of(signal_name: str) -> None:
    """End as the signal does by default, silently; returns where there is no such signal."""
    import signal

    number = getattr(signal, signal_name, None)
    if number is not None:
        atexit._run_exitfuncs()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
