"""Finding repositories that were made by hand: no git is needed to find and describe one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyreftable.errors import ConfigError, RepositoryError
from pyreftable.refs.repository import discover

ENVIRON = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": ""}
CONFIG = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefstorage = reftable\n"


def make_git_dir(folder: Path, config: str = CONFIG) -> Path:
    for name in ("objects", "refs", "reftable"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/.invalid\n")
    (folder / "config").write_text(config)
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work tree with an empty repository in it."""
    folder = tmp_path.resolve() / "work"
    make_git_dir(folder / ".git")
    return folder


def failing_for(path: Path, error: type[OSError], number: int) -> Callable[..., Any]:
    real_open = open

    def fail(name: Any, *args: Any, **options: Any) -> Any:
        if str(name) == str(path):
            raise error(number, os.strerror(number), str(name))
        return real_open(name, *args, **options)

    return fail


def test_repository_describes_itself(work: Path) -> None:
    repository = discover(work, environ=ENVIRON)
    git_dir = str(work / ".git")
    assert (repository.git_dir, repository.common_dir) == (git_dir, git_dir)
    assert repository.work_tree == str(work)
    assert not repository.is_bare
    assert repository.hash.name == "sha1"
    assert repository.ref_storage == "reftable"
    assert repository.ref_directory() == git_dir
    assert repository.hooks_dir == f"{git_dir}/hooks"
    assert repository.object_directory == f"{git_dir}/objects"
    assert repository.alternate_directories == []
    assert repository.worktrees() == []
    assert repository.current_branch() is None
    assert repository.environ is ENVIRON


def test_git_dir_argument_wins_over_everything(work: Path, tmp_path: Path) -> None:
    bare = make_git_dir(tmp_path.resolve() / "bare", CONFIG + "[core]\n\tbare = true\n")
    environ = ENVIRON | {"GIT_DIR": str(work / ".git")}
    assert discover(work, git_dir=bare, environ=environ).git_dir == str(bare)
    assert discover(work, git_dir="../bare", environ=environ).git_dir == str(bare)
    assert discover(bare, environ=environ).git_dir == str(work / ".git")
    with pytest.raises(RepositoryError, match=r"^not a git repository: 'nowhere'$"):
        discover(work, git_dir="nowhere", environ=ENVIRON)


def test_config_argument_overrides_the_files(work: Path) -> None:
    repository = discover(work, environ=ENVIRON, config=["a.b=1", ("c.d", None)])
    assert repository.config.get("a.b") == "1"
    assert repository.config.get_bool("c.d") is True


