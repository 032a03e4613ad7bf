"""A repository that git made, of a size people have: 5,000 refs, 300 of them annotated tags.

Symrefs, reflogs, deletions and several tables on the stack, in both object formats. What git
lists, pyreftable lists, with and without patterns, and without any git on `PATH`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pyreftable import RefStore

from ..support import git_env, init_repo, run_git, run_pyreftable

REFS = 5000
TAGS = 300

LISTINGS = (
    [],
    ["refs/heads"],
    ["refs/tags/"],
    ["refs/heads/topic/1*"],
    ["refs/tags", "refs/remotes/*/HEAD"],
    ["refs/none"],
    ["--count=7", "refs/heads"],
    ["--sort=-refname", "--exclude=refs/heads/topic/"],
    ["--format=%(refname:short) %(objectname:short) %(objecttype) %(*objectname) %(symref)"],
    ["--format=%(refname:lstrip=2)%09%(refname:rstrip=-2)%00%%", "refs/tags"],
)


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def repository(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    repo = init_repo(tmp_path_factory.mktemp(request.param), object_format=request.param)
    environment = git_env(repo) | {"GIT_TEST_REFTABLE_AUTOCOMPACTION": "false"}
    random.seed(5)

    def git(*args: str, stdin: str = "") -> str:
        return run_git(args, repo, env=environment, input=stdin.encode()).stdout.decode()

    tree = git("mktree").strip()
    commits = [git("commit-tree", tree, "-m", f"number {number}").strip() for number in range(10)]
    tags = [git("mktag", stdin=tag_text(commits[number % 10], number)) for number in range(TAGS)]
    values = {f"refs/tags/v{number}": oid.strip() for number, oid in enumerate(tags)}
    folders = ("heads", "heads/topic", "remotes/origin", "notes", "custom/deep/er")
    for number in range(REFS - TAGS):
        name = f"refs/{random.choice(folders)}/{number}-{random.randrange(10**6)}"
        values[name] = random.choice(commits)
    names = list(values)
    random.shuffle(names)
    for start in range(0, len(names), 1250):
        part = names[start : start + 1250]
        lines = [f"create {name} {values[name]}\n" for name in part]
        git("update-ref", "-m", "made", "--stdin", stdin="".join(lines))
    moved = [name for name in names if name.startswith("refs/heads/")][:100]
    lines = [f"update {name} {commits[0]}\n" for name in moved[:60]]
    lines += [f"delete {name}\n" for name in moved[60:]]
    git("update-ref", "-m", "moved", "--stdin", stdin="".join(lines))
    git("update-ref", "refs/heads/main", commits[3])
    git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git("symbolic-ref", "refs/remotes/origin/HEAD", moved[0])
    return repo


def tag_text(commit: str, number: int) -> str:
    who = "T Agger <tagger@example.com> 1700000000 +0000"
    return f"object {commit}\ntype commit\ntag v{number}\ntagger {who}\n\nversion {number}\n"


def test_it_is_what_it_claims_to_be(repository: Path) -> None:
    with RefStore.open(str(repository)) as store:
        refs = list(store.refs())
        assert len(store.stack().snapshot().tables) > 5
        assert len(list(store.reflog_names())) > 1000
    assert len(refs) == REFS + 3 - 40
    assert sum(ref.peeled is not None for ref in refs) == TAGS
    assert sum(ref.target is not None for ref in refs) == 2


@pytest.mark.parametrize("arguments", LISTINGS, ids=" ".join)
def test_lists_what_git_lists(repository: Path, arguments: list[str]) -> None:
    ours = run_pyreftable(["for-each-ref", *arguments], repository)
    theirs = run_git(["for-each-ref", *arguments], repository)
    assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)


class TestWithoutGit:
    """SHA-1 needs no git at all, be objects loose or packed."""

    def environment(self, repo: Path) -> dict[str, str]:
        return git_env(repo) | {"PATH": str(repo / "no-such-folder")}

    @pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
    def test_reads_and_writes(self, tmp_path: Path, packed: bool) -> None:
        repo = init_repo(tmp_path)
        for message in ("one", "two"):
            run_git(["commit", "-q", "--allow-empty", "-m", message], repo)
        run_git(["tag", "-a", "-m", "first", "v1"], repo)
        if packed:
            run_git(["repack", "-adq"], repo)
        environment = self.environment(repo)
        tag = run_git(["rev-parse", "v1"], repo).stdout.decode().strip()
        commands = f"create refs/tags/v2 {tag}\nupdate refs/heads/main HEAD~1\n"
        commands += "symref-update refs/heads/alias refs/heads/main\ndelete refs/tags/v1\n"
        run_pyreftable(["update-ref", "--stdin"], repo, env=environment, input=commands.encode())
        listing = run_pyreftable(["for-each-ref"], repo, env=environment).stdout
        assert listing == run_git(["for-each-ref"], repo).stdout
        peeled = run_git(["for-each-ref", "--format=%(*objectname)", "refs/tags/v2"], repo)
        assert (
            peeled.stdout.decode().strip()
            == run_git(["rev-parse", "v2^{}"], repo).stdout.decode().strip()
        )
        run_git(["fsck"], repo)
        run_git(["refs", "verify"], repo)
