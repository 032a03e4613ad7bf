"""`refs migrate`: between files and reftables, there and back, with git as the judge.

What a migration must keep: every ref, symref and log entry as git lists them. What must hold
while it runs: whenever it is killed, the repository opens with all its refs.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyreftable.errors import CallerError, LockError
from pyreftable.format.records import OID, LogRecord, RefRecord
from pyreftable.refs.files_format import (
    format_log_line,
    parse_log_line,
    parse_loose_ref,
    parse_packed_refs,
)
from pyreftable.refs.migration import migrate
from pyreftable.refs.repository import discover
from pyreftable.refs.store import RefStore
from tests.cli.twin_cases import ours
from tests.support import git_env, pyreftable_cmd, run_git
from tests.twins import git_is_followed, run_theirs

OTHER = {"files": "reftable", "reftable": "files"}
LISTING = [
    "for-each-ref",
    "--include-root-refs",
    "--format=%(refname) %(objectname) %(symref) %(*objectname)",
]


def make(path: Path, storage: str, object_format: str = "sha1") -> Path:
    """A repository with all sorts of refs: packed and loose, tags, symrefs, root refs, logs."""
    path.mkdir()
    options = ["--ref-format=" + storage, "--object-format=" + object_format]
    run_git(["init", "-q", "-b", "main", *options], path)
    for number in range(3):
        run_git(["commit", "-q", "--allow-empty", "-m", f"commit {number}"], path)
    run_git(["tag", "-a", "-m", "tag", "v1"], path)
    run_git(["tag", "light", "HEAD~1"], path)
    run_git(["branch", "old", "HEAD~2"], path)
    run_git(["pack-refs", "--all"], path)
    run_git(["tag", "-a", "-m", "tag", "v2"], path)
    run_git(["tag", "-a", "-m", "tag of a tag", "v3", "v1"], path)
    run_git(["branch", "fresh/er"], path)
    run_git(["update-ref", "-m", "moved\tby hand", "refs/heads/old", "HEAD~1"], path)
    run_git(["update-ref", "FOO_HEAD", "HEAD~1"], path)
    run_git(["update-ref", "refs/bisect/bad", "HEAD"], path)
    run_git(["update-ref", "refs/worktree/own", "HEAD"], path)
    run_git(["symbolic-ref", "refs/heads/sym", "refs/heads/old"], path)
    run_git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/nowhere"], path)
    return path


def seen(repo: Path) -> list[bytes]:
    """What git says of refs and logs."""
    views = [run_git(LISTING, repo).stdout, run_git(["symbolic-ref", "HEAD"], repo).stdout]
    views.append(run_git(["reflog", "list"], repo).stdout)
    for name in run_git(["reflog", "list"], repo).stdout.split():
        form = "--format=%H %gd %gn <%ge> %gs"
        views.append(run_git(["reflog", "show", "--date=raw", form, name], repo).stdout)
    return views


def storage_of(repo: Path) -> str:
    return run_git(["rev-parse", "--show-ref-format"], repo).stdout.decode().strip()


def leftovers(repo: Path) -> list[str]:
    return [path.name for path in (repo / ".git").glob("ref_migration*")]


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("start", ["files", "reftable"])
def test_there_and_back(tmp_path: Path, start: str, object_format: str) -> None:
    repo = make(tmp_path / "repo", start, object_format)
    before = seen(repo)
    config = (repo / ".git" / "config").read_text()
    for target in (OTHER[start], start):
        assert ours(repo, f"refs migrate --ref-format={target}") == (0, b"", b"")
        assert storage_of(repo) == target
        assert seen(repo) == before
        assert leftovers(repo) == []
        run_git(["refs", "verify"], repo)
    after = (repo / ".git" / "config").read_text()
    assert sorted(after.split("\n")) == sorted(config.split("\n"))


@pytest.mark.parametrize("target", ["files", "reftable"])
def test_leaves_what_git_leaves(tmp_path: Path, target: str) -> None:
    """The same files remain as after git's migration (which packs refs of one worktree, too)."""
    repo = make(tmp_path / "repo", OTHER[target])
    for name in ("refs/bisect/bad", "refs/worktree/own"):
        run_git(["update-ref", "-d", name], repo)
    twin = tmp_path / "twin"
    shutil.copytree(repo, twin, symlinks=True)
    ours(repo, f"refs migrate --ref-format={target}")
    assert run_theirs(["refs", "migrate", f"--ref-format={target}"], twin).status == 0
    # Not the peeled ids: after git's migration `%(*objectname)` dies of a "bad tag".
    names = ["for-each-ref", "--include-root-refs", "--format=%(refname) %(objectname) %(symref)"]
    assert run_git(names, repo).stdout == run_git(names, twin).stdout
    mine, theirs = content(repo), content(twin)
    assert mine.keys() == theirs.keys()
    for name in mine:
        # git 2.50.1 mixes up names and addresses in the logs that it migrates.
        if git_is_followed() or not name.startswith("logs/"):
            assert mine[name] == theirs[name], name


