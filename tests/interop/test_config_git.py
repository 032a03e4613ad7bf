"""The configuration reader against `git config`: same entries, scopes, values, error lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyreftable.errors import ConfigError
from pyreftable.refs.config_parser import Origin, parse_config
from pyreftable.refs.repository import discover
from tests.interop.config_scene import Scene
from tests.support import git_env, run_git

TRICKY_FILES = [
    b"",
    b"\xef\xbb\xbf[core]\n\tbare = true\n",
    b"\xef\xbb[core]\n",
    b"[core]\r\n\tbare = true\r\n\tname = x \r\n",
    b"[core]\rbare = a\rb\r\r\n",
    b"[a]\nb\n[a]b=1\n[a][c]d=2 # x\n",
    b"[A.B-c]\nKey-1 = V\n[a.b-C]KEY-1 = w\n",
    b'[A "B c"]\nD = 1\n[a  \t"b\\"\\\\\\x"]e=2\n[a "]"] f=3\n[a ""] g\n',
    b'[ "x"]\nb\n[.]\na=1\n[-]x=2\n',
    b'[a]\nb = "  x  "  y\t z \nc = "" d\ne = "f"g"h"  \n',
    b'[a]\nb = x ; comment\nc = "x ; y" # z\nd = x#y\n',
    b"[a]\nb = one \\\n  two \\\r\n\tthree\nc = \\\n\n",
    b'[a]\nb = "one \\\ntwo"\nc = last\\',
    b'[a]\nb = \\t\\n\\b\\\\\\"\n',
    b"[a]\nb = \xff\xfe \xc3\xa9\n",
    b"[a]\nb = \x0bx\x0b\x0c\n",
    b"[a]\nb = x\x00y\nc=\x00\n",
    b"[a]\n  ; comment\n\n   # another\n\tb\t=\tc\n",
    b"# only a comment",
    b"[a] ; comment after a header\nb = 1",
    b"key = without a section\n[a]b=1\n",
    # Errors: the message, and the line in it, must be git's.
    b"[a",
    b"[a\n",
    b"[a]\n[b ",
    b"[a]\n[b \n",
    b'[a]\n[b "c\n',
    b'[a]\n[b "c"\n]',
    b'[a]\n[b "c',
    b'[a]\n[b"c"]\n',
    b"[a]\n[]\n",
    b"[a_b]\n",
    b"[a]\nb ; no comment after a bare name\n",
    b"[a]\nb c\n",
    b"[a]\n1b = c\n",
    b"[a]\nb_c = d\n",
    b"[a]\nb =\n= c\n",
    b'[a]\nb = "c\nd = 1\n',
    b'[a]\nb = x \\\n "c\nd = 1\n',
    b"[a]\nb = \\x\n",
    b'[a]\nb = "c\\',
    b"[a]\nb\r",
]

FRAGMENTS = rb"""[ ] " \ = # ; a B - _ 1 . [core] [s]k= \n \" "xy" """.split()
FRAGMENTS += [b"\n", b"\n", b"\r\n", b"\r", b" ", b"\t", b"\x0b", b"\\\n", b"\xff", b"\xc3\xa9"]
FRAGMENTS += [b"[core]\n", b'[a "b"]\n', b"key = value\n", b" = ", b'"x y"', b"\xef\xbb\xbf"]


def git_listing(folder: Path, data: bytes) -> bytes | str:
    """What git reads from a file: `key LF value NUL` for each entry, or its error message."""
    (folder / "config-file").write_bytes(data)
    command = ["config", "--file", "config-file", "--list", "--null"]
    done = run_git(command, folder, env=git_env(folder), check=False)
    if done.returncode == 0:
        return done.stdout
    return done.stderr.decode().strip().removeprefix("fatal: ")


def our_listing(data: bytes) -> bytes | str:
    try:
        entries = parse_config(data, Origin("local", "config-file"))
    except ConfigError as error:
        return str(error)
    lines = (e.key if e.value is None else f"{e.key}\n{e.value}" for e in entries)
    return "".join(f"{line}\0" for line in lines).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("data", TRICKY_FILES)
def test_parser_reads_a_tricky_file_as_git(tmp_path: Path, data: bytes) -> None:
    assert our_listing(data) == git_listing(tmp_path, data)


@given(parts=st.lists(st.sampled_from(FRAGMENTS), max_size=14))
def test_parser_reads_any_text_as_git(tmp_path: Path, parts: list[bytes]) -> None:
    data = b"".join(parts)
    assert our_listing(data) == git_listing(tmp_path, data)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path.resolve())


def test_files_are_read_in_order_of_scope(scene: Scene) -> None:
    for path in (scene.system, scene.xdg, scene.user, scene.local):
        scene.append(path, f"[test]\n\tfile = {path.name}\n")
    scene.parameters = ["test.file=command", "test.bare", "a.B.c=x=y"]
    assert {"test.file", "test.bare", "a.B.c"} <= scene.assert_equal()


def test_worktree_file_counts_only_with_its_extension(scene: Scene) -> None:
    scene.append(scene.repo / ".git/config.worktree", "[test]\n\tworktree = yes\n")
    assert "test.worktree" not in scene.assert_equal()
    scene.append(scene.local, "[extensions]\n\tworktreeConfig = true\n")
    assert "test.worktree" in scene.assert_equal()


