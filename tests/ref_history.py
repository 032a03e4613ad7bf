"""A long random history of refs in which every operation applies: input for `update-ref --stdin`.

A model keeps track of what exists, so that old values are right and directories do not collide
with files; still branches come and go under names that were directories before, HEAD moves
between branches, symrefs are made, followed and deleted, and tags get peeled values.
"""

from __future__ import annotations

import random

_COMMITS = ["{c0}", "{c1}", "{c2}"]
_ANY = [*_COMMITS, "{tag}", "{nested}", "{blob}", "{tree}"]
_ZERO = "{zero}"


def _name_pool(rng: random.Random) -> list[str]:
    """Names at several depths, many of which are directories of others."""
    pool = ["refs/heads/main", "refs/heads/side"]
    for prefix in ("refs/heads", "refs/tags", "refs/remotes/origin", "refs/meta"):
        for _ in range(30):
            depth = rng.randint(1, 3)
            parts = [f"{rng.choice('abcdef')}{rng.randint(0, 5)}" for _ in range(depth)]
            pool.append("/".join([prefix, *parts]))
    return sorted(set(pool))


class History:
    """Builds the input, transaction by transaction, and knows what each leaves behind.

    `values` are what refs hold: an id's placeholder, or `ref:NAME` for a symref.
    """

    def __init__(self, seed: int, values: dict[str, str]) -> None:
        self.rng = random.Random(seed)
        self.pool = _name_pool(self.rng)
        self.values = dict(values)
        self.lines: list[str] = []
        self.operations = 0
        # Of the transaction at hand: the names in it, and the branch that HEAD is on till then.
        self._touched: set[str] = set()
        self._branch = ""

    def run(self, operations: int) -> str:
        """The input for that many operations, in transactions of 1 to 60."""
        while self.operations < operations:
            self.lines.append("start")
            self._touched = set()
            self._branch = self._target("HEAD") or ""
            wanted = min(self.rng.randint(1, 60), operations - self.operations)
            end = self.operations + wanted
            while self.operations < end:
                self._one_operation()
            self.lines += ["prepare"] if self.rng.random() < 0.3 else []
            self.lines.append("commit")
        return "".join(line + "\n" for line in self.lines)

    def _one_operation(self) -> None:
        if self.rng.random() < 0.04:
            self._move_head()
            return
        name = self.rng.choice(self.pool)
        if not self._is_free(name):
            self._verify_absent()
        elif name not in self.values:
            self._create(name)
        elif self.values[name].startswith("ref:"):
            self._change_symref(name)
        else:
            self._change(name)

    def _is_free(self, name: str) -> bool:
        """Whether this transaction may do anything at all with `name`."""
        names = {name, self._target(name)}
        if names & self._touched or ("HEAD" in self._touched and self._branch in names):
            return False
        taken = self._touched | self.values.keys()
        parts = name.split("/")
        above = {"/".join(parts[:end]) for end in range(1, len(parts))}
        below = any(other.startswith(name + "/") for other in taken)
        return not below and not above & taken

    def _target(self, name: str) -> str | None:
        value = self.values.get(name, "")
        return value.removeprefix("ref:") if value.startswith("ref:") else None

    def _new_value(self, name: str) -> str:
        return self.rng.choice(_COMMITS if name.startswith("refs/heads/") else _ANY)

    def _emit(self, line: str, *names: str, no_deref: bool = False) -> None:
        self.lines += ["option no-deref", line] if no_deref else [line]
        self._touched.update(names)
        self.operations += 1

    def _create(self, name: str) -> None:
        value = self._new_value(name)
        branch = self.rng.choice(["refs/heads/main", "refs/heads/side"])
        if self.rng.random() < 0.2 and not name.startswith("refs/heads/"):
            self._emit(f"symref-create {name} {branch}", name, no_deref=True)
            value = f"ref:{branch}"
        elif self.rng.random() < 0.5:
            self._emit(f"create {name} {value}", name)
        else:
            self._emit(f"update {name} {value}" + self.rng.choice(["", f" {_ZERO}"]), name)
        self.values[name] = value

    def _change(self, name: str) -> None:
        current, value = self.values[name], self._new_value(name)
        kind = self.rng.random()
        if kind < 0.2:
            self._emit(f"verify {name} {current}", name)
        elif kind < 0.45 and name not in ("refs/heads/main", "refs/heads/side"):
            self._emit(f"delete {name}" + self.rng.choice(["", f" {current}"]), name)
            del self.values[name]
        else:
            self._emit(f"update {name} {value}" + self.rng.choice(["", f" {current}"]), name)
            self.values[name] = value

    def _change_symref(self, name: str) -> None:
        target = self._target(name) or ""
        kind = self.rng.random()
        if kind < 0.2:
            self._emit(f"symref-verify {name} {target}", name, no_deref=True)
        elif kind < 0.4:
            self._emit(f"symref-delete {name} {target}", name, no_deref=True)
            del self.values[name]
        elif kind < 0.6:
            other = self.rng.choice(["refs/heads/main", "refs/heads/side"])
            self._emit(f"symref-update {name} {other} ref {target}", name, no_deref=True)
            self.values[name] = f"ref:{other}"
        elif target in self.values:
            # Through the symref, to what it points to.
            value = self._new_value(target)
            self._emit(f"update {name} {value}", name, target)
            self.values[target] = value
        else:
            self._verify_absent()

    def _verify_absent(self) -> None:
        """What is always possible."""
        name = f"refs/absent/{self.operations}"
        self._emit(f"verify {name}" + self.rng.choice(["", f" {_ZERO}"]), name)

    def _move_head(self) -> None:
        """Move HEAD to a branch, born or not, or its branch to a commit."""
        branch = self._branch
        if "HEAD" in self._touched or branch in self._touched:
            self._verify_absent()
        elif self.rng.random() < 0.5:
            value = self.rng.choice(_COMMITS)
            self._emit(f"update HEAD {value}", "HEAD", branch)
            self.values[branch] = value
        else:
            target = self.rng.choice(["refs/heads/main", "refs/heads/side", "refs/heads/unborn"])
            self._emit(f"symref-update HEAD {target}", "HEAD", no_deref=True)
            self.values["HEAD"] = f"ref:{target}"
