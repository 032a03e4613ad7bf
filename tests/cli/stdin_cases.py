"""Cases for `update-ref --stdin`: what is typed, given to git and to pyreftable.

Messages are those of git 2.55, and a case gives them where the git of the test environment has
others.
"""

from __future__ import annotations

import shlex
from typing import NamedTuple

import pytest

from tests.command_server import Outcome
from tests.twins import Objects, Twins, fill, git_is_followed

only_sha1 = pytest.mark.parametrize("twins", ["sha1"], indirect=True)

NO_DEREF = "option no-deref\n"


class Case(NamedTuple):
    """What is typed: the lines of standard input, and options after `update-ref --stdin`.

    `newer` is what 2.55 prints to stderr, where the git at hand may print something else.
    """

    stdin: str
    options: str = ""
    newer: str = ""


def check(twins: Twins, objects: Objects, case: Case) -> Outcome:
    """Run the session in both repositories and compare what it says, then what they hold."""
    args = ["update-ref", "--stdin", *shlex.split(fill(case.options, objects))]
    stdin = fill(case.stdin, objects).encode("utf-8", "surrogateescape")
    theirs, ours = twins.run(args, stdin)
    if not case.newer or git_is_followed():
        assert ours == theirs
    else:
        assert ours == theirs._replace(stderr=fill(case.newer, objects).encode())
    twins.check_same_state()
    return ours


def named(cases: list[Case]) -> list[object]:
    return [
        pytest.param(case, id=f"{case.options} {case.stdin!r}".strip().replace("\\", "/"))
        for case in cases
    ]
