"""Objects that git stored, loose and packed, in both formats, against `git cat-file`."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pyreftable.errors import ObjectMissingError, RepositoryError
from pyreftable.hashes import BY_NAME
from pyreftable.refs.cat_file import CatFile
from pyreftable.refs.objects import StoredObjects
from pyreftable.refs.packs import GitdbPacks
from tests.support import git_env, init_repo, run_git
from tests.unit.test_objects import Home, put

DELTAS = "\n".join(f"line {number} of a file that changes little" for number in range(300))


class Filled(NamedTuple):
    """A repository, its objects by id (type and size), and our view of it."""

    path: Path
    objects: dict[str, tuple[str, int]]
    store: StoredObjects

    @property
    def ids(self) -> list[str]:
        """All ids, sorted."""
        return sorted(self.objects)


def home(path: Path, **environ: str) -> Home:
    """The repository in the work tree `path`, in the environment of the tests."""
    algorithm = run_git(["rev-parse", "--show-object-format"], path).stdout.decode().strip()
    return Home(str(path / ".git"), git_env(path) | environ, BY_NAME[algorithm])


def listed(path: Path) -> dict[str, tuple[str, int]]:
    """All objects that git knows of."""
    options = ["--batch-all-objects", "--batch-check=%(objectname) %(objecttype) %(objectsize)"]
    lines = run_git(["cat-file", *options], path).stdout.decode().splitlines()
    return {oid: (kind, int(size)) for oid, kind, size in (line.split() for line in lines)}


@pytest.fixture(
    scope="module",
    params=itertools.product(["sha1", "sha256"], ["loose", "packed", "two packs", "deltas"]),
    ids="-".join,
)
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Filled]:
    """Commits, trees, blobs and tags; some blobs alike, so that packs hold deltas."""
    object_format, layout = request.param
    repo = init_repo(tmp_path_factory.mktemp("filled"), object_format=object_format)
    for number in range(12):
        (repo / "file").write_text(DELTAS.replace("line 7 ", f"line {number}/7 "))
        (repo / f"other-{number}").write_text(f"{number}\n")
        run_git(["add", "."], repo)
        run_git(["commit", "-q", "-m", f"commit {number}"], repo)
        if number == 6 and layout == "two packs":
            run_git(["repack", "-dq"], repo)
    run_git(["tag", "-a", "-m", "a tag", "v1"], repo)
    run_git(["tag", "-a", "-m", "a tag of a tag", "v2", "v1"], repo)
    run_git(["tag", "-a", "-m", "a tag of a blob", "v3", "HEAD:file"], repo)
    if layout != "loose":
        depth = "50" if layout == "deltas" else "0"
        all_in_one = [] if layout == "two packs" else ["-a", "-f"]
        run_git(["repack", "-dq", f"--depth={depth}", *all_in_one], repo)
    store = StoredObjects(home(repo))
    yield Filled(repo, listed(repo), store)
    store.close()


def test_info(filled: Filled) -> None:
    """Type and size of every object, asked one by one and ahead."""
    assert {oid: filled.store.info(oid) for oid in filled.ids} == filled.objects
    ahead = StoredObjects(home(filled.path))
    absent = ["0" * len(filled.ids[0]), "f" * len(filled.ids[0])]
    ahead.prefetch([*absent, *filled.ids])
    assert ahead._infos == filled.objects
    assert [ahead.info(oid) for oid in absent] == [None, None]
    ahead.close()


@pytest.mark.parametrize("with_git", [True, False])
def test_many_at_once(filled: Filled, with_git: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are listed and git is asked; without git (SHA-256 needs it) packs are read here."""
    monkeypatch.setattr("pyreftable.refs.objects._MANY", 2)
    is_sha1 = len(filled.ids[0]) == 40
    where = home(filled.path) if with_git or not is_sha1 else home(filled.path, PATH="")
    ahead = StoredObjects(where)
    ahead.prefetch(["0" * len(filled.ids[0]), *filled.ids])
    assert ahead._infos == filled.objects
    ahead.close()


def test_read(filled: Filled) -> None:
    """Body of every object."""
    request = "".join(f"contents {oid}\n" for oid in filled.ids).encode()
    answer = run_git(["cat-file", "--batch-command"], filled.path, input=request).stdout
    read = [(oid, *filled.store.read(oid)) for oid in filled.ids]
    assert answer == b"".join(
        f"{oid} {kind} {len(body)}\n".encode() + body + b"\n" for oid, kind, body in read
    )
    with pytest.raises(ObjectMissingError):
        filled.store.read("0" * len(filled.ids[0]))


