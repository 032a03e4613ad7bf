"""`update-ref --stdin`: a session of commands that queue updates and steer transactions.

Without `start` all updates form one transaction, which is committed at the end of the input.
With it, several may follow each other, and one that is still open at the end is aborted. A
mistake anywhere ends the session, and what was not committed by then is not done.

Commands are carried out as they arrive: a driver that keeps the pipe open and waits for
`start: ok` gets it. Long runs of simple commands take the short way (see `update_ref_plain`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from pyreftable.errors import ConfigError, HookError, ReftableError, Rejection

from . import update_ref_commands as commands
from .context import decode, encode
from .exits import Fatal
from .update_ref_arguments import Arguments, NulArguments, TextArguments
from .update_ref_commands import Queue
from .update_ref_plain import PlainUpdates, scan

if TYPE_CHECKING:
    from typing import BinaryIO

    from pyreftable.refs.transaction import Transaction

    from .context import Context
    from .update_ref_names import ObjectNames

# The states of a session, in the order in which commands may advance it.
_OPEN, _STARTED, _PREPARED, _CLOSED = range(4)

_SPACE = b" \t\n\r"

# Big reads make the short way worth while; an interactive driver's reads are short anyway.
_READ_SIZE = 1 << 18


class Session:
    """The state of one `update-ref --stdin`."""

    def __init__(
        self,
        context: Context,
        names: ObjectNames,
        *,
        message: str,
        batch: bool,
        deref: bool,
        create_reflog: bool,
        nul_terminated: bool,
    ) -> None:
        self.context = context
        self._names = names
        self._nul_terminated = nul_terminated
        self._message = message
        self._batch = batch
        self._state = _OPEN
        transaction = self._new_transaction()
        self._queue = Queue(context, transaction, deref=deref, create_reflog=create_reflog)

    def _new_transaction(self) -> Transaction:
        return self.context.store.transaction(self._message, batch=self._batch)

    @property
    def _transaction(self) -> Transaction:
        return self._queue.transaction

    def run(self, stream: BinaryIO) -> int:
        """Carry out what `stream` says, to its end; the exit status.

        Raises `Fatal`, and what a transaction raises.
        """
        try:
            if self._nul_terminated:
                self._run_pieces(split_pieces(stream))
            else:
                for block in read_blocks(stream, b"\n"):
                    self._run_block(block)
            self._end()
        finally:
            # Git, too, dies without telling the hook; after a commit there is nothing to release.
            self._transaction.release()
        return 0

    def _end(self) -> None:
        if self._state == _OPEN:
            self._transaction.commit()
            self._print_rejected()
        elif self._state != _CLOSED:
            self._transaction.abort()

    # Input

    def _run_block(self, block: bytes) -> None:
        """Carry out whole lines of text; only the input's last one may lack its line feed."""
        *lines, rest = decode(block).split("\n")
        at = 0
        while at < len(lines):
            plain = self._scan(lines, at)
            end = plain.end
            if end == at or not self._queue_all(plain):
                # Where one of many is refused they all go the long way to the right message;
                # trying again without it would read the others over and over.
                end = max(end, at + 1)
                for line in lines[at:end]:
                    self._run_line(encode(line) + b"\n", TextArguments)
            at = end
        if rest:
            self._run_line(encode(rest), TextArguments)

    def _scan(self, lines: list[str], start: int) -> PlainUpdates:
        """The plain lines from `start` on; none where lines have more to them than they say."""
        if self._state > _STARTED or not self._queue.is_plain:
            return PlainUpdates(start)
        return scan(lines, start, self._names)

    def _queue_all(self, plain: PlainUpdates) -> bool:
        """Queue many updates at once; false, and none queued, where one would be refused."""
        queue = self._queue
        return queue.transaction.queue_many(
            plain.names, plain.new_oids, plain.old_oids, deref=queue.deref
        )

    def _run_pieces(self, pieces: Iterator[bytes]) -> None:
        """Carry out commands given as NUL-terminated pieces."""
        for piece in pieces:
            command, _ = _find_command(piece, b"\0")
            rest = islice(pieces, max(command.pieces - 1, 0))
            self._run_line(b"".join([piece, *rest]), NulArguments)

    def _run_line(self, line: bytes, form: type[Arguments]) -> None:
        command, at = _find_command(line, b"\0" if self._nul_terminated else b"\n")
        self._advance(command.state)
        command.run(self, form(self.context, self._names.object_id, line, at))

    def _advance(self, state: int) -> None:
        """Go to the state that a command asks for, if the session may still go there."""
        if self._state == _STARTED and state == _STARTED:
            raise Fatal("cannot restart ongoing transaction")
        if self._state == _PREPARED and state != _CLOSED:
            raise Fatal("prepared transactions can only be closed")
        if self._state == _CLOSED:
            if state != _STARTED:
                raise Fatal("transaction is closed")
            self._queue.transaction = self._new_transaction()
            self._state = state
        self._state = max(self._state, state)

    # Commands

    def queue_with(self, act: Callable[[Queue, Arguments], None], arguments: Arguments) -> None:
        """Let `act` queue an update; an option before it has then done its duty."""
        act(self._queue, arguments)
        self._queue.deref = self._queue.default_deref

    def option(self, arguments: Arguments) -> None:
        """`option SP no-deref`: for the next update only."""
        if not arguments.are_just(b"no-deref"):
            raise Fatal(f"option unknown: {arguments.rest}")
        self._queue.deref = False

    def start(self, _: Arguments) -> None:
        """`start`: from here on commits are asked for."""
        self._report_ok("start")

    def prepare(self, _: Arguments) -> None:
        """`prepare`: lock and check, so that `commit` can hardly fail."""
        _carry_out("prepare", self._transaction.prepare)
        self._report_ok("prepare")

    def commit(self, _: Arguments) -> None:
        """`commit`: make the updates queued so far."""
        _carry_out("commit", self._transaction.commit)
        self._print_rejected()
        self._report_ok("commit")

    def abort(self, _: Arguments) -> None:
        """`abort`: forget them."""
        self._transaction.abort()
        self._report_ok("abort")

    def _report_ok(self, command: str) -> None:
        self.context.stdout.write(f"{command}: ok\n".encode())
        self.context.flush()

    def _print_rejected(self) -> None:
        null = self.context.store.hash.null
        for update in self._transaction.rejected:
            # A target shows as the null id it stands beside, in git as here.
            new = (update.new_oid or null) if update.has_new else None
            has_old = update.old_oid is not None or update.old_target is not None
            old = (update.old_oid or null) if has_old else None
            reason = update.rejection or Rejection.GENERIC
            self._queue.print_rejection(update.refname, new, old, reason, update.rejection_details)


