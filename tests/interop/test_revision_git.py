"""Object names mean to pyreftable what they mean to `git rev-parse`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyreftable.errors import FatalRevisionError, RevisionError
from pyreftable.refs.revision import resolve_object_name
from pyreftable.refs.store import RefStore
from tests.support import FIXED_TIME, git_env, init_repo, run_git


class Scene(NamedTuple):
    """A repository with some history, and its ref store."""

    path: Path
    store: RefStore

    def git(self, *args: str, **env: str) -> str:
        """What git prints, without the line end."""
        return (
            run_git(args, self.path, env=git_env(self.path) | env)
            .stdout.decode()
            .removesuffix("\n")
        )

    def by_git(self, name: str) -> str | None:
        """The id that git finds for `name`."""
        done = run_git(["rev-parse", "--verify", "--quiet", name], self.path, check=False)
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def by_us(self, name: str) -> str | None:
        """The id that pyreftable finds for `name`."""
        try:
            return resolve_object_name(self.store, name)
        except RevisionError:
            return None


def commit(scene: Scene, message: str, minute: int, *parents: str) -> str:
    """Make a commit of the tree `folder/file`, one minute after the other."""
    options = [word for parent in parents for word in ("-p", parent)]
    date = f"@{FIXED_TIME + 60 * minute} +0000"
    tree = scene.git("write-tree")
    return scene.git(
        "commit-tree",
        tree,
        "-m",
        message,
        *options,
        GIT_COMMITTER_DATE=date,
    )


def move(scene: Scene, ref: str, oid: str, minute: int, message: str = "move") -> None:
    """Set a ref, with an entry in its log."""
    date = f"@{FIXED_TIME + 60 * minute} +0000"
    scene.git("update-ref", "-m", message, ref, oid, GIT_COMMITTER_DATE=date)


@pytest.fixture
def scene(repo: Path) -> Iterator[Scene]:
    """The scene, once for each object format."""
    with RefStore.open(str(build(repo).path), environ=git_env(repo)) as store:
        yield Scene(repo, store)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The scene, built once for tests that change nothing."""
    repo = init_repo(tmp_path_factory.mktemp("built"))
    with RefStore.open(str(build(repo).path), environ=git_env(repo)) as store:
        yield Scene(repo, store)


def build(repo: Path) -> Scene:
    """Fill a repository.

    main: three commits and a merge; side: one commit; tags, a tracking branch, a describe name.

    The log of main has four entries, that of HEAD two checkouts.
    """
    made = Scene(repo, RefStore.open(str(repo), environ=git_env(repo)))
    (repo / "folder").mkdir()
    (repo / "folder" / "file").write_text("content\n")
    made.git("add", "folder")
    first = commit(made, "first", 0)
    second = commit(made, "second", 1, first)
    side = commit(made, "side", 2, first)
    merge = commit(made, "merge", 3, second, side)
    last = commit(made, "last", 4, merge)
    for minute, oid in enumerate((first, second, merge, last)):
        move(made, "refs/heads/main", oid, 10 * minute)
    move(made, "refs/heads/side", side, 1)
    made.git("tag", "-a", "-m", "a tag", "v1", "main~1")
    made.git("tag", "-a", "-m", "a tag of a tag", "nested", "v1")
    made.git("tag", "-a", "-m", "a tag of a tree", "tree-tag", "main^{tree}")
    made.git("tag", "light", "side")
    made.git("tag", "side", "main")
    made.git("update-ref", "refs/remotes/origin/main", second)
    made.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    made.git("config", "remote.origin.url", "nowhere")
    made.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    made.git("config", "branch.main.remote", "origin")
    made.git("config", "branch.main.merge", "refs/heads/main")
    made.git("config", "branch.side.remote", ".")
    made.git("config", "branch.side.merge", "refs/heads/main")
    made.git("checkout", "--quiet", "side")
    made.git("checkout", "--quiet", "--detach", "light")
    made.git("checkout", "--quiet", "main")
    made.store.close()
    return made


