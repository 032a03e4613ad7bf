"""A command's options, with the semantics of git's parse-options.

Each command declares one `Table`: usage lines and options. From it come the parsing (`parsing`)
and the usage text (`usage`). Values land as attributes of a settings object that the command
provides, which carries the types and the defaults.

Rules, as git's "Command-line interface" (gitcli) and its programs have them: long options may be
shortened to a unique prefix and negated with `--no-`; a value follows after `=` or as the next
argument; short options may be bundled; `--` and `--end-of-options` end the options; options and
arguments may be mixed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Apply = Callable[["Option", object, "str | None", bool], None]

_INT_MAX = (1 << 31) - 1
_SUFFIXES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class OptionError(Exception):
    """What an `Apply` raises to refuse a value; the message follows `error: `.

    `NAME` in it stands for the option as it was given.
    """

    NAME = "{option}"


class Option:
    """One row of a table; make it with the functions below, not directly.

    `apply(option, settings, value, unset)` stores what was given; `value` is `None` when the
    option took none. `default` is the value of an option given without its value where that is
    allowed: `optional_value` (only `--opt=value` carries one) or `last_default` (when the option
    is the last argument).
    """

    __slots__ = (
        "apply",
        "default",
        "dest",
        "help",
        "hidden",
        "last_default",
        "long",
        "mode",
        "negatable",
        "optional_value",
        "short",
        "takes_value",
        "value_name",
    )

    def __init__(
        self,
        short: str,
        long: str,
        help: str,
        apply: Apply,
        *,
        dest: str = "",
        value_name: str = "",
        takes_value: bool = False,
        optional_value: bool = False,
        last_default: bool = False,
        default: object = None,
        negatable: bool = True,
        hidden: bool = False,
        mode: bool = False,
    ) -> None:
        self.short = short
        self.long = long
        self.help = help
        self.apply = apply
        self.dest = dest or long.replace("-", "_")
        self.value_name = value_name
        self.takes_value = takes_value
        self.optional_value = optional_value
        self.last_default = last_default
        self.default = default
        self.negatable = negatable
        self.hidden = hidden
        self.mode = mode

    def display(self, *, short: bool, unset: bool) -> str:
        """The option as git's error messages name it."""
        if short:
            return f"switch `{self.short}'"
        return f"option `no-{self.long}'" if unset else f"option `{self.long}'"


class Group:
    """A blank line, and a title if not empty, before the options that follow."""

    __slots__ = ("title",)

    def __init__(self, title: str = "") -> None:
        self.title = title


class Table:
    """A command's usage lines (without the program's name) and its options.

    Further lines of a usage are indented as they would be after `git `; the text makes room for
    the program's real name.

    `subcommands` are names one of which must be the first argument (may be, if
    `subcommand_optional`). `stop_at_argument` ends the options at the first argument;
    `keep_dashdash` leaves `--` among the arguments; `keep_unknown` leaves unknown options there.
    """

    __slots__ = (
        "keep_dashdash",
        "keep_unknown",
        "options",
        "rows",
        "stop_at_argument",
        "subcommand_optional",
        "subcommands",
        "usage",
    )

    def __init__(
        self,
        usage: Sequence[str],
        rows: Sequence[Option | Group],
        *,
        subcommands: Sequence[str] = (),
        subcommand_optional: bool = False,
        stop_at_argument: bool = False,
        keep_dashdash: bool = False,
        keep_unknown: bool = False,
    ) -> None:
        self.usage = usage
        self.rows = rows
        self.options = [row for row in rows if isinstance(row, Option)]
        self.subcommands = subcommands
        self.subcommand_optional = subcommand_optional
        self.stop_at_argument = stop_at_argument
        self.keep_dashdash = keep_dashdash
        self.keep_unknown = keep_unknown


def flag(short: str, long: str, help: str, *, dest: str = "", negatable: bool = True) -> Option:
    """True when given, false when negated (for a `long` like `no-deref`: by `--deref`)."""
    return Option(short, long, help, _set_default, dest=dest, default=True, negatable=negatable)


def choice(short: str, long: str, dest: str, value: object, help: str) -> Option:
    """Sets `dest` to `value`; two different choices for one `dest` exclude each other."""
    return Option(
        short, long, help, _set_default, dest=dest, default=value, negatable=False, mode=True
    )


