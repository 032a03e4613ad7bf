"""Fields of `for-each-ref` about branches: what they follow, their worktrees; and colours."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.for_each_ref_scene import Objects, check, set_refs
from tests.command_server import Outcome
from tests.support import git_env, init_repo, run_git
from tests.twins import git_is_followed, run_ours, run_theirs

CONFIG = """\
[remote "origin"]
    url = .
    fetch = +refs/heads/*:refs/remotes/origin/*
[remote "other"]
    url = .
    fetch = +refs/heads/*:refs/remotes/other/*
    push = refs/heads/pushed:refs/heads/elsewhere
    push = refs/heads/topic/*:refs/heads/t/*
[branch "ahead"]
    remote = origin
    merge = refs/heads/main
[branch "behind"]
    remote = origin
    merge = refs/heads/far
[branch "both"]
    remote = origin
    merge = refs/heads/main
    pushRemote = other
[branch "equal"]
    remote = origin
    merge = refs/heads/main
[branch "gone"]
    remote = origin
    merge = refs/heads/gone
[branch "unmapped"]
    remote = origin
    merge = refs/tags/v1
[branch "local"]
    remote = .
    merge = refs/heads/main
[branch "no-merge"]
    remote = origin
[branch "no-remote"]
    merge = refs/heads/main
[branch "pushed"]
    remote = origin
    merge = refs/heads/main
    pushRemote = other
[branch "topic/x"]
    remote = other
    merge = refs/heads/t/x
[branch "url"]
    remote = https://example.com/x.git
    merge = refs/heads/main
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Branches that follow others in every way; tests only read it."""
    path = init_repo(tmp_path_factory.mktemp("tracking") / "repo")
    objects = Objects(path, "sha1")
    tree = objects.put("tree", b"")
    chain = [objects.commit(tree)]
    for number in range(5):
        chain.append(objects.commit(tree, chain[-1], message=f"{number}\n"))
    side = objects.commit(tree, chain[1], message="side\n")
    refs = {
        "heads/main": chain[3],
        "heads/ahead": chain[5],
        "heads/behind": chain[1],
        "heads/both": objects.commit(tree, side, chain[2], message="both\n"),
        "remotes/origin/main": chain[3],
        "remotes/origin/far": chain[5],
        "remotes/other/both": side,
        "remotes/other/elsewhere": chain[0],
        "remotes/other/t/x": chain[4],
        "tags/main": chain[0],
        "tags/v1": chain[0],
    }
    names = ("equal", "gone", "unmapped", "local", "no-merge", "no-remote", "pushed", "topic/x")
    refs |= dict.fromkeys((f"heads/{name}" for name in (*names, "url", "lone")), chain[3])
    set_refs(path, refs)
    with (path / ".git" / "config").open("a") as file:
        file.write(CONFIG)
    return path


FORMS = [
    "",
    ":short",
    ":lstrip=2",
    ":lstrip=-1",
    ":rstrip=1",
    ":track",
    ":track,nobracket",
    ":nobracket,track",
    ":trackshort",
    ":remotename",
    ":remoteref",
    ":nobracket",
    ":track,trackshort",
    ":trackshort,remotename",
]

SETTINGS = [
    "",
    "-c push.default=nothing",
    "-c push.default=current",
    "-c push.default=matching",
    "-c push.default=upstream",
    "-c push.default=simple",
    "-c remote.pushDefault=other",
    "-c remote.pushDefault=other -c push.default=current",
    "-c remote.origin.mirror=true",
    "-c remote.origin.push=refs/heads/*:refs/heads/*",
    "-c remote.origin.push=refs/heads/*:refs/heads/* -c remote.origin.push=^refs/heads/equal",
    "-c remote.origin.push=refs/heads/equal:refs/heads/x -c remote.origin.push=^refs/heads/e*",
    "-c remote.origin.fetch=^refs/heads/main",
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_what_branches_follow(repo: Path, settings: str) -> None:
    fields = "|".join(f"%(upstream{form})|%(push{form})" for form in FORMS)
    check(f"{settings} for-each-ref '--format=%(refname) {fields}|%(*upstream:short)'", repo)


def test_remotes_known_by_their_url(repo: Path) -> None:
    """Since git 2.55 a push to the URL of one remote counts as a push to that remote."""
    command = ["-c", "push.default=current", "-c", "remote.o.url=https://example.com/x.git"]
    command += ["-c", "remote.o.fetch=+refs/heads/*:refs/remotes/o/*"]
    command += ["for-each-ref", "--format=%(push)", "refs/heads/url"]
    expected = Outcome(0, b"refs/remotes/o/url\n", b"")
    assert run_ours(command, repo) == expected
    if git_is_followed():
        assert run_theirs(command, repo) == expected


@pytest.mark.parametrize(
    "key", ["upstream", "push:track", "upstream:trackshort", "push:remotename"]
)
def test_sorting(repo: Path, key: str) -> None:
    check(f"for-each-ref --sort={key} --sort=-{key}", repo)


def test_ambiguous_short_names(repo: Path) -> None:
    command = "for-each-ref '--format=%(upstream:short) %(push:short)'"
    check(f"-c core.warnAmbiguousRefs=true {command}", repo)
    check(f"-c core.warnAmbiguousRefs=false {command}", repo)


def test_worktrees(repo: Path, tmp_path: Path) -> None:
    repo_copy = tmp_path / "top"
    run_git(["clone", "--quiet", "--ref-format=reftable", str(repo), str(repo_copy)], tmp_path)
    for name in ("one", "two"):
        run_git(["worktree", "add", "--quiet", "-b", name, f"../{name}"], repo_copy)
    run_git(["worktree", "add", "--quiet", "--detach", "../three"], repo_copy)
    for place in (repo_copy, tmp_path / "one", repo_copy / ".git"):
        check("for-each-ref '--format=%(HEAD)%(refname)|%(worktreepath)|%(worktreepath:x)'", place)
    check("for-each-ref --sort=-worktreepath --sort=HEAD", repo_copy)


COLORS = [
    "red",
    "brightblue",
    "normal",
    "default",
    "default default",
    "reset",
    "reset bold red",
    "bold ul nodim no-italic red green",
    "-1 7",
    "8 200",
    "#f0A",
    "#010203 #ffffff strike reverse",
    "RED BrightWhite",
    "normal blue",
    "red reset",
    "  blink  ",
    "   ",
]


@pytest.mark.parametrize("color", COLORS)
def test_colors(repo: Path, color: str) -> None:
    for when in ("", "--color", "--color=always --shell", "--color=always --no-color"):
        text = shlex.quote(f"--format=%(color:{color})%(refname)")
        check(f"for-each-ref {when} {text} refs/tags", repo)


BAD_COLORS = ["", "nonsense", "red green blue", "256", "-2", "#12345", "#ggg", "notbold", "bright"]


@pytest.mark.parametrize("color", BAD_COLORS)
def test_bad_colors(repo: Path, color: str) -> None:
    assert check(f"for-each-ref '--format=%(color:{color})'", repo).status == 128


@pytest.mark.parametrize(
    "text",
    [
        "%(color:red)%(refname)%(color:reset)",
        "%(color:reset)%(refname)%(color:red)",
        "%(if)%(HEAD)%(then)%(color:red)%(end)%(refname)",
        "%(align:30)%(color:red)%(refname)%(color:reset)%(end)|",
        "%(*color:red)%(refname)",
        "%(color:red)%(then)",
    ],
)
def test_color_ends_with_the_line(repo: Path, text: str) -> None:
    check(f"for-each-ref --color=always '--format={text}'", repo)
    check(f"-c color.ui=always for-each-ref '--format={text}'", repo)
    check("for-each-ref --color=always --sort=color:red", repo)


def test_colors_of_a_pager(repo: Path) -> None:
    args = ["for-each-ref", "--format=%(color:red)", "refs/tags/v1"]
    for term, expected in (("xterm", b"\033[31m\033[m\n"), ("dumb", b"\n")):
        env = git_env(repo) | {"TERM": term, "GIT_PAGER_IN_USE": "1"}
        assert run_ours(args, repo, env=env).stdout == expected
