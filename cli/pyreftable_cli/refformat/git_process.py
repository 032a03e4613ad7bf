"""Running git for the fields whose value only git can tell.

The git on the PATH; `GIT_PYTHON_GIT_EXECUTABLE` names another one, as for GitPython.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exits import Fatal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyreftable.refs.repository import Repository


def run_git(repository: Repository, words: Sequence[str], data: bytes = b"") -> bytes:
    """What `git <words>` prints when it reads `data`; its messages are dropped.

    Raises `Fatal` if there is no git to run.
    """
    import subprocess

    git = repository.environ.get("GIT_PYTHON_GIT_EXECUTABLE") or "git"
    command = [git, f"--git-dir={repository.git_dir}", *words]
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, env=dict(repository.environ), check=False
        )
    except OSError as error:
        what = f"this field needs git, and '{git}' cannot be run: {error.strerror}"
        raise Fatal(what) from error
    return done.stdout
