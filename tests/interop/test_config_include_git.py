"""Includes in configuration files against `git config`, with and without conditions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.config_scene import Scene
from tests.support import run_git


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path.resolve())


def test_includes_are_followed_where_they_stand(scene: Scene) -> None:
    scene.append(
        scene.home / "absolute", "[test]\n\tabsolute = 1\n[include]\n\tpath = sub/deeper\n"
    )
    scene.append(scene.home / "sub/deeper", "[test]\n\tdeeper = 1\n")
    scene.append(scene.home / "tilde", "[test]\n\ttilde = 1\n")
    scene.append(scene.repo / ".git/beside", "[test]\n\tbeside = 1\n")
    scene.append(
        scene.local,
        f"[include]\n\tpath = {scene.home}/absolute\n\tpath = ~/tilde\n\tpath = beside\n"
        "\tpath = missing\n\tpath = ../.git/beside\n[test]\n\tafter = 1\n",
    )
    scene.parameters = [f"include.path={scene.home}/tilde"]
    wanted = {"test.absolute", "test.deeper", "test.tilde", "test.beside", "test.after"}
    assert wanted <= scene.assert_equal()


@pytest.mark.parametrize(
    "text",
    [
        "[include]\n\tpath\n",
        "[include]\n\tpath = ~no-such-user/x\n",
        "[include]\n\tpath = config\n",
        "[include]\n\n\tpath = broken\n",
    ],
)
def test_bad_includes_are_refused(scene: Scene, text: str) -> None:
    scene.append(scene.repo / ".git/broken", "[a]\n[")
    scene.append(scene.local, text)
    ours, git = scene.ours(scene.repo), scene.git(scene.repo)
    assert isinstance(ours, str)
    assert isinstance(git, str)
    # Of a message of several lines only the last one is compared.
    assert ours.splitlines()[-1] == git


def test_relative_include_from_the_command_line_is_refused(scene: Scene) -> None:
    scene.parameters = ["include.path=relative"]
    assert scene.ours(scene.repo) == scene.git(scene.repo) == "unable to parse command-line config"


CONDITIONS = [
    ("gitdir:{repo}/.git", True),
    ("gitdir:{repo}/", True),
    ("gitdir:{repo}", False),
    ("gitdir:repo/", True),
    ("gitdir:repo/.git", True),
    ("gitdir:po/.git", False),
    ("gitdir:**/repo/**", True),
    ("gitdir:/**/.gi?", True),
    ("gitdir:*/.git", True),
    ("gitdir:REPO/", False),
    ("gitdir/i:REPO/", True),
    ("gitdir/i:{REPO}/", True),
    ("gitdir:~/", False),
    ("gitdir:~/inside/", False),
    ("gitdir:./", False),
    ("gitdir:./.", False),
    ("gitdir:./config", False),
    ("gitdir:link/", True),
    ("onbranch:main", True),
    ("onbranch:ma*", True),
    ("onbranch:other", False),
    ("onbranch:feature/", False),
    ("hasconfig:remote.*.url:https://example.com/**", True),
    ("hasconfig:remote.*.url:https://example.org/**", False),
    ("unknown:x", False),
    ("gitdir", False),
]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS)
def test_include_conditions(scene: Scene, condition: str, holds: bool) -> None:
    repo = str(scene.repo)
    condition = condition.format(repo=repo, REPO=repo.upper())
    (scene.home.parent / "link").symlink_to(scene.repo)
    scene.append(scene.repo / ".git/conditional", "[test]\n\tconditional = 1\n")
    scene.append(scene.local, '[remote "o"]\n\turl = https://example.com/a/b\n')
    scene.append(scene.local, f'[includeIf "{condition}"]\n\tpath = conditional\n')
    scene.environ["PWD"] = str(scene.home.parent / "link")
    keys = scene.assert_equal(scene.home.parent / "link")
    assert ("test.conditional" in keys) is holds


def test_home_in_a_condition_is_resolved(scene: Scene) -> None:
    run_git(["init", "-q", "--ref-format=reftable", str(scene.home / "inside")], scene.home)
    (scene.home.parent / "alias").symlink_to(scene.home)
    scene.environ["HOME"] = str(scene.home.parent / "alias")
    scene.append(scene.user, '[includeIf "gitdir:~/"]\n\tpath = conditional\n')
    scene.append(scene.home / "conditional", "[test]\n\tconditional = 1\n")
    assert "test.conditional" in scene.assert_equal(scene.home / "inside")
    assert "test.conditional" not in scene.assert_equal()


@pytest.mark.parametrize("ref_format", ["files", "reftable"])
def test_branch_condition_follows_head(scene: Scene, tmp_path: Path, ref_format: str) -> None:
    repo = tmp_path / "other"
    run_git(["init", "-q", f"--ref-format={ref_format}", str(repo)], tmp_path)
    run_git(["symbolic-ref", "HEAD", "refs/heads/feature/x"], repo)
    scene.append(scene.user, '[includeIf "onbranch:feature/"]\n\tpath = conditional\n')
    scene.append(scene.home / "conditional", "[test]\n\tconditional = 1\n")
    assert "test.conditional" in scene.assert_equal(repo)
    run_git(["symbolic-ref", "HEAD", "refs/heads/x"], repo)
    assert "test.conditional" not in scene.assert_equal(repo)


def test_branch_condition_in_a_linked_worktree(scene: Scene, tmp_path: Path) -> None:
    run_git(["commit", "-q", "--allow-empty", "-m", "x"], scene.repo)
    run_git(["worktree", "add", "-q", "-b", "side", str(tmp_path / "wt")], scene.repo)
    scene.append(scene.user, '[includeIf "onbranch:side"]\n\tpath = conditional\n')
    scene.append(scene.home / "conditional", "[test]\n\tconditional = 1\n")
    assert "test.conditional" in scene.assert_equal(tmp_path / "wt")
    assert "test.conditional" not in scene.assert_equal()


def test_remote_urls_may_not_come_from_a_file_included_for_them(scene: Scene) -> None:
    scene.append(scene.local, '[remote "o"]\n\turl = x\n')
    scene.append(scene.local, '[includeIf "hasconfig:remote.*.url:x"]\n\tpath = more\n')
    scene.append(scene.repo / ".git/more", "[include]\n\tpath = urls\n")
    scene.append(scene.repo / ".git/urls", '[remote "p"]\n\turl = y\n')
    assert scene.ours(scene.repo) == scene.git(scene.repo)
    assert "remote URLs cannot be configured" in str(scene.git(scene.repo))
