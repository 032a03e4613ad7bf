"""The ref store as a program uses it: reading, listing, changing, worktrees, threads."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyreftable.errors import RefNameError, RepositoryError, TransactionError
from pyreftable.refs.store import Ref, RefStore, Resolved
from tests.support import FIXED_TIME, git_env, run_git
from tests.twins import Objects, make_furnished


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Objects]:
    return make_furnished(tmp_path_factory.mktemp("furnished"), "sha1")


@pytest.fixture
def repo(furnished: tuple[Path, Objects], tmp_path: Path) -> Path:
    return Path(shutil.copytree(furnished[0], tmp_path / "repo", symlinks=True))


@pytest.fixture
def objects(furnished: tuple[Path, Objects]) -> Objects:
    return furnished[1]


def open_store(folder: Path, environ_of: Path | None = None) -> RefStore:
    return RefStore.open(os.fspath(folder), environ=git_env(environ_of or folder))


@pytest.fixture
def store(repo: Path) -> Iterator[RefStore]:
    with open_store(repo) as opened:
        yield opened


class TestReading:
    def test_get_does_not_follow(self, store: RefStore, objects: Objects) -> None:
        c0 = objects.commits[0]
        assert store.get("refs/heads/main") == Ref("refs/heads/main", c0)
        assert store.get("refs/tags/v1") == Ref("refs/tags/v1", objects.tag, None, c0)
        assert store.get("HEAD") == Ref("HEAD", None, "refs/heads/main")
        assert store.get("refs/heads/sym") == Ref("refs/heads/sym", None, "refs/heads/side")

    @pytest.mark.parametrize(
        "name",
        ["refs/heads/none", "refs/heads", "refs/heads/mainx", "", "main", "refs/heads/main/", "\0"],
    )
    def test_get_of_what_is_not_there(self, store: RefStore, name: str) -> None:
        assert store.get(name) is None

    @pytest.mark.parametrize(
        "name", ["worktrees/../HEAD", "worktrees//HEAD", "worktrees/none/HEAD"]
    )
    def test_get_from_worktrees_that_cannot_be(self, store: RefStore, name: str) -> None:
        assert store.get(name) is None

    def test_resolve_follows_to_the_end(self, store: RefStore, objects: Objects) -> None:
        c0, c1, _ = objects.commits
        assert store.resolve("refs/heads/main") == Resolved("refs/heads/main", c0, False)
        assert store.resolve("HEAD") == Resolved("refs/heads/main", c0, True)
        assert store.resolve("refs/meta/chain") == Resolved("refs/heads/side", c1, True)
        assert store.resolve("refs/meta/dangling") == Resolved("refs/heads/nowhere", None, True)
        assert store.resolve("refs/heads/none") == Resolved("refs/heads/none", None, False)
        assert store.read("refs/meta/chain") == c1
        assert store.read("refs/meta/dangling") is None

    def test_resolve_reads_five_times(self, store: RefStore, objects: Objects) -> None:
        target = "refs/heads/main"
        for number in range(5):
            store.set_symbolic_ref(f"refs/deep/{number}", target)
            target = f"refs/deep/{number}"
        assert store.read("refs/deep/3") == objects.commits[0]
        with pytest.raises(RefNameError, match="5 deep"):
            store.resolve("refs/deep/4")
        assert store.read("refs/deep/4") is None

    def test_a_loop_ends(self, store: RefStore) -> None:
        store.set_symbolic_ref("refs/loop/a", "refs/loop/b")
        store.set_symbolic_ref("refs/loop/b", "refs/loop/a")
        with pytest.raises(RefNameError):
            store.resolve("refs/loop/a")

    @pytest.mark.parametrize("name", ["refs/heads/a..b", "", "refs/heads/", "a b"])
    def test_bad_names(self, store: RefStore, name: str) -> None:
        with pytest.raises(RefNameError, match="bad ref name"):
            store.resolve(name)
        with pytest.raises(RefNameError, match="bad ref name"):
            store.symbolic_ref(name, recurse=False)
        assert store.read(name) is None

    def test_symbolic_ref(self, store: RefStore) -> None:
        assert store.symbolic_ref("HEAD") == "refs/heads/main"
        assert store.symbolic_ref("refs/meta/chain") == "refs/heads/side"
        assert store.symbolic_ref("refs/meta/chain", recurse=False) == "refs/heads/sym"
        assert store.symbolic_ref("refs/meta/dangling") == "refs/heads/nowhere"
        assert store.symbolic_ref("refs/heads/main") is None
        assert store.symbolic_ref("refs/none") is None


class TestPseudoRefs:
    def test_they_are_files(self, store: RefStore, repo: Path, objects: Objects) -> None:
        assert store.get("FETCH_HEAD") is None
        path = repo / ".git/FETCH_HEAD"
        path.write_text(f"{objects.commits[1]}\tnot-for-merge\tbranch 'x' of y\n")
        assert store.read("FETCH_HEAD") == objects.commits[1]
        (repo / ".git/MERGE_HEAD").write_text(objects.commits[2].upper() + "\n")
        assert store.get("MERGE_HEAD") == Ref("MERGE_HEAD", objects.commits[2])

    def test_one_may_lead_on(self, store: RefStore, repo: Path, objects: Objects) -> None:
        (repo / ".git/MERGE_HEAD").write_text("ref: refs/heads/side\n")
        assert store.resolve("MERGE_HEAD") == Resolved("refs/heads/side", objects.commits[1], True)

    @pytest.mark.parametrize("content", ["", "x", "1" * 39, "1" * 41])
    def test_what_is_no_id(self, store: RefStore, repo: Path, content: str) -> None:
        (repo / ".git/FETCH_HEAD").write_text(content)
        with pytest.raises(RepositoryError, match="holds no object id"):
            store.get("FETCH_HEAD")


class TestListing:
    ALL = (
        "refs/heads/dir/leaf",
        "refs/heads/main",
        "refs/heads/side",
        "refs/heads/sym",
        "refs/meta/chain",
        "refs/meta/dangling",
        "refs/meta/plain",
        "refs/tags/blob",
        "refs/tags/v1",
    )

    def names(self, store: RefStore, prefix: str = "", *, root_refs: bool = False) -> list[str]:
        return [ref.name for ref in store.refs(prefix, root_refs=root_refs)]

    def test_all(self, store: RefStore) -> None:
        assert self.names(store) == list(self.ALL)
        assert self.names(store, root_refs=True) == ["HEAD", *self.ALL]

    @pytest.mark.parametrize(
        "prefix",
        ["refs/", "refs/heads/", "refs/heads/m", "refs/heads/main", "refs/z", "r", "refs/tags/v1/"],
    )
    def test_a_prefix(self, store: RefStore, prefix: str) -> None:
        assert self.names(store, prefix) == [n for n in self.ALL if n.startswith(prefix)]

    def test_root_refs_are_asked_for(self, store: RefStore) -> None:
        assert self.names(store, "HEAD") == []
        assert self.names(store, "HEAD", root_refs=True) == ["HEAD"]

    def test_values(self, store: RefStore) -> None:
        assert list(store.refs()) == [store.get(name) for name in self.ALL]

    def test_a_listing_is_of_one_moment(self, store: RefStore, objects: Objects) -> None:
        listing = store.refs()
        first = next(listing)
        with store.transaction() as transaction:
            transaction.delete("refs/tags/v1")
            transaction.create("refs/zzz", objects.commits[0])
        assert [first.name, *(ref.name for ref in listing)] == list(self.ALL)
        assert self.names(store)[-1] == "refs/zzz"

    def test_refs_for_an_object(self, store: RefStore, objects: Objects) -> None:
        found = {ref.name for ref in store.refs_for(objects.commits[0])}
        assert found == {
            "refs/heads/dir/leaf",
            "refs/heads/main",
            "refs/meta/plain",
            "refs/tags/v1",
        }
        assert [ref.name for ref in store.refs_for(objects.tag)] == ["refs/tags/v1"]
        assert list(store.refs_for("1" * 40)) == []


class TestChanging:
    def test_rename_carries_the_log(self, store: RefStore, objects: Objects) -> None:
        before = list(store.reflog("refs/heads/side"))
        store.rename("refs/heads/side", "refs/heads/other", "renamed")
        assert store.get("refs/heads/side") is None
        assert store.read("refs/heads/other") == objects.commits[1]
        created, deleted, *older = store.reflog("refs/heads/other")
        assert created.message == deleted.message == "renamed"
        assert (deleted.old_oid, created.new_oid) == (objects.commits[1], objects.commits[1])
        assert older == before
        assert not store.reflog("refs/heads/side").exists

    def test_copy_leaves_the_old(self, store: RefStore, objects: Objects) -> None:
        store.copy("refs/heads/side", "refs/heads/other", "copied")
        assert store.read("refs/heads/side") == objects.commits[1]
        assert store.read("refs/heads/other") == objects.commits[1]
        logs = [list(store.reflog(f"refs/heads/{name}")) for name in ("side", "other")]
        assert logs[1][1:] == logs[0]

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("refs/heads/none", "refs/heads/x", "not found"),
            ("refs/heads/sym", "refs/heads/x", "symbolic ref"),
            ("refs/heads/side", "refs/heads/main/x", "exists; cannot create"),
            ("refs/heads/side", "refs/heads/dir", "exists; cannot create"),
        ],
    )
    def test_what_cannot_be_renamed(
        self, store: RefStore, old: str, new: str, message: str
    ) -> None:
        before = list(store.refs())
        for change in (store.rename, store.copy):
            with pytest.raises(TransactionError, match=message):
                change(old, new)
        assert list(store.refs()) == before

    def test_into_its_own_folder(self, store: RefStore, objects: Objects) -> None:
        with pytest.raises(TransactionError, match="'refs/heads/side' exists"):
            store.copy("refs/heads/side", "refs/heads/side/x")
        store.rename("refs/heads/side", "refs/heads/side/x")
        store.rename("refs/heads/side/x", "refs/heads/side")
        assert store.read("refs/heads/side") == objects.commits[1]

    def test_a_bad_new_name(self, store: RefStore) -> None:
        with pytest.raises(RefNameError):
            store.rename("refs/heads/side", "refs/heads/a..b")
        with pytest.raises(RefNameError):
            store.set_symbolic_ref("refs/heads/s", "a..b")

    def test_logs(self, store: RefStore, objects: Objects) -> None:
        name = "refs/meta/plain"
        assert not store.reflog(name).exists
        store.create_reflog(name)
        assert store.reflog(name).exists
        assert list(store.reflog(name)) == []
        store.append_to_reflog(name, "0" * 40, objects.commits[0], "a\n b")
        (entry,) = store.reflog(name)
        assert (entry.new_oid, entry.message, entry.time) == (
            objects.commits[0],
            "a b",
            FIXED_TIME,
        )
        assert name in store.reflog_names()
        store.delete_reflog(name)
        assert name not in store.reflog_names()


class TestWorktrees:
    def test_all_are_listed_from_everywhere(self, repo: Path, objects: Objects) -> None:
        c0, c1, _ = objects.commits
        run_git(["worktree", "add", "-q", "--detach", "../two", c1], repo)
        run_git(["worktree", "add", "-q", "../one", "side"], repo)
        git_dir = os.fspath(repo / ".git")
        expected = [
            (None, git_dir, os.fspath(repo), Ref("main-worktree/HEAD", None, "refs/heads/main")),
            (
                "one",
                f"{git_dir}/worktrees/one",
                os.fspath(repo.parent / "one"),
                Ref("worktrees/one/HEAD", None, "refs/heads/side"),
            ),
            (
                "two",
                f"{git_dir}/worktrees/two",
                os.fspath(repo.parent / "two"),
                Ref("worktrees/two/HEAD", c1),
            ),
        ]
        for place in (repo, repo.parent / "one", repo.parent / "two"):
            with open_store(place, repo) as store:
                assert store.worktrees() == expected
                assert store.read("main-worktree/HEAD") == c0
                assert store.read("worktrees/one/HEAD") == c1

    def test_a_bare_repository_has_no_main_path(self, repo: Path) -> None:
        run_git(["clone", "-q", "--bare", "--ref-format=reftable", str(repo), "../bare.git"], repo)
        bare = repo.parent / "bare.git"
        run_git(["worktree", "add", "-q", "--detach", "../linked", "main"], bare)
        for place in (bare, repo.parent / "linked"):
            with open_store(place, repo) as store:
                main, linked = store.worktrees()
                assert (main.name, main.git_dir, main.path) == (None, os.fspath(bare), None)
                assert linked.path == os.fspath(repo.parent / "linked")


class TestThreads:
    def test_many_read_while_one_writes(self, store: RefStore, objects: Objects) -> None:
        """Each reading is of one moment: two refs that move together are never seen apart."""
        c1, c2 = objects.commits[1:]
        stop = threading.Event()
        torn: list[object] = []

        def read() -> None:
            try:
                while not stop.is_set():
                    pair = [ref.oid for ref in store.refs("refs/pair/")]
                    if len(set(pair)) > 1:
                        torn.append(pair)
                    one = store.read("refs/pair/a")
                    if one not in (None, c1, c2):
                        torn.append(one)
            except BaseException as error:
                torn.append(error)
                raise

        readers = [threading.Thread(target=read) for _ in range(6)]
        for reader in readers:
            reader.start()
        try:
            for number in range(60):
                with store.transaction() as transaction:
                    for name in ("refs/pair/a", "refs/pair/b"):
                        transaction.update(name, (c1, c2)[number % 2])
        finally:
            stop.set()
            for reader in readers:
                reader.join()
        assert torn == []
        assert store.read("refs/pair/b") == c2

    def test_writers_take_turns(self, repo: Path, store: RefStore, objects: Objects) -> None:
        """Stores of several threads may all write: each waits for the lock, none is stuck."""
        run_git(["config", "reftable.lockTimeout", "20000"], repo)
        failures: list[BaseException] = []

        def write(number: int) -> None:
            try:
                with open_store(repo) as own:
                    for step in range(5):
                        with own.transaction() as transaction:
                            transaction.create(f"refs/t/{number}/{step}", objects.commits[0])
            except BaseException as error:
                failures.append(error)
                raise

        writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert failures == []
        assert len(list(store.refs("refs/t/"))) == 20


def test_a_store_of_files_is_not_this_one(tmp_path: Path) -> None:
    run_git(["init", "-q", "--ref-format=files", "files"], tmp_path)
    with open_store(tmp_path / "files") as store:
        assert type(store) is not RefStore
        with pytest.raises(RepositoryError, match="stored as 'files'"):
            RefStore(store.repository)


@pytest.mark.usefixtures("no_leaked_descriptors")
def test_closing_lets_go(repo: Path) -> None:
    with open_store(repo) as store:
        assert store.read("refs/tags/v1")
        assert list(store.refs())