NAMES = """
HEAD @ main refs/heads/main heads/main v1 tags/v1 light origin origin/main
refs/remotes/origin/HEAD side heads/side tags/side nested tree-tag HEAD~ HEAD^ HEAD~0 HEAD^0
HEAD~2 HEAD~3 HEAD~4 HEAD~1^2 HEAD~1^3 main~1^2~1 HEAD^^ HEAD~~~ @~1 @^ HEAD~99999999999999999999
HEAD^2 v1~1 v1^ nested^0 tree-tag~1 tree-tag^0 v1^{} v1^{commit} v1^{tree} v1^{tag} v1^{object}
v1^{blob} nested^{} nested^{tag} nested^{tree} main^{} main^{commit} main^{tree} main^{tag}
main^{object} main^{/} main^{junk} main^{tree}^{commit} tree-tag^{} tree-tag^{tree}
tree-tag^{commit} v1^{}^{tree} v1^{tag}^{} main@{0} main@{1} main@{2} main@{3} main@{4} main@{5}
heads/main@{1} refs/heads/main@{1}~1 HEAD@{0} HEAD@{1} @{0} @{1} @{2} @{3} @{4} @{1}^{tree}
light@{0} light@{1} side@{0} heads/side@{0} main@{} @{-1} @{-2} @{-3} @{-4} @{-0} @{-1}~1
@{-2}@{0} main@{-1} @{-1}^{tree} @{-2}^0 @{u} @{upstream} main@{u} main@{UPSTREAM} main@{u}~1
heads/main@{u} side@{u} @{push} main@{push} @@{u} HEAD@{u} @{u}@{0} @{-2}@{u} light@{u}
nothing@{u} main@{upstream}x HEAD: HEAD:folder HEAD:folder/ HEAD:folder/file HEAD:folder/file/
HEAD:folder//file HEAD:nothing v1:folder/file tree-tag:folder main^{tree}:folder v1^{}:folder/file
main@{1}:folder/file nothing:a HEAD:folder/file/deeper HEAD~1:folder main@{2023-11-14}
main@{1699999999} main@{1700000000} main@{1700000599} main@{1700000600} main@{1700001300}
main@{1700009999} @{1700000700} HEAD@{2023-11-14\x2022:25:00} main@{junk} main@{yesterday}
main@{2.years.ago} main@{never} main@{tea} nothing refs/heads/nothing refs heads . .. main/ /main
//main main//x ./main main/. -main @{x} ^ ~ ^{} ^{commit} @~ x~y main^{ main^} main~1x main^x
HEAD@ @@ @HEAD 0 00 000 0000 deadbeef refs/tags/v1^{}
"""


@pytest.mark.parametrize("repo", ["sha1", "sha256"], indirect=True)
def test_names_mean_what_git_says(scene: Scene) -> None:
    """Every form of name gives git's id, or fails where git fails."""
    names = [name.replace("\\x20", " ") for name in NAMES.split()]
    assert {name: scene.by_us(name) for name in names} == {
        name: scene.by_git(name) for name in names
    }


PIECES = (
    "main side v1 nested tree-tag light HEAD @ origin heads/ refs/ tags/ ~ ^ ~1 ^2 ^0 ^{} "
    "^{commit} ^{tree} ^{tag} @{0} @{1} @{3} @{-1} @{-2} @{u} @{push} : folder /file / . .. @{ "
    "} { - 1 x"
)


@given(
    names=st.lists(st.lists(st.sampled_from(PIECES.split()), max_size=4).map("".join), max_size=4)
)
def test_made_up_names_mean_what_git_says(built: Scene, names: list[str]) -> None:
    """Names put together at random, most of them nonsense, are read or refused as by git."""
    # git takes what begins with a dash for an option, and ours does not read `:path`.
    names = [name for name in names if not name.startswith(("-", ":")) and ":." not in name]
    # git takes `main^{}junk}` for `main^{}`; we refuse it.
    names = [name for name in names if name.rpartition("^{")[2].count("}") < 2]
    # Words of git's own for several commits (`^main`, `a..b`) are no object names.
    names = [name for name in names if not name.startswith("^") and ".." not in name]
    assert {name: built.by_us(name) for name in names} == {
        name: built.by_git(name) for name in names
    }


