"""The ways in which a command ends early, as exceptions that only the entry point catches."""

from __future__ import annotations

FATAL_STATUS = 128
USAGE_STATUS = 129

#: What commands end with whose git counterpart returns -1 from its main function.
FAILURE_STATUS = 255


class CommandExit(Exception):
    """End with this exit status; everything there was to say has been said."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Fatal(Exception):
    """Print `fatal: ` and the message, and end with status 128."""


class UsageExit(Exception):
    """End because of the command line: a line of message and the usage text, each if not empty.

    Both go to stderr, as they are, with status 129; asked-for help goes to stdout, with status 0.
    """

    def __init__(self, message: str = "", usage: str = "", *, asked_for: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.usage = usage
        self.asked_for = asked_for
