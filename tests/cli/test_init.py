"""`init`: the files it makes, byte for byte those of git where they are fixed."""

from __future__ import annotations

import shlex
import stat
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.twin_cases import ours
from tests.support import find_git, git_env, run_git
from tests.twins import run_ours, run_theirs

Tree = dict[str, tuple[str, bytes]]


class Case(NamedTuple):
    """Command lines that are run one after the other; `folder` is what they make."""

    commands: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()


CASES = [
    Case(("init -b main --ref-format=reftable r",)),
    Case(("init -b main --ref-format=reftable --object-format=sha256 r",)),
    Case(("init -b main --ref-format=files r",)),
    Case(("init -b main --ref-format=files --object-format=sha256 deep/er/r",)),
    Case(("init -b main --ref-format=reftable --bare r.git",)),
    Case(("init --bare -b main --ref-format=reftable",)),
    Case(("--bare init -b main",)),
    Case(("init -q --initial-branch=topic/x --ref-format=reftable r",)),
    Case(("init -b main --shared --ref-format=reftable r",)),
    Case(("init -b main --shared=all r",)),
    Case(("init -b main --shared=umask --ref-format=reftable r",)),
    Case(("init -b main --shared=0640 --ref-format=reftable r",)),
    Case(("init -b main --shared=nonsense r",)),
    Case(("init -b main --separate-git-dir sep --ref-format=reftable w",)),
    Case(("init -b main r", "init --separate-git-dir sep r", "init --separate-git-dir more r")),
    Case(("init -b main r", "init r", "init -b other r", "init --shared r")),
    Case(("init -b main r", "init --object-format=sha256 r", "init --ref-format=reftable r")),
    Case(("init -b main --ref-format=reftable --shared=group r",)),
    Case(("init --object-format=nonsense r", "init --ref-format=nonsense r", "init a b")),
    Case(("init --bare --separate-git-dir x y",)),
    Case(("-c init.defaultBranch=trunk init r",)),
    Case(("-c init.defaultRefFormat=reftable init -b main r",)),
    Case(("-c init.defaultObjectFormat=sha256 init -b main r",)),
    Case(("-c reftable.blockSize=512 init -b main --ref-format=reftable r",)),
    Case(("init -b main r",), (("GIT_DEFAULT_REF_FORMAT", "reftable"),)),
    Case(("init -b main r",), (("GIT_DEFAULT_HASH", "sha256"),)),
    Case(("init -b main r",), (("GIT_DEFAULT_HASH", "nonsense"),)),
    Case(("init -b main",), (("GIT_DIR", "foo.git"),)),
    Case(("init -b main",), (("GIT_WORK_TREE", "/tmp"),)),
    Case(("init -b main --ref-format=reftable",), (("GIT_DIR", "x.git"), ("GIT_WORK_TREE", "."))),
    Case(("init -b main --template=nowhere -q --ref-format=reftable r",)),
]


def tree(folder: Path) -> Tree:
    """Permissions and content of everything below a folder; tables without their random part."""
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        content = b"" if path.is_dir() else path.read_bytes()
        if name.endswith(".ref"):
            name = name[: -len("01234567.ref")]
        elif name.endswith("tables.list"):
            content = content[: -len("01234567.ref\n")]
        found[name] = stat.filemode(path.stat().st_mode), content
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: "; ".join(case.commands))
def test_as_git(tmp_path: Path, case: Case) -> None:
    # Both in a folder of the same name, one after the other, because messages and files name it.
    results = []
    for run in (run_theirs, run_ours):
        folder = tmp_path / "place"
        folder.mkdir()
        env = git_env(tmp_path) | dict(case.env)
        outcomes = [run(shlex.split(command), folder, b"", env) for command in case.commands]
        results.append((outcomes, tree(folder)))
        folder.rename(tmp_path / run.__name__)
    theirs, mine = results
    if any("template=nowhere" in command for command in case.commands):
        # git looks for the template, and warns.
        theirs = ([outcome._replace(stderr=b"") for outcome in theirs[0]], theirs[1])
    assert mine == theirs


def test_git_accepts_what_we_make(tmp_path: Path) -> None:
    for object_format in ("sha1", "sha256"):
        repo = tmp_path / object_format
        ours(
            tmp_path,
            f"init -q -b main --ref-format=reftable --object-format={object_format} {repo}",
        )
        run_git(["commit", "-q", "--allow-empty", "-m", "one"], repo)
        answer = run_git(["for-each-ref", "--format=%(refname)"], repo).stdout
        assert answer == b"refs/heads/main\n"
        run_git(["refs", "verify"], repo)


def test_reinitializing_keeps_a_reftable_repository(tmp_path: Path) -> None:
    """git 2.55 forgets the storage here, and with it the refs (seen at 1a3e64c6c4)."""
    repo = tmp_path / "r"
    ours(tmp_path, "init -q -b main --ref-format=reftable r")
    run_git(["commit", "-q", "--allow-empty", "-m", "one"], repo)
    before = tree(repo)
    outcome = ours(tmp_path, "init r")
    assert outcome.stdout == f"Reinitialized existing Git repository in {repo}/.git/\n".encode()
    assert tree(repo) == before
    outcome = ours(tmp_path, "init --ref-format=files r")
    assert outcome.status == 128
    what = b"fatal: attempt to reinitialize repository with different reference storage format\n"
    assert outcome.stderr == what


def test_bad_branch_name_makes_nothing(tmp_path: Path) -> None:
    """git leaves half a repository behind."""
    outcome = ours(tmp_path, "init -b bad..name --ref-format=reftable r")
    assert outcome == (128, b"", b"fatal: invalid initial branch name: 'bad..name'\n")
    assert not (tmp_path / "r" / ".git").exists()
    outcome = ours(tmp_path, "-c init.defaultBranch=bad..name init r")
    assert outcome.stderr == b"fatal: invalid branch name: init.defaultBranch = bad..name\n"


def test_hint_about_the_default_branch(tmp_path: Path) -> None:
    outcome = ours(tmp_path, "init r")
    assert outcome.stderr.startswith(b"hint: Using 'master' as the name for the initial branch.")
    for command in ("init -q a", "-c advice.defaultBranchName=false init b"):
        assert ours(tmp_path, command).stderr == b""


def test_configuration_around_is_kept(tmp_path: Path) -> None:
    ours(tmp_path, "init -q -b main r")
    path = tmp_path / "r" / ".git" / "config"
    text = path.read_text() + "# mine\n[user]\n\tname = x\n[core]\n\teditor = e # f\n"
    path.write_text(text.replace("bare = false", "bare = true"))
    ours(tmp_path, "init -q r")
    assert path.read_text() == text


def test_git_is_there() -> None:
    assert find_git()
