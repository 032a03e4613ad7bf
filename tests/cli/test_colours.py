"""Colours of `for-each-ref`, held against git: what the words mean, and when they are shown."""

from __future__ import annotations

import itertools
import os
import random
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.for_each_ref_scene import check
from tests.command_server import Outcome
from tests.support import git_env, init_repo, pyreftable_cmd, run_git
from tests.twins import compared_git, run_ours, run_theirs

NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]
ATTRIBUTES = ["bold", "dim", "italic", "ul", "blink", "reverse", "strike"]
ESCAPE = b"\033"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two branches; tests only read it."""
    path = init_repo(tmp_path_factory.mktemp("colours") / "repo")
    run_git(["commit", "--quiet", "--allow-empty", "-m", "x"], path)
    run_git(["branch", "side"], path)
    return path


# What the words mean


def sequences(repo: Path, colours: Sequence[str]) -> dict[str, bytes]:
    """What git and pyreftable make of each colour."""
    text = "%0a".join(f"%(color:{colour})" for colour in colours)
    command = f"for-each-ref --color=always {shlex.quote(f'--format={text}')} refs/heads/main"
    done = check(command, repo)
    assert done.status == 0, done.stderr
    lines = done.stdout.removesuffix(b"\n").removesuffix(b"\033[m").split(b"\n")
    return dict(zip(colours, lines, strict=True))


def both_grounds(colours: Sequence[str]) -> list[str]:
    """Each as foreground, and as background of three kinds of foreground."""
    return [f"{front}{colour}" for front in ("", "red ", "normal ", "-1 ") for colour in colours]


def test_names(repo: Path) -> None:
    names = [*NAMES, *(f"bright{name}" for name in NAMES), "normal", "default"]
    found = sequences(repo, both_grounds(names + [name.upper() for name in names]))
    assert found["red"] == found["RED"] == b"\033[31m"
    assert found["normal brightwhite"] == b"\033[107m"
    assert found["normal"] == b""
    assert found["red default"] == b"\033[31;49m"


def test_attributes(repo: Path) -> None:
    forms = [f"{no}{name}" for no in ("", "no", "no-") for name in ATTRIBUTES]
    found = sequences(repo, [*forms, *map(" ".join, itertools.permutations(forms, 2))])
    assert found["bold"] == b"\033[1m"
    assert found["no-bold"] == found["nobold"] == found["nodim"] == b"\033[22m"
    assert found["strike bold"] == found["bold strike"] == b"\033[1;9m"


def test_numbers(repo: Path) -> None:
    found = sequences(repo, both_grounds([str(number) for number in range(-1, 256)]))
    assert found["200"] == b"\033[38;5;200m"
    assert found["red 9"] == b"\033[31;101m"
    sequences(repo, ["+5", "007", "-1 -1", "00000000000000000000255", "-0"])


def test_24_bits(repo: Path) -> None:
    found = sequences(repo, both_grounds(["#ff0ab3", "#FF0AB3", "#000000", "#fff", "#0aF"]))
    assert found["#ff0ab3"] == b"\033[38;2;255;10;179m"
    assert found["red #0aF"] == b"\033[31;48;2;0;170;255m"


def test_reset(repo: Path) -> None:
    found = sequences(
        repo, ["reset", "RESET", "reset reset", "reset normal", "red reset bold", "reset -1 blue"]
    )
    assert found["reset"] == b"\033[m"
    assert found["red reset bold"] == b"\033[;1;31m"


def test_spaces(repo: Path) -> None:
    sequences(repo, ["  red   bold ", "\tred\tblue", "red\rblue", " ", "bold\t\r ", "red \v5"])


BAD = [
    "",
    "reddish",
    "bright",
    "brightdefault",
    "brightnormal",
    "bright red",
    "red green blue",
    "normal normal normal",
    "Bold",
    "no-Bold",
    "no--bold",
    "noreset",
    "no",
    "no-",
    "256",
    "-2",
    "1.5",
    "0x10",
    "99999999999999999999999",
    "#",
    "#12",
    "#1234",
    "#12345g",
    "#1234567",
    "ff0000",
    "red,blue",
    "red;31",
    "red\vblue",
    "red\fblue",
    "red\x1cblue",
    "rouge é",
    "\u00a0red",
    "blac\u212a",
    "٣",
]


@pytest.mark.parametrize("colour", BAD)
@pytest.mark.parametrize("when", ["always", "never"])
def test_bad_values(repo: Path, colour: str, when: str) -> None:
    """They are refused even where no colours are shown."""
    text = shlex.quote(f"--format=%(color:{colour})%(refname)")
    assert check(f"for-each-ref --color={when} {text}", repo).status == 128


@pytest.mark.parametrize("when", ["Always", "NEVER", "aUtO", "alway", "1", "true"])
def test_when_in_any_case(repo: Path, when: str) -> None:
    check(f"for-each-ref --color={when} '--format=%(color:red)%(refname)'", repo)


def test_no_value(repo: Path) -> None:
    assert check("for-each-ref '--format=%(color)'", repo).status == 128


def test_words_in_any_order(repo: Path) -> None:
    """Good or bad: git's word counts."""
    choose = random.Random(1)
    words = [*NAMES, *ATTRIBUTES, "reset", "normal", "default", "#123", "77", "-1", "nodim"]
    for _ in range(120):
        colour = " ".join(choose.choices(words, k=choose.randrange(1, 6)))
        check(f"for-each-ref --color '--format=%(color:{colour})%(refname)'", repo)


