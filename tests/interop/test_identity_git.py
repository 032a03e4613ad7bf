"""Identities, dates and messages as git puts them into its own reflogs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyreftable.errors import CallerError
from pyreftable.refs.approxidate import approxidate
from pyreftable.refs.dates import parse_date
from pyreftable.refs.identity import clean_message, committer, tz_integer
from pyreftable.refs.repository import discover
from tests.support import git_env, run_git

DATES = """
@1700000000 +0130|1700000000 -0500|1700000000|@1700000000|@0 +0000|@1 -0000|@123 +1400
Thu, 07 Apr 2005 22:13:13 +0200|Thu Apr 7 15:14:13 2005 -0700|7 Apr 2005 22:13:13 EDT
2005-04-07 22:13:13|2005-04-07T22:13:13|2005-04-07T22:13:13Z|2005-04-07 22:13:13 +01:30
2005-04-07 22:13:13 -08|2005-04-07 22:13:13.678|20050407T221313|20050407T2213|20050407T22
2005.04.07 22:13|04/07/2005 10:13 PM|07.04.2005 22:13:13|04-07-2005 22:13|Apr 7 05 12:00 am
2005-07-07 22:13:13|2005-04-31 12:00|2005-04-07 24:00|2005-04-07 23:59:60|5/6/71 1:02
2005-04-07|22:13:13|junk|@123|2005-04-07 22:13 GMT|2005-04-07 22:13 CEST|2099-12-31 23:59:59 Z
1970-01-01 00:00 Z|1969-12-31 23:59 Z|2100-01-01 00:00 Z|1970-01-01 00:00 +0100|2005-13-07 10:00
"""

WORDS = """
now|yesterday|5.seconds.ago|ten minutes ago|3.weeks.ago|last friday|2.years.3.months.ago|noon
6pm yesterday|tea|midnight|never|last year|one month ago|May 25 2005|10/10
"""

# Summer time, a zone with minutes, and one that the system's tables need not know.
ZONES = ["America/New_York", "Australia/Adelaide", "XYZ+3:45"]


def parts(table: str) -> list[str]:
    """The entries of a table of texts."""
    return [text for line in table.strip().splitlines() for text in line.split("|")]


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The local time zone, here and for git."""
    name: str = request.param
    monkeypatch.setenv("TZ", name)
    time.tzset()
    yield name
    monkeypatch.undo()
    time.tzset()


def test_committer_dates(repo_sha1: Path, zone: str) -> None:
    """`git var GIT_COMMITTER_IDENT` reads every date as we do, or refuses it too."""
    ours, gits = {}, {}
    for text in parts(DATES):
        env = git_env(repo_sha1) | {"TZ": zone, "GIT_COMMITTER_DATE": text}
        done = run_git(["var", "GIT_COMMITTER_IDENT"], repo_sha1, env=env, check=False)
        gits[text] = done.stdout.decode().rpartition("> ")[2].strip() or done.stderr.decode()
        stamp = parse_date(text)
        ours[text] = f"fatal: invalid date format: {text}\n"
        if stamp is not None:
            ours[text] = f"{stamp.time} {tz_integer(stamp.offset):+05}"
    assert ours == gits


def test_dates_in_words(repo_sha1: Path, zone: str) -> None:
    """`git rev-parse --since` understands dates in words as we do, to the second."""
    env = git_env(repo_sha1) | {"TZ": zone}
    for text in parts(WORDS):
        before = int(time.time())
        shown = run_git(["rev-parse", f"--since={text}"], repo_sha1, env=env).stdout
        after = int(time.time())
        by_git = int(shown.decode().strip().removeprefix("--max-age="))
        assert by_git in [approxidate(text, now) for now in range(before, after + 1)], text


CONFIGS = [
    {},
    {"user.name": "U Ser", "user.email": "u@x"},
    {"user.name": "U Ser", "committer.name": "C O", "committer.email": "<c@x>"},
    {"author.name": "Au Thor"},
    {"author.email": "a@x"},
    {"user.name": "", "user.email": ""},
    {"user.name": ".,;", "user.email": "<<"},
    {"committer.name": "", "user.name": "U Ser"},
    {"user.useConfigOnly": "true"},
]
ENVIRONMENTS = [
    {},
    {"GIT_COMMITTER_NAME": "E Nv", "GIT_COMMITTER_EMAIL": "e@x"},
    {"GIT_COMMITTER_NAME": "", "GIT_COMMITTER_EMAIL": ""},
    {"GIT_COMMITTER_NAME": " <a\n>b, "},
    {"EMAIL": " mail@x "},
    {"GIT_COMMITTER_DATE": "@123 +0130"},
]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("extra", ENVIRONMENTS)
def test_reflog_identity(repo_sha1: Path, config: dict[str, str], extra: dict[str, str]) -> None:
    """The entry that git writes carries the identity that we would write."""
    env = git_env(repo_sha1) | {"GIT_COMMITTER_DATE": "@1700000000 -0800"}
    tree = run_git(["mktree"], repo_sha1, input=b"").stdout.decode().strip()
    oid = run_git(["commit-tree", "-m", "x", tree], repo_sha1).stdout.decode().strip()
    for key, value in config.items():
        run_git(["config", key, value], repo_sha1)
    for variable in ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        del env[variable]
    env |= extra
    run_git(["update-ref", "refs/heads/main", oid], repo_sha1, env=env)
    shown = run_git(
        ["log", "-g", "--date=raw", "--format=%gn%x00%ge%x00%gd", "refs/heads/main"], repo_sha1
    )
    name, email, selector = shown.stdout.removesuffix(b"\n").split(b"\0")
    date = selector.decode().partition("@{")[2].removesuffix("}")
    ours = committer(discover(str(repo_sha1), environ=env))
    assert (ours.name, ours.email) == (name, email)
    assert f"{ours.time} {ours.tz_offset:+05}" == date


def test_bad_date_message(repo_sha1: Path) -> None:
    """A date that is none stops git and us with the same words."""
    env = git_env(repo_sha1) | {"GIT_COMMITTER_DATE": "some day"}
    done = run_git(["var", "GIT_COMMITTER_IDENT"], repo_sha1, env=env, check=False)
    with pytest.raises(CallerError) as caught:
        committer(discover(str(repo_sha1), environ=env))
    assert done.stderr.decode() == f"fatal: {caught.value}\n"


@pytest.mark.parametrize(
    "message", ["plain", "  two\n lines \t here\r\n", "a\vb\fc", "\n\t ", "ü  ü", "trailing. "]
)
def test_messages(repo_sha1: Path, message: str) -> None:
    """The message that git stores is the one we would store."""
    tree = run_git(["mktree"], repo_sha1, input=b"").stdout.decode().strip()
    oid = run_git(["commit-tree", "-m", "x", tree], repo_sha1).stdout.decode().strip()
    run_git(["update-ref", "-m", message, "refs/heads/main", oid], repo_sha1)
    shown = run_git(["log", "-g", "--format=%gs", "refs/heads/main"], repo_sha1).stdout
    assert shown.removesuffix(b"\n") == clean_message(message.encode())
