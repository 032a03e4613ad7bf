"""Random `update-ref` command lines for the differential tests.

Names are few and collide on purpose: directories with files, branches with HEAD, symrefs with
what they point to. Values are written as `{c0}`, `{tag}` and so on, for `twins.fill`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st

BRANCHES = ["refs/heads/main", "refs/heads/a", "refs/heads/b", "refs/heads/a/b", "refs/heads/b/c"]
OTHERS = ["refs/tags/t", "refs/tags/t/u", "refs/meta/m", "refs/remotes/o/x", "refs/notes/n"]
SYMREFS = ["HEAD", "refs/heads/s", "refs/meta/s", "refs/remotes/o/HEAD"]
ODD = [
    "ORIG_HEAD",
    "refs/bisect/bad",
    "refs/worktree/w",
    'refs/heads/quo"te',
    "refs/heads/\u00fcml\u00e4ut",
    "refs/heads/\udcff",
    "top",
    "refs/heads",
]
BAD = ["refs/heads/..x", "refs/heads/x.lock", "refs/heads/x y", "FETCH_HEAD", "", "refs/heads/x/"]

COMMITS = ["{c0}", "{c1}", "{c2}"]
OTHER_VALUES = ["{tag}", "{nested}", "{blob}", "{tree}"]
NAMED_VALUES = ["{short}", "{upper}", "HEAD", "main", "refs/heads/a", "{c2}~1", "{c1}^{tree}"]
NO_VALUES = ["{zero}", "", "{missing}", "nonsense"]


class Session(NamedTuple):
    """One run of `update-ref`: its arguments, before and after that word, and its input."""

    globals: tuple[str, ...]
    args: tuple[str, ...]
    stdin: str


def _weighted(*choices: tuple[int, Sequence[str]]) -> st.SearchStrategy[str]:
    return st.sampled_from([name for weight, names in choices for name in list(names) * weight])


names = _weighted((12, BRANCHES), (6, OTHERS), (9, SYMREFS), (2, ODD), (1, BAD))
targets = _weighted((6, BRANCHES), (2, SYMREFS), (1, ["refs/heads/unborn"]), (1, BAD))
new_values = _weighted((30, COMMITS), (4, OTHER_VALUES), (2, NAMED_VALUES), (1, NO_VALUES))
old_values = _weighted((8, COMMITS), (1, OTHER_VALUES), (1, NAMED_VALUES), (4, NO_VALUES))
maybe_old = st.one_of(st.none(), old_values)


def _words(command: str, *words: st.SearchStrategy[str | None]) -> st.SearchStrategy[list[str]]:
    """A command with its words; after one that is left out there are no others."""

    def cut(drawn: tuple[str | None, ...]) -> list[str]:
        given = drawn[: drawn.index(None)] if None in drawn else drawn
        return [command, *(word for word in given if word is not None)]

    return st.tuples(*words).map(cut)


_old_of_symref: st.SearchStrategy[list[str]] = st.one_of(
    st.just([]),
    st.tuples(st.just("ref"), targets).map(list),
    st.tuples(st.just("oid"), old_values).map(list),
)
_symref_update = st.tuples(_words("symref-update", names, targets), _old_of_symref).map(
    lambda parts: parts[0] + parts[1]
)
maybe_target = st.one_of(st.none(), targets)

operations = st.one_of(
    _words("update", names, new_values, maybe_old),
    _words("update", names, new_values, st.none()),
    _words("create", names, new_values),
    _words("delete", names, maybe_old),
    _words("verify", names, maybe_old),
    _symref_update,
    _words("symref-create", names, targets),
    _words("symref-delete", names, maybe_target),
    _words("symref-verify", names, maybe_target),
    st.just(["option", "no-deref"]),
)

# How many NUL-terminated pieces each command has with `-z`.
_PIECES = {"update": 3, "symref-update": 4, "option": 1}


def as_text(words: Sequence[str], quoted: bool) -> str:
    """A command as a line of text. An empty word can only be written quoted."""
    command, *arguments = words
    if command == "option":
        quoted = False
    shown = [_quote(word) if quoted or not word else word for word in arguments]
    return " ".join([command, *shown]) + "\n"


def _quote(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_pieces(words: Sequence[str]) -> str:
    """A command for `-z`, with empty pieces for the arguments left out."""
    command, *arguments = words
    if not arguments:
        return f"{command}\0"
    missing = _PIECES.get(command, 2) - len(arguments)
    return f"{command} " + "\0".join([*arguments, *[""] * missing]) + "\0"


@st.composite
def stdin_sessions(draw: st.DrawFn, *, batch: bool = True) -> Session:
    """A session of `--stdin`: text or `-z`, with or without transactions of its own."""
    options = draw(st.sampled_from([[], [], ["--no-deref"]]))
    options = options + draw(st.sampled_from([[], [], ["--create-reflog"]]))
    options = options + draw(st.sampled_from([[], ["-m", "a  message"]]))
    if batch and draw(st.integers(0, 4)) == 0:
        options = [*options, "--batch-updates"]
    commands = draw(st.lists(operations, min_size=1, max_size=8))
    for word in draw(st.lists(st.sampled_from(_STEERING), max_size=4)):
        commands.insert(draw(st.integers(0, len(commands))), [word])
    if draw(st.booleans()):
        commands = _in_transactions(commands, draw(st.integers(1, 4)))
    if draw(st.integers(0, 3)) == 0:
        stdin = "".join(as_pieces(words) for words in commands)
        options = [*options, "-z"]
    else:
        stdin = "".join(as_text(words, draw(st.booleans())) for words in commands)
        stdin = draw(_spoiled(stdin))
    return Session(draw(_settings), ("update-ref", *options, "--stdin"), stdin)


_STEERING = ["start", "prepare", "commit", "abort"]


def _in_transactions(commands: list[list[str]], size: int) -> list[list[str]]:
    """The updates in transactions of `size` commands, one after the other."""
    updates = [words for words in commands if words[0] not in _STEERING]
    starts = range(0, len(updates), size)
    groups = [[["start"], *updates[at : at + size], ["commit"]] for at in starts]
    return [words for group in groups for words in group]


@st.composite
def _spoiled(draw: st.DrawFn, text: str) -> str:
    """Now and then one character too many or too few."""
    if draw(st.integers(0, 9)):
        return text
    at = draw(st.integers(0, len(text) - 1))
    if text[at] in "{}" or draw(st.booleans()):
        return text + draw(st.sampled_from(["\n", "x", " ", "verify refs/heads/main"]))
    return text[:at] + draw(st.sampled_from(["", " ", '"', "\t", "x"])) + text[at + 1 :]


_settings = st.sampled_from(
    [(), (), (), *[("-c", f"core.logAllRefUpdates={value}") for value in ("0", "1", "always")]]
)


@st.composite
def argument_sessions(draw: st.DrawFn) -> Session:
    """One update or deletion by arguments."""
    options = draw(st.sampled_from([[], ["--no-deref"], ["--create-reflog"], ["-m", "why"]]))
    if draw(st.booleans()):
        words = draw(_words("-d", names, maybe_old))
    else:
        words = draw(_words("--", names, new_values, maybe_old))
    return Session(draw(_settings), ("update-ref", *options, *words), "")


sessions = st.one_of(stdin_sessions(), stdin_sessions(), argument_sessions())