# When they are shown

FORMATS = [
    "%(color:red)%(refname)",
    "%(color:red)%(refname)%(color:reset)",
    "%(color:reset)%(refname)%(color:bold)",
    "%(color:normal)%(refname)",
    "%(if:equals=refs/heads/main)%(refname)%(then)%(color:red)%(end)x",
    "%(align:30)%(color:red)%(refname)%(end)|",
]
WHEN = ["", "--color", "--color=always", "--color=never", "--color=auto", "--no-color"]
SETTINGS = ["", *(f"-c color.ui={value}" for value in ("always", "never", "auto", "true", "false"))]
TERMS = ["xterm", "xterm-256color", "dumb", "", None]


def environment(repo: Path, term: str | None, **more: str) -> dict[str, str]:
    """That of a test, with this `TERM` or none."""
    environ = {key: value for key, value in git_env(repo).items() if key != "TERM"}
    return environ | more | ({} if term is None else {"TERM": term})


def both(command: str, repo: Path, environ: dict[str, str]) -> Outcome:
    """What git and pyreftable do where nothing is a terminal."""
    args = shlex.split(command)
    ours = run_ours(args, repo, env=environ)
    assert ours == run_theirs(args, repo, env=environ)
    return ours


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("setting", SETTINGS)
def test_not_at_a_terminal(repo: Path, when: str, setting: str) -> None:
    for text, term in itertools.product(FORMATS, ("xterm", "dumb")):
        command = f"{setting} for-each-ref {when} '--format={text}'"
        shown = both(command, repo, environment(repo, term)).stdout
        assert (ESCAPE in shown) == (when in ("--color", "--color=always"))


@pytest.mark.parametrize("value", ["1", "true", "YES", "on", "2", "0", "false", "", "maybe"])
@pytest.mark.parametrize("setting", ["", "-c color.pager=false", "-c color.pager=true"])
def test_before_a_pager(repo: Path, value: str, setting: str) -> None:
    """Behind which git takes a terminal to be."""
    for term in TERMS:
        environ = environment(repo, term, GIT_PAGER_IN_USE=value)
        both(f"{setting} for-each-ref '--format={FORMATS[0]}'", repo, environ)


@pytest.mark.parametrize("value", ["sometimes", "=", "true", ""])
def test_bad_when(repo: Path, value: str) -> None:
    check(f"for-each-ref '--color={value}' '--format={FORMATS[0]}'", repo)
    check(f"-c 'color.ui={value}' for-each-ref '--format={FORMATS[0]}'", repo)


