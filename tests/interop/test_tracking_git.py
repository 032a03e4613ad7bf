"""What a branch follows and where it is pushed, by every setting that has a say in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyreftable.errors import RevisionError
from pyreftable.refs.store import RefStore
from pyreftable.refs.tracking import push_target_of, upstream_of
from tests.support import git_env, init_repo, run_git

ORIGIN = {
    "remote.origin.url": "somewhere",
    "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
}
FORK = {"remote.fork.url": "elsewhere", "remote.fork.fetch": "+refs/heads/*:refs/remotes/fork/*"}
TRACKS = ORIGIN | {"branch.main.remote": "origin", "branch.main.merge": "refs/heads/main"}
TRACKS_OTHER = TRACKS | {"branch.main.merge": "refs/heads/other"}

CONFIGS: dict[str, Mapping[str, str]] = {
    "nothing": {},
    "remote only": ORIGIN,
    "tracks": TRACKS,
    "tracks another name": TRACKS_OTHER,
    "no merge": ORIGIN | {"branch.main.remote": "origin"},
    "no remote": ORIGIN | {"branch.main.merge": "refs/heads/main"},
    "unknown remote": {"branch.main.remote": "gone", "branch.main.merge": "refs/heads/main"},
    "itself": {"branch.main.remote": ".", "branch.main.merge": "refs/heads/other"},
    "itself, short": {"branch.main.remote": ".", "branch.main.merge": "other"},
    "narrow refspec": TRACKS | {"remote.origin.fetch": "refs/heads/other:refs/remotes/origin/o"},
    "exact refspec": TRACKS | {"remote.origin.fetch": "+refs/heads/main:refs/remotes/origin/m"},
    "star inside": TRACKS | {"remote.origin.fetch": "refs/heads/m*n:refs/remotes/origin/x*y"},
    "no destination": TRACKS | {"remote.origin.fetch": "refs/heads/main"},
    "push nothing": TRACKS | {"push.default": "nothing"},
    "push matching": TRACKS_OTHER | {"push.default": "matching"},
    "push current": TRACKS_OTHER | {"push.default": "current"},
    "push upstream": TRACKS_OTHER | {"push.default": "upstream"},
    "push tracking": TRACKS_OTHER | {"push.default": "tracking"},
    "push simple": TRACKS_OTHER | {"push.default": "simple"},
    "fork": TRACKS | FORK | {"branch.main.pushRemote": "fork", "push.default": "current"},
    "default fork": TRACKS | FORK | {"remote.pushDefault": "fork", "push.default": "current"},
    "only remote": FORK | {"push.default": "current"},
    "two remotes": ORIGIN | FORK | {"push.default": "current"},
    "push refspec": TRACKS | {"remote.origin.push": "refs/heads/*:refs/heads/sub/*"},
    "push refspec of others": TRACKS | {"remote.origin.push": "refs/heads/x:refs/heads/y"},
    "mirror": TRACKS_OTHER | {"remote.origin.mirror": "true"},
}


@pytest.fixture(scope="module")
def branches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two branches, and all that they may be tracked by."""
    repo = init_repo(tmp_path_factory.mktemp("branches"))
    tree = run_git(["mktree"], repo, input=b"").stdout.decode().strip()
    commit = run_git(["commit-tree", "-m", "x", tree], repo).stdout.decode().strip()
    names = ["refs/heads/main", "refs/heads/other"]
    remote = ["main", "other", "m", "o", "xaiy", "sub/main"]
    names += [f"refs/remotes/{place}/{name}" for place in ("origin", "fork") for name in remote]
    lines = "".join(f"create {name} {commit}\n" for name in names)
    run_git(["update-ref", "--stdin"], repo, input=lines.encode())
    return repo


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_tracking(branches: Path, config: Mapping[str, str]) -> None:
    """The same refs, and where there is none the same words."""
    settings = [f"{key}={value}" for key, value in config.items()]
    with RefStore.open(str(branches), environ=git_env(branches), config=settings) as store:
        for mark, target_of in (("@{upstream}", upstream_of), ("@{push}", push_target_of)):
            try:
                ours = target_of("main", store.repository.config, store)
            except RevisionError as error:
                ours = f"fatal: {error}"
            assert ours == by_git(branches, settings, f"main{mark}"), mark


def by_git(repo: Path, settings: list[str], name: str) -> str:
    """The full name of the ref that git takes `name` for, or what it says instead."""
    options = [word for setting in settings for word in ("-c", setting)]
    done = run_git([*options, "rev-parse", "--symbolic-full-name", name], repo, check=False)
    return (done.stdout if done.returncode == 0 else done.stderr).decode().splitlines()[0]
