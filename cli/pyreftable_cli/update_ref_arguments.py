r"""The arguments of one `update-ref --stdin` command, read left to right and to the letter.

    text:  update SP <ref> SP <new-oid> [SP <old-oid>] LF      arguments may be C-quoted
    -z:    update SP <ref> NUL <new-oid> NUL [<old-oid>] NUL

The command's line is taken as git takes it, as a C string in a buffer: what follows a NUL in a
text line is not seen, and past the end there is a NUL. Source: git-update-ref(1); which mistake
gives which message is git's behaviour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pyreftable.refs.names import check_refname

from .context import decode
from .exits import Fatal

if TYPE_CHECKING:
    from collections.abc import Callable

    from .context import Context

_SPACE = b" \t\n\r"
_DELIMITERS_TO_SPACE = bytes.maketrans(b"\0\t\n\r", b"    ")


class Arguments:
    """A command's line (with the lines that belong to it, for `-z`), read from `at` on.

    `object_id` turns an object name into a raw id, `None` if it names nothing. Every method
    raises `Fatal` for what git dies of.
    """

    # Where a line's C string ends with more than its NUL.
    _line_end = b""

    def __init__(
        self, context: Context, object_id: Callable[[str], bytes | None], line: bytes, at: int
    ) -> None:
        self.context = context
        self.object_id = object_id
        self.line = line
        self.at = at

    def refname(self, command: str) -> str:
        """The first argument, which must be a ref name."""
        name = self._checked_refname(self._argument())
        if name is None:
            raise Fatal(f"{command}: missing <ref>")
        return name

    def next_refname(self) -> str | None:
        """The next argument as a ref name; `None` if there is none, or an empty one."""
        return self._checked_refname(self._argument()) if self._advance() else None

    def next_text(self) -> str | None:
        """The next argument; `None` if there is none, or an empty one."""
        argument = self._argument() if self._advance() else b""
        return decode(argument.partition(b"\0")[0]) if argument else None

    def next_new_oid(self, command: str, *, empty_is_null: bool = False) -> bytes:
        """The next argument as the new id; `command` says what is missing it in messages."""
        oid = self._next_oid(command, "<new-oid>", empty_is_null=empty_is_null)
        if oid is None:
            raise Fatal(f"{command}: missing <new-oid>")
        return oid

    def next_old_oid(self, command: str) -> bytes | None:
        """The next argument as the old id; `None` if it is not given."""
        return self._next_oid(command, "<old-oid>")

    def expect_end(self, command: str) -> None:
        """Refuse what is left."""
        if not self._at_end():
            raise Fatal(f"{command}: extra input: {self.rest}")

    def are_just(self, word: bytes) -> bool:
        """Whether `word` is all that is left."""
        return self._rest() == word + self._line_end

    @property
    def rest(self) -> str:
        """What is left of the C string, line end included."""
        return decode(self._rest())

    def _rest(self) -> bytes:
        return self.line[self.at :].partition(b"\0")[0]

    def _byte(self) -> bytes:
        return self.line[self.at : self.at + 1] or b"\0"

    def _checked_refname(self, argument: bytes) -> str | None:
        if not argument:
            return None
        name = decode(argument.partition(b"\0")[0])
        if not check_refname(name, allow_onelevel=True):
            raise Fatal(f"invalid ref format: {name}")
        return name

    def _resolve(self, argument: bytes, command: str, what: str) -> bytes:
        name = decode(argument.partition(b"\0")[0])
        oid = self.object_id(name)
        if oid is None:
            raise Fatal(f"{command}: invalid {what}: {name}")
        return oid

    def _end_of_input(self, command: str, what: str) -> NoReturn:
        raise Fatal(f"{command}: unexpected end of input when reading {what}")

    def _at_end(self) -> bool:
        raise NotImplementedError

    def _advance(self) -> bool:
        """Skip the delimiter before the next argument; whether there is one."""
        raise NotImplementedError

    def _argument(self) -> bytes:
        """The argument that starts here; stops at its delimiter."""
        raise NotImplementedError

    def _next_oid(self, command: str, what: str, *, empty_is_null: bool = False) -> bytes | None:
        raise NotImplementedError


class TextArguments(Arguments):
    """Arguments separated by one blank each, ended by a line feed."""

    _line_end = b"\n"

    def _at_end(self) -> bool:
        return self._byte() == b"\n"

    def _advance(self, command: str = "") -> bool:
        byte = self._byte()
        if byte in b"\0\n":
            return False
        if byte != b" ":
            raise Fatal(f"{command}expected SP but got: {self.rest}")
        self.at += 1
        return True

    def _argument(self) -> bytes:
        if self._byte() == b'"':
            return self._quoted_argument()
        start = self.at
        end = self.line.translate(_DELIMITERS_TO_SPACE).find(b" ", start)
        self.at = len(self.line) if end < 0 else end
        return self.line[start : self.at]

    def _quoted_argument(self) -> bytes:
        from pyreftable.refs.quoting import unquote_c_style

        text = self._rest()
        try:
            value, rest = unquote_c_style(text)
        except ValueError:
            raise Fatal(f"badly quoted argument: {decode(text)}") from None
        if rest and rest[:1] not in _SPACE:
            raise Fatal(f"unexpected character after quoted argument: {decode(text)}")
        self.at += len(text) - len(rest)
        return value

    def _next_oid(self, command: str, what: str, *, empty_is_null: bool = False) -> bytes | None:
        if self.at == len(self.line):
            self._end_of_input(command, what)
        if not self._advance(f"{command}: "):
            return None
        argument = self._argument()
        # An empty value means "no ref", whether it is the old one or the new one.
        return self._resolve(argument, command, what) if argument else b""


class NulArguments(Arguments):
    """Arguments ended by a NUL each; an empty one stands for one that is not given."""

    def _at_end(self) -> bool:
        return self._byte() == b"\0"

    def _advance(self) -> bool:
        if self._byte() != b"\0":
            return False
        self.at += 1
        return True

    def _argument(self) -> bytes:
        argument = self._rest()
        self.at += len(argument)
        return argument

    def _next_oid(self, command: str, what: str, *, empty_is_null: bool = False) -> bytes | None:
        if self.at >= len(self.line) or self.at + 1 == len(self.line):
            self._end_of_input(command, what)
        self.at += 1
        argument = self._argument()
        if argument:
            return self._resolve(argument, command, what)
        if not empty_is_null:
            return None
        self.context.warning(f"{command}: missing {what}, treating as zero")
        return b""
