"""Lock files and temporary files: waiting for them, owning them, leaving none behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pyreftable.errors import LockError
from pyreftable.stack import Stack, StackOptions
from pyreftable.stack.files import OwnFile, acquire_lock, remove_own_files
from tests.stack_tools import refs_of, set_refs, table_files


def hold(directory: Path) -> Path:
    """Take the list's lock as a foreign process would."""
    lock = directory / "tables.list.lock"
    lock.touch()
    return lock


class TestWaiting:
    def test_message_names_the_lock(self, tmp_path: Path) -> None:
        lock = hold(tmp_path)
        stack = Stack.open(str(tmp_path), StackOptions(lock_timeout_ms=0))
        with pytest.raises(LockError) as caught:
            set_refs(stack, a=1)
        assert str(caught.value).startswith(f"Unable to create '{lock}': File exists.\n\n")
        assert caught.value.path == str(lock)
        assert lock.exists()
        assert table_files(tmp_path) == {lock.name}

    def test_zero_tries_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("slept"))
        hold(tmp_path)
        with pytest.raises(LockError):
            acquire_lock(str(tmp_path / "tables.list.lock"), 0)

    def test_waits_no_shorter_than_the_timeout_and_not_much_longer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waits: list[float] = []
        monkeypatch.setattr(time, "sleep", waits.append)
        hold(tmp_path)
        with pytest.raises(LockError):
            acquire_lock(str(tmp_path / "tables.list.lock"), 5000)
        assert 5.0 <= sum(waits) < 6.25
        assert all(
            0.75 * n * n <= wait * 1000 < 1.25 * n * n for n, wait in enumerate(waits[:31], 1)
        )

    def test_the_longest_wait_is_about_a_second(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waits: list[float] = []
        monkeypatch.setattr(time, "sleep", waits.append)
        hold(tmp_path)
        with pytest.raises(LockError):
            acquire_lock(str(tmp_path / "tables.list.lock"), 60_000)
        assert 0.75 <= max(waits) < 1.25

    @pytest.mark.parametrize("timeout_ms", [20_000, -1])
    def test_gets_the_lock_once_it_is_free(self, tmp_path: Path, timeout_ms: int) -> None:
        lock = hold(tmp_path)
        release = threading.Timer(0.05, lock.unlink)
        release.start()
        stack = Stack.open(str(tmp_path), StackOptions(lock_timeout_ms=timeout_ms))
        set_refs(stack, a=1)
        release.join()
        assert refs_of(stack.snapshot()) == {"a": 1}
        assert not lock.exists()

    def test_two_additions_of_one_process_contend(self, tmp_path: Path) -> None:
        stack = Stack.open(str(tmp_path), StackOptions(lock_timeout_ms=1))
        with stack.addition():
            with pytest.raises(LockError):
                stack.addition()
            with pytest.raises(LockError):
                Stack.open(str(tmp_path), StackOptions(lock_timeout_ms=0)).addition()
        with stack.addition():
            pass


class TestOwning:
    def test_a_file_that_got_its_final_name_is_no_longer_ours(self, tmp_path: Path) -> None:
        """Nor is the next file that this process makes under its first name."""
        first = OwnFile(str(tmp_path / "x.lock"))
        first.rename(str(tmp_path / "x"))
        second = OwnFile(str(tmp_path / "x.lock"))
        first.remove()
        assert table_files(tmp_path) == {"x", "x.lock"}
        remove_own_files()
        assert table_files(tmp_path) == {"x"}
        second.remove()

    def test_a_lock_that_became_the_list_is_not_removed_from_its_next_holder(
        self, tmp_path: Path
    ) -> None:
        """An interrupt right after the rename: our note of the lock outlives the lock."""
        ours = OwnFile(str(tmp_path / "x.lock"))
        os.rename(tmp_path / "x.lock", tmp_path / "x")
        (tmp_path / "x.lock").write_text("theirs")
        remove_own_files()
        ours.remove()
        assert (tmp_path / "x.lock").read_text() == "theirs"

    def test_forgotten_files_go_with_their_object(self, tmp_path: Path) -> None:
        file = OwnFile(str(tmp_path / "x"))
        file.write(b"unflushed")
        del file
        gc.collect()
        assert table_files(tmp_path) == set()

    def test_existing_files_are_not_touched(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("theirs")
        with pytest.raises(FileExistsError):
            OwnFile(str(tmp_path / "x"))
        assert (tmp_path / "x").read_text() == "theirs"

    def test_a_mode_that_cannot_be_set_leaves_no_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def chmod(path: str, mode: int) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "chmod", chmod)
        with pytest.raises(PermissionError):
            OwnFile(str(tmp_path / "x"), 0o660)
        assert table_files(tmp_path) == set()


def python(directory: Path, code: str) -> subprocess.Popen[bytes]:
    """Start Python in the stack's directory, with a stack at hand."""
    prelude = (
        "import os, signal, sys\n"
        "from pyreftable.stack import Stack, StackOptions, remove_files_on_signals\n"
        "stack = Stack.open('.', StackOptions(lock_timeout_ms=0))\n"
    )
    return subprocess.Popen([sys.executable, "-c", prelude + code], cwd=directory)


def wait_for(path: Path) -> None:
    """Until the file is there."""
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)


