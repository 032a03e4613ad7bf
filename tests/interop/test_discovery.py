"""Finding repositories against `git rev-parse`: same folders, same refusals."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pyreftable.errors import RepositoryError
from pyreftable.refs.repository import discover
from tests.interop.site_tools import Answer, Site, ask_git, ask_us, check


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("site").resolve())


PLACES = [
    "plain",
    "plain/a/b",
    "plain/.git",
    "plain/.git/refs",
    "plain/.git/worktrees",
    "plain/.git/worktrees/linked",
    "bare.git",
    "bare.git/objects/info",
    "sha256",
    "files",
    "separate",
    "separate/a/b",
    "elsewhere.git",
    "elsewhere.git/refs",
    "linked",
    "linked/a",
    "link-to-plain",
    "link-to-plain/a",
    "outside",
    "empty",
]

SETTINGS = [
    {},
    {"GIT_DIR": "{site}/plain/.git"},
    {"GIT_DIR": "{site}/separate/.git"},
    {"GIT_DIR": "{site}/linked/.git"},
    {"GIT_DIR": "{site}/bare.git"},
    {"GIT_DIR": "{site}/bare.git/"},
    {"GIT_DIR": "."},
    {"GIT_DIR": ".git"},
    {"GIT_DIR": "../plain/.git"},
    {"GIT_DIR": ""},
    {"GIT_DIR": "{site}/empty"},
    {"GIT_DIR": "{site}/plain/.git", "GIT_WORK_TREE": "{site}/empty"},
    {"GIT_DIR": "{site}/plain/.git", "GIT_WORK_TREE": ".."},
    {"GIT_DIR": "{site}/plain/.git", "GIT_IMPLICIT_WORK_TREE": "0"},
    {"GIT_WORK_TREE": "{site}/empty"},
    {"GIT_WORK_TREE": "."},
    {"GIT_COMMON_DIR": "{site}/plain/.git"},
    {"GIT_OBJECT_DIRECTORY": "{site}/plain/.git/objects"},
    {"GIT_OBJECT_DIRECTORY": "{site}/none"},
    {"GIT_OBJECT_DIRECTORY": ""},
    {"GIT_OBJECT_DIRECTORY": "../objects"},
    {"GIT_COMMON_DIR": ""},
    {"GIT_CEILING_DIRECTORIES": "{site}"},
    {"GIT_CEILING_DIRECTORIES": "{site}/plain"},
    {"GIT_CEILING_DIRECTORIES": "relative:{site}/plain/a/"},
    {"GIT_CEILING_DIRECTORIES": "{site}/link-to-plain"},
    {"GIT_CEILING_DIRECTORIES": ":{site}/link-to-plain"},
    {"GIT_CEILING_DIRECTORIES": "/"},
    {"GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"},
    {"GIT_DISCOVERY_ACROSS_FILESYSTEM": "x"},
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: ",".join(settings) or "none")
def test_place_and_variables_lead_where_git_goes(
    site: Site, place: str, settings: dict[str, str]
) -> None:
    environ = {**site.environ, "GIT_CEILING_DIRECTORIES": str(site.folder.parent)}
    environ |= {name: value.format(site=site.folder) for name, value in settings.items()}
    assert ask_us(site.folder / place, environ) == ask_git(site.folder / place, environ)


BARE_AND_WORK_TREE = [
    "bare = true",
    "bare = false",
    "bare",
    "bare =",
    "bare = 7",
    "bare = maybe",
    "worktree = ../../empty",
    "worktree = {site}/empty",
    "worktree = ..",
    "worktree",
    "worktree = ../../missing",
    "bare = true\n\tworktree = ../../empty",
]


@pytest.mark.parametrize("setting", BARE_AND_WORK_TREE)
@pytest.mark.parametrize(
    ("name", "inside"),
    [("plain", ""), ("plain", "a"), ("plain", ".git"), ("bare.git", ""), ("bare.git", "refs")],
)
@pytest.mark.parametrize("variable", ["", "GIT_DIR", "GIT_WORK_TREE"])
def test_bare_and_work_tree_settings(
    site: Site, tmp_path: Path, setting: str, name: str, inside: str, variable: str
) -> None:
    repo = site.copy(name, tmp_path.resolve())
    (tmp_path / "empty").mkdir()
    git_dir = repo if name.endswith(".git") else repo / ".git"
    with (git_dir / "config").open("a") as file:
        file.write(f"[core]\n\t{setting.format(site=tmp_path.resolve())}\n")
    values = {"GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(tmp_path.resolve())}
    environ = {**site.environ, **({variable: values[variable]} if variable else {})}
    assert _plain_paths(ask_us(repo / inside, environ), repo) == _plain_paths(
        ask_git(repo / inside, environ), repo
    )


def _plain_paths(answer: Answer, repo: Path) -> Answer:
    """`answer` with the file named in a message relative to the git directory."""
    if isinstance(answer, str):
        for prefix in (f"{repo}/", ".git/", "./"):
            answer = answer.replace(f" {prefix}", " ")
    return answer


@pytest.mark.parametrize("place", ["linked", "linked/a", "plain", "plain/.git/worktrees/linked"])
@pytest.mark.parametrize("worktree_config", [True, False])
@pytest.mark.parametrize("text", ["bare = true", "worktree = {site}/empty"])
def test_settings_of_the_main_worktree_do_not_reach_a_linked_one(
    tmp_path: Path, place: str, worktree_config: bool, text: str
) -> None:
    site = Site(tmp_path.resolve())
    section = f"[core]\n\t{text.format(site=site.folder)}\n"
    with (site.plain / ".git/config").open("a") as file:
        file.write(section)
        if worktree_config:
            file.write("[extensions]\n\tworktreeConfig = true\n")
    assert ask_us(site.folder / place, site.environ) == ask_git(site.folder / place, site.environ)
    (site.plain / ".git/worktrees/linked/config.worktree").write_text(section)
    assert ask_us(site.folder / place, site.environ) == ask_git(site.folder / place, site.environ)


BROKEN_GITFILES = {
    "no keyword": b"nonsense\n",
    "no space": b"gitdir:/x\n",
    "no path": b"gitdir: \n",
    "to nowhere": b"gitdir: nowhere\n",
    "to no repository": b"gitdir: ..\n",
    "too large": b"gitdir: " + b"x" * (1 << 20),
    "empty": b"",
}


@pytest.mark.parametrize("data", BROKEN_GITFILES.values(), ids=BROKEN_GITFILES)
@pytest.mark.parametrize("named", [True, False])
def test_broken_gitfiles_are_refused(site: Site, tmp_path: Path, data: bytes, named: bool) -> None:
    (tmp_path / ".git").write_bytes(data)
    environ = {**site.environ, **({"GIT_DIR": str(tmp_path / ".git")} if named else {})}
    assert isinstance(check(tmp_path, environ), str)


def test_gitfile_that_is_neither_file_nor_folder_is_refused(site: Site, tmp_path: Path) -> None:
    gitfile = tmp_path / ".git"
    named = {**site.environ, "GIT_DIR": ".git"}
    os.mkfifo(gitfile)
    assert ask_us(tmp_path, site.environ) == f"fatal: not a regular file: '{gitfile}'"
    assert ask_us(tmp_path, named) == ask_git(tmp_path, named)
    gitfile.unlink()
    gitfile.symlink_to(".git")
    assert ask_us(tmp_path, site.environ) == f"fatal: error reading '{gitfile}'"
    assert ask_us(tmp_path, named) == ask_git(tmp_path, named)


def test_gitfile_may_be_relative_and_end_in_a_carriage_return(site: Site, tmp_path: Path) -> None:
    site.copy("bare.git", tmp_path.resolve())
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.git").write_bytes(b"gitdir: ../bare.git\r\n\r\n")
    assert isinstance(check((tmp_path / "work").resolve(), site.environ), dict)


@pytest.mark.parametrize(
    ("path", "content", "valid"),
    [
        ("HEAD", "ref: refs/heads/x\n", True),
        ("HEAD", "ref:\t\n refs/heads/x", True),
        ("HEAD", "ref: heads/x\n", False),
        ("HEAD", "ab" * 20 + "\n", True),
        ("HEAD", "AB" * 32 + "\n", True),
        ("HEAD", "ab" * 19 + "\n", False),
        ("HEAD", "", False),
        ("HEAD", None, False),
        ("refs", None, False),
        ("objects", None, False),
    ],
)
def test_what_looks_like_a_git_directory(
    site: Site, tmp_path: Path, path: str, content: str | None, valid: bool
) -> None:
    repo = site.copy("plain", tmp_path.resolve())
    target = repo / ".git" / path
    if content is not None:
        target.write_text(content)
    elif target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()
    environ = {**site.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.resolve())}
    assert isinstance(check(repo, environ), dict) is valid


def test_head_may_be_a_symbolic_link(site: Site, tmp_path: Path) -> None:
    repo = site.copy("plain", tmp_path.resolve())
    environ = {**site.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.resolve())}
    for target, valid in (("refs/heads/x", True), ("config", False)):
        (repo / ".git/HEAD").unlink()
        (repo / ".git/HEAD").symlink_to(target)
        assert isinstance(check(repo, environ), dict) is valid


def test_the_folder_to_start_from_must_exist(site: Site) -> None:
    for name, reason in (
        ("nowhere", "No such file or directory"),
        ("bare.git/HEAD", "Not a directory"),
    ):
        path = str(site.folder / name)
        with pytest.raises(RepositoryError, match=f"^cannot change to '{path}': {reason}$"):
            discover(path)


def test_search_ends_at_a_mount_point(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted = str(site.plain / "a")
    real_stat = os.stat

    def stat(path: str) -> os.stat_result:
        fields = list(real_stat(path))
        fields[2] = 77 if path.startswith(mounted) else 7
        return os.stat_result(fields)

    monkeypatch.setattr("pyreftable.refs.discovery.os.stat", stat)
    assert ask_us(site.plain / "a/b", site.environ) == (
        f"fatal: not a git repository (or any parent up to mount point {site.plain})\n"
        "Stopping at filesystem boundary (GIT_DISCOVERY_ACROSS_FILESYSTEM not set)."
    )
    across = {**site.environ, "GIT_DISCOVERY_ACROSS_FILESYSTEM": "true"}
    assert isinstance(ask_us(site.plain / "a/b", across), dict)