def test_peel(filled: Filled) -> None:
    """Every tag leads where git says, and nothing else leads anywhere."""
    names = [f"{oid}^{{}}" for oid in filled.ids]
    by_git = run_git(["rev-parse", *names], filled.path).stdout.decode().split()
    for oid, peeled in zip(filled.ids, by_git, strict=True):
        assert filled.store.peel(oid) == (peeled if filled.objects[oid][0] == "tag" else None)


def test_expand(filled: Filled) -> None:
    """Prefixes that occur, as short as they may be and as long, and one that does not."""
    for oid in filled.ids[::9]:
        for length in (4, 9, len(oid)):
            options = [f"--disambiguate={oid[:length]}"]
            by_git = run_git(["rev-parse", *options], filled.path).stdout.decode().split()
            assert filled.store.expand(oid[:length]) == by_git
    assert filled.store.expand(filled.ids[0][:4] + "0" * 20) == []


def test_objects_that_come_and_move(repo: Path) -> None:
    """Objects written or repacked while we look: each is found, wherever it lies now."""
    store = StoredObjects(home(repo))
    hash_blob = ["hash-object", "-w", "--stdin"]
    ids: list[str] = []
    for number in range(4):
        body = f"{number}\n".encode()
        ids.append(run_git(hash_blob, repo, input=body).stdout.decode().strip())
        run_git(["update-ref", f"refs/blobs/{number}", ids[-1]], repo)
        assert store.info(ids[-1]) == ("blob", 2)
        run_git(["repack", "-adq"], repo)
        assert [store.read(oid)[1] for oid in ids] == [b"%d\n" % each for each in range(number + 1)]
    fresh = StoredObjects(home(repo))
    assert [fresh.info(oid) for oid in ids] == [("blob", 2)] * 4
    fresh.close()
    store.close()


def test_alternates(repo: Path, tmp_path: Path) -> None:
    """A clone that borrows: loose and packed objects of the other repository."""
    (repo / "file").write_text("content\n")
    run_git(["add", "."], repo)
    run_git(["commit", "-q", "-m", "one"], repo)
    run_git(["repack", "-adq"], repo)
    run_git(["commit", "-q", "-m", "two", "--allow-empty"], repo)
    clone = tmp_path / "clone"
    run_git(["clone", "-q", "--shared", "--ref-format=reftable", str(repo), str(clone)], tmp_path)
    store = StoredObjects(home(clone))
    objects = listed(repo)
    assert objects
    assert {oid: store.info(oid) for oid in objects} == objects
    assert [store.expand(oid[:12]) for oid in objects] == [[oid] for oid in objects]
    store.close()


