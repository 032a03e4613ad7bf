"""The programs under test, and one measured run of one of them."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

#: What one measurement gave, by name: `wall` and `cpu` in seconds, `memory` in MiB, and so on.
Figures = dict[str, float]

# The peak that the system reports for a child begins with that of its parent, and the runner is
# big: so a small process stands between. Its own size, about 10 MiB, is the least ever seen.
_LAUNCHER = """
import os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
os.write(2, b"%d" % usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Program(NamedTuple):
    """A program under test: what the tables call it, and how its command line begins."""

    label: str
    command: tuple[str, ...]


def pyreftable() -> Program:
    """The installed command if there is one beside this Python: what users start."""
    name = "pyreftable.exe" if os.name == "nt" else "pyreftable"
    script = Path(sys.executable).parent / name
    command = (str(script),) if script.exists() else (sys.executable, "-m", "pyreftable_cli")
    return Program("pyreftable", command)


def git(path: str) -> Program:
    """The git at `path`, labelled with its version. Raises `OSError`, `CalledProcessError`."""
    answer = subprocess.run([path, "--version"], capture_output=True, check=True, text=True)
    # A git built from its sources adds the commit to the version.
    version = re.search(r"\d+(\.\d+){0,2}", answer.stdout)
    return Program(f"git {version[0] if version else path}", (path,))


def environment() -> dict[str, str]:
    """The process environment, less anybody's git configuration, templates and identity."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return env | {
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TEMPLATE_DIR": "",
        "GIT_COMMITTER_NAME": "C",
        "GIT_COMMITTER_EMAIL": "c@example.com",
    }


def run(
    command: Sequence[str], folder: Path, data: Path | None = None, exits: Sequence[int] = (0,)
) -> Figures:
    """Time one process that reads the file `data` and whose output nobody reads.

    Raises `RuntimeError` if it ends otherwise than with one of the exit codes `exits`.
    """
    with open(data or os.devnull, "rb") as stdin, tempfile.TemporaryFile() as stderr:
        env = environment()
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr
        )
        usage = _wait(process)
        wall = time.perf_counter() - start
        if process.returncode not in exits:
            stderr.seek(0)
            what = stderr.read().decode(errors="replace")
            raise RuntimeError(f"{' '.join(command)} exited {process.returncode}: {what}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime}


def _wait(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def output(command: Sequence[str], folder: Path) -> bytes:
    """What a process prints, not measured. Raises `CalledProcessError`."""
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=True)
    return done.stdout


def peak_memory(command: Sequence[str], folder: Path) -> Figures:
    """The `memory`, in MiB, that one process needed at its peak. Raises `CalledProcessError`."""
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command]
    done = subprocess.run(
        launcher,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=True,
    )
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return {"memory": int(done.stderr.split()[-1]) / unit}


def inside(work: Callable[[], object], operations: int = 1) -> Figures:
    """Time a call in this process, and the processes it runs, for each of its `operations`."""
    start, cpu = time.perf_counter(), _processor_time()
    work()
    wall, cpu = time.perf_counter() - start, _processor_time() - cpu
    return {"wall": wall / operations, "cpu": cpu / operations}


def _processor_time() -> float:
    """Seconds that this process, and those it started and waited for, have computed."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
