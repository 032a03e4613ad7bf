"""The options of `reflog show` that are known here, out of the many that `git log` has.

Which entries: -<n>, -n, --max-count, --skip, --since, --until and their other names, --all,
--branches, --tags, --remotes. How they look: --format, --pretty, --oneline, --date, --abbrev,
--abbrev-commit, and --json, which git has not. Accepted because they change nothing here: -g,
-q, -s and the like.

Source: `git-log`. An option that is not known ends the command, as it does in git.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .exits import CommandExit, Fatal

if TYPE_CHECKING:
    from .context import Context
    from .reflog_dates import DateMode

_WITHOUT_EFFECT = {
    "-g",
    "--walk-reflogs",
    "-q",
    "--quiet",
    "-s",
    "--no-patch",
    "--no-decorate",
    "--decorate=no",
    "--decorate=auto",
    "--no-color",
    "--color=never",
    "--color=auto",
    "--no-notes",
    "--no-mailmap",
    "--no-use-mailmap",
    "--no-show-signature",
    "--no-source",
}
_COUNTS = {"max-count", "skip", "max-age", "min-age"}
_DATES = {"since", "after", "until", "before"}

#: Options that stand for many refs, and where those lie; HEAD belongs to `--all`.
_REF_GROUPS = {
    "--all": "refs/",
    "--branches": "refs/heads/",
    "--tags": "refs/tags/",
    "--remotes": "refs/remotes/",
}
_GIVEN_FORMATS = ("raw", "medium", "short", "email", "mboxrd", "full", "fuller", "reference")
_FULL = 1 << 16


class ShowOptions:
    """What to show. Times are seconds since the epoch; lengths count hex digits.

    `sources` are revisions as they were given, or `(prefix of refs,)`. `format` is `None` for
    one line an entry; with `json` it does not count. `ends_lines` says whether each entry ends
    its line, rather than that line ends stand between entries. `abbrev` of `None` means as
    `core.abbrev` says.
    """

    def __init__(self) -> None:
        self.max_count = -1
        self.skip = 0
        self.oldest: int | None = None
        self.newest: int | None = None
        self.sources: list[str | tuple[str]] = []
        self.paths: list[str] | None = None
        self.format: str | None = None
        self.json = False
        self.ends_lines = True
        self.date: DateMode | None = None
        self.abbrev: int | None = None
        self.abbrev_commit = True


def parse_show_options(context: Context, argv: list[str]) -> ShowOptions:
    """Read the command line of `reflog show`; raises `Fatal`, `CommandExit`."""
    options = ShowOptions()
    words = list(argv)
    if "--" in words:
        end = words.index("--")
        options.paths = words[end + 1 :]
        del words[end:]
    ended = False
    while words:
        word = words.pop(0)
        if ended or not word.startswith("-"):
            options.sources.append(word)
        elif word == "--end-of-options":
            ended = True
        else:
            _option(context, options, word, words)
    return options


def _option(context: Context, options: ShowOptions, word: str, words: list[str]) -> None:
    name, equals, value = word.removeprefix("--").partition("=")
    if word in _WITHOUT_EFFECT:
        return
    if word in _REF_GROUPS:
        options.sources.append((_REF_GROUPS[word],))
    elif word.startswith("--") and (name == "date" or name in _COUNTS or name in _DATES):
        if not equals:
            if not words:
                raise Fatal(f"Option '--{name}' requires a value")
            value = words.pop(0)
        _valued(options, name, value)
    elif word.startswith("--"):
        _look(options, word, name, value)
    elif word == "-n":
        if not words:
            context.error("-n requires an argument")
            raise CommandExit(128)
        options.max_count = _count(words.pop(0))
    elif word.startswith("-n"):
        options.max_count = _count(word[2:])
    elif word[1:2].isdigit():
        options.max_count = _count(word[1:])
    else:
        raise Fatal(f"unrecognized argument: {word}")


def _valued(options: ShowOptions, name: str, value: str) -> None:
    if name == "date":
        from .reflog_dates import parse_date_mode

        options.date = parse_date_mode(value)
        return
    number = _count(value) if name in _COUNTS else _moment(value)
    if name == "max-count":
        options.max_count = number
    elif name == "skip":
        options.skip = number
    elif name in ("since", "after", "max-age"):
        options.oldest = number
    else:
        options.newest = number


def _look(options: ShowOptions, word: str, name: str, value: str) -> None:
    if name in ("format", "pretty") and "=" in word:
        _format(options, value)
    elif word == "--oneline":
        _format(options, "oneline")
        options.abbrev_commit = True
    elif word in ("--abbrev-commit", "--no-abbrev-commit"):
        options.abbrev_commit = word == "--abbrev-commit"
    elif word == "--no-abbrev":
        options.abbrev = _FULL
    elif word == "--abbrev":
        options.abbrev = None
    elif name == "abbrev":
        digits = value[: len(value) - len(value.lstrip("0123456789"))]
        options.abbrev = max(int(digits or 0), 4)
    elif word == "--json":
        options.json = True
    elif word == "--relative-date":
        from .reflog_dates import DateMode

        options.date = DateMode("relative")
    elif word == "--reverse":
        raise Fatal("options '--reverse' and '--walk-reflogs' cannot be used together")
    else:
        raise Fatal(f"unrecognized argument: {word}")


def _format(options: ShowOptions, text: str) -> None:
    """`oneline`, or a format with placeholders; git's other formats with names are not known."""
    if text.startswith("format:"):
        options.format, options.ends_lines = text.removeprefix("format:"), False
    elif not text or text.startswith("tformat:") or "%" in text:
        options.format, options.ends_lines = text.removeprefix("tformat:"), True
    elif "oneline".startswith(text):
        options.format, options.ends_lines = None, True
    elif any(name.startswith(text) for name in _GIVEN_FORMATS):
        raise Fatal(f"pyreftable does not know this format of git: {text}")
    else:
        raise Fatal(f"invalid --pretty format: {text}")


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Fatal(f"'{text}': not an integer") from None


def _moment(text: str) -> int:
    from pyreftable.refs.approxidate import approxidate, present

    moment = approxidate(text)
    return present() if moment is None else moment
