"""`reflog show`: the entries of logs, newest first.

What git shows without a terminal: no pager, no colours, no decorations. Source: `git-reflog`,
`git-log`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from .options import Table
from .reflog import SHOW_USAGE
from .reflog_format import EntryFormat
from .reflog_options import parse_show_options
from .reflog_walk import LogWalk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .context import Context
    from .reflog_options import ShowOptions
    from .reflog_walk import Shown

_LOG_OPTIONS = """\
    -n, --max-count <n>   show at most <n> entries
    --skip <n>            pass over the first <n>
    --since, --until <time>
                          show only what is newer, or older
    --all, --branches, --tags, --remotes
                          the logs of all these refs
    --format <format>     show entries by this format, with git's placeholders
    --oneline             one line an entry (default)
    --date <format>       show dates rather than numbers, in this format
    --abbrev[=<n>], --no-abbrev-commit
                          how much to show of object names
    --json                print entries as JSON, one object a line

"""

_HOW_TO_SEPARATE = (
    "Use '--' to separate paths from revisions, like this:\n"
    "'git <command> [<revision>...] -- [<file>...]'"
)


def main(context: Context, argv: list[str]) -> int:
    """Run `reflog show`; returns the exit status."""
    if argv in (["-h"], ["--help"], ["--help-all"]):
        _explain(context, at_length=argv != ["-h"])
    options = parse_show_options(context, argv)
    walk = LogWalk(context)
    paths = _add_sources(context, walk, options)
    wanted = _wanted(context, walk, options, paths)
    if options.json:
        from .reflog_json import json_line

        context.stdout.writelines(json_line(shown) + b"\n" for shown in wanted)
        return 0
    form = EntryFormat(context.store, options, context.environ)
    if options.format == "" and options.ends_lines:
        return 0
    lines = map(form, wanted)
    if options.ends_lines:
        context.stdout.writelines(line + b"\n" for line in lines)
    else:
        context.stdout.write(b"\n".join(lines))
    return 0


def _explain(context: Context, *, at_length: bool) -> NoReturn:
    from .exits import UsageExit
    from .usage import usage_text

    text = usage_text(Table((SHOW_USAGE,), ()), context.program)
    if at_length:
        from .examples import examples_text

        text += _LOG_OPTIONS + examples_text("reflog show", context.program)
    raise UsageExit(usage=text, asked_for=True)


def _add_sources(context: Context, walk: LogWalk, options: ShowOptions) -> list[str]:
    """Add all that was named; returns the paths, which may follow the revisions without `--`."""
    paths = options.paths or []
    count = 0
    for source in options.sources:
        if isinstance(source, tuple):
            walk.add_refs(source[0])
        elif walk.add_revision(source):
            _check_no_file(context, options, source)
        else:
            paths = _paths_from(context, walk, options, source, options.sources[count:])
            break
        count += 1
    if not count:
        walk.add_head()
    return paths


def _paths_from(
    context: Context,
    walk: LogWalk,
    options: ShowOptions,
    first: str,
    sources: list[str | tuple[str]],
) -> list[str]:
    if options.paths is not None or first.startswith("^"):
        context.die(f"bad revision '{first}'")
    paths = [source for source in sources if isinstance(source, str)]
    for path in paths:
        if os.path.lexists(path):
            continue
        if path is first:
            # Git looks again, for something better to say; so warnings come twice.
            walk.add_revision(path)
            what = "unknown revision or path not in the working tree."
            context.die(f"ambiguous argument '{path}': {what}\n{_HOW_TO_SEPARATE}")
        context.die(
            f"{path}: no such path in the working tree.\nUse 'git <command> -- <path>...' "
            "to specify paths that do not exist locally."
        )
    return paths


def _check_no_file(context: Context, options: ShowOptions, name: str) -> None:
    """A revision must not be a file's name too, unless `--` says where the files begin."""
    work_tree = context.store.repository.work_tree
    if options.paths is not None or work_tree is None or not os.path.lexists(name):
        return
    here, top = os.path.realpath("."), os.path.realpath(work_tree)
    git_dir = os.path.realpath(context.store.repository.git_dir)
    if _is_inside(here, top) and not _is_inside(here, git_dir):
        what = "both revision and filename"
        context.die(f"ambiguous argument '{name}': {what}\n{_HOW_TO_SEPARATE}")


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _wanted(
    context: Context, walk: LogWalk, options: ShowOptions, paths: list[str]
) -> Iterator[Shown]:
    changed = None
    if paths:
        from .reflog_paths import PathFilter

        changed = PathFilter(context.store.objects, context.store.repository, paths)
    skip, left = options.skip, options.max_count
    for shown in walk:
        if left == 0:
            return
        moment = shown.entry.time
        if options.oldest is not None and moment < options.oldest:
            continue
        if options.newest is not None and moment > options.newest:
            continue
        if changed is not None and shown.entry.new_oid not in changed:
            continue
        if skip > 0:
            skip -= 1
            continue
        left -= 1
        yield shown