HOLD_EVERYTHING = (
    "addition = stack.addition()\n"
    "file = stack.storage.create_table(1, 1)\n"
    "file.write(b'x')\n"
    "open('ready', 'w').close()\n"
)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals and fork")
class TestEndOfProcess:
    def test_normal_exit(self, tmp_path: Path) -> None:
        """Even when an object is never collected."""
        code = HOLD_EVERYTHING + "sys.keep = [addition, file]\n"
        assert python(tmp_path, code).wait() == 0
        assert table_files(tmp_path) == {"ready"}

    def test_uncaught_exception(self, tmp_path: Path) -> None:
        code = HOLD_EVERYTHING + "sys.stderr = open(os.devnull, 'w')\nraise KeyError\n"
        assert python(tmp_path, code).wait() == 1
        assert table_files(tmp_path) == {"ready"}

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_signals_in_a_command_line(self, tmp_path: Path, number: signal.Signals) -> None:
        """The files go, and the parent sees which signal it was."""
        # Whoever runs the tests in the background may have them ignore signals.
        code = f"signal.signal({int(number)}, signal.SIG_DFL)\nremove_files_on_signals()\n"
        process = python(tmp_path, code + HOLD_EVERYTHING + "while True: signal.pause()\n")
        wait_for(tmp_path / "ready")
        process.send_signal(number)
        assert process.wait() == -number
        assert table_files(tmp_path) == {"ready"}

    def test_ignored_signals_stay_ignored(self, tmp_path: Path) -> None:
        code = (
            "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nremove_files_on_signals()\n"
            "os.kill(os.getpid(), signal.SIGHUP)\n" + HOLD_EVERYTHING
        )
        assert python(tmp_path, code).wait() == 0

    def test_without_the_handler_the_lock_stays(self, tmp_path: Path) -> None:
        """The twin: it is the handler that removes the files."""
        process = python(tmp_path, HOLD_EVERYTHING + "while True: signal.pause()\n")
        wait_for(tmp_path / "ready")
        process.terminate()
        assert process.wait() == -signal.SIGTERM
        assert "tables.list.lock" in table_files(tmp_path)

    def test_a_forked_child_leaves_its_parents_files_alone(self, tmp_path: Path) -> None:
        code = (
            HOLD_EVERYTHING + "child = os.fork()\n"
            "if not child: sys.exit()\n"
            "os.waitpid(child, 0)\n"
            "sys.exit(0 if os.path.exists('tables.list.lock') else 'gone')\n"
        )
        assert python(tmp_path, code).wait() == 0
        assert table_files(tmp_path) == {"ready"}
