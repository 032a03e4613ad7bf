"""`rev-parse`, as far as refs go: what a revision or a ref's name stands for.

Options: --verify, --quiet, --short, --symbolic, --symbolic-full-name, --abbrev-ref, --default,
--show-ref-format, --show-object-format, --end-of-options. Ranges are not taken. Source:
`git-rev-parse`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyreftable.errors import FatalRevisionError, RefNameError, RevisionError
from pyreftable.refs.names import dwim_candidates, shorten
from pyreftable.refs.revision import resolve_object_name

from .context import encode
from .exits import UsageExit

if TYPE_CHECKING:
    from collections.abc import Callable

    from .context import Context

_USAGE = "usage: {program} rev-parse [<options>] [--] <args>...\n"
_OPTIONS = """
    --verify              exactly one revision, or an error
    -q, --quiet           no message if it is none
    --default <rev>       what to show if nothing is named
    --symbolic-full-name  show full ref names rather than ids
    --symbolic            show names as they were given
    --abbrev-ref[=(strict|loose)]
                          show names that are as short as can be
    --short[=<n>]         show ids with at least <n> digits
    --show-ref-format     show how the repository stores its refs
    --show-object-format  show the hash algorithm of its objects

"""
_MINIMUM_ABBREV = 4


def main(context: Context, argv: list[str]) -> int:
    """Run `rev-parse`; returns the exit status."""
    if argv in (["-h"], ["--help"], ["--help-all"]):
        usage = _USAGE.format(program=context.program)
        if argv != ["-h"]:
            from .examples import examples_text

            usage += _OPTIONS + examples_text("rev-parse", context.program)
        raise UsageExit(usage=usage, asked_for=True)
    return _RevParse(context).run(argv)


class _RevParse:
    """The options that have been met so far, which hold for the arguments after them.

    `abbrev` counts hex digits, `None` for all, -1 for as many as `core.abbrev` says.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.store = context.store
        self.verify = False
        self.quiet = False
        self.symbolic = ""
        self.abbrev_ref: bool | None = None
        self.abbrev: int | None = None
        self.default: str | None = None
        self.single: tuple[str, str] | None = None
        self.count = 0
        self.options_end = False

    def run(self, argv: list[str]) -> int:
        words = list(argv)
        while words:
            word = words.pop(0)
            if word.startswith("-") and not self.options_end and word != "-":
                if word == "--default":
                    self.default = self._default(words)
                elif word == "--":
                    self._show_files([word, *words], check=False)
                    break
                else:
                    self._option(word)
            elif not self._revision(word):
                if "--" in words:
                    self.context.die(f"bad revision '{word}'")
                self._show_files([word, *words], check=True)
                break
        return self._finish()

    def _default(self, words: list[str]) -> str:
        if not words:
            self.context.die("--default requires an argument")
        return words.pop(0)

    def _finish(self) -> int:
        if not self.verify:
            self._show_default()
        elif self.count == 1 and self.single is not None:
            self._show(*self.single)
        elif self.count or not self._show_default():
            self._no_single_revision()
        return 0

    def _option(self, word: str) -> None:
        name, _, value = word.partition("=")
        simple: dict[str, Callable[[], None]] = {
            "--verify": self._set_verify,
            "--quiet": self._set_quiet,
            "-q": self._set_quiet,
            "--show-ref-format": self._show_ref_format,
            "--end-of-options": self._end_options,
        }
        if word in simple:
            simple[word]()
        elif word in ("--symbolic", "--symbolic-full-name"):
            self.symbolic = word
        elif name == "--short":
            self._set_short(value)
        elif name == "--abbrev-ref":
            self._set_abbrev_ref(word, value)
        elif name == "--show-object-format":
            self._show_object_format(word, value)
        elif not self.verify:
            self.context.die(f"option '{word}' of rev-parse is not supported here")

    def _set_verify(self) -> None:
        self.verify = True

    def _set_quiet(self) -> None:
        self.quiet = True

    def _end_options(self) -> None:
        self.options_end = True
        if not self.verify:
            self._print("--end-of-options")

    def _show_ref_format(self) -> None:
        self._print(self.store.repository.ref_storage)

    def _show_object_format(self, word: str, value: str) -> None:
        if "=" in word and value not in ("storage", "input", "output"):
            self.context.die(f"unknown mode for --show-object-format: {value}")
        self._print(self.store.hash.name)

    def _set_short(self, value: str) -> None:
        self.verify = True
        if not value:
            self.abbrev = -1
            return
        digits = value[: len(value) - len(value.lstrip("0123456789"))]
        self.abbrev = max(int(digits or 0), _MINIMUM_ABBREV)

    def _set_abbrev_ref(self, word: str, value: str) -> None:
        if "=" not in word:
            warns = self.store.repository.config.get_bool("core.warnAmbiguousRefs")
            self.abbrev_ref = warns is not False
        elif value in ("strict", "loose"):
            self.abbrev_ref = value == "strict"
        else:
            self.context.die(f"unknown mode for --abbrev-ref: {value}")

    # Arguments

    def _revision(self, word: str) -> bool:
        """Show what `word` stands for, or keep it for the end; false if it is no revision."""
        name = word.removeprefix("^")
        mark = word[: len(word) - len(name)]
        oid = self._resolve(name)
        if oid is None:
            if self.verify:
                self._no_single_revision()
            return False
        self.default = None
        if self.verify:
            self.count += 1
            self.single = (oid, word)
        else:
            self._show(oid, mark + name)
        return True

    def _resolve(self, name: str) -> str | None:
        warn = None if self.quiet else self.context.warning
        try:
            return resolve_object_name(self.store, name, warn=warn)
        except FatalRevisionError:
            if self.quiet:
                self.context.exit(128)
            raise
        except RevisionError:
            return None

    def _no_single_revision(self) -> None:
        if self.quiet:
            self.context.exit(1)
        self.context.die("Needed a single revision")

    def _show_default(self) -> bool:
        name, self.default = self.default, None
        oid = None if name is None else self._resolve(name)
        if oid is None or name is None:
            return False
        self._show(oid, name)
        return True

    def _show_files(self, words: list[str], *, check: bool) -> None:
        self._show_default()
        for position, word in enumerate(words):
            if self.verify:
                self._no_single_revision()
            self._print(word)
            if check and not os.path.lexists(word):
                if position:
                    self.context.die(
                        f"{word}: no such path in the working tree.\nUse 'git <command> -- "
                        "<path>...' to specify paths that do not exist locally."
                    )
                self.context.die(
                    f"ambiguous argument '{word}': unknown revision or path not in the working "
                    "tree.\nUse '--' to separate paths from revisions, like this:\n"
                    "'git <command> [<revision>...] -- [<file>...]'"
                )

    # Output

    def _show(self, oid: str, word: str) -> None:
        name = word.removeprefix("^")
        mark = word[: len(word) - len(name)]
        if self.symbolic == "--symbolic-full-name" or self.abbrev_ref is not None:
            full = self._full_name(name)
            if full is not None:
                self._print(mark + full)
        elif self.symbolic:
            self._print(word)
        else:
            self._print(mark + self._abbreviated(oid))

    def _full_name(self, name: str) -> str | None:
        """The ref that `name` is short for, in full or in its shortest form."""
        found = self._refs_of(name)
        if len(found) > 1:
            self.context.error(f"refname '{name}' is ambiguous")
            return None
        if not found or self.abbrev_ref is None:
            return found[0] if found else None
        store = self.store
        return shorten(
            found[0], lambda other: store.read(other) is not None, strict=self.abbrev_ref
        )

    def _refs_of(self, name: str) -> list[str]:
        """What `name` may be short for, symrefs followed."""
        from pyreftable.refs.branch_names import expand_branch

        config = self.store.repository.config
        expanded = expand_branch(name, self.store, config)
        found = []
        for candidate in dwim_candidates(name if expanded is None else expanded):
            try:
                resolved = self.store.resolve(candidate)
            except RefNameError:
                continue
            if resolved.oid is not None:
                found.append(resolved.name)
                if config.get_bool("core.warnAmbiguousRefs") is False:
                    break
        return found

    def _abbreviated(self, oid: str) -> str:
        if self.abbrev is None:
            return oid
        from .refformat.lookup import Lookup

        length = None if self.abbrev < 0 else self.abbrev
        return Lookup(self.store).abbreviated(bytes.fromhex(oid), length).decode()

    def _print(self, text: str) -> None:
        self.context.stdout.write(encode(text) + b"\n")
