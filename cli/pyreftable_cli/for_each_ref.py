"""`for-each-ref`: list refs that match patterns, in a given order and format.

`list_refs` serves other commands that take the same options under another name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.refs.text import as_bytes

from . import options
from .options import Group, Option, OptionError, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .context import Context
    from .refformat.batch import RefBatch
    from .refformat.formatter import Formatter
    from .refformat.json_lines import JsonFormatter
    from .refformat.quoting import Quote
    from .refformat.reachability import HistoryFilter
    from .refformat.sorting import SortKey

    AnyFormatter = Formatter | JsonFormatter

DEFAULT_FORMAT = "%(objectname) %(objecttype)\t%(refname)"

# The indent is git's own, shared with other commands that take these options.
USAGE = """\
{command} [--count=<count>] [--shell|--perl|--python|--tcl]
                         [(--sort=<key>)...] [--format=<format>]
                         [--include-root-refs] [--points-at=<object>]
                         [--merged[=<object>]] [--no-merged[=<object>]]
                         [--contains[=<object>]] [--no-contains[=<object>]]
                         [(--exclude=<pattern>)...] [--start-after=<marker>]
                         [ --stdin | (<pattern>...)]"""

_QUOTE_STYLES = {1: "shell", 2: "perl", 4: "python", 8: "tcl"}


class Settings:
    """The values of the options."""

    def __init__(self) -> None:
        self.quote_style = 0
        self.omit_empty = False
        self.count = 0
        self.format: str | None = None
        self.start_after: str | None = None
        self.exclude: list[str] = []
        self.sort: list[str] = ["refname"]
        self.points_at: list[str] = []
        self.history: list[tuple[str, str]] = []
        self.color: str | None = None
        self.json = False
        self.ignore_case = False
        self.stdin = False
        self.include_root_refs = False


def main(context: Context, argv: list[str]) -> int:
    """Run the command."""
    return list_refs(context, argv, "for-each-ref")


def list_refs(context: Context, argv: list[str], command: str) -> int:
    """List refs as for-each-ref does; `command` names the command in the usage text."""
    table = Table([USAGE.format(command=command)], _OPTIONS)
    settings = Settings()
    if argv not in (["-h"], ["--help"], ["--help-all"]):
        # Outside a repository nothing but help is to be had; that comes before bad options.
        _ = context.store
    arguments = context.parse_options(table, argv, settings)
    if settings.count < 0:
        context.usage_error(f"invalid --count argument: `{settings.count}'", table)
    if settings.quote_style & (settings.quote_style - 1):
        context.usage_error("more than one quoting style?", table)
    return _Command(context, settings, table).run(arguments)


class _Command:
    def __init__(self, context: Context, settings: Settings, table: Table) -> None:
        from .refformat.lookup import Lookup

        self.context = context
        self.settings = settings
        self.table = table
        self.progress = context.progress(listing=True)
        self.lookup = Lookup(
            context.store,
            complain=context.error,
            warn=context.warning,
            color=settings.color,
        )

    def run(self, arguments: list[str]) -> int:
        context, settings = self.context, self.settings
        wanted_ids = self._points_at()
        limits = self._history_filter()
        make_formatter = self._parse_format()
        if settings.start_after is not None and len(settings.sort) > 1:
            context.die("cannot use --start-after with custom sort options")
        keys = self._sort_keys()
        patterns = self._patterns(arguments)
        batches = self._batches(patterns, wanted_ids)
        if limits is not None:
            batches = limits.select(batches)
        if self.lookup.choosers:
            batches = self._chosen_among(batches)
        formatter = make_formatter(bool(keys))
        for batch in self._first(self._sorted(batches, keys)):
            for text in formatter.render(batch):
                context.stdout.write(text)
        return 0

    def _points_at(self) -> frozenset[bytes]:
        names = self.settings.points_at
        if not names:
            return frozenset()
        from pyreftable.errors import FatalRevisionError, RevisionError
        from pyreftable.refs.revision import resolve_object_name

        context, ids = self.context, []
        for name in names:
            try:
                oid = resolve_object_name(context.store, name, warn=context.warning)
                ids.append(bytes.fromhex(oid))
            except FatalRevisionError:
                raise
            except RevisionError:
                context.error(f"malformed object name '{name}'")
                context.exit(129)
        return frozenset(ids)

    def _history_filter(self) -> HistoryFilter | None:
        if not self.settings.history:
            return None
        from .refformat.reachability import HistoryFilter

        return HistoryFilter(self.settings.history, self.lookup)

    def _chosen_among(self, batches: Iterator[RefBatch]) -> Iterator[RefBatch]:
        """All refs in one batch, shown to the fields that must see them first."""
        from .refformat.batch import join

        batch = join(batches)
        for choose in self.lookup.choosers:
            choose(batch)
        yield batch

    def _parse_format(self) -> Callable[[bool], AnyFormatter]:
        """What makes the formatter, given whether it shows all refs of a batch or none."""
        from .refformat.parser import BadFormat

        try:
            return self._json_formatter() if self.settings.json else self._text_formatter()
        except BadFormat as error:
            self.context.usage_error(str(error), self.table)

    def _text_formatter(self) -> Callable[[bool], AnyFormatter]:
        from .refformat.formatter import Formatter
        from .refformat.parser import parse_format

        text = DEFAULT_FORMAT if self.settings.format is None else self.settings.format
        parts, lookup = parse_format(as_bytes(text), self.lookup, self._quote()), self.lookup
        omit_empty = self.settings.omit_empty
        return lambda all_or_nothing: Formatter(
            parts, lookup, omit_empty=omit_empty, all_or_nothing=all_or_nothing
        )

    def _json_formatter(self) -> Callable[[bool], AnyFormatter]:
        from .refformat.json_lines import JsonFormatter

        text = self.settings.format
        formatter = JsonFormatter(None if text is None else as_bytes(text), self.lookup)
        return lambda _: formatter

    def _quote(self) -> Quote | None:
        if not self.settings.quote_style:
            return None
        from .refformat import quoting

        quote: Quote = getattr(quoting, _QUOTE_STYLES[self.settings.quote_style])
        return quote

    def _sort_keys(self) -> list[SortKey]:
        """The sort keys, most important first; none where refs come in that order anyway."""
        if self.settings.sort == ["refname"] and not self.settings.ignore_case:
            return []
        from .refformat.sorting import SortKey

        keys = [SortKey(text, self.lookup) for text in self.settings.sort]
        if len(keys) == 1 and keys[0].is_store_order and not self.settings.ignore_case:
            return []
        return keys[::-1]

    def _patterns(self, arguments: list[str]) -> list[bytes]:
        patterns = [as_bytes(argument) for argument in arguments]
        if self.settings.stdin:
            if patterns:
                self.context.die("unknown arguments supplied with --stdin")
            lines = self.context.stdin.read().split(b"\n")
            if not lines[-1]:
                del lines[-1]
            patterns = [line.removesuffix(b"\r").partition(b"\0")[0] for line in lines]
        if patterns and self.settings.start_after is not None:
            self.context.die("cannot use --start-after with patterns")
        return patterns

    def _batches(self, patterns: list[bytes], wanted: frozenset[bytes]) -> Iterator[RefBatch]:
        from .refformat.listing import Listing
        from .refformat.patterns import RefPatterns

        settings = self.settings
        excluded = [as_bytes(pattern) for pattern in settings.exclude]
        after = settings.start_after
        listing = Listing(
            self.context.store,
            RefPatterns(patterns, excluded, ignore_case=settings.ignore_case),
            root_refs=settings.include_root_refs,
            after=None if after is None else as_bytes(after),
            warn=self.context.warning,
            progress=self.progress,
        )
        if not settings.points_at:
            return listing.batches()
        from .refformat.points_at import PointsAt

        return PointsAt(wanted, self.lookup).select(listing.batches())

    def _sorted(self, batches: Iterator[RefBatch], keys: list[SortKey]) -> Iterator[RefBatch]:
        if not keys:
            yield from batches
            return
        from .refformat.batch import join
        from .refformat.sorting import sort_refs

        batch = sort_refs(
            join(batches), keys, ignore_case=self.settings.ignore_case, progress=self.progress
        )
        # Unsorted refs are counted as they come and go; these have all come by now.
        self.lookup.progress = self.progress
        self.progress.start("Formatting refs", self.settings.count or len(batch))
        yield batch

    def _first(self, batches: Iterator[RefBatch]) -> Iterator[RefBatch]:
        """The refs up to `--count`; nothing is read beyond them."""
        left = self.settings.count
        for batch in batches:
            if not left:
                yield batch
                continue
            yield batch.part(0, left)
            left -= len(batch)
            if left <= 0:
                return


def _history(name: str, value_name: str, help: str) -> Option:
    return options.callback(
        "",
        name,
        value_name,
        help,
        _note_history,
        default="HEAD",
        last_default=True,
        negatable=False,
    )


def _note_history(option: Option, settings: object, value: str | None, unset: bool) -> None:
    if isinstance(settings, Settings):
        settings.history.append((option.long, value or ""))


def _set_color(option: Option, settings: object, value: str | None, unset: bool) -> None:
    when = "never" if unset else (value or "").lower()
    if when not in ("always", "auto", "never"):
        raise OptionError(f'option `{option.long}\' expects "always", "auto", or "never"')
    setattr(settings, option.dest, when)


_OPTIONS: list[Option | Group] = [
    options.bit("s", "shell", "quote_style", 1, "quote placeholders suitably for shells"),
    options.bit("p", "perl", "quote_style", 2, "quote placeholders suitably for perl"),
    options.bit("", "python", "quote_style", 4, "quote placeholders suitably for python"),
    options.bit("", "tcl", "quote_style", 8, "quote placeholders suitably for Tcl"),
    options.flag("", "omit-empty", "do not output a newline after empty formatted refs"),
    Group(),
    options.integer("", "count", "n", "show only <n> matched refs"),
    options.string("", "format", "format", "format to use for the output"),
    options.string("", "start-after", "marker", "start iteration after the provided marker"),
    options.callback(
        "",
        "color",
        "when",
        "respect format colors",
        _set_color,
        optional_value=True,
        default="always",
    ),
    options.strings("", "exclude", "pattern", "exclude refs which match pattern"),
    options.strings("", "sort", "key", "field name to sort on"),
    options.strings("", "points-at", "object", "print only refs which points at the given object"),
    _history("merged", "commit", "print only refs that are merged"),
    _history("no-merged", "commit", "print only refs that are not merged"),
    _history("contains", "commit", "print only refs which contain the commit"),
    _history("no-contains", "commit", "print only refs which don't contain the commit"),
    options.flag("", "ignore-case", "sorting and filtering are case insensitive"),
    options.flag("", "stdin", "read reference patterns from stdin"),
    options.flag("", "json", "print the fields of the format as JSON, one object a line"),
    options.flag("", "include-root-refs", "also include HEAD ref and pseudorefs"),
]
