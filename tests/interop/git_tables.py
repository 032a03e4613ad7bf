"""Tables that the real git writes, with random records and options.

A repository gets random `reftable.*` settings; one `update-ref --stdin` then commits many
transactions, each of which becomes a table, as auto-compaction is off. More tables come of
reflog deletions, and one of `pack-refs`, which merges all.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

from pyreftable.write_options import WriteOptions
from tests.support import git_env, init_repo, run_git

BLOCK_SIZES = [0, 256, 300, 512, 1000, 4096, 65_536, 16_777_215]
INTERVALS = [0, 1, 2, 5, 16, 1000, 65_535]
TRANSACTIONS = 22
#: What a repository yields at least: those of `init`, each transaction, and `pack-refs`.
FEWEST_TABLES = 1 + TRANSACTIONS + 1


class GitTable(NamedTuple):
    """A table's bytes, and the options that git wrote it with."""

    name: str
    data: bytes
    options: WriteOptions


class GitTables:
    """A bare repository in `folder`, and what git writes into it by the throw of `dice`."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.folder = folder
        self.dice = dice
        self.object_format = dice.choice(["sha1", "sha256"])
        self.options = WriteOptions(
            block_size=dice.choice(BLOCK_SIZES),
            restart_interval=dice.choice(INTERVALS),
            index_objects=dice.random() < 0.7,
            exact_log_message=True,
        )
        self.env = git_env(folder) | {"GIT_TEST_REFTABLE_AUTOCOMPACTION": "false"}
        self.found: dict[str, GitTable] = {}
        init_repo(folder, object_format=self.object_format, bare=True)
        self.collect(WriteOptions(exact_log_message=True))
        self._configure()

    def _configure(self) -> None:
        options = self.options
        lines = [
            "[reftable]",
            f"blockSize = {options.block_size}",
            f"restartInterval = {options.restart_interval}",
            f"indexObjects = {str(options.index_objects).lower()}",
            "[core]",
            f"logAllRefUpdates = {self.dice.choice(['always', 'always', 'false'])}",
        ]
        with (self.folder / "config").open("a") as config:
            config.write("\n".join(lines) + "\n")

    def git(self, *args: str, data: str = "", check: bool = True) -> str:
        done = run_git(args, self.folder, env=self.env, input=data.encode(), check=check)
        return done.stdout.decode().strip()

    def objects(self) -> list[str]:
        """Blobs, and annotated tags of them: refs outside `refs/heads` may hold any object."""
        blobs = [self.git("hash-object", "-w", "--stdin", data=text) for text in "abcd"]
        tags = [self.tag(blobs[0], "blob")]
        return [*blobs, *tags, self.tag(tags[0], "tag")]

    def tag(self, target: str, kind: str) -> str:
        body = f"object {target}\ntype {kind}\ntag x\ntagger A <a@example.com> 1 +0000\n\nx\n"
        return self.git("mktag", data=body)

    def collect(self, options: WriteOptions | None = None) -> None:
        """Note the tables that are there now, and were not before."""
        for path in (self.folder / "reftable").glob("*.ref"):
            if path.name not in self.found:
                table = GitTable(path.name, path.read_bytes(), options or self.options)
                self.found[path.name] = table

    def transactions(self, number: int, sizes: list[int]) -> set[str]:
        """Commit transactions of random updates, deletions and symrefs; the names then live."""
        dice, oids = self.dice, self.objects()
        live: set[str] = set()
        lines = []
        for step in range(number):
            lines.append("start")
            new = {self.random_name() for _ in range(dice.choice(sizes))} - live
            lines += [f"create {name} {dice.choice(oids)}" for name in sorted(new)]
            touched = dice.sample(sorted(live), min(len(live), dice.choice([0, 0, 5, 50])))
            for name in touched:
                lines.append(dice.choice([f"update {name} {dice.choice(oids)}", f"delete {name}"]))
                if lines[-1].startswith("delete"):
                    live.discard(name)
            for at in range(dice.choice([0, 0, 3])):
                lines.append(f"symref-create refs/sym/{step}-{at} refs/heads/{'x' * at}y")
            live |= new
            lines.append("commit")
        options = ["-m", dice.choice(["short", "a reason of some length"]), "--no-deref"]
        self.git("update-ref", *options, "--stdin", data="".join(f"{line}\n" for line in lines))
        return live

    def random_name(self) -> str:
        dice = self.dice
        folder = dice.choice(["hx", "tags", "x/y", "x/y/z"])
        return f"refs/{folder}/{dice.choice(['a', 'b', 'long' * 6])}{dice.randrange(10**6)}"

    def forget_logs(self, live: set[str]) -> None:
        """Delete an entry of a reflog, and expire another whole: logs of deletion records."""
        logged = self.git("reflog", "list").split()
        names = sorted(live.intersection(logged))
        if len(names) > 1:
            first, second = self.dice.sample(names, 2)
            self.git("reflog", "delete", f"{first}@{{0}}")
            self.git("reflog", "expire", "--expire=all", second)

    def make(self) -> list[GitTable]:
        """All tables that were there at one time or another."""
        live = self.transactions(TRANSACTIONS, [1, 2, 10, 10, 60, 300])
        self.forget_logs(live)
        self.collect()
        self.git("pack-refs", "--all")
        self.collect()
        return list(self.found.values())