def at_terminal(command: list[str], repo: Path, environ: dict[str, str]) -> Outcome:
    """Run with stdout, and nothing else, at a terminal."""
    pty = pytest.importorskip("pty", reason="terminals as files are Unix's")
    terminal, theirs = pty.openpty()
    with subprocess.Popen(
        command,
        cwd=repo,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(terminal, 1 << 16):
                shown += part
        except OSError:
            # So Linux tells that the other side has closed.
            pass
        os.close(terminal)
        stderr = process.stderr.read() if process.stderr else b""
    return Outcome(process.returncode, shown, stderr)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("when", WHEN)
def test_at_a_terminal(repo: Path, when: str, setting: str) -> None:
    """`color.ui` has no say; a terminal that can do nothing gets none, unless told."""
    for term in TERMS if setting in SETTINGS[:2] else ("xterm", "dumb"):
        args = shlex.split(f"{setting} for-each-ref {when} '--format={FORMATS[0]}'")
        environ = environment(repo, term)
        ours = at_terminal([*pyreftable_cmd(), *args], repo, environ)
        assert ours == at_terminal([compared_git(), *args], repo, environ)
        asked = {"--color": True, "--color=always": True, "--color=never": False}
        able = term not in (None, "dumb")
        assert (ESCAPE in ours.stdout) == asked.get(when, able and when != "--no-color")


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("options", ["", "--shell", "--sort=-refname", "--count=1", "--omit-empty"])
def test_formats_at_a_terminal(repo: Path, text: str, options: str) -> None:
    args = ["for-each-ref", *options.split(), f"--format={text}"]
    environ = environment(repo, "xterm")
    ours = at_terminal([*pyreftable_cmd(), *args], repo, environ)
    assert ours == at_terminal([compared_git(), *args], repo, environ)


# Nothing else has colours

COMMANDS = [
    "",
    "-h",
    "nonsense",
    "--nonsense",
    "for-each-ref",
    "for-each-ref -h",
    "for-each-ref --nonsense",
    "for-each-ref --json",
    "for-each-ref '--format=%(color:red)%(refname)' --color=auto",
    "refs list",
    "refs list '--format=%(color:red)%(HEAD)%(refname)'",
    "refs verify --verbose",
    "refs exists refs/heads/nonsense",
    "reflog",
    "reflog show main",
    "reflog list",
    "show-ref",
    "show-ref --verify nonsense",
    "symbolic-ref HEAD",
    "rev-parse HEAD nonsense",
    "update-ref refs/heads/main nonsense",
    "pack-refs --nonsense",
    "dump",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("setting", ["", "-c color.ui=always"])
def test_no_colours_without_a_terminal(repo: Path, command: str, setting: str) -> None:
    """Whatever else the environment of a program with colours may say."""
    forced = {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "COLORTERM": "truecolor"}
    environ = environment(repo, "xterm-256color", **forced)
    done = run_ours([*shlex.split(setting), *shlex.split(command)], repo, env=environ)
    assert done.stdout + done.stderr
    assert ESCAPE not in done.stdout + done.stderr


@pytest.mark.parametrize("command", [command for command in COMMANDS if "color" not in command])
def test_no_colours_that_nobody_asked_for(repo: Path, command: str) -> None:
    done = at_terminal([*pyreftable_cmd(), *shlex.split(command)], repo, environment(repo, "xterm"))
    assert done.stdout + done.stderr
    assert ESCAPE not in done.stdout + done.stderr


def test_no_module_for_colours_is_loaded(repo: Path) -> None:
    """Where a format has none."""
    code = "import sys; from pyreftable_cli import main; sys.argv[1:] = ['for-each-ref']\n"
    code += "try: main.run()\nfinally: print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repo, env=git_env(repo), capture_output=True, check=True
    )
    modules = {name.rpartition(".")[2] for name in done.stdout.decode().split()}
    assert not modules & {"color", "curses", "colorama", "rich"}
