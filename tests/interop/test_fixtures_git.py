"""The shipped repositories and tables: git and pyreftable both read in them what is written."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from pyreftable.refs.store import RefStore
from pyreftable.table import Table
from tests.support import git_env, run_git

FIXTURES = Path(__file__).parents[2] / "fixtures"
REPOSITORIES = ["sha1.git", "sha256.git", "worktree.git", "worktree.git/worktrees/side"]
TABLES = sorted(path.stem for path in (FIXTURES / "tables").glob("*.ref"))


@pytest.mark.parametrize("name", REPOSITORIES)
def test_git_lists_what_is_written(name: str, tmp_path: Path) -> None:
    """The listing beside each repository is the one that git gives, and its stack is sound."""
    shutil.copytree(FIXTURES / name.partition("/")[0], tmp_path / name.partition("/")[0])
    git_dir = f"--git-dir={tmp_path / name}"
    listed = run_git([git_dir, "for-each-ref"], tmp_path).stdout
    assert listed == (FIXTURES / name / "for-each-ref.txt").read_bytes()
    run_git([git_dir, "refs", "verify"], tmp_path)


@pytest.mark.parametrize("name", REPOSITORIES)
def test_we_list_what_is_written(name: str) -> None:
    """Without any git, refs and the types of their objects come out as git lists them."""
    environ = git_env(FIXTURES) | {"PATH": os.devnull}
    lines = []
    with RefStore.open(git_dir=str(FIXTURES / name), environ=environ) as store:
        for ref in store.refs():
            oid = store.read(ref.name)
            if oid is not None:
                info = store.objects.info(oid)
                assert info is not None
                lines.append(f"{oid} {info[0]}\t{ref.name}\n")
    listed = "".join(lines).encode("utf-8", "surrogateescape")
    assert listed == (FIXTURES / name / "for-each-ref.txt").read_bytes()


@pytest.mark.parametrize("name", ["sha1.git", "sha256.git", "worktree.git"])
def test_logs_are_what_is_written(name: str) -> None:
    """Every reflog, entry by entry."""
    written = json.loads((FIXTURES / name / "reflogs.json").read_text())
    with RefStore.open(git_dir=str(FIXTURES / name), environ=git_env(FIXTURES)) as store:
        read = {
            refname: [
                [
                    entry.new_oid,
                    entry.name,
                    entry.email,
                    f"{entry.time} {entry.tz_offset:+05}",
                    entry.message,
                ]
                for entry in store.reflog(refname)
            ]
            for refname in written
        }
    assert read == written


def story_of(name: str) -> Any:
    """What git says of the stack that a table was taken from."""
    return json.loads((FIXTURES / "tables" / f"{name}.json").read_text())


@pytest.mark.parametrize("name", TABLES)
def test_tables_hold_what_is_written(name: str) -> None:
    """A table that was a whole stack holds the refs and logs that git listed, and no others."""
    story = story_of(name)
    table = Table.open(str(FIXTURES / "tables" / f"{name}.ref"))
    assert table.hash.name == story["object_format"]
    refs = {record.refname.decode("utf-8", "surrogateescape"): record for record in table.refs()}
    logs = list(table.logs())
    table.close()
    if not story["is_whole_stack"]:
        assert all(record.is_deletion for record in refs.values())
        assert logs
        return
    for refname, oid, peeled, target in story["refs"]:
        record = refs.pop(refname)
        if target:
            assert record.target == target.encode()
        else:
            assert record.oid is not None
            assert (record.oid.hex(), (record.peeled or b"").hex()) == (oid, peeled)
    # git does not list a symref that leads nowhere, such as HEAD in a new repository.
    assert all(record.target for record in refs.values())
    counted = {name: len(entries) for name, entries in story["logs"].items()}
    assert len(logs) == sum(counted.values())
