"""Settings against git: file modes it gives to tables, messages with which it refuses."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyreftable.errors import ConfigError
from pyreftable.refs.repository import discover
from pyreftable.refs.settings import log_all_ref_updates, shared_file_mode, stack_options
from tests.support import git_env, init_repo, run_git


@pytest.fixture(params=[0o022, 0o077, 0o002, 0o027])
def mask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize(
    "value",
    [
        "umask",
        "group",
        "all",
        "world",
        "everybody",
        "true",
        "false",
        "0",
        "1",
        "2",
        "0640",
        "0660",
        "0600",
        "0666",
        "0777",
        "00",
        "x",
        "0400",
        "8",
        "",
    ],
)
def test_shared_repository_gives_tables_git_s_mode(tmp_path: Path, mask: int, value: str) -> None:
    repo = init_repo(tmp_path / "repo")
    with (repo / ".git/config").open("a") as file:
        file.write(f"[core]\n\tsharedRepository = {value}\n")
    environ = git_env(tmp_path)
    done = run_git(["symbolic-ref", "HEAD", "refs/heads/x"], repo, env=environ, check=False)
    config = discover(repo, environ=environ).config
    if done.returncode:
        with pytest.raises(ConfigError) as caught:
            shared_file_mode(config)
        assert done.stderr.decode().strip() == f"fatal: {caught.value}"
        return
    mode = shared_file_mode(config)
    table = max((repo / ".git/reftable").glob("*.ref"), key=lambda path: path.stat().st_mtime_ns)
    assert stat.S_IMODE(table.stat().st_mode) == (0o666 & ~mask if mode is None else mode)


@pytest.mark.parametrize(
    "setting",
    [
        "reftable.blockSize=16777216",
        "reftable.blockSize=-1",
        "reftable.blockSize=x",
        "reftable.restartInterval=65536",
        "reftable.geometricFactor=256",
        "reftable.geometricFactor=99999999999999999999",
        "reftable.lockTimeout=-2",
        "reftable.lockTimeout=9999999999999999999",
        "reftable.indexObjects=maybe",
        "core.logAllRefUpdates=sometimes",
    ],
)
def test_bad_settings_are_refused_with_git_s_words(tmp_path: Path, setting: str) -> None:
    repo = init_repo(tmp_path / "repo")
    environ = git_env(tmp_path)
    command = ["-c", setting, "symbolic-ref", "HEAD", "refs/heads/x"]
    done = run_git(command, repo, env=environ, check=False)
    repository = discover(repo, environ=environ, config=[setting])
    with pytest.raises(ConfigError) as caught:
        stack_options(repository), log_all_ref_updates(repository)
    assert done.stderr.decode().strip() == f"fatal: {caught.value}"


def test_good_settings_reach_the_stack(tmp_path: Path) -> None:
    repo = init_repo(tmp_path / "repo", object_format="sha256")
    with (repo / ".git/config").open("a") as file:
        file.write("[reftable]\n\tblockSize = 512\n\tgeometricFactor = 5\n\tlockTimeout = -1\n")
    options = stack_options(discover(repo, environ=git_env(tmp_path), config=["core.fsync=none"]))
    assert options.hash.name == "sha256"
    assert options.write.block_size == 512
    assert options.geometric_factor == 5
    assert options.lock_timeout_ms == -1
    assert options.file_mode is None
    assert options.fsync is False
    assert options.auto_compact is True
    environ = git_env(tmp_path) | {"GIT_TEST_REFTABLE_AUTOCOMPACTION": "false"}
    assert stack_options(discover(repo, environ=environ)).auto_compact is False


@pytest.mark.parametrize(
    ("value", "mode", "bare_mode"),
    [
        (None, "normal", "none"),
        ("true", "normal", "normal"),
        ("", "none", "none"),
        ("no", "none", "none"),
        ("Always", "always", "always"),
    ],
)
def test_reflog_mode(tmp_path: Path, value: str | None, mode: str, bare_mode: str) -> None:
    for bare, expected in ((False, mode), (True, bare_mode)):
        repo = init_repo(tmp_path / f"bare-{bare}", bare=bare)
        environ = git_env(tmp_path)
        run_git(["config", "--unset", "core.logAllRefUpdates"], repo, env=environ, check=False)
        config = [] if value is None else [f"core.logAllRefUpdates={value}"]
        repository = discover(repo, environ=environ, config=config)
        assert log_all_ref_updates(repository) == expected