class _Command:
    """`pieces` is how many NUL-terminated pieces the command has with `-z`; 0: no arguments.

    `state` is the least state that the session is in afterwards.
    """

    __slots__ = ("pieces", "run", "state")

    def __init__(self, pieces: int, state: int, run: Callable[[Session, Arguments], None]) -> None:
        self.pieces = pieces
        self.state = state
        self.run = run


def _queuing(pieces: int, act: Callable[[Queue, Arguments], None]) -> _Command:
    return _Command(pieces, _OPEN, lambda session, arguments: session.queue_with(act, arguments))


# By the word and what must follow it: a blank before arguments, the line's end without any.
_COMMANDS = {
    b"update ": _queuing(3, commands.queue_update),
    b"create ": _queuing(2, commands.queue_create),
    b"delete ": _queuing(2, commands.queue_delete),
    b"verify ": _queuing(2, commands.queue_verify),
    b"symref-update ": _queuing(4, commands.queue_symref_update),
    b"symref-create ": _queuing(2, commands.queue_symref_create),
    b"symref-delete ": _queuing(2, commands.queue_symref_delete),
    b"symref-verify ": _queuing(2, commands.queue_symref_verify),
    b"option ": _Command(1, _OPEN, Session.option),
    b"start\n": _Command(0, _STARTED, Session.start),
    b"prepare\n": _Command(0, _PREPARED, Session.prepare),
    b"abort\n": _Command(0, _CLOSED, Session.abort),
    b"commit\n": _Command(0, _CLOSED, Session.commit),
}


def _find_command(line: bytes, terminator: bytes) -> tuple[_Command, int]:
    """The command that `line` begins with, and where its arguments begin. Raises `Fatal`."""
    if line.startswith(terminator):
        raise Fatal("empty command in input")
    text = line.partition(b"\0")[0]
    if line[:1] in _SPACE:
        raise Fatal(f"whitespace before command: {decode(text)}")
    word, blank, _ = text.partition(b" ")
    key = word + blank if blank or terminator == b"\n" else word + b"\n"
    command = _COMMANDS.get(key)
    if command is None:
        raise Fatal(f"unknown command: {decode(text)}")
    return command, len(key)


def _carry_out(command: str, act: Callable[[], None]) -> None:
    """Put the command's name before an error's message; not where git ends on the spot."""
    try:
        act()
    except (ConfigError, HookError):
        raise
    except ReftableError as error:
        raise Fatal(f"{command}: {error}") from error


def read_blocks(stream: BinaryIO, terminator: bytes) -> Iterator[bytes]:
    """The input as it arrives, cut after terminators; the last block may lack its own."""
    pending: list[bytes] = []
    descriptor = stream.fileno()
    # A plain read gives what is there; a buffered one would wait for more.
    while chunk := os.read(descriptor, _READ_SIZE):
        complete, cut, rest = chunk.rpartition(terminator)
        if cut:
            yield b"".join([*pending, complete, cut])
            pending = [rest] if rest else []
        else:
            pending.append(chunk)
    if pending:
        yield b"".join(pending)


def split_pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The input's pieces, each with the NUL that ends it; the last one may lack it."""
    for block in read_blocks(stream, b"\0"):
        *pieces, rest = block.split(b"\0")
        for piece in pieces:
            yield piece + b"\0"
        if rest:
            yield rest
