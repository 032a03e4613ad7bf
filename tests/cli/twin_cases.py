"""Cases for commands that have a twin in git: one command line, given to both.

The repositories are those of `tests.twins.SETUP`, with a few commits' worth of objects. Messages
that git 2.50.1 words otherwise than 2.55 are given in the case, as 2.55 has them.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

from tests.command_server import Outcome
from tests.support import git_env
from tests.twins import Objects, Twins, fill, git_is_followed, make_furnished, run_ours


class Case(NamedTuple):
    """A command line as a shell would split it; `{c0}` and so on stand for ids.

    `newer` is the stderr of git 2.55, where that of 2.50.1 differs.
    """

    command: str
    newer: str | None = None
    input: bytes = b""


def make_twins(home: Path, templates: Path, object_format: str) -> tuple[Twins, Objects]:
    """Two equal repositories, and the objects in them."""
    template, objects = make_furnished(templates, object_format)
    return Twins(home, template), objects


def check(twins: Twins, objects: Objects, case: Case) -> Outcome:
    """Give the command to both; compare all that they say, and what they hold afterwards."""
    theirs, ours = twins.run(shlex.split(fill(case.command, objects)), case.input)
    if case.newer is not None and not git_is_followed():
        theirs = theirs._replace(stderr=fill(case.newer, objects).encode())
    assert ours == theirs
    twins.check_same_state()
    return ours


def ours(repo: Path, command: str, **env: str) -> Outcome:
    """Give a command to pyreftable alone."""
    return run_ours(shlex.split(command), repo, env=git_env(repo) | env)
