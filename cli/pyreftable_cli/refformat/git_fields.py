"""Fields that a git process answers: `describe` and `signature`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.refs.config_values import parse_bool

from ..exits import Fatal
from .atoms import c_integer
from .git_process import run_git
from .object_fields import content_field

if TYPE_CHECKING:
    from .atoms import Atom
    from .content import ObjectContent
    from .fields import Field
    from .lookup import Lookup

# The placeholders of git-log's formats that say the same.
_SIGNATURE_PARTS = {
    None: "%GG",
    "grade": "%G?",
    "signer": "%GS",
    "key": "%GK",
    "fingerprint": "%GF",
    "primarykeyfingerprint": "%GP",
    "trustlevel": "%GT",
}


def signature(atom: Atom, lookup: Lookup) -> Field:
    """What checking a commit's signature says."""
    placeholder = _SIGNATURE_PARTS.get(atom.argument)
    if placeholder is None:
        raise atom.unknown_argument("signature")
    words = ["log", "--no-walk", "-1", "--no-patch", "--no-show-signature", "--no-color"]
    words += [f"--format=tformat:{placeholder}"]

    def show(content: ObjectContent) -> bytes:
        if content.kind != "commit":
            return b""
        return run_git(lookup.store.repository, [*words, content.oid]).removesuffix(b"\n")

    return content_field(atom, lookup, show)


def describe(atom: Atom, lookup: Lookup) -> Field:
    """What `git describe` calls a commit or tag; empty where it finds no name."""
    options = _describe_options(atom)

    def show(content: ObjectContent) -> bytes:
        if not content.has_message:
            return b""
        return run_git(lookup.store.repository, ["describe", *options, content.oid]).rstrip()

    return content_field(atom, lookup, show)


def _describe_options(atom: Atom) -> list[str]:
    options: list[str] = []
    rest = atom.argument or ""
    while rest:
        word, _, after = rest.partition(",")
        name, equals, text = word.partition("=")
        if name == "tags":
            flag = parse_bool(text if equals else None)
            if flag is None:
                raise atom.bad_argument(rest, "describe")
            options.append("--tags" if flag else "--no-tags")
        elif name == "abbrev":
            options.append(_abbrev_option(text, rest.partition("=")[2]))
        elif name in ("match", "exclude"):
            if not text:
                raise Fatal(f"value expected describe:{name}=")
            options.append(f"--{name}={text}")
        else:
            raise atom.bad_argument(rest, "describe")
        rest = after
    return options


def _abbrev_option(text: str, shown: str) -> str:
    if not text:
        raise Fatal("argument expected for describe:abbrev")
    number = c_integer(text)
    if number is None:
        raise Fatal(f"cannot fully parse describe:abbrev={shown}")
    if number < 0:
        raise Fatal(f"positive value expected describe:abbrev={shown}")
    return f"--abbrev={text}"