def test_changing_directory_later_changes_nothing(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    repository = discover(environ=ENVIRON)
    monkeypatch.chdir("/")
    assert repository.git_dir == str(work / ".git")
    assert repository.config.get("extensions.refStorage") == "reftable"


def test_folder_that_was_removed_is_no_place_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(RepositoryError, match=r"^Unable to read current working directory: "):
        discover(environ=ENVIRON)


@pytest.mark.parametrize("shell", ["link", "work", "nowhere", "", "relative/path"])
def test_links_in_the_way_to_the_repository_count_for_conditions(
    work: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    (work.parent / "link").symlink_to(work)
    with (work / ".git/config").open("a") as file:
        file.write('[includeIf "gitdir:link/"]\n\tpath = more\n')
    (work / ".git/more").write_text("[a]\n\tb = 1\n")
    monkeypatch.chdir(work)
    place = shell if not shell or "/" in shell else str(work.parent / shell)
    config = discover(environ=ENVIRON | {"PWD": place}).config
    assert config.get("a.b") == ("1" if shell == "link" else None)
    assert discover(work.parent / "link", environ=ENVIRON).config.get("a.b") == "1"


def test_empty_work_tree_variable_is_refused(work: Path) -> None:
    with pytest.raises(RepositoryError, match=r"^The empty string is not a valid path$"):
        discover(work, environ=ENVIRON | {"GIT_WORK_TREE": ""})


@pytest.mark.parametrize("name", ["config", "commondir"])
def test_files_of_the_repository_must_be_readable(
    work: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = work / ".git" / name
    monkeypatch.setattr("builtins.open", failing_for(path, PermissionError, 13))
    with pytest.raises((RepositoryError, ConfigError), match="Permission denied"):
        discover(work, environ=ENVIRON)


def test_gitfile_must_be_readable(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work / "sub").mkdir()
    (work / "sub/.git").write_text("gitdir: ../.git\n")
    assert discover(work / "sub", environ=ENVIRON).work_tree == str(work / "sub")
    monkeypatch.setattr("builtins.open", failing_for(work / "sub/.git", PermissionError, 13))
    with pytest.raises(RepositoryError, match=r"^error opening '.*/sub/\.git': Permission denied$"):
        discover(work / "sub", environ=ENVIRON)


def test_empty_commondir_file_is_refused(work: Path) -> None:
    (work / ".git/commondir").write_text("\n")
    with pytest.raises(RepositoryError, match=r"^failed to read .*/commondir$"):
        discover(work, environ=ENVIRON)


def test_global_file_may_be_closed_to_us_but_not_what_it_includes(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": str(work / "global")}
    (work / "global").write_text("[include]\n\tpath = more\n[a]\n\tb = 1\n")
    (work / "more").write_text("")
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", failing_for(work / "global", PermissionError, 13))
        assert discover(work, environ=environ).config.get("a.b") is None
    monkeypatch.setattr("builtins.open", failing_for(work / "more", PermissionError, 13))
    with pytest.raises(ConfigError, match=r"^unable to access '.*/more': Permission denied$"):
        discover(work, environ=environ).config.get("a.b")


def test_without_a_home_there_are_no_global_files(work: Path) -> None:
    config = discover(work, environ={"GIT_CONFIG_NOSYSTEM": "1"}).config
    assert {entry.origin.scope for entry in config} == {"local"}


def test_ref_storage_path_must_lead_somewhere(work: Path) -> None:
    environ = ENVIRON | {"GIT_REFERENCE_BACKEND": "reftable://no/where"}
    repository = discover(work, environ=environ)
    with pytest.raises(RepositoryError, match=r"^Invalid path '.*/\.git/no': No such file"):
        repository.ref_directory()


@pytest.mark.parametrize(
    ("value", "trusted"),
    [
        (":(optional){folder}", True),
        (":(optional)/missing", False),
        ("~nobody-at-all/x", None),
    ],
)
def test_spellings_of_safe_directories(
    work: Path, monkeypatch: pytest.MonkeyPatch, value: str, trusted: bool | None
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: work.stat().st_uid + 1)
    config = [f"safe.directory={value.format(folder=work)}"]
    if trusted:
        assert discover(work, environ=ENVIRON, config=config).work_tree == str(work)
        return
    message = "failed to expand user dir" if trusted is None else "detected dubious ownership"
    with pytest.raises(RepositoryError, match=f"^{message}"):
        discover(work, environ=ENVIRON, config=config)


@pytest.mark.parametrize(("name", "quoted"), [("a b", "'{}'"), ("it's!", None), ("plain", "{}")])
def test_refusal_quotes_the_folder_for_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, quoted: str | None
) -> None:
    folder = tmp_path.resolve() / name
    make_git_dir(folder / ".git")
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(RepositoryError) as caught:
        discover(folder, environ=ENVIRON)
    ending = quoted.format(folder) if quoted else f"'{folder.parent}/it'\\''s'\\!''"
    assert str(caught.value) == (
        f"detected dubious ownership in repository at '{folder}'\n"
        "To add an exception for this directory, call:\n\n"
        f"\tgit config --global --add safe.directory {ending}"
    )


def test_bad_value_of_safe_bare_repository_is_refused(tmp_path: Path) -> None:
    bare = make_git_dir(tmp_path / "bare")
    message = r"^unable to parse 'safe.barerepository' from command-line config$"
    with pytest.raises(ConfigError, match=message):
        discover(bare, environ=ENVIRON, config=["safe.bareRepository=maybe"])


def test_relative_condition_from_the_command_line_is_refused(work: Path) -> None:
    config = ["includeIf.gitdir:./x.path=/y"]
    with pytest.raises(ConfigError, match=r"^unable to parse command-line config$") as caught:
        discover(work, environ=ENVIRON, config=config).config.get("a.b")
    assert "conditionals must come from files" in str(caught.value.__cause__)


def test_worktrees_may_be_relative_and_must_have_a_gitdir_file(work: Path) -> None:
    for name, data in (("b", "../../../../wt-b/.git\n"), ("a", "/abs/wt-a/.git \n"), ("c", "")):
        folder = work / ".git/worktrees" / name
        folder.mkdir(parents=True)
        (folder / "gitdir").write_text(data)
    (work / ".git/worktrees/d").mkdir()
    found = discover(work, environ=ENVIRON).worktrees()
    assert [(worktree.name, worktree.path) for worktree in found] == [
        ("a", "/abs/wt-a"),
        ("b", str(work.parent / "wt-b")),
    ]


@pytest.mark.parametrize(
    ("head", "branch"),
    [("ref: refs/heads/a/b\n", "a/b"), ("ref: refs/x\n", None), ("ab" * 20, None)],
)
def test_branch_of_a_repository_with_loose_refs(
    tmp_path: Path, head: str, branch: str | None
) -> None:
    git_dir = make_git_dir(tmp_path / "work/.git", "")
    (git_dir / "HEAD").write_text(head)
    repository = discover(tmp_path / "work", environ=ENVIRON)
    assert repository.ref_storage == "files"
    assert repository.current_branch() == branch
