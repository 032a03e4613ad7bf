"""The configuration reader: syntax, values, includes, and what each setting comes to."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyreftable.errors import ConfigError
from pyreftable.refs.config import Config
from pyreftable.refs.config_command import command_entries
from pyreftable.refs.config_files import ConfigContext, read_sequence
from pyreftable.refs.config_parser import Entry, Origin, canonical_key, parse_config
from pyreftable.refs.config_values import INT32, UINT64, env_bool, expand_path, parse_int

if TYPE_CHECKING:
    from pyreftable.refs.config_command import Parameter

FILE = Origin("local", "some/config")

TEXT = b"""\
[core]
\tbare = false
\tname = "first"
[Remote "Origin"]
\turl = https://example.com/x
\tfetch = +refs/heads/*:refs/remotes/origin/*
\tfetch = refs/tags/*:refs/tags/*
[gc]
\treflogExpire = 90 days
[gc "refs/heads/*"]
\treflogExpire = never
\treflogExpireUnreachable
[core]
\tName = second
[remote "other"]
\tskip
"""


def config_of(data: bytes, environ: dict[str, str] | None = None) -> Config:
    return Config(lambda: parse_config(data, FILE), environ or {})


class TestSyntax:
    def test_entries_say_what_was_set_where(self) -> None:
        entries = parse_config(b"# x\n[a]\nb = 1 \\\n 2\nc\n", FILE)
        assert entries == [
            Entry("a.b", "1  2", 4, FILE),
            Entry("a.c", None, 5, FILE),
        ]

    def test_bytes_survive(self) -> None:
        data = bytes(byte for byte in range(1, 256) if byte not in b'\n\r"\\;#')
        (entry,) = parse_config(b'[a]\nb = "' + data + b'"\n', FILE)
        assert entry.value is not None
        assert entry.value.encode("utf-8", "surrogateescape") == data

    def test_error_names_line_and_file(self) -> None:
        with pytest.raises(ConfigError, match=r"^bad config line 3 in file some/config$"):
            parse_config(b"[a]\nb = 1\n!\n", FILE)

    @pytest.mark.parametrize(
        ("key", "canonical"),
        [
            ("Core.Bare", "core.bare"),
            ("Remote.Origin.URL", "remote.Origin.url"),
            ("a.B.C.D", "a.B.C.d"),
            ("a..b", "a..b"),
            ("a.Ü=\t.b", "a.Ü=\t.b"),
        ],
    )
    def test_keys_are_made_canonical(self, key: str, canonical: str) -> None:
        assert canonical_key(key) == canonical

    @pytest.mark.parametrize(
        ("key", "message"),
        [
            ("core", "key does not contain a section: core"),
            (".bare", "key does not contain a section: .bare"),
            ("core.", "key does not contain variable name: core."),
            ("co_re.bare", "invalid key: co_re.bare"),
            ("core.1bare", "invalid key: core.1bare"),
            ("core.bäre", "invalid key: core.bäre"),
            ("a.b\nc.d", "invalid key (newline): a.b\nc.d"),
        ],
    )
    def test_bad_keys_are_refused(self, key: str, message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            canonical_key(key)
        assert str(caught.value) == message


class TestConfig:
    def test_last_value_wins_in_any_case_of_the_key(self) -> None:
        config = config_of(TEXT)
        assert config.get("core.name") == config.get("CORE.NAME") == "second"
        assert config.get_all("core.name") == ["first", "second"]
        assert config.get("remote.Origin.url") == "https://example.com/x"
        assert config.get("remote.origin.url") is None
        assert config.get("core.missing") is None
        assert config.get_all("core.missing") == []

    def test_sections_and_subsections_are_listed(self) -> None:
        config = config_of(TEXT)
        assert config.subsections("REMOTE") == ["Origin", "other"]
        assert config.subsections("core") == []
        assert [(sub, name, entry.value) for sub, name, entry in config.section("gc")] == [
            (None, "reflogexpire", "90 days"),
            ("refs/heads/*", "reflogexpire", "never"),
            ("refs/heads/*", "reflogexpireunreachable", None),
        ]

    def test_everything_is_listed_in_order(self) -> None:
        items = list(config_of(TEXT).items())
        assert items[0] == ("core.bare", "false")
        assert items[-2:] == [("core.name", "second"), ("remote.other.skip", None)]
        assert len(items) == len(list(config_of(TEXT))) == 10

    def test_valueless_key_is_true_and_no_text(self) -> None:
        config = config_of(b"[a]\n\nb\n")
        assert config.get_bool("a.b") is True
        assert config.get_bool_or_str("a.b") is True
        for ask in (config.get, config.get_all, config.get_path):
            with pytest.raises(ConfigError) as caught:
                ask("a.b")
            message = "bad config variable 'a.b' in file 'some/config' at line 3"
            assert str(caught.value) == message
            assert str(caught.value.__cause__) == "missing value for 'a.b'"

    def test_bool_or_text(self) -> None:
        config = config_of(b"[a]\nb = yes\nc = always\nd = 1\ne =\n")
        answers = [config.get_bool_or_str(f"a.{name}") for name in "bcdex"]
        assert answers == [True, "always", "1", False, None]

    def test_bad_values_name_key_and_value(self) -> None:
        config = config_of(b"[a]\nb = x\nc = 1q\nd = 3g\ne\n")
        with pytest.raises(ConfigError) as caught:
            config.get_bool("A.B")
        assert str(caught.value) == "bad boolean config value 'x' for 'a.b'"
        for key, value, reason in (
            ("a.c", "1q", "invalid unit"),
            ("a.d", "3g", "out of range"),
            ("a.e", "", "invalid unit"),
        ):
            with pytest.raises(ConfigError) as caught:
                config.get_int(key, INT32)
            assert str(caught.value) == (
                f"bad numeric config value '{value}' for '{key}' in file some/config: {reason}"
            )

    def test_bad_number_of_the_command_line_names_no_file(self) -> None:
        config = Config(lambda: command_entries({}, ["a.b=x"]), {})
        with pytest.raises(ConfigError, match=r"^bad numeric config value 'x' for 'a.b': invalid"):
            config.get_int("a.b")
        with pytest.raises(ConfigError, match=r"^unable to parse 'a.c' from command-line config$"):
            Config(lambda: command_entries({}, ["a.c"]), {}).get("a.c")

    def test_files_are_read_at_the_first_question_and_once(self) -> None:
        calls: list[int] = []

        def load() -> Sequence[Entry]:
            calls.append(1)
            return parse_config(TEXT, FILE)

        config = Config(load, {})
        assert not calls
        for key in ("core.bare", "core.name", "x.y"):
            config.get(key)
        assert len(calls) == 1

    def test_threads_share_one_configuration(self) -> None:
        config = config_of(TEXT)
        answers: list[str | None] = []
        threads = [
            threading.Thread(target=lambda: answers.append(config.get("core.name")))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == ["second"] * 8

    def test_paths(self, tmp_path: Path) -> None:
        data = b"[a]\nb = ~/x\nc = :(optional)~/missing\nd = :(optional)~\ne = ~nobody-at-all/\n"
        config = config_of(data, {"HOME": str(tmp_path)})
        assert config.get_path("a.b") == f"{tmp_path}/x"
        assert config.get_path("a.c") is None
        assert config.get_path("a.d") == str(tmp_path)
        assert config.get_path("a.x") is None
        with pytest.raises(ConfigError, match=r"failed to expand user dir in: '~nobody-at-all/'"):
            config.get_path("a.e")


class TestValues:
    @pytest.mark.parametrize(
        ("text", "number"),
        [("0", 0), ("017", 15), ("0x1F", 31), ("-3k", -3072), ("+1M", 1 << 20), (" \v2g", 2 << 30)],
    )
    def test_numbers(self, text: str, number: int) -> None:
        assert parse_int(text, range(-(1 << 63), 1 << 63)) == number

    @pytest.mark.parametrize("text", ["", "k", "0x", "0xg", "09", "1 ", "1kb", "--1", "+-1", "٣"])
    def test_what_is_no_number(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"^invalid unit$"):
            parse_int(text, INT32)

    def test_ranges(self) -> None:
        assert parse_int("2047m", INT32) == 2047 << 20
        assert parse_int("18446744073709551615", UINT64) == (1 << 64) - 1
        for text, within in (("2g", INT32), ("-2049m", INT32), ("17179869184g", UINT64)):
            with pytest.raises(ValueError, match=r"^out of range$"):
                parse_int(text, within)
        with pytest.raises(ValueError, match=r"^invalid unit$"):
            parse_int("-1", UINT64)

    def test_boolean_variables(self) -> None:
        assert env_bool({}, "X", True) is True
        assert env_bool({"X": "off"}, "X", True) is False
        with pytest.raises(ConfigError, match=r"^bad boolean environment value 'x' for 'X'$"):
            env_bool({"X": "x"}, "X", True)

    def test_home_may_be_unknown(self) -> None:
        assert expand_path("~/x", {}) is None
        assert expand_path("/~/x", {}) == "/~/x"
        assert expand_path("%(prefix)/etc/x", {}) == "/usr/etc/x"


class TestCommandScope:
    def test_pairs_keep_what_an_equals_sign_would_split(self) -> None:
        parameters: list[Parameter] = [("a.b=c.d", "e=f"), ("a.x", None), "g.h=i=j", "k.l"]
        entries = command_entries({}, parameters)
        assert [(entry.key, entry.value) for entry in entries] == [
            ("a.b=c.d", "e=f"),
            ("a.x", None),
            ("g.h", "i=j"),
            ("k.l", None),
        ]

    def test_order_is_count_then_parameters_then_arguments(self) -> None:
        environ = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "1"}
        environ["GIT_CONFIG_PARAMETERS"] = "'a.b'='2'"
        entries = command_entries(environ, ["a.b=3"])
        assert [entry.value for entry in entries] == ["1", "2", "3"]

    @pytest.mark.parametrize(
        ("environ", "cause"),
        [
            ({"GIT_CONFIG_COUNT": "x"}, "bogus count in GIT_CONFIG_COUNT"),
            ({"GIT_CONFIG_COUNT": "9999999999"}, "too many entries in GIT_CONFIG_COUNT"),
            ({"GIT_CONFIG_COUNT": "1"}, "missing config key GIT_CONFIG_KEY_0"),
            (
                {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b"},
                "missing config value GIT_CONFIG_VALUE_0",
            ),
            ({"GIT_CONFIG_PARAMETERS": "a"}, "bogus format in GIT_CONFIG_PARAMETERS"),
            ({"GIT_CONFIG_PARAMETERS": "'=x'"}, "bogus config parameter: =x"),
            ({"GIT_CONFIG_PARAMETERS": "''='x'"}, "empty config key"),
        ],
    )
    def test_errors_have_their_reason_as_cause(self, environ: dict[str, str], cause: str) -> None:
        with pytest.raises(ConfigError, match=r"^unable to parse command-line config$") as caught:
            command_entries(environ, [])
        assert str(caught.value.__cause__) == cause


def read(
    folder: Path, text: str, files: Iterable[tuple[str, str]] = (), **context: object
) -> list[tuple[str, str | None]]:
    """Entries of a repository `config` with that text, other files lying beside it."""
    for name, content in (("config", text), *files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    environ = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": ""}
    places = {"git_dir": str(folder), "common_dir": str(folder)}
    entries = read_sequence(ConfigContext(environ, **(places | context)))  # type: ignore[arg-type]
    return [(entry.key, entry.value) for entry in entries]


class TestIncludes:
    @pytest.mark.parametrize(
        ("condition", "holds"),
        [
            ("worktree:/w/**", True),
            ("worktree:/W/**", False),
            ("worktree/i:/W/**", True),
            ("worktree:x/", True),
            ("worktree:y/", False),
        ],
    )
    def test_work_tree_condition(self, tmp_path: Path, condition: str, holds: bool) -> None:
        text = f'[includeIf "{condition}"]\n\tpath = more\n'
        more = [("more", "[a]\n\tb = 1\n")]
        assert (("a.b", "1") in read(tmp_path, text, more, work_tree="/w/x/z")) is holds
        assert ("a.b", "1") not in read(tmp_path, text, more)

    def test_branch_is_asked_for_only_by_its_condition(self, tmp_path: Path) -> None:
        def refuse() -> str:
            raise AssertionError("nobody asked for the branch")

        assert read(tmp_path, "[a]\n\tb = 1\n", branch=refuse) == [("a.b", "1")]
        text = '[includeIf "onbranch:x/**"]\n\tpath = more\n'
        more = [("more", "[a]\n\tb = 1\n")]
        for branch, holds in (("x/y", True), ("y", False), (None, False)):
            found = read(tmp_path, text, more, branch=lambda branch=branch: branch)
            assert (("a.b", "1") in found) is holds

    def test_ten_levels_are_followed_and_not_eleven(self, tmp_path: Path) -> None:
        files = [(f"f{n}", f"[include]\n\tpath = f{n + 1}\n[a]\n\tb = {n}\n") for n in range(1, 12)]
        found = read(tmp_path, "[include]\n\tpath = f1\n", files[:10])
        assert [value for key, value in found if key == "a.b"] == [str(n) for n in range(10, 0, -1)]
        with pytest.raises(ConfigError) as caught:
            read(tmp_path, "[include]\n\tpath = f1\n", files)
        assert str(caught.value) == (
            f"exceeded maximum include depth (10) while including\n\t{tmp_path}/f11\n"
            f"from\n\t{tmp_path}/f10\nThis might be due to circular includes."
        )

    def test_error_in_an_included_file_names_that_file(self, tmp_path: Path) -> None:
        text = "[include]\n\tpath = sub/more\n"
        with pytest.raises(ConfigError, match=f"bad config line 2 in file {tmp_path}/sub/more"):
            read(tmp_path, text, [("sub/more", "\n!\n")])

    def test_folder_in_place_of_a_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        with pytest.raises(ConfigError, match=r"unable to access '.*/folder': Is a directory"):
            read(tmp_path, "[include]\n\tpath = folder\n")

    def test_included_entries_have_the_scope_of_the_including_file(self, tmp_path: Path) -> None:
        (tmp_path / "more").write_text("[a]\n\tb = 1\n")
        (tmp_path / "config").write_text("[include]\n\tpath = more\n")
        environ = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": str(tmp_path / "more")}
        parameters = [f"include.path={tmp_path}/more"]
        place = str(tmp_path)
        context = ConfigContext(environ, parameters, git_dir=place, common_dir=place)
        entries = [entry for entry in read_sequence(context) if entry.key == "a.b"]
        assert [entry.origin.scope for entry in entries] == ["global", "local", "command"]


def test_environ_of_the_process_is_the_default() -> None:
    config = Config(lambda: parse_config(b"[a]\nb = ~\n", FILE))
    assert config.get_path("a.b") == os.environ.get("HOME")
