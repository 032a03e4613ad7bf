"""Configuration that comes with one command: `-c`, and three environment variables.

    GIT_CONFIG_COUNT=n   with GIT_CONFIG_KEY_i and GIT_CONFIG_VALUE_i for i below n
    GIT_CONFIG_PARAMETERS='key'='value' 'key'= 'key=value' …   shell-quoted, spaces between;
                         the third form is what git wrote before 2.30

Source: `git-config`, section "ENVIRONMENT"; the format of GIT_CONFIG_PARAMETERS is git's own
between its processes (a hook inherits it), read off its behaviour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConfigError
from .config_parser import Entry, Origin, canonical_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    #: `key=value` or `key` as after `-c`, or a pair of key and value (`None`: no value).
    Parameter = str | tuple[str, str | None]

_ORIGIN = Origin("command", None)
_MAX_COUNT = (1 << 31) - 1
_SPACE = " \t\n\r"


def command_entries(environ: Mapping[str, str], parameters: Sequence[Parameter]) -> list[Entry]:
    """The entries of the command scope, in the order in which git takes them.

    Raises `ConfigError` with git's message; its cause says what is wrong.
    """
    try:
        pairs = [
            *_counted(environ),
            *_quoted(environ.get("GIT_CONFIG_PARAMETERS", "")),
            *map(_split, parameters),
        ]
        return [_entry(key, value) for key, value in pairs]
    except ConfigError as error:
        raise ConfigError("unable to parse command-line config") from error


def _entry(key: str, value: str | None) -> Entry:
    if not key:
        raise ConfigError("empty config key")
    return Entry(canonical_key(key), value, 0, _ORIGIN)


def _split(parameter: Parameter) -> tuple[str, str | None]:
    if not isinstance(parameter, str):
        return parameter
    key, equals, value = parameter.partition("=")
    return key, value if equals else None


def _counted(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    count = environ.get("GIT_CONFIG_COUNT")
    if count is None:
        return
    digits = count.lstrip(_SPACE).removeprefix("+")
    if count and not (digits.isascii() and digits.isdigit()):
        raise ConfigError("bogus count in GIT_CONFIG_COUNT")
    if int(digits or "0") > _MAX_COUNT:
        raise ConfigError("too many entries in GIT_CONFIG_COUNT")
    for index in range(int(digits or "0")):
        key = environ.get(f"GIT_CONFIG_KEY_{index}")
        if key is None:
            raise ConfigError(f"missing config key GIT_CONFIG_KEY_{index}")
        value = environ.get(f"GIT_CONFIG_VALUE_{index}")
        if value is None:
            raise ConfigError(f"missing config value GIT_CONFIG_VALUE_{index}")
        yield key, value


def _quoted(text: str) -> Iterator[tuple[str, str | None]]:
    position = 0
    while position < len(text):
        key, position = _dequote(text, position)
        value: str | None = None
        if text[position : position + 1] == "=":
            position += 1
            if text[position : position + 1] == "'":
                value, position = _dequote(text, position)
        else:
            if not key or key[0] == "=":
                raise ConfigError(f"bogus config parameter: {key}")
            key, value = _split(key)
        if position < len(text) and text[position] not in _SPACE:
            raise ConfigError("bogus format in GIT_CONFIG_PARAMETERS")
        yield key, value
        while text[position : position + 1] in tuple(_SPACE):
            position += 1


def _dequote(text: str, start: int) -> tuple[str, int]:
    """The single-quoted word at `start`, and the position after it.

    Outside the quotes only `\\'` and `\\!` may stand, each followed by the next quoted part.
    """
    parts: list[str] = []
    while True:
        end = text.find("'", start + 1)
        if text[start : start + 1] != "'" or end < 0:
            raise ConfigError("bogus format in GIT_CONFIG_PARAMETERS")
        parts.append(text[start + 1 : end])
        if text[end + 1 : end + 4] not in ("\\''", "\\!'"):
            return "".join(parts), end + 1
        parts.append(text[end + 2])
        start = end + 3
