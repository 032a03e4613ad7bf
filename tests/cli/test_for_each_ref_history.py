"""`for-each-ref` and history: filters by reachability, distances, branch bases."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.cli.for_each_ref_scene import Objects, check, check_but_for_ids, set_refs
from tests.support import init_repo, run_git


def random_history(repo: Path, seed: int, *, skewed: bool) -> None:
    """Some 60 commits, of which 25 have a branch; with `skewed`, clocks go wrong."""
    choose = random.Random(seed)
    objects = Objects(repo, "sha1")
    tree = objects.put("tree", b"")
    commits: list[str] = []
    refs: dict[str, str] = {}
    for number in range(60):
        recent = commits[-8:]
        wanted = choose.choice((1, 1, 1, 2, 2, 3)) if number % 20 else 0
        parents = choose.sample(recent, min(wanted, len(recent)))
        date = 1500000000 + 100 * number
        if skewed and choose.random() < 0.3:
            date -= choose.randrange(100_000)
        person = f"A <a@x> {date} +0000"
        commits.append(objects.commit(tree, *parents, message=f"{number}\n", person=person))
        if choose.random() < 0.4:
            refs[f"heads/b{number:02}"] = commits[-1]
    refs["heads/main"] = commits[-1]
    refs["tags/annotated"] = objects.tag(commits[30], "commit", "annotated", "x\n")
    refs["tags/nested"] = objects.tag(refs["tags/annotated"], "tag", "nested", "x\n")
    refs["tags/middle"] = commits[40]
    refs["tags/tree"] = tree
    refs["tags/of-tree"] = objects.tag(tree, "tree", "of-tree", "x\n")
    set_refs(repo, refs)


@pytest.fixture(scope="module", params=[1, 2, 3])
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random history; tests only read it."""
    path = init_repo(tmp_path_factory.mktemp("history") / "repo")
    random_history(path, request.param, skewed=request.param == 3)
    return path


FILTERS = [
    "--merged",
    "--merged=tags/middle",
    "--merged tags/annotated",
    "--no-merged=HEAD",
    "--no-merged=tags/middle --no-merged=tags/nested",
    "--merged=tags/middle --merged=tags/annotated",
    "--merged=HEAD --no-merged=tags/middle",
    "--contains",
    "--contains=tags/middle",
    "--contains=tags/annotated --contains=tags/middle",
    "--no-contains=tags/annotated",
    "--no-contains=tags/annotated --no-contains=tags/middle",
    "--contains=tags/annotated --no-contains=tags/middle --no-merged=main~3",
    "--merged=tags/middle --count=2 --sort=-refname",
    "--merged=HEAD --points-at=tags/middle",
    "--contains=HEAD~99",
    "--merged=nonsense",
    "--no-merged=tags/tree",
    "--merged=tags/of-tree",
    "--contains=nonsense",
    "--no-contains=tags/of-tree",
    "--contains=1111111111111111111111111111111111111111",
]


@pytest.mark.parametrize("arguments", FILTERS)
def test_filters(repo: Path, arguments: str) -> None:
    check_but_for_ids(f"for-each-ref {arguments}", repo)


@pytest.mark.parametrize("base", ["HEAD", "tags/middle", "tags/annotated", "main~5"])
def test_distances(repo: Path, base: str) -> None:
    done = check(f"for-each-ref '--format=%(ahead-behind:{base}) %(refname)' refs/heads", repo)
    assert done.status == 0


def test_distance_of_what_is_no_commit(repo: Path) -> None:
    for field in ("ahead-behind:HEAD", "ahead-behind:tags/tree", "is-base:tags/of-tree"):
        check_but_for_ids(f"for-each-ref '--format=%({field}) %(refname)' refs/tags", repo)


@pytest.mark.parametrize("base", ["HEAD", "tags/middle", "main~2", "HEAD^2"])
def test_bases(repo: Path, base: str) -> None:
    for arguments in ("refs/heads", "'refs/heads/*[0-4]'", "", "--count=3 --sort=-refname"):
        check(f"for-each-ref '--format=%(is-base:{base}) %(refname)' {arguments}", repo)


def test_sorting(repo: Path) -> None:
    fields = "'--format=%(ahead-behind:HEAD)|%(is-base:main~1)|%(refname)'"
    check(f"for-each-ref --sort=ahead-behind:HEAD {fields} refs/heads", repo)
    check(f"for-each-ref --sort=is-base:main~1 --count=4 {fields} refs/heads", repo)


def test_tracking(repo: Path) -> None:
    names = run_git(["for-each-ref", "--format=%(refname:short)", "refs/heads"], repo).stdout
    branches = names.decode().split()
    settings = "".join(
        f"-c branch.{branch}.remote=. -c branch.{branch}.merge=refs/heads/{other} "
        for branch, other in zip(branches, reversed(branches), strict=True)
    )
    check(f"{settings} for-each-ref '--format=%(refname) %(upstream:track)' refs/heads", repo)


def test_missing_ancestors(tmp_path: Path) -> None:
    repo = init_repo(tmp_path / "repo")
    objects = Objects(repo, "sha1")
    tree = objects.put("tree", b"")
    good = objects.commit(tree)
    bad = objects.commit(tree, "1" * 40)
    set_refs(repo, {"heads/a": good, "heads/b": bad, "heads/c": good, "heads/main": good})
    done = check("for-each-ref --merged=HEAD", repo)
    assert len(done.stdout.splitlines()) == 3


def test_shallow(tmp_path: Path, repo: Path) -> None:
    run_git(
        ["clone", "-q", "--bare", "--depth=3", "--ref-format=reftable", f"file://{repo}", "s"],
        tmp_path,
    )
    shallow = tmp_path / "s"
    for arguments in ("--merged", "--contains", "'--format=%(ahead-behind:HEAD) %(refname)'"):
        check_but_for_ids(f"for-each-ref {arguments}", shallow)
