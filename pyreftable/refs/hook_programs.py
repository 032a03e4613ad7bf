"""Hooks as programs: which there are for an event, and running them as git does.

    hook.NAME.event = EVENT        a hook from the configuration: git runs these first,
    hook.NAME.command = COMMAND    in the order in which their events were last set;
    hook.NAME.enabled = BOOLEAN    NAME may be the event, to switch all of these off
    HOOKS/EVENT                    then the one in the folder of hooks

All run one after the other (`hook.jobs`, which lets git run them side by side, changes only the
order of their output), each with the whole input; the first that cannot be started ends the row.
What they print goes to the standard error stream, and so do messages about them.

Source: `githooks`, `git-hook`, `git-config` (`hook.*`, `core.hooksPath`, `advice.ignoredHook`);
messages are git's.
"""

from __future__ import annotations

import os
from errno import ENOEXEC
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ConfigError
from .config import bad_variable
from .config_values import env_bool, parse_bool

if TYPE_CHECKING:
    from collections.abc import Callable

    from .config import Config
    from .repository import Repository

_SHELL = "/bin/sh"
_SHELL_LETTERS = frozenset("|&;<>()$`\\\"' \t\n*?[#~=%")
_STDERR = 2

#: Signals that end a hook without a word: what a user or a closed pipe does.
_EXPECTED_SIGNALS = ("SIGINT", "SIGQUIT", "SIGPIPE")

#: The events that git knows: no hook in the configuration may have such a name.
_EVENTS = frozenset(
    {
        "applypatch-msg",
        "commit-msg",
        "fsmonitor-watchman",
        "p4-changelist",
        "p4-post-changelist",
        "p4-pre-submit",
        "p4-prepare-changelist",
        "post-applypatch",
        "post-checkout",
        "post-commit",
        "post-index-change",
        "post-merge",
        "post-receive",
        "post-rewrite",
        "post-update",
        "pre-applypatch",
        "pre-auto-gc",
        "pre-commit",
        "pre-merge-commit",
        "pre-push",
        "pre-rebase",
        "pre-receive",
        "prepare-commit-msg",
        "proc-receive",
        "push-to-checkout",
        "reference-transaction",
        "sendemail-validate",
        "update",
    }
)


class Program(NamedTuple):
    """A hook: its name in messages, and the words that start it, but for its argument."""

    name: str
    words: tuple[str, ...]