def test_ids_mean_what_git_says(scene: Scene) -> None:
    """Full ids in any case, stored or not, abbreviated ids and describe output."""
    oid = scene.git("rev-parse", "main")
    tag = scene.git("rev-parse", "v1")
    absent = "5" * len(oid)
    names = [
        oid,
        oid.upper(),
        absent,
        "0" * len(oid),
        oid[:-1],
        oid[:4],
        oid[:7].upper(),
    ]
    names += [oid[:3], tag[:8], f"{tag[:8]}^{{}}", f"{oid[:8]}~1", f"{oid[:8]}:folder", absent[:8]]
    names += [f"{absent}^0", f"{absent}^{{}}", f"{absent}~1", f"{absent}:folder"]
    names += [f"v1-1-g{oid[:7]}", f"any/thing-0-g{oid[:6]}", f"v1-g{oid[:7]}", f"v1-x-g{oid[:7]}"]
    names += [f"v1-1-g{absent[:7]}", f"v1-1-g{tag[:7]}", f"a..b-1-g{oid[:7]}", f"-1-g{oid[:7]}"]
    assert {name: scene.by_us(name) for name in names} == {
        name: scene.by_git(name) for name in names
    }


def test_packed_objects_answer_alike(scene: Scene) -> None:
    """The same names mean the same once all objects are in a pack."""
    oid = scene.git("rev-parse", "main")
    names = ["main~2^{tree}", "v1^{}", "HEAD:folder/file", oid[:7], f"v1-1-g{oid[:7]}", "main^2"]
    before = {name: scene.by_us(name) for name in names}
    scene.git("repack", "-adq")
    with RefStore.open(str(scene.path), environ=git_env(scene.path)) as store:
        packed = scene._replace(store=store)
        assert {name: packed.by_us(name) for name in names} == before
        assert {name: packed.by_git(name) for name in names} == before


def test_shallow_boundary_has_no_parents(scene: Scene) -> None:
    """Beyond the boundary of a shallow clone there is nothing, even if the object is there."""
    boundary = scene.git("rev-parse", "main~1")
    (scene.path / ".git" / "shallow").write_text(boundary + "\n")
    for name in ("main~1", "main~2", "main~1^2"):
        assert scene.by_us(name) == scene.by_git(name)


@pytest.mark.parametrize(
    "name", ["main@{9}", "@{u}", "plain@{u}", "nothing@{u}", "side@{push}", "refs/heads/side@{4}"]
)
def test_git_stops_with_the_same_message(scene: Scene, name: str) -> None:
    """Where git dies on a name, the error carries git's message."""
    scene.git("update-ref", "refs/heads/plain", "main")
    scene.git("checkout", "--quiet", "--detach")
    done = run_git(["rev-parse", name], scene.path, check=False)
    said = done.stderr.decode().splitlines()[-1]
    with pytest.raises(FatalRevisionError) as caught:
        resolve_object_name(scene.store, name)
    assert f"fatal: {caught.value}" == said


@pytest.mark.parametrize(
    "name", ["side", "main", "main@{2001-01-01}", "main@{1700001200}", "dangling", "v1"]
)
def test_warnings_are_gits(scene: Scene, name: str) -> None:
    """Ambiguous names, dangling symrefs and logs that are too short are told as git tells them."""
    scene.git("symbolic-ref", "refs/heads/dangling", "refs/heads/not-there")
    scene.git("update-ref", "refs/heads/dangling2", "main")
    done = run_git(["rev-parse", "--verify", name], scene.path, check=False)
    warnings = [
        line.removeprefix("warning: ")
        for line in done.stderr.decode().splitlines()
        if line.startswith("warning: ")
    ]
    told: list[str] = []
    try:
        resolve_object_name(scene.store, name, warn=told.append)
    except RevisionError:
        assert done.returncode != 0
    assert told == warnings