def content(repo: Path) -> dict[str, bytes]:
    """All files but objects; tables and their list stand for themselves."""
    found = {}
    for path in sorted((repo / ".git").rglob("*")):
        name = str(path.relative_to(repo / ".git"))
        if path.is_file() and not name.startswith(("objects/", "reftable/")):
            found[name] = path.read_bytes()
    if "packed-refs" in found:
        # git leaves the peeled ids out, though its header promises them.
        lines = found["packed-refs"].split(b"\n")
        found["packed-refs"] = b"\n".join(line for line in lines if not line.startswith(b"^"))
    return found


def test_annotated_tags_are_peeled(tmp_path: Path) -> None:
    """Both ways, where git's migration forgets what a tag points to."""
    repo = make(tmp_path / "repo", "files")
    peeled = run_git(["rev-parse", "v1^{}", "v2^{}", "v3^{}"], repo).stdout.decode().split()
    ours(repo, "refs migrate --ref-format=reftable")
    with RefStore.open(str(repo), environ=git_env(repo)) as store:
        found = [store.get(f"refs/tags/v{number}") for number in (1, 2, 3)]
        assert [ref.peeled if ref else None for ref in found] == peeled
    ours(repo, "refs migrate --ref-format=files")
    lines = (repo / ".git" / "packed-refs").read_text().split("\n")
    assert lines[0] == "# pack-refs with: peeled fully-peeled sorted "
    assert [line[1:] for line in lines if line.startswith("^")] == peeled


