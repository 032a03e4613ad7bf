"""`for-each-ref --points-at`, held against git: every way in which a ref leads to an object."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import NamedTuple

import pytest

from pyreftable.format.records import DELETION, OID, OID_AND_PEELED, SYMREF, RefRecord
from pyreftable.hashes import SHA1, SHA256
from pyreftable.stack import Snapshot, Stack, StackOptions
from pyreftable.writer import TableWriter
from tests.cli.for_each_ref_scene import Objects, check
from tests.support import init_repo, run_git
from tests.twins import run_ours

Rows = dict[str, tuple[str, ...]]


class Scene(NamedTuple):
    """A repository, its objects by name, and what writes more of them."""

    path: Path
    ids: dict[str, str]
    objects: Objects


def add_table(repo: Path, object_format: str, rows: Rows) -> None:
    """Put one more table on the stack, which stays as it is otherwise.

    A row is nothing (a deletion), an id, an id and its peeled id, or "ref:" and a name.
    """
    algorithm = SHA1 if object_format == "sha1" else SHA256

    def write(writer: TableWriter, snapshot: Snapshot) -> None:
        index = snapshot.next_update_index
        writer.add_refs(
            RefRecord(name.encode(), index, *_value(*row)) for name, row in sorted(rows.items())
        )

    options = StackOptions(hash=algorithm, auto_compact=False)
    stack = Stack.open(os.fspath(repo / ".git" / "reftable"), options)
    stack.add(write)
    stack.close()


def _value(*row: str) -> tuple[int, bytes]:
    if not row:
        return DELETION, b""
    if row[0] == "ref:":
        return SYMREF, row[1].encode()
    return (OID, OID_AND_PEELED)[len(row) - 1], bytes.fromhex("".join(row))


def make_objects(objects: Objects) -> dict[str, str]:
    """Two commits, their tree, a blob; tags of all of them, and tags of tags."""
    ids = {"blob": objects.put("blob", b"x"), "tree": objects.put("tree", b"")}
    ids["c1"] = objects.commit(ids["tree"], message="one\n")
    ids["c2"] = objects.commit(ids["tree"], ids["c1"], message="two\n")
    ids["unused"] = objects.commit(ids["tree"], message="unused\n")
    for name, target, kind in (
        ("t1", "c1", "commit"),
        ("t2", "t1", "tag"),
        ("t3", "t2", "tag"),
        ("other", "c1", "commit"),
        ("of-c2", "c2", "commit"),
        ("of-blob", "blob", "blob"),
        ("of-tree", "tree", "tree"),
        ("of-of-tree", "of-tree", "tag"),
    ):
        ids[name] = objects.tag(ids[target], kind, name, "x\n")
    return ids


PEELED = {
    "t1": "c1",
    "t2": "c1",
    "t3": "c1",
    "other": "c1",
    "of-c2": "c2",
    "of-blob": "blob",
    "of-tree": "tree",
    "of-of-tree": "tree",
}


def make_scene(home: Path, object_format: str) -> Scene:
    """Four tables that hide, delete and bring back each other's refs."""
    repo = init_repo(home / object_format, object_format=object_format)
    objects = Objects(repo, object_format)
    ids = make_objects(objects)
    tags: Rows = {f"refs/tags/{name}": (ids[name], ids[end]) for name, end in PEELED.items()}
    bare: Rows = {f"refs/bare/{name}": (oid,) for name, oid in ids.items()}
    c1, c2 = (ids["c1"],), (ids["c2"],)
    base: Rows = tags | bare
    base |= {"ORIG_HEAD": c1, "refs/heads/main": c1, "refs/heads/two": c2, "refs/heads/gone": c1}
    base |= {"refs/heads/back": c1, "refs/heads/moved": c1, "refs/heads/turned": c1}
    base |= {"refs/remotes/origin/HEAD": ("ref:", "refs/heads/main"), "refs/tags/gone": c1}
    base |= {"refs/heads/straight": ("ref:", "refs/heads/main"), "refs/zone/main": c1}
    for number, target in enumerate(("bare/t3", "bare/t1", "tags/t2", "heads/two", "no/such")):
        for folder in ("bisect", "heads", "remotes/origin", "zone"):
            base[f"refs/{folder}/alias-{number}"] = ("ref:", f"refs/{target}")
    add_table(repo, object_format, base)
    away: Rows = {"refs/heads/gone": (), "refs/heads/back": (), "refs/tags/gone": ()}
    add_table(repo, object_format, away | {"refs/bare/t2": (), "refs/heads/moved": c2})
    back: Rows = {"refs/heads/back": c1, "refs/heads/turned": ("ref:", "refs/bare/t3")}
    add_table(repo, object_format, back | {"refs/heads/straight": c2, "refs/tags/t3": ()})
    add_table(repo, object_format, {"refs/tags/t3": (ids["t3"], ids["c1"])})
    return Scene(repo, ids, objects)


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Only read by the tests."""
    return make_scene(tmp_path_factory.mktemp("points-at"), request.param)


@pytest.fixture
def own_scene(tmp_path: Path) -> Scene:
    """One to change."""
    return make_scene(tmp_path, "sha1")


def shown(scene: Scene, *arguments: str) -> list[str]:
    """The names that git and pyreftable show for these arguments."""
    words = " ".join(f"'{word}'" for word in arguments)
    done = check(f"for-each-ref '--format=%(refname)' {words}", scene.path)
    assert done.status == 0, done.stderr
    return done.stdout.decode().splitlines()


LIMITS = [
    "",
    "--include-root-refs",
    "--count=3",
    "--sort=-refname",
    "--ignore-case",
    "--exclude=refs/heads/a*",
    "refs/heads",
    "refs/heads refs/tags",
    "refs/heads/main",
    "refs/zone/*",
]


@pytest.mark.parametrize("limits", LIMITS)
def test_each_object(scene: Scene, limits: str) -> None:
    for oid in scene.ids.values():
        shown(scene, f"--points-at={oid}", *limits.split())


def test_whom_it_finds(scene: Scene) -> None:
    """The scene has what it is for: directly, by tags, by symrefs; newest tables win."""
    names = shown(scene, f"--points-at={scene.ids['t2']}", "--include-root-refs")
    assert "refs/tags/t2" in names
    assert {"refs/tags/t3", "refs/bare/t3", "refs/heads/alias-0", "refs/heads/turned"} <= {*names}
    assert not {"refs/bare/t2", "refs/tags/other", "refs/tags/t1"} & {*names}
    names = shown(scene, f"--points-at={scene.ids['c1']}", "--include-root-refs")
    assert {"HEAD", "ORIG_HEAD", "refs/heads/back", "refs/remotes/origin/HEAD"} <= {*names}
    assert not {"refs/heads/gone", "refs/heads/moved", "refs/heads/straight"} & {*names}
    assert shown(scene, f"--points-at={scene.ids['unused']}") == ["refs/bare/unused"]


@pytest.mark.parametrize(
    "wanted",
    ["c1 c2", "t1 of-tree", "t2 c2 blob", "of-of-tree unused", "c1 t1 t2 t3", "tree of-tree"],
)
def test_several_objects(scene: Scene, wanted: str) -> None:
    ids = [f"--points-at={scene.ids[name]}" for name in wanted.split()]
    every = shown(scene, *ids)
    assert {*every} == {name for option in ids for name in shown(scene, option)}
    assert shown(scene, *ids, "--include-root-refs", "refs/heads", "refs/tags")


@pytest.mark.parametrize("name", ["HEAD", "refs/tags/t2", "refs/tags/t3^{}", "refs/heads/alias-0"])
def test_by_name(scene: Scene, name: str) -> None:
    assert shown(scene, f"--points-at={name}")


def test_an_object_that_is_not_there(scene: Scene) -> None:
    absent = "1" * len(scene.ids["c1"])
    assert shown(scene, f"--points-at={absent}") == []
    assert shown(scene, f"--points-at={absent}", f"--points-at={scene.ids['t1']}")


def test_packed_objects(own_scene: Scene) -> None:
    run_git(["repack", "-a", "-d", "--quiet"], own_scene.path)
    run_git(["prune-packed"], own_scene.path)
    for oid in own_scene.ids.values():
        shown(own_scene, f"--points-at={oid}")


# Objects that are missing, or are not what a tag says


def lose(scene: Scene, oid: str) -> None:
    """Delete the file of an object."""
    (scene.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()


def test_what_a_tag_names_may_be_missing(own_scene: Scene) -> None:
    lost = own_scene.objects.commit(own_scene.ids["tree"], message="lost\n")
    tag = own_scene.objects.tag(lost, "commit", "tag", "x\n")
    outer = own_scene.objects.tag(tag, "tag", "outer", "x\n")
    rows: Rows = {"refs/bare/of-lost": (tag,), "refs/tags/of-lost": (tag, lost)}
    add_table(own_scene.path, "sha1", rows | {"refs/bare/outer": (outer,)})
    lose(own_scene, lost)
    assert len(shown(own_scene, f"--points-at={lost}")) == 3
    assert shown(own_scene, f"--points-at={tag}")
    assert shown(own_scene, f"--points-at={own_scene.ids['t2']}")
    lose(own_scene, tag)
    found = shown(own_scene, f"--points-at={tag}", "refs/bare/outer", "refs/tags/of-lost")
    assert found == ["refs/bare/outer", "refs/tags/of-lost"]
    for place in ("refs/bare/outer", "refs/bare/of-lost"):
        done = check(f"for-each-ref --points-at={own_scene.ids['c2']} {place}", own_scene.path)
        assert (done.status, done.stderr.splitlines()[-1]) == (
            128,
            f"fatal: malformed object at '{place}'".encode(),
        )


def test_refs_before_the_missing_object_are_shown(own_scene: Scene) -> None:
    lost = own_scene.objects.put("blob", b"lost")
    add_table(own_scene.path, "sha1", {"refs/tags/lost": (lost,), "refs/heads/lost": (lost,)})
    lose(own_scene, lost)
    run_git(["symbolic-ref", "refs/heads/astray", "refs/tags/lost"], own_scene.path)
    c1 = own_scene.ids["c1"]
    for patterns in ("refs/tags refs/zone", "refs/heads/astray refs/heads/back", "refs/tags/l*"):
        done = check(f"for-each-ref --points-at={c1} {patterns}", own_scene.path)
        assert done.status == 128
    assert shown(own_scene, f"--points-at={lost}", "refs/tags/lost")


def test_objects_whose_answer_is_known_are_not_opened(own_scene: Scene) -> None:
    """Here git stops, at objects that could not change what is shown."""
    ids = own_scene.ids
    lost = own_scene.objects.tag(ids["c2"], "commit", "lost", "x\n")
    add_table(own_scene.path, "sha1", {"refs/tags/lost": (lost, ids["c2"])})
    lose(own_scene, lost)
    lose(own_scene, ids["c1"])
    patterns = ["--format=%(refname)", "refs/tags/lost", "refs/heads/main", "refs/heads/two"]
    done = run_ours(["for-each-ref", f"--points-at={ids['unused']}", *patterns], own_scene.path)
    assert done == (0, b"", b"")
    # Whether it leads to a tag of its own commit cannot be told without it.
    done = check(f"for-each-ref --points-at={ids['of-c2']} refs/tags/lost", own_scene.path)
    assert done.status == 128


def test_tags_that_are_not_what_they_say(own_scene: Scene) -> None:
    ids, objects = own_scene.ids, own_scene.objects
    rows: Rows = {}
    for kind, target in (("tag", "c1"), ("commit", "t1"), ("blob", "c1"), ("nonsense", "c1")):
        liar = objects.tag(ids[target], kind, "liar", "x\n")
        rows[f"refs/bare/liar-{kind}"] = (liar,)
    damaged = objects.put("tag", "object xyz\n")
    rows["refs/bare/damaged"] = (damaged,)
    rows["refs/bare/of-damaged"] = (objects.tag(damaged, "tag", "of-damaged", "x\n"),)
    add_table(own_scene.path, "sha1", rows)
    for name in rows:
        for wanted in ("c1", "c2", "t1"):
            command = f"for-each-ref --points-at={ids[wanted]} '--format=%(refname)' {name}"
            check(command, own_scene.path)


def test_replaced_tags(own_scene: Scene) -> None:
    ids = own_scene.ids
    run_git(["update-ref", f"refs/replace/{ids['other']}", ids["of-c2"]], own_scene.path)
    for oid in ids.values():
        for place in ("refs/bare", "refs/tags/t*", "refs/heads", "refs/zone"):
            shown(own_scene, f"--points-at={oid}", place)


def test_branches_that_are_tags(own_scene: Scene) -> None:
    """Git makes none; a record with a peeled id is known for what it is all the same."""
    t2, c1 = own_scene.ids["t2"], own_scene.ids["c1"]
    add_table(own_scene.path, "sha1", {"refs/heads/tag": (t2, c1)})
    for wanted in ("t1", "t2", "c1"):
        assert "refs/heads/tag" in shown(own_scene, f"--points-at={own_scene.ids[wanted]}")
    shown(own_scene, f"--points-at={own_scene.ids['t3']}")


# Chance


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("seed", range(4))
def test_random_stores(tmp_path: Path, object_format: str, seed: int) -> None:
    """Five tables of random records over one another, for each object."""
    choose = random.Random(seed)
    repo = init_repo(tmp_path / "repo", object_format=object_format)
    ids = make_objects(Objects(repo, object_format))
    folders = ("refs/heads/", "refs/tags/", "refs/a/", "refs/remotes/o/")
    names = [f"{folder}{number}" for folder in folders for number in range(12)]
    for _ in range(5):
        rows: Rows = {}
        for name in choose.sample(names, 20):
            chosen = choose.choice(("c1", "c2") if "heads" in name else [*ids])
            values: list[tuple[str, ...]] = [(), (ids[chosen],), ("ref:", choose.choice(names))]
            if chosen in PEELED:
                values += [(ids[chosen], ids[PEELED[chosen]])] * 3
            rows[name] = choose.choice(values)
        add_table(repo, object_format, rows)
    scene = Scene(repo, ids, Objects(repo, object_format))
    for oid in ids.values():
        shown(scene, f"--points-at={oid}")
    for _ in range(5):
        some = choose.sample([*ids.values()], 3)
        shown(scene, *(f"--points-at={oid}" for oid in some), choose.choice(folders))
