"""Runs pyreftable command lines in forked children of one process that has it imported.

Tests that run hundreds of commands would otherwise spend their time on starting Python. A child
is the real command line: arguments, environment, folder, descriptors, exit status. Requests come
and answers go as pickles, over standard input and output; `CommandServer` is the other end. It is
a process of its own because forking is only safe where there is one thread.
"""

from __future__ import annotations

import importlib
import os
import pickle
import pkgutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple, NoReturn, cast

import pyreftable
import pyreftable_cli


class Outcome(NamedTuple):
    """What a command did, as its caller sees it."""

    status: int
    stdout: bytes
    stderr: bytes


class Request(NamedTuple):
    """A command line without the program's name, and what it is run with."""

    args: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    input: bytes


class CommandServer:
    """The server process, as its user sees it; `close` ends it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.command_server"],
            cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, args: Sequence[str], cwd: str, env: Mapping[str, str], input: bytes) -> Outcome:
        """Run one command line."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the server has no pipes")
        pickle.dump(Request(tuple(args), cwd, dict(env), input), stdin)
        stdin.flush()
        return cast(Outcome, pickle.load(stdout))

    def close(self) -> None:
        """End the server, by the end of its input."""
        self._process.communicate()


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until they end."""
    _import_all()
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(_carry_out(request), answers)
        answers.flush()


def _import_all() -> None:
    """Import before the forks what commands import late, so that only this process pays."""
    for package in (pyreftable, pyreftable_cli):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def _carry_out(request: Request) -> Outcome:
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        stdin.write(request.input)
        stdin.seek(0)
        child = os.fork()
        if child == 0:
            _be_the_command(request, (stdin, stdout, stderr))
        _, status = os.waitpid(child, 0)
        stdout.seek(0)
        stderr.seek(0)
        return Outcome(os.waitstatus_to_exitcode(status), stdout.read(), stderr.read())


def _be_the_command(request: Request, streams: Sequence[IO[bytes]]) -> NoReturn:
    status = 70
    try:
        from pyreftable_cli import main

        for number, stream in enumerate(streams):
            os.dup2(stream.fileno(), number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        os.chdir(request.cwd)
        os.environ.clear()
        os.environ.update(request.env)
        sys.argv = ["git", *request.args]
        status = main.main(list(request.args))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    # By its proper name, which is the one that the pickled classes go by.
    from tests import command_server

    command_server.serve(sys.stdin.buffer, sys.stdout.buffer)
