"""What configuration values mean: booleans, numbers, paths.

Source: `git-config`, section "Values"; integers are read as C's `strtoimax` with base 0 does
(`0x` is hexadecimal, a leading `0` octal).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .config_parser import Entry

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_DIGITS = {8: "01234567", 10: "0123456789", 16: "0123456789abcdefABCDEF"}
_PREFIX = "/usr"

#: The ranges of C's types, as git reads numbers into them.
INT32 = range(-(1 << 31), 1 << 31)
INT64 = range(-(1 << 63), 1 << 63)
UINT64 = range(1 << 64)


def parse_bool(value: str | None) -> bool | None:
    """The boolean that `value` spells (no value at all: true), or `None` if it spells none."""
    if value is None:
        return True
    word = parse_bool_text(value)
    if word is not None:
        return word
    try:
        return parse_int(value, INT32) != 0
    except ValueError:
        return None


def parse_bool_text(value: str) -> bool | None:
    """As `parse_bool`, for words only: a number is none."""
    return _BOOLEANS.get(value.lower()) if value else False


def parse_int(value: str, within: range) -> int:
    """The number that `value` spells, with a unit `k`, `m` or `g` (powers of 1,024) or none.

    Raises `ValueError` with git's reason: "invalid unit", or "out of range" of `within`.
    """
    text = value.lstrip(" \t\n\v\f\r")
    negative = text[:1] == "-"
    # A range that starts at zero is an unsigned type, for which git takes no minus sign at all.
    if negative and within.start == 0:
        raise ValueError("invalid unit")
    text = text[text[:1] in ("-", "+") :]
    base = 10
    if text[:2] in ("0x", "0X") and text[2:3] in tuple(_DIGITS[16]):
        base, text = 16, text[2:]
    elif text[:1] == "0":
        base = 8
    unit = text.lstrip(_DIGITS[base])
    digits = text[: len(text) - len(unit)]
    factor = _UNITS.get(unit.lower())
    if not digits or factor is None:
        raise ValueError("invalid unit")
    number = int(digits, base) * factor
    number = -number if negative else number
    if number not in within:
        raise ValueError("out of range")
    return number


def entry_bool(entry: Entry) -> bool:
    """The boolean that `entry` sets; raises `ConfigError` if it is none."""
    value = parse_bool(entry.value)
    if value is None:
        raise ConfigError(f"bad boolean config value '{entry.value}' for '{entry.key}'")
    return value


def entry_int(entry: Entry, within: range) -> int:
    """The number that `entry` sets; raises `ConfigError` if it is none or out of range."""
    try:
        return parse_int(entry.value or "", within)
    except ValueError as error:
        path = entry.origin.path
        where = f" in file {path}" if path is not None else ""
        raise ConfigError(
            f"bad numeric config value '{entry.value or ''}' for '{entry.key}'{where}: {error}"
        ) from None


def env_bool(environ: Mapping[str, str], name: str, default: bool) -> bool:
    """The boolean in the environment variable `name`; raises `ConfigError` if it is none."""
    value = environ.get(name)
    if value is None:
        return default
    result = parse_bool(value)
    if result is None:
        raise ConfigError(f"bad boolean environment value '{value}' for '{name}'")
    return result


def expand_path(path: str, environ: Mapping[str, str], *, resolve_home: bool = False) -> str | None:
    """`path` with a leading `~/`, `~user/` or `%(prefix)/` expanded; `None` if it cannot be.

    `resolve_home` resolves symbolic links in the caller's own home directory.
    """
    if path.startswith("%(prefix)/"):
        return _PREFIX + path[len("%(prefix)") :]
    if path[:1] != "~":
        return path
    user, slash, rest = path[1:].partition("/")
    home = environ.get("HOME") if not user else _home_of(user)
    if home is None:
        return None
    if resolve_home and not user:
        home = os.path.realpath(home)
    return home + slash + rest


def _home_of(user: str) -> str | None:
    try:
        import pwd

        return pwd.getpwnam(user).pw_dir
    except (ImportError, KeyError):
        return None
