"""Parsing a command line against an option `Table`, by the rules of git's parse-options."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from .exits import UsageExit
from .options import Option, OptionError
from .usage import usage_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .options import Table


def parse(table: Table, argv: Sequence[str], settings: object, program: str) -> list[str]:
    """Store the options of `argv` in `settings` and return the arguments.

    With subcommands in the table, the first argument returned is one of them (or something else,
    if they are optional), and what follows it is not parsed. Raises `UsageExit`.
    """
    return _Parser(table, argv, settings, program).run()


class _Match:
    """An option found for a word, and whether the word negates it."""

    __slots__ = ("option", "unset")

    def __init__(self, option: Option, unset: bool) -> None:
        self.option = option
        self.unset = unset

    @property
    def word(self) -> str:
        """The option as git names it in messages (`no-no-x` for the opposite of `no-x`)."""
        return f"--{'no-' if self.unset else ''}{self.option.long}"


class _Parser:
    def __init__(self, table: Table, argv: Sequence[str], settings: object, program: str) -> None:
        self.table = table
        self.words = list(argv)
        self.settings = settings
        self.program = program
        self.at = 0
        self.arguments: list[str] = []
        self.modes: dict[str, tuple[object, str]] = {}

    def run(self) -> list[str]:
        while self.at < len(self.words):
            word = self.words[self.at]
            if word == "--" or word == "--end-of-options":
                if not (self.table.keep_dashdash and word == "--"):
                    self.at += 1
                break
            if word[:1] != "-" or word == "-":
                if self._ends_options(word):
                    break
                self.arguments.append(word)
            elif word.startswith("--"):
                self._long(word)
            elif word == "-h" and len(self.words) == 1:
                self._help()
            else:
                self._bundle(word)
            self.at += 1
        self.arguments += self.words[self.at :]
        if self.table.subcommands and not self.arguments and not self.table.subcommand_optional:
            self._fail("need a subcommand", show_usage=True)
        return self.arguments

    def _ends_options(self, word: str) -> bool:
        if not self.table.subcommands:
            return self.table.stop_at_argument
        if word not in self.table.subcommands and not self.table.subcommand_optional:
            self._fail(f"unknown subcommand: `{word}'", show_usage=True)
        return True

    def _long(self, word: str) -> None:
        if word in ("--help", "--help-all"):
            self._help(at_length=True, hidden=word == "--help-all")
        text, equals, value = word[2:].partition("=")
        match = self._find_long(text, word[2:])
        if match is None:
            self._unknown(f"unknown option `{word[2:]}'")
        else:
            self._apply(match, value if equals else None, short=False)

    def _find_long(self, text: str, shown: str) -> _Match | None:
        """The option that `text` names: exactly, or else as the prefix of just one."""
        unset = text.startswith("no-")
        twice = text.startswith("no-no-")
        stem = text[6:] if twice else text[3:] if unset else text
        unset = unset and not twice
        near: list[_Match] = []
        for option in self.table.options:
            if not option.long:
                continue
            stored_unset = option.long.startswith("no-")
            if twice and not stored_unset:
                continue
            name = option.long[3:] if stored_unset else option.long
            negates = unset != stored_unset
            if negates and not option.negatable:
                continue
            if name == stem:
                return _Match(option, negates)
            if name.startswith(stem):
                near.append(_Match(option, negates))
            if option.negatable and "no-".startswith(text):
                near.append(_Match(option, not stored_unset))
        if len(near) > 1 and not self.table.keep_unknown:
            first, last = near[-2], near[-1]
            what = f"ambiguous option: {shown} (could be {first.word} or {last.word})"
            self._fail(what, show_usage=True)
        return near[0] if near and not self.table.keep_unknown else None

    def _bundle(self, word: str) -> None:
        rest = word[1:]
        while rest:
            letter, rest = rest[0], rest[1:]
            option = next((row for row in self.table.options if row.short == letter), None)
            if option is None:
                if len(rest) + 2 == len(word):
                    self._check_typo(word[1:])
                if letter == "h":
                    self._help()
                self._unknown(_unknown_switch(letter, word), kept=f"-{letter}{rest}")
                return
            if option.takes_value and not option.optional_value and rest:
                self._apply(_Match(option, False), rest, short=True)
                return
            if option.optional_value:
                self._apply(_Match(option, False), rest or None, short=True)
                return
            if rest and len(rest) + 2 == len(word):
                self._check_typo(word[1:])
            self._apply(_Match(option, False), None, short=True)

    def _check_typo(self, text: str) -> None:
        """A long option behind a single dash gets a hint instead of being taken apart."""
        if len(text) < 3:
            return
        if text.startswith("no-") or any(
            option.long.startswith(text) for option in self.table.options
        ):
            self._fail(f"did you mean `--{text}` (with two dashes)?")

    def _apply(self, match: _Match, value: str | None, *, short: bool) -> None:
        option = match.option
        name = option.display(short=short, unset=match.unset)
        if value is not None and (match.unset or not option.takes_value):
            self._fail(f"{name} takes no value")
        if option.takes_value and not match.unset and value is None:
            value = self._missing_value(option, name)
        try:
            option.apply(option, self.settings, value, match.unset)
        except OptionError as error:
            self._fail(str(error).replace(OptionError.NAME, name))
        if option.mode:
            self._check_mode(option, f"-{option.short}" if short else f"--{option.long}")

    def _missing_value(self, option: Option, name: str) -> str | None:
        is_last = self.at + 1 == len(self.words)
        if option.optional_value or (option.last_default and is_last):
            return None if option.default is None else str(option.default)
        if is_last:
            self._fail(f"{name} requires a value")
        self.at += 1
        return self.words[self.at]

    def _check_mode(self, option: Option, word: str) -> None:
        previous, earlier = self.modes.get(option.dest, (option.default, word))
        if previous != option.default:
            self._fail(f"options '{word}' and '{earlier}' cannot be used together")
        self.modes[option.dest] = (option.default, word)

    def _unknown(self, message: str, kept: str = "") -> None:
        if not self.table.keep_unknown:
            self._fail(message, show_usage=True)
        self.arguments.append(kept or self.words[self.at])

    def _help(self, *, at_length: bool = False, hidden: bool = False) -> NoReturn:
        """`-h` says what git says; where git opens its manual, examples follow."""
        text = usage_text(self.table, self.program, hidden=hidden)
        if at_length:
            from .examples import command_of, examples_text

            text += examples_text(command_of(self.table), self.program)
        raise UsageExit(usage=text, asked_for=True)

    def _fail(self, message: str, *, show_usage: bool = False) -> NoReturn:
        usage = usage_text(self.table, self.program) if show_usage else ""
        raise UsageExit(f"error: {message}", usage)


def _unknown_switch(letter: str, word: str) -> str:
    if letter.isascii():
        return f"unknown switch `{letter}'"
    return f"unknown non-ascii option in string: `{word}'"