def test_rescue(tmp_path: Path) -> None:
    """Afterwards nothing is left that a git of before 2.45 does not know."""
    repo = make(tmp_path / "repo", "reftable")
    before = seen(repo)
    ours(repo, "refs migrate --ref-format=files")
    config = (repo / ".git" / "config").read_text()
    assert "repositoryformatversion = 0" in config
    assert "extensions" not in config
    assert not (repo / ".git" / "reftable").exists()
    assert (repo / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert (repo / ".git" / "refs" / "heads").is_dir()
    assert seen(repo) == before


SYSTEM_GIT = "/usr/bin/git"


@pytest.mark.skipif(not os.access(SYSTEM_GIT, os.X_OK), reason="the machine has no git of its own")
def test_rescue_for_the_git_of_the_machine(tmp_path: Path) -> None:
    """Whatever version it is (2.39 on Debian 12): it must read every ref, symref and log entry."""
    repo = make(tmp_path / "repo", "reftable")
    entry = "--format=%H %gd %gn <%ge> %gs"
    listed = run_git(["for-each-ref", "--format=%(refname) %(objectname) %(symref)"], repo).stdout
    logs = {
        name: run_git(["reflog", "show", "--date=raw", entry, name], repo).stdout
        for name in run_git(["reflog", "list"], repo).stdout.decode().split()
    }
    dangling = "refs/remotes/origin/HEAD"
    alone = {name: run_git(["rev-parse", name], repo).stdout for name in ("HEAD", "FOO_HEAD")}
    target = run_git(["symbolic-ref", dangling], repo).stdout
    assert len(logs) > 4
    assert b"refs/heads/sym " in listed

    # The recipe of the README.
    ours(repo, "refs migrate --ref-format=files")

    def old_git(*words: str) -> bytes:
        command = [SYSTEM_GIT, *words]
        done = subprocess.run(command, cwd=repo, env=git_env(repo), capture_output=True, check=True)
        assert done.stderr == b""
        return done.stdout

    assert old_git("for-each-ref", "--format=%(refname) %(objectname) %(symref)") == listed
    for name, log in logs.items():
        assert old_git("reflog", "show", "--date=raw", entry, name) == log
    assert {name: old_git("rev-parse", name) for name in alone} == alone
    assert old_git("symbolic-ref", "HEAD") == b"refs/heads/main\n"
    assert old_git("symbolic-ref", dangling) == target
    # And go on working.
    old_git("commit", "-q", "--allow-empty", "-m", "after the rescue")
    old_git("update-ref", "-d", "refs/heads/old")
    assert old_git("status", "--porcelain") == b""


@pytest.mark.parametrize("start", ["files", "reftable"])
def test_dry_run(tmp_path: Path, start: str) -> None:
    repo = make(tmp_path / "repo", start)
    before, config = seen(repo), (repo / ".git" / "config").read_bytes()
    outcome = ours(repo, f"refs migrate --dry-run --ref-format={OTHER[start]}")
    (name,) = leftovers(repo)
    where = f"the result can be found at '.git/{name}'"
    assert outcome == (0, f"Finished dry-run migration of refs, {where}\n".encode(), b"")
    assert seen(repo) == before
    assert (repo / ".git" / "config").read_bytes() == config
    made = {path.name for path in (repo / ".git" / name).iterdir()}
    expected = {"HEAD", "refs", "reftable"}
    if start == "reftable":
        expected = {"FOO_HEAD", "HEAD", "logs", "packed-refs", "refs"}
    assert made == expected


@pytest.mark.parametrize("start", ["files", "reftable"])
def test_no_reflog(tmp_path: Path, start: str) -> None:
    repo = make(tmp_path / "repo", start)
    refs = seen(repo)[:2]
    assert ours(repo, f"refs migrate --no-reflog --ref-format={OTHER[start]}") == (0, b"", b"")
    assert seen(repo) == [*refs, b""]


@pytest.mark.parametrize("start", ["files", "reftable"])
def test_empty_logs_and_unborn_head(tmp_path: Path, start: str) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    run_git(["init", "-q", "-b", "unborn", f"--ref-format={start}"], repo)
    oid = run_git(["hash-object", "-t", "tree", "-w", "--stdin"], repo).stdout.decode().strip()
    run_git(["update-ref", "--create-reflog", "refs/meta/tree", oid], repo)
    run_git(["reflog", "expire", "--expire=all", "--all"], repo)
    before = seen(repo)
    assert b"refs/meta/tree" in before[2]
    for target in (OTHER[start], start):
        assert ours(repo, f"refs migrate --ref-format={target}") == (0, b"", b"")
        assert seen(repo) == before


@pytest.mark.parametrize(
    ("command", "status", "stderr"),
    [
        ("refs migrate", 129, "usage: missing --ref-format=<format>\n"),
        ("refs migrate more", 129, "usage: too many arguments\n"),
        ("refs migrate --ref-format=x", 255, "error: unknown ref storage format 'x'\n"),
        (
            "refs migrate --ref-format=reftable",
            255,
            "error: repository already uses 'reftable' format\n",
        ),
    ],
)
def test_refusals(repo: Path, command: str, status: int, stderr: str) -> None:
    outcome = ours(repo, command)
    assert outcome == (status, b"", stderr.encode())
    assert run_theirs(command.split(), repo) == outcome


@pytest.mark.parametrize("start", ["files", "reftable"])
def test_worktrees_are_refused(tmp_path: Path, start: str) -> None:
    repo = make(tmp_path / "repo", start)
    run_git(["worktree", "add", "-q", "../linked", "old"], repo)
    before = seen(repo)
    for folder in (repo, tmp_path / "linked"):
        outcome = ours(folder, f"refs migrate --ref-format={OTHER[start]}")
        message = b"error: migrating repositories with worktrees is not supported yet\n"
        assert outcome == (255, b"", message)
    assert seen(repo) == before


def test_broken_loose_ref_stops_it(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo", "files")
    (repo / ".git" / "refs" / "heads" / "broken").write_text("nonsense\n")
    outcome = ours(repo, "refs migrate --ref-format=reftable")
    assert outcome.status == 255
    assert b"cannot read reference 'refs/heads/broken'" in outcome.stderr
    assert leftovers(repo) == []
    assert storage_of(repo) == "files"


def test_logs_that_files_cannot_hold(tmp_path: Path) -> None:
    """Tables hold logs of both `a` and `a/b`; a folder does not. The repository stays as it was."""
    repo = make(tmp_path / "repo", "reftable")
    with RefStore.open(str(repo), environ=git_env(repo)) as store:
        store.create_reflog("refs/x")
        store.create_reflog("refs/x/y")
    before = state(repo)
    outcome = ours(repo, "refs migrate --ref-format=files")
    assert outcome.status == 255
    assert b"error: cannot write " in outcome.stderr
    assert (storage_of(repo), state(repo), leftovers(repo)) == ("reftable", before, [])


@pytest.mark.parametrize("start", ["files", "reftable"])
def test_locks_are_respected(tmp_path: Path, start: str) -> None:
    repo = make(tmp_path / "repo", start)
    lock = repo / ".git" / ("config.lock" if start == "files" else "reftable/tables.list.lock")
    lock.touch()
    outcome = ours(repo, f"refs migrate --ref-format={OTHER[start]}")
    assert outcome.status == 255
    assert os.fsencode(lock) in outcome.stderr
    assert leftovers(repo) == []
    repository = discover(repo, environ=git_env(repo))
    with pytest.raises(LockError):
        migrate(repository, OTHER[start])
    with pytest.raises(CallerError):
        migrate(repository, start)


def test_stale_files_of_an_interrupted_migration_do_not_come_back(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo", "reftable")
    git_dir = repo / ".git"
    oid = run_git(["rev-parse", "HEAD"], repo).stdout
    for name in ("refs/heads-of-old", "refs/tags/stale", "logs/refs/heads/stale", "OLD_HEAD"):
        (git_dir / name).parent.mkdir(parents=True, exist_ok=True)
        (git_dir / name).write_bytes(oid)
    (git_dir / "packed-refs").write_bytes(oid.strip() + b" refs/heads/stale\n")
    before = seen(repo)
    ours(repo, "refs migrate --ref-format=files")
    assert seen(repo) == before
    (git_dir / "reftable").mkdir()
    (git_dir / "reftable" / "tables.list").write_text("stale.ref\n")
    ours(repo, "refs migrate --ref-format=reftable")
    assert seen(repo) == before


# Size, and interruption.


def make_big(path: Path, refs: int, entries: int) -> Path:
    """A reftable repository with that many refs and log entries, written by pyreftable."""
    path.mkdir()
    run_git(["init", "-q", "-b", "main", "--ref-format=reftable"], path)
    run_git(["commit", "-q", "--allow-empty", "-m", "one"], path)
    head = bytes.fromhex(run_git(["rev-parse", "HEAD"], path).stdout.decode())
    names = [b"refs/heads/topic/%02d/branch-%05d" % (n % 97, n) for n in range(refs)]
    with RefStore.open(str(path), environ=git_env(path)) as store, store.stack().addition() as new:
        low = new.next_update_index

        def fill(writer: object) -> None:
            writer.add_refs(RefRecord(name, low, OID, head) for name in sorted(names))  # type: ignore[attr-defined]
            per_ref = max(1, entries // refs)
            for name in sorted(names):
                writer.add_logs(  # type: ignore[attr-defined]
                    LogRecord(
                        name,
                        low + at,
                        bytes(20),
                        head,
                        b"A",
                        b"a@x",
                        1_700_000_000 + at,
                        0,
                        b"m%d\n" % at,
                    )
                    for at in reversed(range(per_ref))
                )

        new.write_table(fill, max_update_index=low + entries // refs + 1)
        new.commit()
    return path


def state(repo: Path) -> tuple[bytes, list[LogRecord]]:
    """All refs as git lists them, all log entries but for their update indices."""
    listing = run_git(LISTING, repo).stdout
    with RefStore.open(str(repo), environ=git_env(repo)) as store:
        logs = store.stack().snapshot().merged.logs()
        return listing, [log._replace(update_index=0) for log in logs if not log.is_deletion]


def test_twenty_thousand_refs(tmp_path: Path) -> None:
    repo = make_big(tmp_path / "repo", 20_000, 50_000)
    before = state(repo)
    for target in ("files", "reftable"):
        assert ours(repo, f"refs migrate --ref-format={target}") == (0, b"", b"")
        assert state(repo) == before


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing here kills like SIGKILL")
@pytest.mark.parametrize("start", ["files", "reftable"])
def test_killed_at_any_moment(tmp_path: Path, start: str) -> None:
    """Fifty random moments each way; the next migration starts where the last one was killed."""
    repo = make_big(tmp_path / "repo", 300, 600)
    if start == "files":
        assert ours(repo, "refs migrate --ref-format=files").status == 0
    before = state(repo)
    env = git_env(repo)
    chance = random.Random(start)
    current, finished, began = start, 0, time.monotonic()
    command = [*pyreftable_cmd(), "refs", "migrate", f"--ref-format={OTHER[current]}"]
    subprocess.run(command, cwd=repo, env=env, check=True)
    duration = time.monotonic() - began
    for _ in range(50):
        current = storage_of(repo)
        command = [*pyreftable_cmd(), "refs", "migrate", f"--ref-format={OTHER[current]}"]
        process = subprocess.Popen(command, cwd=repo, env=env, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.1, 1.1) * duration)
        process.kill()
        finished += process.wait() == 0
        for lock in ("config.lock", "reftable/tables.list.lock"):
            (repo / ".git" / lock).unlink(missing_ok=True)
        assert state(repo) == before
    assert sys.platform == "win32" or finished < 50


# The bytes of the files.


def test_packed_refs_of_older_gits() -> None:
    oid, other = b"1" * 40, b"2" * 40
    data = b"%s refs/tags/a\n%s refs/tags/b\n^%s\n" % (oid, oid, other)
    plain = parse_packed_refs(data, 20, "packed-refs")
    assert plain.oids[b"refs/tags/a"] == bytes.fromhex(oid.decode())
    assert plain.peeled == {b"refs/tags/b": bytes.fromhex(other.decode())}
    assert not plain.knows_peeled(b"refs/tags/a")
    tags = parse_packed_refs(b"# pack-refs with: peeled \n" + data, 20, "packed-refs")
    assert tags.knows_peeled(b"refs/tags/a")
    assert not tags.knows_peeled(b"refs/heads/a")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"bogus content\n", "unexpected line in packed-refs: bogus content"),
        (b"1234567 refs/x\n", "unexpected line in packed-refs: 1234567 refs/x"),
        (b"1" * 40 + b" refs/x", "unterminated line in packed-refs: " + "1" * 40 + " refs/x"),
        (b"^" + b"1" * 40 + b"\n", "unexpected line in packed-refs: ^" + "1" * 40),
    ],
)
def test_packed_refs_that_are_none(line: bytes, message: str) -> None:
    with pytest.raises(ValueError, match="line in packed-refs") as caught:
        parse_packed_refs(line, 20, "packed-refs")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "line",
    [
        b"%s %s A U Thor <a@example.com> 1700000000 +0130\tmessage with\ttab",
        b"%s %s <> 0 -0930",
        b"%s %s A < odd <a@b> 5 +0000\tm",
        b"%s %s \xff\xfe <a@b> 5 +0000\t\xff",
    ],
)
def test_log_lines(line: bytes) -> None:
    whole = line % (b"0" * 40, b"1" * 40)
    record = parse_log_line(whole, b"HEAD", 20)
    assert record is not None
    assert format_log_line(record) in (whole + b"\n", whole.replace(b"A < odd", b"A <odd") + b"\n")


