"""Creating refs where many have been deleted: both cases of git's t/perf p1401.

recreate   refs of the same names are created again after a mass deletion
create     refs of other names are created after it

Deleted refs stay in the stack as deletion records (tombstones). A reader that skips those before
it checks its own bounds looks, for each new name, through all tombstones that follow: quadratic.
git did so until 2.55, and pyreftable does with `pyreftable.suppressDeletions`, which is measured
too, at a smaller size.

Each contender works in repositories of its own, made by itself: for each case one is prepared
(created and deleted), and each round works on a fresh copy. Rounds are interleaved. Timed is the
whole process `update-ref --stdin` that creates the refs; with `--whole` also, as git's script
does, the `for-each-ref` and the `update-ref --stdin` that delete them again.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

CASES = ("recreate", "create")

_SUPPRESS = ("-c", "pyreftable.suppressDeletions=true")
_LIST_DELETIONS = ("for-each-ref", "--format=delete %(refname)", "refs/tags/")


class Contender(NamedTuple):
    """A program under test: what the table calls it, its command line, the sizes it is run at."""

    label: str
    command: tuple[str, ...]
    sizes: tuple[int, ...]


class Job(NamedTuple):
    """A contender on a case at a size, with its prepared repository and its input."""

    contender: Contender
    case: str
    size: int
    repo: Path
    input: bytes


Times = dict[tuple[str, str, int], list[float]]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print Markdown tables."""
    options = _parse(argv)
    clock = _processor_time if options.cpu else time.perf_counter
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        jobs = list(_prepare(folder, _contenders(options)))
        times: Times = {}
        for _ in range(options.rounds):
            for job in jobs:
                seconds = _measure(job, folder / "round", clock, whole=options.whole)
                times.setdefault((job.contender.label, job.case, job.size), []).append(seconds)
    print(_table(times, options))


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m perf.p1401",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--size", type=int, nargs="+", default=[8000], help="refs created (default: 8000)")
    add("--git", action="append", default=[], metavar="PATH", help="a git to compare with")
    add("--rounds", type=int, default=5, help="measurements of each (default: 5)")
    add("--double", action="store_true", help="measure at twice the sizes too, for the growth")
    add("--whole", action="store_true", help="time the deletion as well, as git's script does")
    add("--cpu", action="store_true", help="processor time, steadier on a busy machine")
    add(
        "--suppressed-size",
        type=int,
        nargs="*",
        default=[1000],
        metavar="SIZE",
        help="sizes with suppressed deletions (default: 1000; none to leave it out)",
    )
    return parser.parse_args(argv)


def _contenders(options: argparse.Namespace) -> list[Contender]:
    def sizes(given: Sequence[int]) -> tuple[int, ...]:
        factors = (1, 2) if options.double else (1,)
        return tuple(sorted({size * factor for size in given for factor in factors}))

    ours = _our_command()
    found = [Contender("pyreftable", ours, sizes(options.size))]
    found += [Contender(_version(path), (path,), sizes(options.size)) for path in options.git]
    if options.suppressed_size:
        suppressed = (*ours, *_SUPPRESS)
        found.append(Contender("suppressed", suppressed, sizes(options.suppressed_size)))
    return found


def _our_command() -> tuple[str, ...]:
    """The installed command if there is one beside this Python: what users start."""
    script = Path(sys.executable).parent / "pyreftable"
    return (str(script),) if script.exists() else (sys.executable, "-m", "pyreftable_cli")


def _version(path: str) -> str:
    answer = subprocess.run([path, "--version"], capture_output=True, check=True, text=True)
    return answer.stdout.strip().replace("version ", "")


# Repositories


def _prepare(folder: Path, contenders: Sequence[Contender]) -> Iterator[Job]:
    """A repository for each job, in which its old refs have been created and deleted."""
    for number, contender in enumerate(contenders):
        for case in CASES:
            for size in contender.sizes:
                repo = folder / f"{number}-{case}-{size}"
                blob = _init(contender, repo)
                prefix = "tag" if case == "recreate" else "old"
                _run(contender, repo, ("update-ref", "--stdin"), _creations(prefix, size, blob))
                _delete_all(contender, repo)
                new = prefix if case == "recreate" else "new"
                yield Job(contender, case, size, repo, _creations(new, size, blob))


def _init(contender: Contender, repo: Path) -> str:
    """An empty repository with one blob; the blob's id."""
    repo.mkdir()
    _run(contender, repo, ("init", "-q", "--ref-format=reftable", "."))
    content = b"blob 4\0foo\n"
    blob = hashlib.sha1(content).hexdigest()
    path = repo / ".git" / "objects" / blob[:2] / blob[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.compress(content))
    return blob


def _creations(prefix: str, size: int, blob: str) -> bytes:
    lines = [f"create refs/tags/{prefix}-{number} {blob}\n" for number in range(1, size + 1)]
    return "".join(lines).encode()


def _delete_all(contender: Contender, repo: Path) -> None:
    deletions = _run(contender, repo, _LIST_DELETIONS)
    _run(contender, repo, ("update-ref", "--stdin"), deletions)


def _measure(job: Job, repo: Path, clock: Callable[[], float], *, whole: bool) -> float:
    """Seconds for one round, on a copy of the job's repository."""
    shutil.copytree(job.repo, repo)
    try:
        start = clock()
        _run(job.contender, repo, ("update-ref", "--stdin"), job.input)
        if whole:
            _delete_all(job.contender, repo)
        return clock() - start
    finally:
        shutil.rmtree(repo)


def _processor_time() -> float:
    """Seconds that the processes started, and waited for, have computed."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _run(contender: Contender, repo: Path, args: Sequence[str], data: bytes = b"") -> bytes:
    # Nobody's configuration and no template is to be measured.
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TEMPLATE_DIR": ""}
    env |= {"GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@example.com"}
    command = [*contender.command, *args]
    done = subprocess.run(command, cwd=repo, env=env, input=data, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr.decode(errors='replace')}")
    return done.stdout


# Results


def _table(times: Times, options: argparse.Namespace) -> str:
    medians = {key: statistics.median(values) for key, values in times.items()}
    labels = list(dict.fromkeys(label for label, _, _ in times))
    lines = [
        "| case | refs | program | median, s | times pyreftable | growth when doubled |",
        "| --- | --: | --- | --: | --: | --: |",
    ]
    for label, case, size in sorted(
        medians, key=lambda key: (CASES.index(key[1]), key[2], labels.index(key[0]))
    ):
        median = medians[label, case, size]
        ours = medians.get((labels[0], case, size))
        half = None if size % 2 else medians.get((label, case, size // 2))
        ratio = f"{median / ours:.1f}" if ours else ""
        growth = f"{median / half:.2f}" if half else ""
        lines.append(f"| {case} | {size} | {label} | {median:.3f} | {ratio} | {growth} |")
    what = "create, list and delete" if options.whole else "create"
    how = "processor time" if options.cpu else "time"
    return "\n".join([f"Medians of {options.rounds} rounds, {how} to {what}.", "", *lines])


if __name__ == "__main__":
    main()
