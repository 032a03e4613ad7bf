"""The seam: what every storage promises, and what the directory on disk does besides."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

import pytest

from pyreftable.errors import FormatError, LockError, StorageError
from pyreftable.hashes import SHA1
from pyreftable.stack import DirectoryStorage, Stack, StackOptions, Storage
from pyreftable.stack import storage as storage_module
from pyreftable.write_options import WriteOptions
from pyreftable.writer import TableWriter
from tests.memory_storage import MemoryStorage
from tests.stack_tools import listed, set_refs, table_files


@pytest.fixture(params=["directory", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """Each implementation, empty."""
    return DirectoryStorage(str(tmp_path)) if request.param == "directory" else MemoryStorage()


def publish(storage: Storage, low: int = 1, high: int = 1) -> str:
    """Write, name and list one empty table on top."""
    file = storage.create_table(low, high)
    TableWriter(
        file.write, hash=SHA1, options=WriteOptions(), min_update_index=low, max_update_index=high
    ).finish()
    file.finish()
    lock = storage.lock(0)
    name = storage.new_name(low, high)
    file.publish(name)
    lock.replace([*storage.read_list().names, name])
    storage.sync()
    return name


class TestEveryStorage:
    def test_starts_empty(self, storage: Storage) -> None:
        assert storage.read_list().names == ()
        assert list(storage.files()) == []

    def test_list_is_current_until_it_is_replaced(self, storage: Storage) -> None:
        empty = storage.read_list()
        assert storage.is_current(empty)
        name = publish(storage)
        assert not storage.is_current(empty)
        one = storage.read_list()
        assert one.names == (name,)
        assert storage.is_current(one)
        storage.lock(0).replace([])
        assert not storage.is_current(one)
        assert storage.read_list().names == ()

    def test_published_table_opens(self, storage: Storage) -> None:
        name = publish(storage, 3, 7)
        table = storage.open_table(name)
        assert (table.name, table.min_update_index, table.max_update_index) == (name, 3, 7)
        table.close()

    def test_missing_table_is_file_not_found(self, storage: Storage) -> None:
        with pytest.raises(FileNotFoundError):
            storage.open_table("0x000000000001-0x000000000001-00000000.ref")

    def test_list_lock_excludes_others_until_released(self, storage: Storage) -> None:
        lock = storage.lock(0)
        with pytest.raises(LockError) as caught:
            storage.lock(0)
        assert caught.value.path == lock.path
        lock.release()
        lock.release()
        storage.lock(0).release()

    def test_replacing_the_list_releases_the_lock(self, storage: Storage) -> None:
        lock = storage.lock(0)
        lock.replace([])
        second = storage.lock(0)
        lock.release()
        with pytest.raises(LockError):
            storage.lock(0)
        second.release()

    def test_table_locks_are_apart(self, storage: Storage) -> None:
        one, two = publish(storage), publish(storage, 2, 2)
        lock = storage.lock_table(one)
        with pytest.raises(LockError):
            storage.lock_table(one)
        storage.lock_table(two).release()
        storage.lock(0).release()
        lock.release()
        storage.lock_table(one).release()

    def test_discarded_file_leaves_nothing(self, storage: Storage) -> None:
        file = storage.create_table(1, 1)
        file.write(b"x" * 1_000_000)
        file.discard()
        file.discard()
        assert list(storage.files()) == []

    def test_discard_after_publish_keeps_the_table(self, storage: Storage) -> None:
        file = storage.create_table(1, 1)
        file.write(b"x")
        file.finish()
        file.publish("0x1-0x1-1.ref")
        file.discard()
        assert [name for name, _ in storage.files()] == ["0x1-0x1-1.ref"]

    def test_names_are_new(self, storage: Storage) -> None:
        assert len({storage.new_name(1, 1) for _ in range(100)}) == 100

    def test_remove(self, storage: Storage) -> None:
        name = publish(storage)
        assert storage.remove(name)
        assert not storage.remove(name)


class TestNames:
    def test_tables_are_named_as_git_names_them(self, tmp_path: Path) -> None:
        storage = DirectoryStorage(str(tmp_path))
        name = publish(storage, 0x1F, 0xABCDEF)
        assert re.fullmatch(r"0x00000000001f-0x000000abcdef-[0-9a-f]{8}\.ref", name)

    def test_temporary_files_and_locks(self, tmp_path: Path) -> None:
        storage = DirectoryStorage(str(tmp_path))
        file = storage.create_table(1, 2)
        locks = [storage.lock(0), storage.lock_table("t.ref")]
        (temp,) = table_files(tmp_path) - {"tables.list.lock", "t.ref.lock"}
        stem = r"0x000000000001-0x000000000002-[0-9a-f]{8}"
        assert re.fullmatch(stem + r"\.temp\.[0-9a-f]{6}", temp)
        assert [lock.path for lock in locks] == [
            str(tmp_path / "tables.list.lock"),
            str(tmp_path / "t.ref.lock"),
        ]
        file.discard()
        for lock in locks:
            lock.release()
        assert table_files(tmp_path) == set()

    def test_a_name_in_use_is_not_given_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        randoms = [b"\0\0\0\1", b"\0\0\0\1", b"\0\0\0\2"]
        monkeypatch.setattr(os, "urandom", lambda size: randoms.pop(0))
        storage = DirectoryStorage(str(tmp_path))
        first = storage.new_name(1, 1)
        (tmp_path / first).touch()
        second = storage.new_name(1, 1)
        assert (first[-12:], second[-12:]) == ("00000001.ref", "00000002.ref")


class TestList:
    def test_blank_lines_are_skipped(self, tmp_path: Path) -> None:
        (tmp_path / "tables.list").write_bytes(b"\na.ref\n\nb.ref\n")
        assert DirectoryStorage(str(tmp_path)).read_list().names == ("a.ref", "b.ref")

    @pytest.mark.parametrize(
        ("content", "offset"),
        [(b"a.ref", 0), (b"a.ref\nb.ref", 6), (b"a.ref\n../b.ref\n", 6), (b"a\0.ref\n", 0)],
    )
    def test_damage_names_file_and_offset(
        self, tmp_path: Path, content: bytes, offset: int
    ) -> None:
        (tmp_path / "tables.list").write_bytes(content)
        with pytest.raises(FormatError) as caught:
            DirectoryStorage(str(tmp_path)).read_list()
        assert caught.value.path == str(tmp_path / "tables.list")
        assert caught.value.offset == offset

    def test_long_list(self, tmp_path: Path) -> None:
        names = tuple(f"0x{i:012x}-0x{i:012x}-{i:08x}.ref" for i in range(5000))
        storage = DirectoryStorage(str(tmp_path))
        storage.lock(0).replace(names)
        assert storage.read_list().names == names

    def test_undecodable_name_survives(self, tmp_path: Path) -> None:
        (tmp_path / "tables.list").write_bytes(b"\xff.ref\n")
        storage = DirectoryStorage(str(tmp_path))
        storage.lock(0).replace(storage.read_list().names)
        assert (tmp_path / "tables.list").read_bytes() == b"\xff.ref\n"

    @pytest.mark.skipif(os.name == "nt", reason="no inode to hold on to")
    def test_inode_of_a_known_list_is_not_recycled(self, tmp_path: Path) -> None:
        """A, B, C of equal size and time, C perhaps on A's inode: still not taken for A."""
        storage = DirectoryStorage(str(tmp_path))
        path = tmp_path / "tables.list"
        for generation in range(50):
            storage.lock(0).replace([f"{generation:04}.ref"])
            os.utime(path, ns=(0, 0))
            known = storage.read_list()
            assert storage.is_current(known)
            for other in ("5000.ref", "6000.ref"):
                storage.lock(0).replace([other])
                os.utime(path, ns=(0, 0))
                assert not storage.is_current(known)

    def test_stamp_gives_its_descriptor_back(
        self, tmp_path: Path, no_leaked_descriptors: None
    ) -> None:
        storage = DirectoryStorage(str(tmp_path))
        storage.lock(0).replace(["a.ref"])
        for _ in range(10):
            listing = storage.read_list()
        del listing

    def test_without_inodes_the_content_decides(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As on Windows: no stamp is trusted, yet the snapshot is shared while names are equal."""
        monkeypatch.setattr(storage_module, "_KEEP_LIST_OPEN", False)
        stack = Stack.open(str(tmp_path))
        set_refs(stack, a=1)
        assert not stack.storage.is_current(stack.storage.read_list())
        assert stack.snapshot() is stack.snapshot()


@pytest.mark.skipif(os.name == "nt", reason="permission bits are POSIX's")
class TestModes:
    @pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
    def test_umask_decides_by_default(self, tmp_path: Path, umask: int, mode: int) -> None:
        previous = os.umask(umask)
        try:
            set_refs(Stack.open(str(tmp_path)), a=1)
        finally:
            os.umask(previous)
        assert modes(tmp_path) == {mode}

    @pytest.mark.parametrize("mode", [0o660, 0o664, 0o640, 0o600])
    def test_file_mode_overrides_it(self, tmp_path: Path, mode: int) -> None:
        previous = os.umask(0o027)
        try:
            stack = Stack.open(str(tmp_path), StackOptions(file_mode=mode, auto_compact=False))
            set_refs(stack, a=1)
            set_refs(stack, b=1)
            assert modes(tmp_path) == {mode}
            stack.compact_all()
        finally:
            os.umask(previous)
        assert len(listed(tmp_path)) == 1
        assert modes(tmp_path) == {mode}


def modes(directory: Path) -> set[int]:
    """The permission bits of all files there."""
    return {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}


class TestSync:
    @pytest.fixture
    def synced(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """What is synced, by what kind of file it is, in order."""
        kinds: list[str] = []

        def fsync(fd: int) -> None:
            kinds.append("directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")

        monkeypatch.setattr(os, "fsync", fsync)
        return kinds

    def test_table_list_and_directory(self, tmp_path: Path, synced: list[str]) -> None:
        set_refs(Stack.open(str(tmp_path)), a=1)
        assert synced == ["file", "file", "directory"]

    def test_nothing_without_fsync(self, tmp_path: Path, synced: list[str]) -> None:
        set_refs(Stack.open(str(tmp_path), StackOptions(fsync=False)), a=1)
        assert synced == []

    @pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
    def test_directories_that_cannot_be_synced_are_let_be(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        refuse_directories(monkeypatch, number)
        DirectoryStorage(str(tmp_path)).sync()

    def test_a_failing_disk_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        refuse_directories(monkeypatch, errno.EIO)
        with pytest.raises(StorageError, match=re.escape(str(tmp_path))) as caught:
            DirectoryStorage(str(tmp_path)).sync()
        assert isinstance(caught.value.__cause__, OSError)


def refuse_directories(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Make syncing fail with that error number."""

    def fsync(fd: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)


class TestRefusals:
    def test_directory_missing(self, tmp_path: Path) -> None:
        """Reading finds an empty stack, as git does; writing says what is wrong."""
        storage = DirectoryStorage(str(tmp_path / "none"))
        assert storage.read_list().names == ()
        with pytest.raises(StorageError, match=r"tables\.list\.lock: No such file"):
            storage.lock(100)
        with pytest.raises(StorageError, match="No such file"):
            storage.create_table(1, 1)
        with pytest.raises(StorageError, match="No such file"):
            list(storage.files())

    def test_unreadable_list(self, tmp_path: Path) -> None:
        (tmp_path / "tables.list").mkdir()
        with pytest.raises(StorageError, match=r"tables\.list: Is a directory"):
            DirectoryStorage(str(tmp_path)).read_list()

    def test_unreadable_table(self, tmp_path: Path) -> None:
        (tmp_path / "t.ref").mkdir()
        with pytest.raises(StorageError, match=r"t\.ref: Is a directory"):
            DirectoryStorage(str(tmp_path)).open_table("t.ref")
