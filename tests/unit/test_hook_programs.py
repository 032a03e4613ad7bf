"""Which hooks the configuration gives: order, switches, and what it can get wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyreftable.errors import ConfigError
from pyreftable.refs.hook_programs import configured_hooks
from pyreftable.refs.store import RefStore
from tests.support import git_env, init_repo

EVENT = "reference-transaction"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return init_repo(tmp_path_factory.mktemp("hooks") / "repo")


def names(repo: Path, *settings: str) -> list[str]:
    """The names of the hooks that `settings` give for the event, in their order."""
    config = [setting.replace("EVENT", EVENT) for setting in settings]
    with RefStore.open(os.fspath(repo), environ=git_env(repo), config=config) as store:
        return [p.name for p in configured_hooks(store.repository.config).get(EVENT, [])]


X, Y = (f"hook.{name}.event=EVENT" for name in "xy")
RUNS = ("hook.x.command=run-x", "hook.y.command=run-y")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([], []),
        ([X], ["run-x"]),
        ([X, Y], ["run-x", "run-y"]),
        ([X, Y, X], ["run-y", "run-x"]),
        ([X, Y, "hook.x.event="], ["run-y"]),
        ([X, "hook.x.event=update"], ["run-x"]),
        ([X, "hook.x.enabled=off"], []),
        ([X, "hook.x.enabled=off", "hook.x.enabled=on"], ["run-x"]),
        ([X, "hook.x.enabled=perhaps"], ["run-x"]),
        ([X, Y, "hook.EVENT.enabled=0"], []),
        ([X, "hook.x.command=other"], ["other"]),
        ([X, "hook.jobs=3", "hook.x.parallel=true"], ["run-x"]),
    ],
)
def test_which_run(repo: Path, settings: list[str], expected: list[str]) -> None:
    assert names(repo, *RUNS, *settings) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["hook.z.event=EVENT"], "'hook.z.command' must be configured"),
        (["hook.z.event=update"], "'hook.z.command' must be configured"),
        (["hook.update.event=EVENT"], "collides with a known event name"),
        (["hook.x.event"], "'hook.x.event'"),
        (["hook.x.whatever"], "'hook.x.whatever'"),
    ],
)
def test_what_is_wrong(repo: Path, settings: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        names(repo, *RUNS, *settings)


def test_warnings_are_printed(repo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert names(repo, "hook.z.event=EVENT", "hook.z.enabled=false") == []
    assert names(repo, "hook.z.event=z", "hook.z.command=run") == []
    assert capfd.readouterr().err == (
        "warning: disabled hook 'z' has no command configured\n"
        "warning: hook friendly-name 'z' is the same as its event; this may cause ambiguity with "
        "hook.z.enabled\n"
    )
