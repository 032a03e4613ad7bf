"""`dump`: what is inside a table file, or which tables a stack has.

For people the text of `_TEXT`; for programs, with `--json`, one object a line: the fields of the
entry (see `table_dump`) and its `kind`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyreftable.errors import FormatError

from . import options
from .context import encode
from .options import Table as OptionTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .context import Context
    from .table_dump import Fields

TABLE = OptionTable(
    ["dump [--json] (<file> | <directory>)"],
    [options.flag("", "json", "print one JSON object a line")],
)


class Settings:
    """The values of the options."""

    def __init__(self) -> None:
        self.json = False


def main(context: Context, argv: list[str]) -> int:
    """Run the command."""
    settings = Settings()
    arguments = context.parse_options(TABLE, argv, settings)
    if len(arguments) != 1:
        context.usage_error("expected one file or directory", TABLE)
    show = _as_json if settings.json else _as_text
    path = arguments[0]
    if os.path.isdir(path):
        return _dump_stacks(context, path, show)
    _dump_table(context, path, show)
    return 0


def _dump_table(context: Context, path: str, show: Callable[[str, Fields], str]) -> None:
    from pyreftable.table import Table

    from .table_dump import entries

    try:
        table = Table.open(path)
    except OSError as error:
        context.die(f"cannot open '{path}': {error.strerror}")
    for kind, fields in entries(table):
        context.stdout.write(encode(show(kind, fields)) + b"\n")


def _dump_stacks(context: Context, path: str, show: Callable[[str, Fields], str]) -> int:
    """List the tables of the stacks at `path`; damaged and missing ones are reported."""
    status = 0
    for folder in _stack_folders(context, path):
        names = _listed(context, folder)
        context.stdout.write(encode(show("stack", {"path": folder, "tables": len(names)})) + b"\n")
        for name in names:
            status |= _summarize(context, os.path.join(folder, name), show)
    return status


def _stack_folders(context: Context, path: str) -> Iterator[str]:
    """The folders with a `tables.list`: `path` itself, the one in it, or a repository's."""
    for folder in (path, os.path.join(path, "reftable")):
        if os.path.exists(os.path.join(folder, "tables.list")):
            yield folder
            return
    from pyreftable.refs.repository import discover

    # The path names the repository; what the environment says of another one does not count.
    environ = {key: value for key, value in context.environ.items() if key != "GIT_DIR"}
    repository = discover(path, environ=environ, config=context.config)
    yield os.path.join(repository.ref_directory(None), "reftable")
    if repository.worktree_name is not None:
        yield os.path.join(repository.ref_directory(repository.worktree_name), "reftable")


def _listed(context: Context, folder: str) -> tuple[str, ...]:
    from pyreftable.stack import DirectoryStorage

    return DirectoryStorage(folder).read_list().names


def _summarize(context: Context, path: str, show: Callable[[str, Fields], str]) -> int:
    from pyreftable.table import Table

    from .table_dump import table_fields

    try:
        table = Table.open(path)
    except FormatError as error:
        return context.error(str(error))
    except OSError as error:
        return context.error(f"cannot open '{path}': {error.strerror}")
    context.stdout.write(encode(show("table", table_fields(table))) + b"\n")
    table.close()
    return 0


def _as_json(kind: str, fields: Fields) -> str:
    import json

    return json.dumps({"kind": kind, **fields})


def _as_text(kind: str, fields: Fields) -> str:
    return _TEXT[kind](fields)


def _stack_text(fields: Fields) -> str:
    return f"stack {fields['path']}, {fields['tables']} tables"


def _table_text(fields: Fields) -> str:
    return (
        f"table {fields['name']}: {fields['size']} bytes, version {fields['version']}, "
        f"{fields['hash']}, block size {fields['block_size']}, "
        f"update indexes {fields['min_update_index']} to {fields['max_update_index']}"
    )


def _block_text(fields: Fields) -> str:
    return (
        f"{fields['type']} block at {fields['offset']}: takes {fields['full_size']} bytes, "
        f"length {fields['length']}, restarts at {_numbers(fields['restarts'])}"
    )


def _ref_text(fields: Fields) -> str:
    words = [_line_start(fields)]
    words += [f"{key} {fields[key]}" for key in ("oid", "peeled") if key in fields]
    if "target" in fields:
        words.append(f"symref {_shown(fields['target'])}")
    if "deleted" in fields:
        words.append("deleted")
    return "  ".join(words)


def _log_text(fields: Fields) -> str:
    if "deleted" in fields:
        return f"{_line_start(fields)}  deleted"
    return (
        f"{_line_start(fields)}  {fields['old_oid']} -> {fields['new_oid']}  "
        f"{_shown(fields['committer'])} <{_shown(fields['email'])}>  "
        f"{fields['time']} {fields['tz']}  {_shown(fields['message'])}"
    )


def _obj_text(fields: Fields) -> str:
    return f"  {fields['prefix']}  in blocks at {_numbers(fields['positions']) or 'any offset'}"


def _index_text(fields: Fields) -> str:
    update = f"  update {fields['update_index']}" if "update_index" in fields else ""
    return f"  {_shown(fields['last'])}{update}  last in the block at {fields['position']}"


def _footer_text(fields: Fields) -> str:
    return (
        f"footer at {fields['offset']}: ref index {fields['ref_index']}, "
        f"objects {fields['obj']} (ids of {fields['obj_id_len']} bytes), "
        f"object index {fields['obj_index']}, logs {fields['log']}, log index {fields['log_index']}"
    )


_TEXT = {
    "stack": _stack_text,
    "table": _table_text,
    "block": _block_text,
    "ref": _ref_text,
    "log": _log_text,
    "obj": _obj_text,
    "index": _index_text,
    "footer": _footer_text,
}


def _line_start(fields: Fields) -> str:
    return f"  {_shown(fields['name'])}  update {fields['update_index']}"


def _numbers(values: object) -> str:
    return " ".join(map(str, values)) if isinstance(values, list) else ""


def _shown(text: object) -> str:
    """Text on one line: control characters and backslashes as escapes."""
    characters = str(text).replace("\\", "\\\\")
    if characters.isprintable():
        return characters
    return "".join(c if c >= " " and c != "\x7f" else repr(c)[1:-1] for c in characters)
