"""`show-ref`: list refs by the end of their name, or look at exact ones.

Source: `git-show-ref`. As in git, the listing leaves out dangling symrefs, and a ref whose object
is missing ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyreftable.errors import ObjectMissingError
from pyreftable.refs.config_values import env_bool
from pyreftable.refs.names import check_refname, refname_is_safe

from .context import decode, encode
from .options import Option, OptionError, Table, callback, counter, flag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .context import Context
    from .refformat.lookup import Lookup

_MINIMUM_ABBREV = 4
_SYMREF = 3

# git reads the lines of --exclude-existing into a buffer of 1,024 bytes; longer ones come in parts.
_LINE_LIMIT = 1023


class _Settings:
    def __init__(self) -> None:
        self.tags = False
        self.branches = False
        self.exists = False
        self.verify = False
        self.head = False
        self.dereference = False
        self.hash_only = False
        #: Hex digits; 0 for all, `None` for as many as `core.abbrev` says.
        self.abbrev: int | None = 0
        self.quiet = 0
        self.excludes_existing = False
        self.pattern = b""


class _Shown(NamedTuple):
    """A ref to show: its id (raw), and its peeled id where the table records it."""

    name: bytes
    oid: bytes
    peeled: bytes | None = None


def _read_abbrev(option: Option, text: str | None) -> int | None:
    if text is None:
        return None
    digits = text.strip(" \t\n\v\f\r") if text[-1:].isdigit() else text
    try:
        number = int(digits) if digits.isascii() and "_" not in digits else None
    except ValueError:
        number = None
    if number is None:
        raise OptionError(f"option `{option.long}' expects a numerical value")
    return max(number, _MINIMUM_ABBREV) if number else 0


def _set_abbrev(option: Option, settings: object, value: str | None, unset: bool) -> None:
    settings.abbrev = 0 if unset else _read_abbrev(option, value)  # type: ignore[attr-defined]


def _set_hash(option: Option, settings: object, value: str | None, unset: bool) -> None:
    settings.hash_only = True  # type: ignore[attr-defined]
    if value is not None:
        settings.abbrev = _read_abbrev(option, value)  # type: ignore[attr-defined]


def _set_head(option: Option, settings: object, value: str | None, unset: bool) -> None:
    settings.head = not unset  # type: ignore[attr-defined]


def _set_branches(option: Option, settings: object, value: str | None, unset: bool) -> None:
    settings.branches = not unset  # type: ignore[attr-defined]


def _set_pattern(option: Option, settings: object, value: str | None, unset: bool) -> None:
    settings.excludes_existing = True  # type: ignore[attr-defined]
    settings.pattern = encode(value or "")  # type: ignore[attr-defined]


_HEAD_HELP = "show the HEAD reference, even if it would be filtered out"

TABLE = Table(
    (
        "show-ref [--head] [-d | --dereference]\n"
        "             [-s | --hash[=<n>]] [--abbrev[=<n>]] [--branches] [--tags]\n"
        "             [--] [<pattern>...]",
        "show-ref --verify [-q | --quiet] [-d | --dereference]\n"
        "             [-s | --hash[=<n>]] [--abbrev[=<n>]]\n"
        "             [--] [<ref>...]",
        "show-ref --exclude-existing[=<pattern>]",
        "show-ref --exists <ref>",
    ),
    (
        flag("", "tags", "only show tags (can be combined with --branches)"),
        flag("", "branches", "only show branches (can be combined with --tags)"),
        callback("", "heads", "", "deprecated synonym for --branches", _set_branches, hidden=True),
        flag("", "exists", "check for reference existence without resolving"),
        flag("", "verify", "stricter reference checking, requires exact ref path"),
        callback("h", "", "", _HEAD_HELP, _set_head, hidden=True),
        flag("", "head", _HEAD_HELP),
        flag("d", "dereference", "dereference tags into object IDs"),
        callback(
            "s",
            "hash",
            "n",
            "only show SHA1 hash using <n> digits",
            _set_hash,
            optional_value=True,
        ),
        callback(
            "",
            "abbrev",
            "n",
            "use <n> digits to display object names",
            _set_abbrev,
            optional_value=True,
        ),
        counter("q", "quiet", "do not print results to stdout (useful with --verify)"),
        callback(
            "",
            "exclude-existing",
            "pattern",
            "show refs from stdin that aren't in local repository",
            _set_pattern,
            optional_value=True,
            negatable=False,
        ),
    ),
)


def main(context: Context, argv: list[str]) -> int:
    """Run `show-ref`; returns the exit status."""
    settings = _Settings()
    arguments = context.parse_options(TABLE, argv, settings)
    _refuse_two_modes(context, settings)
    if settings.excludes_existing:
        return _exclude_existing(context, settings.pattern)
    if settings.verify:
        return _verify(context, settings, arguments)
    if settings.exists:
        return _exists(context, arguments)
    return _list(context, settings, [encode(pattern) for pattern in arguments])


def _refuse_two_modes(context: Context, settings: _Settings) -> None:
    given = (
        ("--exclude-existing", settings.excludes_existing),
        ("--verify", settings.verify),
        ("--exists", settings.exists),
    )
    names = [f"'{name}'" for name, chosen in given if chosen]
    if len(names) > 1:
        listed = f"{', '.join(names[:-1])}{',' if len(names) > 2 else ''} and {names[-1]}"
        context.die(f"options {listed} cannot be used together")


# Listing


def _list(context: Context, settings: _Settings, patterns: list[bytes]) -> int:
    printer = _Printer(context, settings)
    found = 0
    if settings.head:
        head = context.store.read("HEAD")
        if head is not None:
            printer.show(_Shown(b"HEAD", bytes.fromhex(head)))
            found += 1
    for shown in _listed(context, settings):
        if not patterns or _matches(shown.name, patterns):
            printer.show(shown)
            found += 1
    return 0 if found else 1


def _listed(context: Context, settings: _Settings) -> Iterator[_Shown]:
    if not (settings.branches or settings.tags):
        yield from _existing(context, b"refs/")
    if settings.branches:
        yield from _existing(context, b"refs/heads/")
    if settings.tags:
        yield from _existing(context, b"refs/tags/")


def _matches(name: bytes, patterns: Iterable[bytes]) -> bool:
    """Whether a pattern is the name, or whole components at its end."""
    return any(name == pattern or name.endswith(b"/" + pattern) for pattern in patterns)


def _existing(context: Context, prefix: bytes) -> Iterator[_Shown]:
    """The refs below `prefix`, symrefs followed; dangling ones are left out.

    A ref with a bad name comes with the null id, as in git: to show it is an error. Only with
    GIT_REF_PARANOIA off are refs left out (with a message each) whose object is missing.
    """
    store = context.store
    size = store.hash.size
    paranoid = env_bool(context.environ, "GIT_REF_PARANOIA", True)
    for names, types, values in store.ref_runs(prefix):
        for name, kind, value in zip(names, types, values, strict=True):
            if kind == _SYMREF:
                target = store.read(decode(name))
                if target is None:
                    continue
                value = bytes.fromhex(target)
            if not _is_well_named(context, decode(name)):
                value = bytes(size)
            if paranoid or _is_there(context, name, value[:size]):
                yield _Shown(name, value[:size], value[size:] or None)


def _is_well_named(context: Context, name: str) -> bool:
    if check_refname(name, allow_onelevel=True):
        return True
    if not refname_is_safe(name):
        context.die(f"refname is dangerous: {name}")
    return False


def _is_there(context: Context, name: bytes, oid: bytes) -> bool:
    if not any(oid):
        return False
    if context.store.objects.info(oid.hex()) is None:
        context.error(f"{decode(name)} does not point to a valid object!")
        return False
    return True


class _Printer:
    def __init__(self, context: Context, settings: _Settings) -> None:
        self._context = context
        self._settings = settings
        self._objects = context.store.objects
        self._lookup: Lookup | None = None

    def show(self, shown: _Shown) -> None:
        """Print one ref, and below it what its tag points to if that is asked for."""
        settings = self._settings
        hexid = shown.oid.hex()
        if self._objects.info(hexid) is None:
            self._context.die(f"git show-ref: bad ref {decode(shown.name)} ({hexid})")
        if settings.quiet:
            return
        write = self._context.stdout.write
        tail = b"\n" if settings.hash_only else b" " + shown.name + b"\n"
        write(self._abbreviated(shown.oid) + tail)
        if settings.dereference:
            peeled = shown.peeled or self._peel(hexid)
            if peeled is not None:
                write(self._abbreviated(peeled) + b" " + shown.name + b"^{}\n")

    def _peel(self, hexid: str) -> bytes | None:
        try:
            peeled = self._objects.peel(hexid)
        except ObjectMissingError:
            return None
        return None if peeled is None else bytes.fromhex(peeled)

    def _abbreviated(self, oid: bytes) -> bytes:
        if self._settings.abbrev == 0:
            return oid.hex().encode()
        if self._lookup is None:
            from .refformat.lookup import Lookup

            self._lookup = Lookup(self._context.store)
        return self._lookup.abbreviated(oid, self._settings.abbrev)


# Other modes


def _verify(context: Context, settings: _Settings, names: list[str]) -> int:
    if not names:
        context.die("--verify requires a reference")
    printer = _Printer(context, settings)
    for name in names:
        is_candidate = name.startswith("refs/") or refname_is_safe(name)
        oid = context.store.read(name) if is_candidate else None
        if oid is None:
            if settings.quiet:
                return 1
            context.die(f"'{name}' - not a valid ref")
        printer.show(_Shown(encode(name), bytes.fromhex(oid)))
    return 0


def _exists(context: Context, names: list[str]) -> int:
    if not names:
        context.die("--exists requires a reference")
    if len(names) > 1:
        context.die("--exists requires exactly one reference")
    from .existence import report_existence

    return report_existence(context, names[0])


def _exclude_existing(context: Context, pattern: bytes) -> int:
    known = {shown.name for shown in _existing(context, b"refs/")}
    read, write = context.stdin.readline, context.stdout.write
    while line := read(_LINE_LIMIT):
        line = line.removesuffix(b"\n").removesuffix(b"^{}")
        name = (b" " + line).split()[-1] if line[-1:].strip() else b""
        if not name.startswith(pattern):
            continue
        if not check_refname(decode(name)):
            context.warning(f"ref '{decode(name)}' ignored")
        elif name not in known:
            write(line + b"\n")
    return 0
