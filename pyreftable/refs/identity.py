"""Who commits, and when: the name, address and time that a reflog entry carries.

The name comes from `GIT_COMMITTER_NAME`, else `committer.name`, else `user.name`, else the
account's entry in the password file; the address likewise, with `EMAIL` and a made-up
`login@host` at the end; the time from `GIT_COMMITTER_DATE`, else the clock. Source:
git-commit(1), "COMMIT INFORMATION", and git's behaviour. Reflogs are lenient: a poor identity
is written as it is. `strict` gives the rules of commits, which refuse one.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

from ..errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .protocols import IdentityHome

_MAIL_NAME_FILE = "/etc/mailname"

# What git strips from both ends of a name or address.
_CRUD = bytes(range(33)) + b",:;<>\"\\'"
_DELIMITERS = b"\n<>"

# The white space of git's own character table.
_TO_BLANK = bytes.maketrans(b"\t\n\r", b"   ")


class Identity(NamedTuple):
    """A committer: `time` in seconds since the epoch, `tz_offset` as git's integer (+0130: 130)."""

    name: bytes
    email: bytes
    time: int
    tz_offset: int


def committer(
    repository: IdentityHome, clock: Callable[[], float] = time.time, *, strict: bool = False
) -> Identity:
    """The identity that git would write into a reflog now.

    Raises `CallerError` for a `GIT_COMMITTER_DATE` that is no date and, with `strict`, for an
    identity that git would not commit with.
    """
    email = _email(repository, strict)
    name = _name(repository, email, strict)
    return Identity(_without_crud(name), _without_crud(email), *_moment(repository, clock))


def _moment(repository: IdentityHome, clock: Callable[[], float]) -> tuple[int, int]:
    date = repository.environ.get("GIT_COMMITTER_DATE")
    if not date:
        now = int(clock())
        return now, tz_integer(local_offset(now))
    from .dates import parse_date

    stamp = parse_date(date)
    if stamp is None:
        raise CallerError(f"invalid date format: {date}")
    return stamp.time, tz_integer(stamp.offset)


def local_offset(moment: int) -> int:
    """The local zone's distance from UTC at `moment`, in minutes."""
    return int(time.localtime(moment).tm_gmtoff / 60)


def tz_integer(minutes: int) -> int:
    """A distance from UTC as git writes it, read as a decimal number: 90 minutes are 130."""
    hours, rest = divmod(abs(minutes), 60)
    return (hours * 100 + rest) * (-1 if minutes < 0 else 1)


def _configured(repository: IdentityHome, field: str) -> tuple[str | None, bool]:
    """`committer.FIELD` or `user.FIELD`, and whether any of git's three settings is there.

    Even `author.FIELD` keeps git from making a value up.
    """
    get = repository.config.get
    own, user = get(f"committer.{field}"), get(f"user.{field}")
    given = own is not None or user is not None or get(f"author.{field}") is not None
    return own or user, given


def _name(repository: IdentityHome, email: bytes, strict: bool) -> bytes:
    name = repository.environ.get("GIT_COMMITTER_NAME")
    made_up = False
    if name is None:
        name, given = _configured(repository, "name")
        if name is None and not given:
            _refuse_guessing(repository, "name", strict)
            made_up = True
    encoded = _account_name() if made_up else os.fsencode(name or "")
    if strict:
        _check_name(encoded, email, made_up)
    return encoded or _login()


def _check_name(name: bytes, email: bytes, made_up: bool) -> None:
    if made_up and _account() is None:
        raise CallerError(f"unable to auto-detect name (got '{os.fsdecode(name)}')")
    if not name:
        raise CallerError(f"empty ident name (for <{os.fsdecode(email)}>) not allowed")
    if not name.strip(_CRUD):
        raise CallerError(f"name consists only of disallowed characters: {os.fsdecode(name)}")


def _email(repository: IdentityHome, strict: bool) -> bytes:
    email = repository.environ.get("GIT_COMMITTER_EMAIL")
    if email is not None:
        return os.fsencode(email)
    email, given = _configured(repository, "email")
    if given:
        return os.fsencode(email or "")
    _refuse_guessing(repository, "email", strict)
    email = repository.environ.get("EMAIL")
    if email:
        return os.fsencode(email).strip()
    address, plausible = _made_up_address()
    if strict and not plausible:
        raise CallerError(f"unable to auto-detect email address (got '{os.fsdecode(address)}')")
    return address


def _refuse_guessing(repository: IdentityHome, field: str, strict: bool) -> None:
    if strict and repository.config.get_bool("user.useconfigonly"):
        raise CallerError(f"no {field} was given and auto-detection is disabled")


def _account() -> tuple[bytes, bytes] | None:
    """Login and full name of the user who runs this; `None` if the system does not know."""
    try:
        import pwd

        entry = pwd.getpwuid(os.getuid())
    except (ImportError, KeyError):
        return None
    return os.fsencode(entry.pw_name), os.fsencode(entry.pw_gecos)


def _login() -> bytes:
    account = _account()
    return account[0] if account else b"unknown"


def _account_name() -> bytes:
    """The full name: up to a comma, `&` standing for the login with a capital."""
    login, full_name = _account() or (b"unknown", b"Unknown")
    capital = login[:1].upper() + login[1:]
    return full_name.partition(b",")[0].replace(b"&", capital).strip()


def _made_up_address() -> tuple[bytes, bool]:
    """`login@host`, and whether it can be right."""
    host, plausible = _mail_host()
    return (_login() + b"@" + host).strip(), plausible and _account() is not None


def _mail_host() -> tuple[bytes, bool]:
    try:
        with open(_MAIL_NAME_FILE, "rb") as file:
            line = file.readline()
    except OSError:
        line = b""
    if line:
        return line.rstrip(b"\r\n"), True
    import socket

    host = socket.gethostname()
    if "." in host:
        return os.fsencode(host), True
    try:
        names = socket.getaddrinfo(host, None, flags=socket.AI_CANONNAME)
    except OSError:
        names = []
    canonical = names[0][3] if names else ""
    if "." in canonical:
        return os.fsencode(canonical), True
    return os.fsencode(host) + b".(none)", False


def _without_crud(text: bytes) -> bytes:
    return text.strip(_CRUD).translate(None, _DELIMITERS)


def clean_message(message: bytes) -> bytes:
    """A reflog message on one line: each run of white space one blank, none at the ends."""
    return b" ".join(filter(None, message.translate(_TO_BLANK).split(b" ")))
