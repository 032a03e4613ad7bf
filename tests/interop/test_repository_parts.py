"""Where the parts of a repository lie: hooks, objects, worktrees, stacks of refs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pyreftable.errors import RepositoryError
from pyreftable.refs.repository import discover
from tests.interop.site_tools import Site, ask_us, check
from tests.support import run_git


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("site").resolve())


@pytest.mark.parametrize("hooks_path", [None, "hooks-here", "~/hooks", "/etc/hooks"])
@pytest.mark.parametrize("place", ["plain", "plain/a", "linked", "bare.git"])
def test_places_of_hooks_and_objects(site: Site, place: str, hooks_path: str | None) -> None:
    environ = dict(site.environ)
    if hooks_path is not None:
        environ["GIT_CONFIG_PARAMETERS"] = f"'core.hookspath={hooks_path}'"
    repository = discover(site.folder / place, environ=environ)
    command = [
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "hooks",
        "--git-path",
        "objects",
    ]
    where = repository.work_tree or repository.git_dir
    answer = os.fsdecode(run_git(command, where, env=environ).stdout).splitlines()
    assert [repository.hooks_dir, repository.object_directory] == answer


def test_linked_worktrees_are_listed(tmp_path: Path) -> None:
    site = Site(tmp_path.resolve())
    run_git(["worktree", "add", "-q", "--detach", str(site.folder / "z y")], site.plain)
    shutil.rmtree(site.folder / "z y")
    (site.plain / ".git/worktrees/stray").mkdir()
    common = site.plain / ".git"
    listing = run_git(["worktree", "list", "--porcelain"], site.plain).stdout
    paths = [line[9:] for line in os.fsdecode(listing).splitlines() if line.startswith("worktree ")]
    for place in ("plain", "linked"):
        found = discover(site.folder / place, environ=site.environ).worktrees()
        assert found == [
            ("linked", f"{common}/worktrees/linked", f"{site.folder}/linked"),
            ("z-y", f"{common}/worktrees/z-y", f"{site.folder}/z y"),
        ]
        assert [worktree.path for worktree in found] == paths[1:]


def test_stacks_of_the_main_and_of_linked_worktrees(site: Site) -> None:
    main = discover(site.plain, environ=site.environ)
    linked = discover(site.folder / "linked", environ=site.environ)
    shared = str(site.plain / ".git")
    assert (main.is_linked_worktree, main.worktree_name) == (False, None)
    assert (linked.is_linked_worktree, linked.worktree_name) == (True, "linked")
    for repository in (main, linked):
        assert repository.ref_directory() == shared
        assert repository.ref_directory("linked") == f"{shared}/worktrees/linked"
        for name in ("", ".", "..", "a/b"):
            with pytest.raises(RepositoryError):
                repository.ref_directory(name)
    assert main.current_branch() == "main"
    assert linked.current_branch() == "linked"


def test_branch_is_where_symrefs_lead(tmp_path: Path) -> None:
    site = Site(tmp_path.resolve())
    linked = site.folder / "linked"

    def branches() -> list[str | None]:
        folders = (site.plain, linked)
        return [discover(folder, environ=site.environ).current_branch() for folder in folders]

    run_git(["symbolic-ref", "refs/heads/alias", "refs/heads/real"], site.plain)
    run_git(["symbolic-ref", "HEAD", "refs/heads/alias"], site.plain)
    run_git(["symbolic-ref", "refs/worktree/own", "refs/heads/unborn"], linked)
    run_git(["symbolic-ref", "HEAD", "refs/worktree/own"], linked)
    assert branches() == ["real", "unborn"]
    run_git(["symbolic-ref", "refs/heads/real", "refs/heads/alias"], site.plain)
    run_git(["update-ref", "--no-deref", "HEAD", "refs/heads/main"], linked)
    assert branches() == [None, None]


def test_common_directory_from_the_environment_does_not_move_the_refs(site: Site) -> None:
    environ = {**site.environ, "GIT_COMMON_DIR": str(site.bare)}
    repository = discover(site.plain, environ=environ)
    assert repository.common_dir == str(site.bare)
    assert repository.ref_directory() == str(site.plain / ".git")
    assert not repository.is_linked_worktree


@pytest.mark.parametrize("by", ["config", "environment"])
@pytest.mark.parametrize("uri", ["reftable://{site}/refs", "reftable://refs/here", "reftable://"])
def test_ref_storage_may_be_a_uri_with_a_path(
    site: Site, tmp_path: Path, by: str, uri: str
) -> None:
    folder = tmp_path.resolve()
    site_copy = Site(folder)
    uri = uri.format(site=folder)
    environ = dict(site_copy.environ)
    if by == "config":
        with (site_copy.plain / ".git/config").open("a") as file:
            file.write(f"[extensions]\n\trefstorage = {uri}\n")
    else:
        environ["GIT_REFERENCE_BACKEND"] = uri
    path = os.path.normpath(site_copy.plain / ".git" / uri.removeprefix("reftable://"))
    for place in ("plain", "linked"):
        repository = discover(folder / place, environ=environ)
        assert repository.ref_storage == "reftable"
        assert repository.ref_directory() == path
        assert repository.ref_directory("linked") == f"{path}/worktrees/linked"


@pytest.mark.parametrize("uri", ["reftable:", "reftable@/x", "db://x", "", "REFTABLE"])
def test_unknown_ref_storage_is_refused(site: Site, tmp_path: Path, uri: str) -> None:
    environ = {**site.environ, "GIT_REFERENCE_BACKEND": uri}
    name = uri.partition("://")[0]
    assert ask_us(site.plain, environ) == f"fatal: unknown ref storage format: '{name}'"
    repo = site.copy("plain", tmp_path.resolve())
    with (repo / ".git/config").open("a") as file:
        file.write(f"[extensions]\n\trefstorage = {uri}\n")
    answer = check(repo, site.environ)
    assert str(answer).startswith(f"error: invalid value for 'extensions.refstorage': '{uri}'")


def test_alternates_are_found(site: Site, tmp_path: Path) -> None:
    repo = site.copy("plain", tmp_path.resolve())
    info = repo / ".git/objects/info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"# comment\n{site.bare}/objects\n../../../missing\n")
    environ = {**site.environ, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{site.sha256}/.git/objects"}
    repository = discover(repo, environ=environ)
    assert [os.path.realpath(path) for path in repository.alternate_directories] == [
        f"{site.sha256}/.git/objects",
        f"{site.bare}/objects",
    ]