@pytest.mark.parametrize(
    ("variables", "present", "absent"),
    [
        ({"GIT_CONFIG_NOSYSTEM": "true"}, {"test.xdg", "test.user"}, {"test.system"}),
        ({"GIT_CONFIG_GLOBAL": ""}, {"test.system"}, {"test.xdg", "test.user"}),
        ({"GIT_CONFIG_GLOBAL": "/dev/null"}, {"test.system"}, {"test.xdg", "test.user"}),
        ({"GIT_CONFIG_SYSTEM": "/dev/null"}, {"test.user"}, {"test.system"}),
        ({"XDG_CONFIG_HOME": "/nonexistent"}, {"test.user"}, {"test.xdg"}),
        ({"XDG_CONFIG_HOME": ""}, {"test.user", "test.xdg"}, set()),
    ],
)
def test_variables_choose_the_files(
    scene: Scene, variables: dict[str, str], present: set[str], absent: set[str]
) -> None:
    for path, name in ((scene.system, "system"), (scene.xdg, "xdg"), (scene.user, "user")):
        scene.append(path, f"[test]\n\t{name} = 1\n")
    scene.environ |= variables
    keys = scene.assert_equal()
    assert present <= keys
    assert not absent & keys


@pytest.mark.parametrize(
    "variables",
    [
        {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "A.b.C", "GIT_CONFIG_VALUE_0": "1"}
        | {"GIT_CONFIG_KEY_1": "x.y", "GIT_CONFIG_VALUE_1": ""},
        {"GIT_CONFIG_COUNT": ""},
        {"GIT_CONFIG_COUNT": "x"},
        {"GIT_CONFIG_COUNT": "1"},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b"},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "ab", "GIT_CONFIG_VALUE_0": "1"},
        {"GIT_CONFIG_PARAMETERS": "'a.b=c d' 'e.f' 'g.h=i=j'"},
        {"GIT_CONFIG_PARAMETERS": "'a.b'='c d' 'e.f'=  'g.h=i.j'='k'"},
        {"GIT_CONFIG_PARAMETERS": r"'a.b'='it'\''s'\!' so'"},
        {"GIT_CONFIG_PARAMETERS": "'a.b=1''c.d=2'"},
        {"GIT_CONFIG_PARAMETERS": " 'a.b=1'"},
        {"GIT_CONFIG_PARAMETERS": "'a.b=1' "},
        {"GIT_CONFIG_PARAMETERS": "'a.b"},
        {"GIT_CONFIG_PARAMETERS": "'a.b'=c"},
        {"GIT_CONFIG_PARAMETERS": "'a.b'=''x"},
        {"GIT_CONFIG_PARAMETERS": "a.b=1"},
        {"GIT_CONFIG_PARAMETERS": "''='x'"},
        {"GIT_CONFIG_PARAMETERS": "'a.1b=x'"},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "count"}
        | {"GIT_CONFIG_PARAMETERS": "'a.b=parameters'"},
    ],
)
def test_command_scope_from_the_environment(scene: Scene, variables: dict[str, str]) -> None:
    scene.environ |= variables
    scene.parameters = ["last.one=1"] if "GIT_CONFIG_PARAMETERS" not in variables else []
    assert scene.ours(scene.repo) == scene.git(scene.repo)


@pytest.mark.parametrize("parameter", ["a", "a.", ".b", "a.b.=1", "a_b.c=1", "a.b\nc.d=1", "=1"])
def test_bad_parameters_are_refused(scene: Scene, parameter: str) -> None:
    scene.parameters = [parameter]
    assert scene.ours(scene.repo) == scene.git(scene.repo) == "unable to parse command-line config"


TYPED_VALUES = ["true", "YES", "On", "false", "no", "off", "", "0", "1", "-1", "2k", "0x10", "010"]
TYPED_VALUES += [
    "1K",
    "3m",
    "1g",
    "4g",
    " 7",
    "7 ",
    "+5",
    "x",
    "0x",
    "08",
    "1kk",
    "-0",
    "- 1",
    "1.5",
]
TYPED_VALUES += [
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999k",
    "2147483648",
]
TYPED_VALUES += ["-2147483648", "-2147483649", "truE", "tru", "9007199254740992k"]


@pytest.mark.parametrize("value", TYPED_VALUES)
@pytest.mark.parametrize("kind", ["bool", "int"])
def test_typed_values(scene: Scene, kind: str, value: str) -> None:
    quoted = value.replace('"', '\\"')
    scene.append(scene.local, f'[test]\n\tvalue = "{quoted}"\n')
    done = run_git(
        ["config", f"--{kind}", "test.value"], scene.repo, env=scene.environ, check=False
    )
    config = discover(scene.repo, environ=scene.environ).config
    try:
        answer = config.get_bool("test.value") if kind == "bool" else config.get_int("test.value")
        ours = str(answer).lower()
    except ConfigError as error:
        ours = f"fatal: {error}".replace(f"{scene.repo}/", "")
    assert ours == (done.stdout or done.stderr).decode().strip()


@pytest.mark.parametrize("value", ["~/x", "~", "/a/b", "rel", "~no-such-user/x", "~root/x"])
def test_path_values(scene: Scene, value: str) -> None:
    scene.append(scene.local, f"[test]\n\tvalue = {value}\n")
    done = run_git(["config", "--path", "test.value"], scene.repo, env=scene.environ, check=False)
    config = discover(scene.repo, environ=scene.environ).config
    try:
        ours = str(config.get_path("test.value"))
    except ConfigError as error:
        ours = f"fatal: {error}"
    assert ours == (done.stdout or done.stderr).decode().strip()
