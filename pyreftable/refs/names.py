"""Ref names: which are well formed, where they live, and what their short forms mean.

Source: git's `check-ref-format` (format), the glossary entries "pseudoref" and "root ref",
`git-worktree` section "REFS" (which refs belong to one worktree), and `gitrevisions` (the six
places in which a short name is looked up).

Everything here works on the names alone. Functions that need to know which refs exist take a
callable that answers it. Names are `str`; bytes that are not UTF-8 arrive as surrogate escapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    WorktreeKind = Literal["current", "main", "other", "shared"]
    ReflogMode = Literal["none", "normal", "always"]

_CONTROLS_AND_SPACE = bytes(range(0x21)) + b"\x7f"
_FORBIDDEN = _CONTROLS_AND_SPACE + b"~^:?*[\\"
_FORBIDDEN_BUT_NEWLINE = _FORBIDDEN.replace(b"\n", b"")
_NEWLINE_TO_SLASH = bytes.maketrans(b"\n", b"/")

# Names checked in one go: enough to hide the cost of the calls, few enough to stay in the cache
# (measured: 512 and 4,096 alike, 64 and all at once some 20 % slower).
_BATCH = 1024

_ROOT_REF_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ-_")
_SAFE_ROOT_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_PSEUDO_REFS = frozenset({"FETCH_HEAD", "MERGE_HEAD"})
_IRREGULAR_ROOT_REFS = frozenset(
    {
        "HEAD",
        "AUTO_MERGE",
        "BISECT_EXPECTED_REV",
        "NOTES_MERGE_PARTIAL",
        "NOTES_MERGE_REF",
        "MERGE_AUTOSTASH",
    }
)
#: Where each worktree has refs of its own.
PER_WORKTREE_PREFIXES = ("refs/worktree/", "refs/bisect/", "refs/rewritten/")
#: Where `core.logAllRefUpdates=true` starts reflogs.
LOGGED_PREFIXES = ("refs/heads/", "refs/remotes/", "refs/notes/")

#: (prefix, suffix) of the places where a short name is looked up, first match wins.
DWIM_RULES = (
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
)


class WorktreeRef(NamedTuple):
    """Where a ref lives: `kind`, the worktree's name (kind "other" only), the name in its store.

    `kind` is "current" (the worktree at hand), "main" (the main worktree, by its long name),
    "other" (a linked worktree, by its long name) or "shared" (one for all worktrees).
    """

    kind: WorktreeKind
    worktree: str | None
    refname: str


def check_refname(
    name: str, *, allow_onelevel: bool = False, refspec_pattern: bool = False
) -> bool:
    """Whether git's `check-ref-format` accepts `name`.

    `allow_onelevel` accepts names without a slash; `refspec_pattern` accepts one `*` anywhere.
    A name that cannot be turned into bytes is refused.
    """
    if not allow_onelevel and "/" not in name:
        return False
    if refspec_pattern:
        # Any plain letter will do: no rule combines `*` with its neighbours.
        name = name.replace("*", "x", 1)
    return _batch_is_valid((name,))


def all_valid(names: Sequence[str], *, allow_onelevel: bool = True) -> bool:
    """Whether `check_refname` accepts every one of `names`; the fast way to ask for many.

    0.13 to 0.4 us a name, depending on its length, where one call a name costs 1 us and more.
    """
    if not allow_onelevel and not all("/" in name for name in names):
        return False
    return all(
        _batch_is_valid(names[start : start + _BATCH]) for start in range(0, len(names), _BATCH)
    )


def _batch_is_valid(names: Sequence[str]) -> bool:
    """Check names as one text: with `/` between them, a name's ends are a component's ends.

    Only two rules do not fit that picture (a name must not end with `.`, nor be just `@`); they
    look at the text with line ends between the names.
    """
    try:
        lines = "\n".join(names).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    components = b"/" + lines.translate(_NEWLINE_TO_SLASH, _FORBIDDEN_BUT_NEWLINE) + b"/"
    if len(components) != len(lines) + 2 or lines.count(b"\n") != len(names) - 1:
        return False
    if b"//" in components:
        return False
    if b"." in lines and (
        b"/." in components
        or b".." in lines
        or b".lock/" in components
        or b".\n" in lines
        or lines.endswith(b".")
    ):
        return False
    return not (b"@" in lines and (b"@{" in lines or "@" in names))


def normalize_refname(name: str) -> str:
    """`name` without leading slashes and with each run of slashes made one (`--normalize`)."""
    parts = [part for part in name.split("/") if part]
    # A slash at the end stays, for `check_refname` to refuse.
    return "/".join([*parts, ""] if parts and name.endswith("/") else parts)


def is_pseudo_ref(name: str) -> bool:
    """Whether `name` is one of the two files that look like a ref and never are one."""
    return name in _PSEUDO_REFS


def is_root_ref(name: str) -> bool:
    """Whether `name` is a ref outside `refs/`, such as `HEAD` or `ORIG_HEAD`."""
    if name in _IRREGULAR_ROOT_REFS:
        return True
    return name.endswith("_HEAD") and name not in _PSEUDO_REFS and _has_root_ref_syntax(name)


def _has_root_ref_syntax(name: str) -> bool:
    return _ROOT_REF_LETTERS.issuperset(name)


def is_per_worktree_ref(name: str) -> bool:
    """Whether `name` lies in a folder under `refs/` of which each worktree has its own."""
    return name.startswith(PER_WORKTREE_PREFIXES)


def _is_current_worktree_ref(name: str) -> bool:
    return name.startswith(PER_WORKTREE_PREFIXES) or _has_root_ref_syntax(name)


def parse_worktree_ref(name: str) -> WorktreeRef:
    """Find the store that holds `name`, and its name there.

    `worktrees/NAME` without a ref after it gives kind "other" and an empty `refname`, which is
    an error that the caller reports.
    """
    if name.startswith("refs/"):
        own = name.startswith(PER_WORKTREE_PREFIXES)
        return WorktreeRef("current" if own else "shared", None, name)
    if name.startswith("worktrees/"):
        worktree, _, rest = name[len("worktrees/") :].partition("/")
        if _is_current_worktree_ref(rest):
            return WorktreeRef("other", worktree, rest)
    if name.startswith("main-worktree/"):
        rest = name[len("main-worktree/") :]
        if _is_current_worktree_ref(rest):
            return WorktreeRef("main", None, rest)
    return WorktreeRef("current" if _has_root_ref_syntax(name) else "shared", None, name)


def refname_is_safe(name: str) -> bool:
    """Whether `name` stays inside `refs/` or is a root ref: what git lets one delete by.

    Weaker than `check_refname`, so that refs with a bad name can be got rid of.
    """
    if name.startswith("refs/"):
        return not any(part in ("", ".", "..") for part in name[len("refs/") :].split("/"))
    return bool(name) and _SAFE_ROOT_LETTERS.issuperset(name)


def dwim_candidates(short: str) -> list[str]:
    """The full names that `short` may stand for, in the order in which git tries them."""
    return [prefix + short + suffix for prefix, suffix in DWIM_RULES]


def shorten(name: str, exists: Callable[[str], bool], *, strict: bool = False) -> str:
    """The shortest form of `name` that still means it (`%(refname:short)`, `--abbrev-ref`).

    `exists(full name)` says whether a ref can be read. By default a short form is refused only
    if an earlier rule would find another ref; `strict` refuses it if any other rule would.
    """
    for index in range(len(DWIM_RULES) - 1, 0, -1):
        prefix, suffix = DWIM_RULES[index]
        if not (name.startswith(prefix) and name[len(prefix) :].endswith(suffix)):
            continue
        short = name[len(prefix) : len(name) - len(suffix)]
        others = dwim_candidates(short)
        del others[index]
        if not any(exists(other) for other in (others if strict else others[:index])):
            return short
    return name


def should_autocreate_reflog(name: str, mode: ReflogMode = "normal") -> bool:
    """Whether an update of `name` starts a reflog where there is none.

    `mode` is `core.logAllRefUpdates`: "normal" for true, "none" for false, or "always".
    """
    if mode == "normal":
        return name == "HEAD" or name.startswith(LOGGED_PREFIXES)
    return mode == "always"
