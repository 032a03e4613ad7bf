"""Who commits, and when: identities, dates and messages of reflog entries."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyreftable.errors import CallerError
from pyreftable.refs import identity
from pyreftable.refs.approxidate import END_OF_TIME, approxidate, parse_expiry
from pyreftable.refs.dates import Stamp, parse_date
from pyreftable.refs.identity import Identity, clean_message, committer, local_offset, tz_integer

NOW = 1_700_000_000


class Settings(dict[str, str]):
    """A configuration that is a dictionary."""

    def get_bool(self, key: str) -> bool | None:
        """As git reads "true"."""
        value = self.get(key)
        return None if value is None else value == "true"


class Home(NamedTuple):
    """The least that a repository is to its committer."""

    environ: Mapping[str, str]
    config: Settings


def who(
    environ: Mapping[str, str] | None = None,
    config: Mapping[str, str] | None = None,
    *,
    strict: bool = False,
) -> Identity:
    """The committer with these variables and settings."""
    return committer(Home(environ or {}, Settings(config or {})), lambda: NOW + 0.9, strict=strict)


@pytest.fixture
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The local time zone, `UTC` unless the test asks for another."""
    name: str = getattr(request, "param", "UTC")
    monkeypatch.setenv("TZ", name)
    time.tzset()
    yield name
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user `login` with a full name, on a machine with no name for mail."""
    monkeypatch.setattr(identity, "_account", lambda: (b"login", b"& Full,Room 1"))
    monkeypatch.setattr(identity, "_mail_host", lambda: (b"host.(none)", False))


@pytest.mark.usefixtures("zone", "account")
class TestIdentity:
    """git-commit(1), "COMMIT INFORMATION"."""

    def test_environment_comes_first(self) -> None:
        """Then `committer.*`, then `user.*`."""
        environ = {"GIT_COMMITTER_NAME": "E N", "GIT_COMMITTER_EMAIL": "e@n"}
        settings = {"committer.name": "C N", "committer.email": "c@n", "user.name": "U N"}
        assert who(environ, settings) == (b"E N", b"e@n", NOW, 0)
        assert who(None, settings)[:2] == (b"C N", b"c@n")
        assert who(None, {"user.name": "U N", "user.email": "u@n"})[:2] == (b"U N", b"u@n")
        assert who(None, {"committer.name": "", "user.name": "U N"})[0] == b"U N"

    def test_account(self) -> None:
        """With nothing set: the account's full name, and its login at the host."""
        assert who()[:2] == (b"Login Full", b"login@host.(none)")
        assert who({"EMAIL": " m@x "})[:2] == (b"Login Full", b"m@x")
        assert who({"EMAIL": "m@x"}, {"user.email": "u@n"})[1] == b"u@n"

    def test_author_settings_stop_guessing(self) -> None:
        """If only the author is set, git makes no name up, but takes the login."""
        assert who(None, {"author.name": "A N", "author.email": "a@n"})[:2] == (b"login", b"")

    def test_empty_name(self) -> None:
        """An empty name gives the login, an empty address stays."""
        environ = {"GIT_COMMITTER_NAME": "", "GIT_COMMITTER_EMAIL": ""}
        assert who(environ, {"user.name": "U N"})[:2] == (b"login", b"")

    @pytest.mark.parametrize(
        ("raw", "clean"),
        [
            (" .a b. ", b".a b."),
            (",;<a>:'\"\\", b"a"),
            ("a<b>c\nd", b"abcd"),
            ("<<>>", b""),
            ("\x01ü\x1f", "ü".encode()),
            ("a\udcffb", b"a\xffb"),
            ("a  b", b"a  b"),
        ],
    )
    def test_crud(self, raw: str, clean: bytes) -> None:
        """What is dirt at the ends, and what delimits an identity line, goes."""
        environ = {"GIT_COMMITTER_NAME": raw, "GIT_COMMITTER_EMAIL": raw}
        assert who(environ)[:2] == (clean, clean)

    def test_date(self) -> None:
        """The variable, if it is not empty; else the clock, in whole seconds."""
        assert who({"GIT_COMMITTER_DATE": "@123456789 -0330"})[2:] == (123_456_789, -330)
        assert who({"GIT_COMMITTER_DATE": ""})[2:] == (NOW, 0)
        with pytest.raises(CallerError, match="invalid date format: junk"):
            who({"GIT_COMMITTER_DATE": "junk"})

    @pytest.mark.parametrize(
        ("environ", "config", "words"),
        [
            ({}, {"user.useconfigonly": "true"}, "no email was given and auto-detection"),
            ({"GIT_COMMITTER_EMAIL": "a@b"}, {"user.useconfigonly": "true"}, "no name was given"),
            ({}, {}, r"unable to auto-detect email address \(got 'login@host.\(none\)'\)"),
            ({"GIT_COMMITTER_NAME": "", "EMAIL": "a@b"}, {}, "empty ident name .for <a@b>."),
            ({"GIT_COMMITTER_NAME": ";;", "EMAIL": "a@b"}, {}, "only of disallowed characters: ;;"),
        ],
    )
    def test_strict(self, environ: dict[str, str], config: dict[str, str], words: str) -> None:
        """Commits refuse what reflogs take."""
        who(environ, config)
        with pytest.raises(CallerError, match=words):
            who(environ, config, strict=True)

    def test_strict_with_a_good_identity(self) -> None:
        """Nothing to refuse."""
        assert who({"EMAIL": "a@b"}, strict=True)[:2] == (b"Login Full", b"a@b")
        settings = {"user.name": "U", "user.email": "u@n", "user.useconfigonly": "true"}
        assert who(None, settings, strict=True)[:2] == (b"U", b"u@n")