class HookPrograms:
    """The hooks of `repository`; keeps what the configuration says of them.

    Not for several threads at once.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._configured: dict[str, list[Program]] | None = None
        self._advised: set[str] = set()

    def run(self, event: str, argument: str, make_input: Callable[[], bytes]) -> bool:
        """Run the hooks for `event`; whether all of them started and ended with status 0.

        `make_input`, called if there is a hook at all, gives what they read. A hook may stop
        reading early. Raises `ConfigError` for hooks that the configuration gets wrong.
        """
        programs = self.find(event)
        if not programs:
            return True
        data = make_input()
        succeeded = True
        for program in programs:
            status = self._run(program, argument, data)
            succeeded = succeeded and status == 0
            if status is None:
                break
        return succeeded

    def find(self, event: str) -> list[Program]:
        """The hooks for `event`, in the order in which they run."""
        if self._configured is None:
            self._configured = configured_hooks(self._repository.config)
        programs = self._configured.get(event, [])
        path = self._find_file(event)
        return programs if path is None else [*programs, Program(path, (path,))]

    def _find_file(self, event: str) -> str | None:
        """The hook in the folder of hooks, as a path from where hooks run; `None` without one."""
        folder = self._repository.hooks_dir
        if os.access(f"{folder}/{event}", os.X_OK):
            return self._spelled(event)
        if event not in self._advised and _is_denied(f"{folder}/{event}"):
            self._advised.add(event)
            self._advise(self._spelled(event))
        return None

    def _spelled(self, event: str) -> str:
        """The path of a hook file as git spells it, which is the `$0` that the hook sees."""
        repository = self._repository
        folder = repository.config.get_path("core.hooksPath")
        if folder is None:
            is_common = repository.common_dir == repository.git_dir
            base = repository.standpoint().git_dir if is_common else repository.common_dir
            folder = f"{base}/hooks"
        # Without a slash it would be looked for in PATH.
        return f"{folder.removeprefix('./')}/{event}" if folder != "." else f"./{event}"

    def _advise(self, path: str) -> None:
        repository = self._repository
        if not env_bool(repository.environ, "GIT_ADVICE", True):
            return
        if repository.config.get_bool("advice.ignoredHook") is False:
            return
        _say(
            f"hint: The '{path}' hook was ignored because it's not set as executable.\n"
            "hint: You can disable this warning with "
            "`git config set advice.ignoredHook false`."
        )

    def _run(self, program: Program, argument: str, data: bytes) -> int | None:
        """The exit status, as a shell would put it; `None` if the hook could not be started."""
        import subprocess

        standpoint = self._repository.standpoint()
        environment = {**self._repository.environ, **standpoint.variables}

        def start(words: tuple[str, ...]) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=_STDERR,
                cwd=standpoint.folder,
                env=environment,
            )

        words = (*program.words, argument)
        try:
            try:
                process = start(words)
            except OSError as error:
                if error.errno != ENOEXEC:
                    raise
                process = start((_SHELL, *words))
        except OSError as error:
            is_path = "/" in words[0]
            problem = (
                f"fatal: cannot exec '{words[0]}'" if is_path else f"error: cannot run {words[0]}"
            )
            _say(f"{problem}: {error.strerror}")
            return None
        process.communicate(data)
        if process.returncode < 0:
            return _report_signal(program.name, -process.returncode)
        return process.returncode


def configured_hooks(config: Config) -> dict[str, list[Program]]:
    """The enabled hooks of the configuration, by event, in the order in which they run.

    Raises `ConfigError` for a variable without a value, a hook that has an event but no command,
    and a hook with the name of an event.
    """
    commands: dict[str, str] = {}
    events: dict[str, list[str]] = {}
    disabled: set[str] = set()
    for name, variable, entry in config.section("hook"):
        if name is None:
            continue
        value = entry.value
        if value is None:
            raise bad_variable(entry, f"missing value for '{entry.key}'")
        if variable == "event":
            _set_event(events, name, value)
        elif variable == "command":
            commands[name] = value
        elif variable == "enabled":
            enabled = parse_bool(value)
            if enabled is False:
                disabled.add(name)
            elif enabled:
                disabled.discard(name)
    for name in dict.fromkeys(name for names in events.values() for name in names):
        _check_command(name, commands, disabled)
    hooks = set(commands).union(*events.values())
    return {
        event: [_program(name, commands[name]) for name in names if name not in disabled]
        for event, names in events.items()
        if event not in disabled or event in hooks
    }


def _set_event(events: dict[str, list[str]], name: str, event: str) -> None:
    if not event:
        for names in events.values():
            if name in names:
                names.remove(name)
        return
    if name in _EVENTS:
        raise ConfigError(
            f"hook friendly-name '{name}' collides with a known event name; please choose a "
            "different friendly-name"
        )
    if name == event:
        _say(
            f"warning: hook friendly-name '{name}' is the same as its event; this may cause "
            f"ambiguity with hook.{name}.enabled"
        )
    names = events.setdefault(event, [])
    if name in names:
        names.remove(name)
    names.append(name)


def _check_command(name: str, commands: dict[str, str], disabled: set[str]) -> None:
    if name in commands:
        return
    if name not in disabled:
        raise ConfigError(
            f"'hook.{name}.command' must be configured or 'hook.{name}.event' must be removed; "
            "aborting."
        )
    _say(f"warning: disabled hook '{name}' has no command configured")


def _program(name: str, command: str) -> Program:
    """A command for the shell, or one that is just the name of a program."""
    if _SHELL_LETTERS.isdisjoint(command):
        return Program(command, (command,))
    return Program(command, (_SHELL, "-c", f'{command} "$@"', command))


def _is_denied(path: str) -> bool:
    """Whether `path` is there but may not be executed, or even reached."""
    try:
        os.stat(path)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _report_signal(name: str, number: int) -> int:
    import signal

    expected = {getattr(signal, word, None) for word in _EXPECTED_SIGNALS}
    if number not in expected:
        _say(f"error: {name} died of signal {number}")
    return 128 + number


def _say(text: str) -> None:
    """Print where the hooks print."""
    os.write(_STDERR, os.fsencode(text) + b"\n")
