"""Formats and owners that are refused: against `git rev-parse`, in its words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.interop.site_tools import Site, ask_git, ask_us, check


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("site").resolve())


EXTENSIONS = [
    "[core]\n\trepositoryformatversion = 0\n",
    "[core]\n\trepositoryformatversion = 2\n",
    "[core]\n\trepositoryformatversion = x\n",
    "[core]\n\trepositoryformatversion = 99999999999\n",
    "[core]\n\trepositoryformatversion = -1\n",
    "[core]\n\trepositoryformatversion\n",
    "[extensions]\n\tunknown = 1\n",
    "[extensions]\n\tunknown = 1\n\tother\n",
    '[extensions "sub"]\n\tunknown = 1\n',
    "[core]\n\trepositoryformatversion = 0\n[extensions]\n\tunknown = 1\n",
    "[extensions]\n\tnoop\n\tnoop-v1\n\tpartialclone = x\n\tpreciousobjects\n",
    "[extensions]\n\trelativeworktrees = true\n",
    "[extensions]\n\trelativeworktrees = maybe\n",
    "[extensions]\n\tpreciousobjects = maybe\n",
    "[extensions]\n\tpartialclone\n",
    "[extensions]\n\tobjectformat = sha256\n",
    "[extensions]\n\tobjectformat = md5\n",
    "[extensions]\n\tobjectformat\n",
    "[extensions]\n\trefstorage = files\n",
    "[extensions]\n\trefstorage = unknown\n",
    "[extensions]\n\trefstorage = Reftable\n",
    "[extensions]\n\trefstorage\n",
    "[extensions]\n\tworktreeConfig = maybe\n",
    "[broken\n",
]


@pytest.mark.parametrize("text", EXTENSIONS)
def test_formats_and_extensions(site: Site, tmp_path: Path, text: str) -> None:
    repo = site.copy("plain", tmp_path.resolve())
    with (repo / ".git/config").open("a") as file:
        file.write(text)
    check(repo, site.environ)


@pytest.mark.parametrize("version", ["0", "1", None])
def test_extensions_of_a_repository_without_reftables(
    site: Site, tmp_path: Path, version: str | None
) -> None:
    repo = site.copy("files", tmp_path.resolve())
    line = f"[core]\n\trepositoryformatversion = {version}\n" if version else ""
    extensions = "[extensions]\n\tnoop\n\tpartialclone = x\n\tworktreeconfig\n\tunknown-one = 1\n"
    (repo / ".git/config").write_text(line + extensions)
    answer = check(repo, site.environ)
    assert isinstance(answer, str) is (version == "1")


def test_compatibility_object_format_is_accepted_once(site: Site, tmp_path: Path) -> None:
    repo = site.copy("plain", tmp_path.resolve())
    with (repo / ".git/config").open("a") as file:
        file.write("[extensions]\n\tcompatObjectFormat = sha256\n")
    assert isinstance(ask_us(repo, site.environ), dict)
    with (repo / ".git/config").open("a") as file:
        file.write("\tcompatObjectFormat = sha1\n")
    message = "error: 'extensions.compatobjectformat' already specified as 'sha256'"
    assert str(ask_us(repo, site.environ)).startswith(message)


def test_missing_config_means_the_default_format(site: Site, tmp_path: Path) -> None:
    repo = site.copy("plain", tmp_path.resolve())
    (repo / ".git/config").unlink()
    answer = check(repo, site.environ)
    assert isinstance(answer, dict)
    assert answer["ref_storage"] == "files"


def test_included_and_overriding_settings_do_not_change_the_format(
    site: Site, tmp_path: Path
) -> None:
    repo = site.copy("plain", tmp_path.resolve())
    (repo / ".git/more").write_text("[extensions]\n\tunknown = 1\n\tobjectformat = sha256\n")
    with (repo / ".git/config").open("a") as file:
        file.write("[include]\n\tpath = more\n")
    environ = {**site.environ, "GIT_CONFIG_PARAMETERS": "'extensions.refstorage=files'"}
    answer = check(repo, environ)
    assert isinstance(answer, dict)
    assert answer["hash"] == "sha1"
    assert answer["ref_storage"] == "reftable"


SAFE_DIRECTORIES = [
    ([], False),
    (["*"], True),
    (["*", ""], False),
    (["", "*"], True),
    (["{repo}"], True),
    (["{repo}/"], True),
    (["{repo}/.git"], False),
    (["{parent}/*"], True),
    (["{parent}"], False),
    (["{link}"], True),
    (["."], True),
    (["relative"], False),
    (["~/plain"], True),
    (["/other", "{repo}", "/another"], True),
]


@pytest.mark.parametrize(("listed", "trusted"), SAFE_DIRECTORIES)
def test_repository_of_another_user(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: list[str], trusted: bool
) -> None:
    repo = site.copy("plain", tmp_path.resolve())
    (tmp_path / "link").symlink_to(repo)
    names = {"repo": repo, "parent": tmp_path.resolve(), "link": tmp_path / "link"}
    lines = "".join(f"\tdirectory = {value.format(**names)}\n" for value in listed)
    (tmp_path / "global").write_text(f"[safe]\n{lines}")
    # The repository itself has no say in it.
    with (repo / ".git/config").open("a") as file:
        file.write("[safe]\n\tdirectory = *\n")
    environ = {**site.environ, "HOME": str(tmp_path.resolve())}
    environ["GIT_CONFIG_GLOBAL"] = str(tmp_path / "global")
    # git can be told to think so, we are shown another user id.
    monkeypatch.setattr(os, "geteuid", lambda: repo.stat().st_uid + 1)
    monkeypatch.chdir(repo)
    git = ask_git(repo, environ | {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    if isinstance(git, str):
        git = git[git.index("fatal: ") :]
    assert ask_us(repo, environ) == git
    assert isinstance(git, dict) is trusted


@pytest.mark.parametrize(
    ("sudo", "user", "trusted"),
    [(None, 0, False), ("{owner}", 0, True), ("x", 0, False), ("{owner}", 99, False)],
)
def test_root_trusts_the_user_who_called_sudo(
    site: Site, monkeypatch: pytest.MonkeyPatch, sudo: str | None, user: int, trusted: bool
) -> None:
    owner = 12345
    real_lstat = os.lstat

    def lstat(path: str) -> os.stat_result:
        fields = list(real_lstat(path))
        fields[4] = owner
        return os.stat_result(fields)

    monkeypatch.setattr("pyreftable.refs.discovery.os.lstat", lstat)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    environ = dict(site.environ)
    if sudo is not None:
        environ["SUDO_UID"] = sudo.format(owner=owner)
    assert isinstance(ask_us(site.plain, environ), dict) is trusted


@pytest.mark.parametrize("value", ["all", "explicit", "explicit\n\tbareRepository = all"])
@pytest.mark.parametrize(
    "place", ["plain", "bare.git", "bare.git/refs", "plain/.git", "elsewhere.git"]
)
def test_bare_repositories_may_be_refused(
    site: Site, tmp_path: Path, value: str, place: str
) -> None:
    (tmp_path / "global").write_text(f"[safe]\n\tbareRepository = {value}\n")
    environ = {**site.environ, "GIT_CONFIG_GLOBAL": str(tmp_path / "global")}
    assert ask_us(site.folder / place, environ) == ask_git(site.folder / place, environ)
    environ["GIT_DIR"] = str(site.bare)
    assert isinstance(check(site.bare, environ), dict)