def test_real_account() -> None:
    """Whatever this machine says, there is a name and an address."""
    made = committer(Home({}, Settings()))
    assert made.name
    assert b"@" in made.email


class TestZones:
    """Time zones as git's decimal numbers."""

    @pytest.mark.parametrize(
        ("minutes", "number"), [(0, 0), (90, 130), (-90, -130), (-30, -30), (825, 1345), (59, 59)]
    )
    def test_tz_integer(self, minutes: int, number: int) -> None:
        """Hours times a hundred, plus minutes."""
        assert tz_integer(minutes) == number

    @pytest.mark.parametrize(
        ("zone", "winter", "summer"),
        [
            ("UTC", 0, 0),
            ("America/New_York", -300, -240),
            ("America/St_Johns", -210, -150),
            ("Asia/Kathmandu", 345, 345),
            ("XYZ-1:30", 90, 90),
        ],
        indirect=["zone"],
    )
    def test_local_offset(self, zone: str, winter: int, summer: int) -> None:
        """The offset in force at the time."""
        assert local_offset(1_700_000_000) == winter
        assert local_offset(1_690_000_000) == summer
        assert who()[2:] == (NOW, tz_integer(winter))


class TestDates:
    """git-commit(1), "DATE FORMATS"."""

    @pytest.mark.usefixtures("zone")
    @pytest.mark.parametrize(
        ("text", "moment", "offset"),
        [
            ("@1700000000 +0100", 1_700_000_000, 60),
            ("@0 +0000", 0, 0),
            ("1700000000 -0130", 1_700_000_000, -90),
            ("1700000000", 1_700_000_000, 0),
            ("@1700000000", 1_700_000_000, 0),
            ("Thu, 07 Apr 2005 22:13:13 +0200", 1_112_904_793, 120),
            ("Thu Apr 7 15:14:13 2005 -0700", 1_112_912_053, -420),
            ("2005-04-07T22:13:13", 1_112_911_993, 0),
            ("2005-04-07 22:13:13Z", 1_112_911_993, 0),
            ("2005-04-07 22:13:13 +01:30", 1_112_906_593, 90),
            ("2005-04-07 22:13:13.123 -08", 1_112_940_793, -480),
            ("20050407T221313", 1_112_911_993, 0),
            ("2005.04.07 22:13", 1_112_911_980, 0),
            ("04/07/2005 10:13 PM", 1_112_911_980, 0),
            ("07.04.2005 22:13:13 EST", 1_112_929_993, -300),
            ("Apr 7 05 12:00 am", 1_112_832_000, 0),
        ],
    )
    def test_forms(self, text: str, moment: int, offset: int) -> None:
        """The forms that scripts use."""
        assert parse_date(text) == Stamp(moment, offset)

    @pytest.mark.parametrize("zone", ["America/New_York"], indirect=True)
    def test_local_time(self, zone: str) -> None:
        """Without a zone it is local time, summer time included."""
        assert parse_date("2005-04-07 22:13:13") == Stamp(1_112_926_393, -240)
        assert parse_date("2005-01-07 22:13:13") == Stamp(1_105_153_993, -300)
        assert parse_date("1700000000") == Stamp(1_700_000_000, -300)

    @pytest.mark.parametrize(
        "text",
        ["", "junk", "@1 0000", "2005-04-07", "12:00", "1969-12-31 23:00Z", "2100-01-01 00:00Z"],
    )
    def test_no_dates(self, text: str) -> None:
        """Nothing, half a date, and years that git does not know."""
        assert parse_date(text) is None

    @given(st.text(st.sampled_from("0123456789:-/.+ @TZapmJnebu\n"), max_size=20))
    def test_any_text(self, text: str) -> None:
        """Whatever the text, there is an answer."""
        stamp = parse_date(text)
        assert stamp is None or stamp.time >= 0
        assert approxidate(text, NOW) is None or isinstance(approxidate(text, NOW), int)

    def test_endless_numbers(self) -> None:
        """Not even numbers of thousands of digits are trouble."""
        for text in ("9" * 5000, "@" + "9" * 5000 + " +0000", "2005-01-" + "9" * 5000):
            parse_date(text)
            approxidate(text + ".years.ago", NOW)


