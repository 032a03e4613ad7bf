"""A command's usage text, laid out as git's programs lay out theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .options import Group, Option

if TYPE_CHECKING:
    from .options import Table

_INDENT = 4
_HELP_COLUMN = 26
_LITERAL_MARKS = frozenset("()<>[]|")


def usage_text(table: Table, program: str, *, hidden: bool = False) -> str:
    """The whole text: usage lines, options with their help, a blank line at the end.

    `program` is put before each usage line; `hidden` shows hidden options too.
    """
    lines = _usage_lines(table, program)
    blank_before = True
    for row in table.rows:
        if isinstance(row, Group):
            lines.append("")
            blank_before = False
            if row.title:
                lines.append(row.title)
            continue
        if row.hidden and not hidden:
            continue
        if blank_before:
            lines.append("")
            blank_before = False
        lines += _option_lines(row, table)
    lines += ["", ""]
    return "\n".join(lines)


def _usage_lines(table: Table, program: str) -> list[str]:
    lines = []
    prefix = "usage: "
    for usage in table.usage:
        first, *rest = usage.split("\n")
        lines.append(f"{prefix}{program} {first}")
        indent = " " * (len(prefix) + len(program) - len("git"))
        lines += [indent + line for line in rest]
        prefix = "   or: "
    return lines


def _option_lines(option: Option, table: Table) -> list[str]:
    names = ["-" + option.short] if option.short else []
    positive = option.long[3:] if option.long.startswith("no-") and option.negatable else ""
    if option.long:
        negation = "[no-]" if option.negatable and not positive else ""
        names.append(f"--{negation}{option.long}")
    head = " " * _INDENT + ", ".join(names)
    if option.takes_value:
        head += _value(option)
    lines = _beside(head, option.help)
    if positive and not any(other.long == positive for other in table.options):
        opposite = " " * _INDENT + f"--{positive}"
        lines += _beside(opposite, f"opposite of --no-{positive}")
    return lines


def _value(option: Option) -> str:
    name = option.value_name
    if not _LITERAL_MARKS.intersection(name):
        name = f"<{name}>"
    if not option.optional_value:
        return f" {name}"
    return f"[={name}]" if option.long else f"[{name}]"


def _beside(head: str, text: str) -> list[str]:
    """`text` in the help column, on the line of `head` if that is short enough."""
    first, *rest = text.split("\n")
    indent = " " * _HELP_COLUMN
    if len(head) < _HELP_COLUMN:
        lines = [head.ljust(_HELP_COLUMN) + first]
    else:
        lines = [head, indent + first]
    return lines + [indent + line for line in rest]
