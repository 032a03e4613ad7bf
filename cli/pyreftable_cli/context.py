"""What a command gets to work with: streams, environment, the ref store, messages.

Streams are binary and opened on first use. Standard output is one buffered stream that the entry
point flushes at the end; messages go to stderr at once, so that they come first where both lead
to the same place, as with git.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from pyreftable.refs.text import as_bytes, as_text

from .exits import CommandExit, Fatal
from .streams import STDERR, STDOUT, is_terminal, open_input, open_output, write_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BufferedWriter
    from typing import BinaryIO

    from pyreftable.progress import Progress
    from pyreftable.refs.store import RefStore

    from .options import Table
    from .progress import Meter

_PRINTABLE = {code: "?" for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n"}


#: Arguments and messages are `str`; names in tables and output are bytes.
encode = as_bytes
decode = as_text


class Context:
    """One run of one command.

    `program` is the name to show in messages; `environ` a private copy of the environment with
    what the global options changed, `-c` included, to be handed on to other programs; `config`
    are settings (`key=value`) beyond those.
    """

    def __init__(self, program: str, environ: dict[str, str], config: Sequence[str] = ()) -> None:
        self.program = program
        self.command = ""
        self.environ = environ
        self.config = list(config)
        self._stdin: BinaryIO | None = None
        self._stdout: BufferedWriter | None = None
        self._store: RefStore | None = None
        self._meter: Meter | None = None

    @property
    def stdin(self) -> BinaryIO:
        """Standard input."""
        if self._stdin is None:
            self._stdin = open_input()
        return self._stdin

    @property
    def stdout(self) -> BufferedWriter:
        """Standard output, buffered; writing raises `OutputError`, which ends the program."""
        if self._stdout is None:
            self._stdout = open_output()
        return self._stdout

    @property
    def store(self) -> RefStore:
        """The ref store of the repository at hand; raises `RepositoryError` if there is none."""
        if self._store is None:
            from pyreftable.refs.store import RefStore

            self._store = RefStore.open(".", environ=self.environ, config=self.config)
        return self._store

    def parse_options(self, table: Table, argv: Sequence[str], settings: object) -> list[str]:
        """Store the command's options in `settings`; returns the arguments."""
        from .parsing import parse

        return parse(table, argv, settings, self.program)

    def usage_error(self, message: str, table: Table) -> NoReturn:
        """Print `error: ` and the message, then the usage text, and end with status 129."""
        from .exits import UsageExit
        from .usage import usage_text

        line = f"error: {message}" if message else ""
        raise UsageExit(line, usage_text(table, self.program))

    def die(self, message: str) -> NoReturn:
        """Print `fatal: ` and the message, and end with status 128."""
        raise Fatal(message)

    def exit(self, status: int) -> NoReturn:
        """End with `status`, without a message."""
        raise CommandExit(status)

    def error(self, message: str) -> int:
        """Print `error: ` and the message; returns 1, the status that usually follows."""
        self.message(f"error: {message}")
        return 1

    def warning(self, message: str) -> None:
        """Print `warning: ` and the message."""
        self.message(f"warning: {message}")

    def message(self, text: str) -> None:
        """Print a line to stderr at once; control characters become `?`, as in git's messages."""
        self.print_error(text.translate(_PRINTABLE) + "\n")

    def print_error(self, text: str) -> None:
        """Write `text` to stderr at once, as it is."""
        self._erase_meter()
        write_error(encode(text))

    def progress(self, *, listing: bool = False) -> Progress:
        """Who shows on stderr how far work has come, if that is a terminal.

        Not for a `listing` that goes to a terminal: that shows how far it is by itself.
        """
        from pyreftable.progress import SILENCE

        if not is_terminal(STDERR) or (listing and is_terminal(STDOUT)):
            return SILENCE
        if self.environ.get("TERM") == "dumb":
            return SILENCE
        from .progress import Meter, delay_of

        self._meter = Meter(delay_of(self.environ))
        return self._meter

    def _erase_meter(self) -> None:
        if self._meter is not None:
            self._meter.erase()

    def flush(self) -> None:
        """Write out what stdout still holds."""
        self._erase_meter()
        if self._stdout is not None:
            self._stdout.flush()

    def close(self) -> None:
        """Release the store."""
        self._erase_meter()
        if self._store is not None:
            self._store.close()
            self._store = None


def program_name() -> str:
    """The name the program was called by: `pyreftable`, unless a link gives it another."""
    name = os.path.basename(sys.argv[0]).removesuffix(".exe")
    return "pyreftable" if name in ("__main__.py", "-c", "") else name