class TestBackings:
    """Which of gitdb and git answers, and what happens where one cannot."""

    def test_sha1_packs_need_no_git(self, repo_sha1: Path) -> None:
        """gitdb reads them; a folder that looks like a glob pattern is no obstacle."""
        odd = repo_sha1.rename(repo_sha1.with_name("[a]*"))
        run_git(["commit", "-q", "-m", "one", "--allow-empty"], odd)
        run_git(["repack", "-adq"], odd)
        store = StoredObjects(home(odd, PATH=os.devnull))
        assert store.info(run_git(["rev-parse", "HEAD"], odd).stdout.decode().strip()) is not None
        assert isinstance(store._pack_source, GitdbPacks)
        store.close()

    def test_git_serves_where_gitdb_is_not_installed(
        self, repo_sha1: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without gitdb packs are read by git."""
        run_git(["commit", "-q", "-m", "one", "--allow-empty"], repo_sha1)
        run_git(["repack", "-adq"], repo_sha1)
        monkeypatch.setitem(__import__("sys").modules, "gitdb.pack", None)
        store = StoredObjects(home(repo_sha1))
        objects = listed(repo_sha1)
        assert {oid: store.info(oid) for oid in objects} == objects
        assert isinstance(store._pack_source, CatFile)
        store.close()

    def test_git_serves_where_gitdb_fails(
        self, repo_sha1: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whatever gitdb raises on a pack, git gets the question."""
        run_git(["commit", "-q", "-m", "one", "--allow-empty"], repo_sha1)
        run_git(["repack", "-adq"], repo_sha1)

        def fail(self: GitdbPacks, hexid: str) -> None:
            raise AssertionError(f"unsupported index version for {hexid}")

        monkeypatch.setattr(GitdbPacks, "info", fail)
        store = StoredObjects(home(repo_sha1))
        objects = listed(repo_sha1)
        assert {oid: store.info(oid) for oid in objects} == objects
        assert isinstance(store._pack_source, CatFile)
        store.close()

    def test_cat_file_in_bulk(self, repo_sha256: Path) -> None:
        """Far more questions than a pipe holds, missing objects among them."""
        for number in range(300):
            put(repo_sha256 / ".git/objects", "blob", b"%d" % number, BY_NAME["sha256"])
        objects = listed(repo_sha256)
        packs = CatFile(home(repo_sha256))
        questions = [*objects, *(f"{number:064x}" for number in range(1500)), *objects]
        answers = list(packs.info_many(questions))
        assert answers == [objects.get(oid) for oid in questions]
        packs.close()
        packs.close()

    def test_threads_take_turns(self, filled: Filled) -> None:
        """Several threads share one store without mixing up answers."""
        store = StoredObjects(home(filled.path))
        wrong: list[str] = []

        def ask() -> None:
            for oid, expected in filled.objects.items():
                store._infos.clear()
                kind, body = store.read(oid)
                if store.info(oid) != expected or (kind, len(body)) != expected:
                    wrong.append(oid)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        store.close()
        assert wrong == []

    @pytest.mark.usefixtures("no_leaked_descriptors")
    def test_nothing_is_left_open(self, repo: Path) -> None:
        """Closing lets go of all files and processes, and the store can be used again."""
        run_git(["commit", "-q", "-m", "one", "--allow-empty"], repo)
        run_git(["repack", "-adq"], repo)
        store = StoredObjects(home(repo))
        for oid in listed(repo):
            for _ in range(2):
                assert store.read(oid)
                store.close()

    def test_a_git_that_refuses_the_repository_serves(
        self, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What git does not know of the repository is no matter to its objects."""
        spare = tmp_path / "spare"
        spare.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(spare))
        run_git(["commit", "-q", "-m", "one", "--allow-empty"], repo)
        run_git(["repack", "-adq"], repo)
        objects, at_home = listed(repo), home(repo)
        run_git(["config", "extensions.unheardOf", "true"], repo)
        packs = CatFile(at_home)
        assert list(packs.info_many([*objects, "1" * len(min(objects))])) == [
            *objects.values(),
            None,
        ]
        assert [packs.expand(oid[:12]) for oid in objects] == [[oid] for oid in objects]
        for oid, expected in objects.items():
            found = packs.read(oid)
            assert found is not None
            assert (found[0], len(found[1])) == expected
        assert len(list(spare.iterdir())) == 1
        packs.close()
        assert list(spare.iterdir()) == []

    def test_refusal_carries_gits_words(self, repo: Path, tmp_path: Path) -> None:
        """A git that can do nothing with the objects: its own message comes up."""
        run_git(["commit", "-q", "-m", "one", "--allow-empty"], repo)
        run_git(["repack", "-adq"], repo)
        git = tmp_path / "git"
        git.write_text("#!/bin/sh\necho 'fatal: not today' >&2\nexit 128\n")
        git.chmod(0o755)
        algorithm = home(repo).hash.name
        packs = CatFile(home(repo, GIT_PYTHON_GIT_EXECUTABLE=str(git)))
        for ask in (packs.info, packs.read, packs.expand):
            with pytest.raises(RepositoryError, match="not today"):
                ask("1" * BY_NAME[algorithm].hex_size)

    def test_many_are_asked_of_git_and_else_of_gitdb(
        self, repo_sha1: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A thousand objects are one question to git; without git, gitdb has them all too."""
        for number in range(1100):
            put(repo_sha1 / ".git/objects", "blob", b"%d" % number, BY_NAME["sha1"])
        objects = listed(repo_sha1)
        ids = "".join(f"{oid}\n" for oid in objects).encode()
        run_git(["pack-objects", "-q", ".git/objects/pack/pack"], repo_sha1, input=ids)
        run_git(["prune-packed"], repo_sha1)
        asked: list[type] = []
        for source in (CatFile, GitdbPacks):

            def note(
                self: object, ids: list[str], ask: Any = source.info_many, source: type = source
            ) -> Any:
                asked.append(source)
                return ask(self, ids)

            monkeypatch.setattr(source, "info_many", note)
        for environ, source in (({}, CatFile), ({"PATH": os.devnull}, GitdbPacks)):
            store = StoredObjects(home(repo_sha1, **environ))
            store.prefetch(objects)
            assert asked[-1] is source
            assert {oid: store._infos.get(oid) for oid in objects} == objects
            store.close()
        assert asked == [CatFile, CatFile, GitdbPacks]
