"""Option parsing by git's rules, and the usage text made from the same table."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pyreftable_cli.exits import UsageExit
from pyreftable_cli.options import (
    Group,
    Option,
    OptionError,
    Table,
    bit,
    callback,
    choice,
    counter,
    flag,
    integer,
    string,
    strings,
)
from pyreftable_cli.parsing import parse
from pyreftable_cli.usage import usage_text


class Settings:
    """Where the options of `TABLE` land."""

    def __init__(self) -> None:
        self.all = False
        self.no_deref = False
        self.deref_twice = False
        self.verbose = 0
        self.bits = 0
        self.count = 0
        self.name: str | None = None
        self.list: list[str] = []
        self.mode: object = None
        self.color: str | None = None
        self.commit: str | None = None


def keep(option: Option, settings: object, value: str | None, unset: bool) -> None:
    """A callback that stores its value, but not `bad`."""
    if value == "bad":
        raise OptionError("that is bad")
    setattr(settings, option.long, None if unset else value)


TABLE = Table(
    ["frob [<options>]\n         [<more>]", "frob --other"],
    [
        flag("a", "all", "everything"),
        flag("", "no-deref", "do not follow"),
        counter("v", "verbose", "say more"),
        bit("x", "ex", "bits", 1, "the first bit"),
        bit("y", "why", "bits", 2, "the second bit"),
        Group("Numbers and words"),
        integer("n", "count", "n", "how many"),
        string("", "name", "name", "what it is called"),
        strings("l", "list", "item", "one more item\non two lines"),
        Group(),
        choice("d", "delete", "mode", "delete", "remove it"),
        choice("m", "move", "mode", "move", "move it"),
        callback("", "color", "when", "colour", keep, optional_value=True, default="always"),
        callback(
            "", "commit", "(<commit>|none)", "since", keep, default="HEAD", last_default=True,
            negatable=False,
        ),
        callback("", "secret", "", "not shown", keep, hidden=True),
    ],
)  # fmt: skip


NOT_A_NUMBER = "expects an integer value with an optional k/m/g suffix"


def run(*words: str, table: Table = TABLE) -> tuple[Settings, list[str]]:
    """Parse `words`."""
    settings = Settings()
    return settings, parse(table, words, settings, "git")


def complaint(*words: str, table: Table = TABLE) -> UsageExit:
    """What parsing `words` ends with."""
    with pytest.raises(UsageExit) as raised:
        run(*words, table=table)
    return raised.value


class TestLongOptions:
    def test_flag_and_its_negation(self) -> None:
        assert run("--all")[0].all is True
        assert run("--all", "--no-all")[0].all is False

    def test_option_named_no(self) -> None:
        assert run("--no-deref")[0].no_deref is True
        assert run("--no-deref", "--deref")[0].no_deref is False

    @pytest.mark.parametrize("words", [["--name=a b"], ["--name", "a b"], ["--na", "a b"]])
    def test_value_with_or_without_equals_sign(self, words: list[str]) -> None:
        assert run(*words)[0].name == "a b"

    def test_value_may_look_like_an_option(self) -> None:
        assert run("--name", "--all")[0].name == "--all"
        assert run("--name", "--")[0].name == "--"

    def test_empty_value(self) -> None:
        assert run("--name=")[0].name == ""

    def test_negated_value(self) -> None:
        assert run("--name=x", "--no-name")[0].name is None
        assert run("--count=3", "--no-count")[0].count == 0

    def test_list_grows_and_empties(self) -> None:
        assert run("-la", "--list=b", "-l", "c")[0].list == ["a", "b", "c"]
        assert run("-la", "--no-list", "-lb")[0].list == ["b"]

    def test_unique_prefix(self) -> None:
        assert run("--verb", "--verb")[0].verbose == 2
        assert run("--no-verb")[0].verbose == 0
        assert run("--del")[0].mode == "delete"

    def test_exact_name_wins_over_longer_ones(self) -> None:
        table = Table(["x"], [flag("", "all-of-it", "", dest="verbose"), flag("", "all", "")])
        assert run("--all", table=table)[0].all is True

    def test_ambiguous_prefix(self) -> None:
        error = complaint("--co=1")
        assert error.message == "error: ambiguous option: co=1 (could be --color or --commit)"
        assert error.usage == usage_text(TABLE, "git")
        what = "ambiguous option: de (could be --no-no-deref or --delete)"
        assert complaint("--de").message == f"error: {what}"

    def test_optional_value_only_behind_equals_sign(self) -> None:
        settings, arguments = run("--color", "never")
        assert (settings.color, arguments) == ("always", ["never"])
        assert run("--color=never")[0].color == "never"
        assert run("--no-color")[0].color is None

    def test_default_for_the_last_argument(self) -> None:
        assert run("--commit")[0].commit == "HEAD"
        settings, arguments = run("--commit", "x", "y")
        assert (settings.commit, arguments) == ("x", ["y"])


class TestShortOptions:
    def test_bundle(self) -> None:
        settings, _ = run("-avv")
        assert (settings.all, settings.verbose) == (True, 2)

    @pytest.mark.parametrize("words", [["-n3"], ["-n", "3"], ["-an3"], ["-an", "3"]])
    def test_value(self, words: list[str]) -> None:
        assert run(*words)[0].count == 3

    def test_bits(self) -> None:
        assert run("-xy")[0].bits == 3
        assert run("-xy", "--no-ex")[0].bits == 2

    def test_dash_alone_is_an_argument(self) -> None:
        assert run("-", "-a")[1] == ["-"]


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("0", 0),
            ("-5", -5),
            ("+7", 7),
            ("2k", 2048),
            ("1M", 1 << 20),
            ("1g", 1 << 30),
            ("0x10", 16),
            ("010", 8),
            (" 4", 4),
            ("2147483647", 2**31 - 1),
        ],
    )
    def test_accepted(self, text: str, number: int) -> None:
        assert run(f"--count={text}")[0].count == number

    @pytest.mark.parametrize("text", ["x", "1x", "1_0", "0x", "k", "1.5", "08", "4 ", "١"])
    def test_no_number(self, text: str) -> None:
        assert complaint(f"--count={text}").message == f"error: option `count' {NOT_A_NUMBER}"

    @pytest.mark.parametrize("text", ["2147483648", "2g", "-3g", "99999999999999999999"])
    def test_out_of_range(self, text: str) -> None:
        expected = f"value {text} for option `count' not in range [-2147483648,2147483647]"
        assert complaint(f"--count={text}").message == f"error: {expected}"

    def test_empty(self) -> None:
        message = "error: option `count' expects a numerical value"
        assert complaint("--count=").message == message


class TestArguments:
    def test_mixed_with_options(self) -> None:
        settings, arguments = run("one", "-a", "two", "--name", "n", "three")
        assert arguments == ["one", "two", "three"]
        assert (settings.all, settings.name) == (True, "n")

    @pytest.mark.parametrize("end", ["--", "--end-of-options"])
    def test_end_of_options(self, end: str) -> None:
        assert run("x", end, "-a", "--", "--bogus")[1] == ["x", "-a", "--", "--bogus"]

    def test_keep_dashdash(self) -> None:
        table = Table(["x"], TABLE.rows, keep_dashdash=True)
        assert run("x", "--", "-a", table=table)[1] == ["x", "--", "-a"]

    def test_stop_at_argument(self) -> None:
        table = Table(["x"], TABLE.rows, stop_at_argument=True)
        settings, arguments = run("-a", "x", "-v", table=table)
        assert (arguments, settings.all, settings.verbose) == (["x", "-v"], True, 0)

    def test_keep_unknown(self) -> None:
        table = Table(["x"], TABLE.rows, keep_unknown=True)
        settings, arguments = run("--bogus", "-qa", "-a", "--al", table=table)
        assert arguments == ["--bogus", "-qa", "--al"]
        assert settings.all is True


class TestSubcommands:
    table = Table(["x"], [flag("a", "all", "")], subcommands=("list", "show"))
    loose = Table(
        ["x"], [flag("a", "all", "")], subcommands=("list", "show"), subcommand_optional=True
    )

    def test_rest_is_left_to_the_subcommand(self) -> None:
        settings, arguments = run("-a", "list", "-z", "--bogus", table=self.table)
        assert (settings.all, arguments) == (True, ["list", "-z", "--bogus"])

    def test_missing(self) -> None:
        assert complaint(table=self.table).message == "error: need a subcommand"

    def test_unknown(self) -> None:
        error = complaint("lis", table=self.table)
        assert error.message == "error: unknown subcommand: `lis'"
        assert error.usage.startswith("usage: git x\n")

    def test_optional(self) -> None:
        assert run(table=self.loose)[1] == []
        assert run("other", "-a", table=self.loose)[1] == ["other", "-a"]


class TestComplaints:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--bogus"], "unknown option `bogus'"),
            (["--bogus=1"], "unknown option `bogus=1'"),
            (["--no-bogus"], "unknown option `no-bogus'"),
            (["--no-commit"], "unknown option `no-commit'"),
            (["-q"], "unknown switch `q'"),
            (["-aq"], "unknown switch `q'"),
            (["-é"], "unknown non-ascii option in string: `-é'"),
        ],
    )
    def test_unknown_options_show_the_usage(self, words: list[str], message: str) -> None:
        error = complaint(*words)
        assert (error.message, error.asked_for) == (f"error: {message}", False)
        assert error.usage == usage_text(TABLE, "git")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--name"], "option `name' requires a value"),
            (["-n"], "switch `n' requires a value"),
            (["--all=1"], "option `all' takes no value"),
            (["--no-name=1"], "option `no-name' takes no value"),
            (["--commit=bad"], "that is bad"),
            (["-all"], "did you mean `--all` (with two dashes)?"),
            (["-no-such"], f"switch `n' {NOT_A_NUMBER}"),
            (["-n", "x"], f"switch `n' {NOT_A_NUMBER}"),
            (["-verb"], "did you mean `--verb` (with two dashes)?"),
            (["-d", "--move"], "options '--move' and '-d' cannot be used together"),
            (["--delete", "-m"], "options '-m' and '--delete' cannot be used together"),
        ],
    )
    def test_wrong_values_do_not(self, words: list[str], message: str) -> None:
        error = complaint(*words)
        assert (error.message, error.usage) == (f"error: {message}", "")

    def test_same_mode_twice(self) -> None:
        assert run("-d", "--delete")[0].mode == "delete"


USAGE = """\
usage: git frob [<options>]
                [<more>]
   or: git frob --other

    -a, --[no-]all        everything
    --no-deref            do not follow
    --deref               opposite of --no-deref
    -v, --[no-]verbose    say more
    -x, --[no-]ex         the first bit
    -y, --[no-]why        the second bit

Numbers and words
    -n, --[no-]count <n>  how many
    --[no-]name <name>    what it is called
    -l, --[no-]list <item>
                          one more item
                          on two lines

    -d, --delete          remove it
    -m, --move            move it
    --[no-]color[=<when>] colour
    --commit (<commit>|none)
                          since

"""


class TestUsage:
    def test_layout(self) -> None:
        assert usage_text(TABLE, "git") == USAGE

    def test_room_for_a_longer_name(self) -> None:
        first, second, third = usage_text(TABLE, "pyreftable").splitlines()[:3]
        assert first == "usage: pyreftable frob [<options>]"
        assert second.index("[") == first.index("[")
        assert third == "   or: pyreftable frob --other"

    def test_hidden_options(self) -> None:
        assert "--[no-]secret         not shown\n" in usage_text(TABLE, "git", hidden=True)

    @pytest.mark.parametrize("words", [["-h"], ["--help"], ["-ah"], ["-a", "--help"]])
    def test_help_is_asked_for(self, words: Sequence[str]) -> None:
        end = complaint(*words)
        assert (end.asked_for, end.message, end.usage) == (True, "", USAGE)

    def test_help_in_full(self) -> None:
        assert "--[no-]secret" in complaint("--help-all").usage