@pytest.mark.parametrize("name", ["main@{0}", "main@{1}", "main@{2}", "main@{1700000700}"])
def test_logs_with_gaps(scene: Scene, name: str) -> None:
    """Where an entry was taken out of a log, git warns; the value is git's all the same."""
    scene.git("reflog", "delete", "main@{1}")
    done = run_git(["rev-parse", "--verify", name], scene.path)
    by_git = [done.stdout.decode().strip(), done.stderr.decode()]
    warnings: list[str] = []
    by_us = [resolve_object_name(scene.store, name, warn=warnings.append)]
    by_us.append("".join(f"warning: {warning}\n" for warning in warnings))
    assert by_us == by_git


def test_empty_logs(scene: Scene) -> None:
    """A log without entries knows the present value and nothing else."""
    scene.git("reflog", "delete", "side@{0}")
    names = ["heads/side@{0}", "heads/side@{1}", "heads/side@{yesterday}"]
    assert {name: scene.by_us(name) for name in names} == {
        name: scene.by_git(name) for name in names
    }


def test_ambiguity_warnings_can_be_switched_off(scene: Scene) -> None:
    """`core.warnAmbiguousRefs` false: the first ref is taken without a word."""
    scene.git("config", "core.warnAmbiguousRefs", "false")
    with RefStore.open(str(scene.path), environ=git_env(scene.path)) as store:
        told: list[str] = []
        assert resolve_object_name(store, "side", warn=told.append) == scene.by_git("side")
    assert told == []


def test_abbreviations_that_fit_several_objects(repo_sha1: Path) -> None:
    """An ambiguous abbreviation is refused, unless the context asks for a type that one has."""
    blobs = run_git(["hash-object", "-w", "--stdin-paths"], repo_sha1, input=b"")
    assert blobs.stdout == b""
    env = git_env(repo_sha1)
    scene = Scene(repo_sha1, RefStore.open(str(repo_sha1), environ=env))
    first = commit(scene, "first", 0)
    target = first[:4]
    for number in range(200_000):
        body = f"{number}\n"
        if _blob_id(body).startswith(target):
            run_git(["hash-object", "-w", "--stdin"], repo_sha1, input=body.encode())
            break
    names = [target, f"{target}^0", f"{target}^{{commit}}", f"{target}^{{tree}}", f"x-1-g{target}"]
    names += [f"{target}^{{blob}}", f"{target}^{{}}", f"{target}:"]
    assert {name: scene.by_us(name) for name in names} == {
        name: scene.by_git(name) for name in names
    }
    with pytest.raises(RevisionError, match=f"short object ID {target} is ambiguous"):
        resolve_object_name(scene.store, target)
    scene.git("config", "core.disambiguate", "commit")
    with RefStore.open(str(repo_sha1), environ=env) as store:
        assert scene._replace(store=store).by_us(target) == scene.by_git(target) == first
    scene.store.close()


def _blob_id(body: str) -> str:
    import hashlib

    return hashlib.sha1(f"blob {len(body)}\0{body}".encode()).hexdigest()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (":/first", "searched by their message"),
        ("main^{/first}", "searched by their message"),
        (":folder/file", "index cannot be read"),
        (":0:folder/file", "index cannot be read"),
        ("main:./folder", "relative paths"),
    ],
)
def test_what_is_not_supported_says_so(scene: Scene, name: str, words: str) -> None:
    """Searching history, the index and relative paths are refused in words, not as unknown."""
    assert scene.by_git(name) is not None
    with pytest.raises(FatalRevisionError, match=words):
        resolve_object_name(scene.store, name)


def test_reads_without_git_on_path(repo_sha1: Path) -> None:
    """In a SHA-1 repository all of it works with no git to be found."""
    env = git_env(repo_sha1)
    scene = Scene(repo_sha1, RefStore.open(str(repo_sha1), environ=env))
    oid = commit(scene, "first", 0)
    scene.git("tag", "-a", "-m", "tag", "v1", oid)
    scene.git("repack", "-adq")
    scene.git("prune-packed")
    expected = scene.git("rev-parse", "v1^{tree}")
    scene.store.close()
    bare = env | {"PATH": os.devnull}
    with RefStore.open(str(repo_sha1), environ=bare) as store:
        assert resolve_object_name(store, "v1^{tree}") == expected