def counter(short: str, long: str, help: str, *, dest: str = "") -> Option:
    """Adds one to `dest` each time; negated, it sets zero."""
    return Option(short, long, help, _count_up, dest=dest)


def bit(short: str, long: str, dest: str, mask: int, help: str) -> Option:
    """Sets the bits of `mask` in the integer `dest`, or clears them when negated."""
    return Option(short, long, help, _set_bits, dest=dest, default=mask)


def string(short: str, long: str, value_name: str, help: str, *, dest: str = "") -> Option:
    """Stores the value; `None` when negated."""
    return Option(
        short, long, help, _set_string, dest=dest, value_name=value_name, takes_value=True
    )


def integer(short: str, long: str, value_name: str, help: str, *, dest: str = "") -> Option:
    """Stores a 32-bit integer, with git's k/m/g suffixes; 0 when negated."""
    return Option(
        short, long, help, _set_integer, dest=dest, value_name=value_name, takes_value=True
    )


def strings(short: str, long: str, value_name: str, help: str, *, dest: str = "") -> Option:
    """Appends to the list `dest`; negated, it empties the list."""
    return Option(
        short, long, help, _append_string, dest=dest, value_name=value_name, takes_value=True
    )


def callback(
    short: str,
    long: str,
    value_name: str,
    help: str,
    apply: Apply,
    *,
    default: str | None = None,
    optional_value: bool = False,
    last_default: bool = False,
    negatable: bool = True,
    hidden: bool = False,
) -> Option:
    """An option whose value `apply` interprets; it takes no value if `value_name` is empty."""
    return Option(
        short,
        long,
        help,
        apply,
        value_name=value_name,
        takes_value=bool(value_name),
        default=default,
        optional_value=optional_value,
        last_default=last_default,
        negatable=negatable,
        hidden=hidden,
    )


def _set_default(option: Option, settings: object, value: str | None, unset: bool) -> None:
    setattr(settings, option.dest, False if unset else option.default)


def _count_up(option: Option, settings: object, value: str | None, unset: bool) -> None:
    setattr(settings, option.dest, 0 if unset else getattr(settings, option.dest) + 1)


def _set_bits(option: Option, settings: object, value: str | None, unset: bool) -> None:
    mask, bits = option.default, getattr(settings, option.dest)
    setattr(settings, option.dest, bits & ~mask if unset else bits | mask)  # type: ignore[operator]


def _set_string(option: Option, settings: object, value: str | None, unset: bool) -> None:
    setattr(settings, option.dest, None if unset else value)


def _append_string(option: Option, settings: object, value: str | None, unset: bool) -> None:
    items: list[str | None] = [] if unset else [*getattr(settings, option.dest), value]
    setattr(settings, option.dest, items)


def _set_integer(option: Option, settings: object, value: str | None, unset: bool) -> None:
    setattr(settings, option.dest, 0 if unset else parse_integer(value or ""))


def parse_integer(text: str) -> int:
    """A 32-bit integer as git reads one: decimal, octal or hexadecimal, then k, m or g.

    Raises `OptionError`.
    """
    name = OptionError.NAME
    if not text:
        raise OptionError(f"{name} expects a numerical value")
    digits, factor = text, 1
    if text[-1].lower() in _SUFFIXES:
        digits, factor = text[:-1], _SUFFIXES[text[-1].lower()]
    number = _c_integer(digits)
    if number is None:
        what = f"{name} expects an integer value with an optional k/m/g suffix"
        raise OptionError(what)
    if not -_INT_MAX - 1 <= number * factor <= _INT_MAX:
        raise OptionError(f"value {text} for {name} not in range [{-_INT_MAX - 1},{_INT_MAX}]")
    return number * factor


def _c_integer(text: str) -> int | None:
    """What C's strtol makes of the whole of `text` in base 0; `None` where it would stop."""
    body = text.lstrip(" \t\n\v\f\r")
    sign = -1 if body.startswith("-") else 1
    body = body[1:] if body[:1] in ("-", "+") else body
    base = 16 if body[:2] in ("0x", "0X") else 8 if body.startswith("0") else 10
    body = body[2:] if base == 16 else body
    if not body.isascii() or not body.isalnum():
        return None
    try:
        return sign * int(body, base)
    except ValueError:
        return None