@pytest.mark.parametrize(
    "line",
    [b"", b"short", b"%s %s no mail 5 +0000\tm", b"%s %s a <b> five +0000", b"%s %s a <b> 5 0000"],
)
def test_lines_that_are_no_entries(line: bytes) -> None:
    if b"%s" in line:
        line = line % (b"0" * 40, b"1" * 40)
    assert parse_log_line(line, b"HEAD", 20) is None


def test_loose_refs() -> None:
    assert parse_loose_ref(b"ref:  refs/heads/x \n", b"HEAD", 20) == RefRecord(
        b"HEAD", 0, 3, b"refs/heads/x"
    )
    assert parse_loose_ref(b"1" * 40 + b"\n", b"x", 20) == RefRecord(b"x", 0, 1, b"\x11" * 20)
    for bad in (b"", b"1" * 39, b"1" * 41, b"nonsense"):
        assert parse_loose_ref(bad, b"x", 20) is None


# Reading a repository of files without migrating it.


def test_files_can_be_read(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo", "files")
    for command in ("show-ref -d --head", "for-each-ref", "show-ref --verify FOO_HEAD"):
        outcome = ours(repo, command)
        assert outcome == run_theirs(command.split(), repo)
        assert outcome.stdout
    outcome = ours(repo, "refs delete refs/heads/old")
    assert outcome.status == 1
    assert b"refs are stored as 'files'" in outcome.stderr


@pytest.mark.parametrize("start", ["files", "reftable"])
def test_refs_that_are_stored_elsewhere(tmp_path: Path, start: str) -> None:
    """A path in the configuration stays. Git 2.50 does not know such, so we are the judge."""
    repo = make(tmp_path / "repo", start)
    home = tmp_path / "elsewhere"
    home.mkdir()
    git_dir = repo / ".git"
    before = listed_by_us(repo)
    if start == "files":
        run_git(["config", "core.repositoryFormatVersion", "1"], repo)
        for name in ("HEAD", "FOO_HEAD", "refs", "packed-refs", "logs"):
            shutil.move(git_dir / name, home / name)
        (git_dir / "refs").mkdir()
        (git_dir / "refs" / "heads").write_text("this repository uses the reftable format\n")
        (git_dir / "HEAD").write_text("ref: refs/heads/.invalid\n")
    else:
        shutil.move(git_dir / "reftable", home / "reftable")
    config = git_dir / "config"
    run_git(
        ["config", "--file", str(config), "extensions.refStorage", f"{start}://{home}"], tmp_path
    )
    assert listed_by_us(repo) == before
    stubs = {name: (git_dir / name).read_bytes() for name in ("HEAD", "refs/heads")}
    for target in (OTHER[start], start):
        assert ours(repo, f"refs migrate --ref-format={target}") == (0, b"", b"")
        assert f"refStorage = {target}://{home}\n".lower() in config.read_text().lower()
        assert listed_by_us(repo) == before
        assert {name: (git_dir / name).read_bytes() for name in stubs} == stubs
        assert not (git_dir / "reftable").exists()
        expected = {"FOO_HEAD", "HEAD", "logs", "packed-refs", "refs"}
        made = {path.name for path in home.iterdir()}
        assert made == (expected if target == "files" else {"reftable"})


def listed_by_us(repo: Path) -> list[bytes]:
    """What pyreftable says of refs and logs."""
    form = " --include-root-refs '--format=%(refname) %(objectname) %(symref)'"
    return [ours(repo, f"for-each-ref{form}").stdout, ours(repo, "reflog show --json --all").stdout]