@pytest.mark.usefixtures("zone")
class TestWords:
    """Dates in words, at 2023-11-14 22:13:20 (a Tuesday)."""

    @pytest.mark.parametrize(
        ("text", "moment"),
        [
            ("now", NOW),
            ("yesterday", NOW - 86_400),
            ("2.weeks.ago", NOW - 14 * 86_400),
            ("ten minutes ago", NOW - 600),
            ("last tuesday", NOW - 7 * 86_400),
            ("last monday", NOW - 86_400),
            ("3 fridays", NOW - 18 * 86_400),
            ("noon", NOW - 10 * 3600 - 800),
            ("midnight", NOW - 22 * 3600 - 800),
            ("noon yesterday", NOW - 34 * 3600 - 800),
            ("6am today", NOW - 16 * 3600 - 800),
            ("one month ago", NOW - 31 * 86_400),
            ("last year", NOW - 365 * 86_400),
            ("never", 0),
            ("2005-04-07 22:13:13", 1_112_911_993),
            ("10/10", NOW - 35 * 86_400),
            ("Dec 25", NOW - (365 - 41) * 86_400),
            ("junk", None),
            ("", None),
        ],
    )
    def test_approxidate(self, text: str, moment: int | None) -> None:
        """As git counts back."""
        assert approxidate(text, NOW) == moment

    def test_expiry(self) -> None:
        """ "never" and "false" expire nothing, "now" and "all" everything."""
        assert parse_expiry("never") == parse_expiry("false") == 0
        assert parse_expiry("now") == parse_expiry("all") == END_OF_TIME
        assert parse_expiry("90.days.ago", NOW) == NOW - 90 * 86_400
        assert parse_expiry("junk") is None


class TestMessages:
    """Reflog messages."""

    @pytest.mark.parametrize(
        ("message", "clean"),
        [
            (b"", b""),
            (b" \t\r\n", b""),
            (b"plain", b"plain"),
            (b"  two\n lines \t here\r\n", b"two lines here"),
            (b"a\vb\fc", b"a\vb\fc"),
            (b"\xff \xfe", b"\xff \xfe"),
        ],
    )
    def test_clean(self, message: bytes, clean: bytes) -> None:
        """One line, single blanks; other control characters are git's to keep."""
        assert clean_message(message) == clean
