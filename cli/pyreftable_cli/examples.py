"""Examples for `--help` (`-h` is git's text, to the letter): command -> lines and what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .options import Table

_LIST = (
    ("{command} --sort=-committerdate --count=5 refs/heads", "the branches last worked on"),
    (
        "{command} --format='%(refname:short) %(upstream:track)' refs/heads",
        "each branch, and how far it is from its upstream",
    ),
    ("{command} --points-at=HEAD", "what else is called HEAD's commit"),
    ("{command} --json refs/tags", "tags for a program: one JSON object a line"),
)
_PACK = (
    ("{command}", "merge all tables into one"),
    ("{command} --auto", "merge only what makes reading faster"),
)

#: By command; `{command}` in a line stands for it.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "check-ref-format": (
        ("{command} refs/heads/topic", "status 0: this can be a ref"),
        ("{command} --normalize refs//heads/topic", "print it with single slashes"),
        ("{command} --branch @{{-1}}", "the branch that was checked out before"),
    ),
    "dump": (
        ("{command} .", "the tables of the repository here"),
        ("{command} .git/reftable/*.ref", "blocks and records of its only table"),
        ("{command} --json table.ref", "the same as JSON, one object a line"),
    ),
    "for-each-ref": _LIST,
    "init": (
        ("{command} --ref-format=reftable project", "a repository with its refs in reftables"),
        ("{command} --bare --object-format=sha256 project.git", "a bare one, with SHA-256"),
    ),
    "pack-refs": _PACK,
    "reflog": (
        ("{command}", "where HEAD has been"),
        ("{command} show --date=iso main", "where main has been, and when"),
        ("{command} expire --expire=30.days --all", "forget what is older"),
        ("{command} delete main@{{2}}", "drop one entry"),
    ),
    "reflog show": (
        ("{command} -5 main", "the last five changes of main"),
        ("{command} --since=yesterday --all", "what moved since yesterday"),
        ("{command} --json main", "entries for a program: one JSON object a line"),
    ),
    "reflog list": (("{command}", "the refs that have a log"),),
    "reflog exists": (("{command} refs/heads/main", "status 0 if main has a log"),),
    "reflog write": (
        ("{command} refs/heads/main <old> <new> 'by hand'", "add an entry, leave the ref alone"),
    ),
    "reflog delete": (("{command} --rewrite main@{{2}}", "drop an entry, and close the gap"),),
    "reflog drop": (("{command} refs/heads/gone", "delete a log as a whole"),),
    "reflog expire": (
        ("{command} --expire=30.days refs/heads/main", "forget what is older, of main"),
        ("{command} --dry-run --verbose --all", "only tell what would go"),
    ),
    "refs": (
        ("{command} list refs/heads", "the branches"),
        ("{command} verify", "is every byte of the tables in order?"),
        ("{command} migrate --ref-format=files", "make the repository usable for older gits"),
        ("{command} optimize", "merge all tables into one"),
    ),
    "refs create": (("{command} refs/heads/topic main", "a new branch, where main is"),),
    "refs delete": (("{command} refs/heads/topic", "delete a branch, wherever it is"),),
    "refs exists": (("{command} refs/heads/main", "status 0 if there is such a ref, 2 if not"),),
    "refs list": _LIST,
    "refs migrate": (
        ("{command} --ref-format=files", "make the repository usable for gits before 2.45"),
        ("{command} --ref-format=reftable", "and back"),
        ("{command} --dry-run --ref-format=files", "write the files, and leave them aside"),
    ),
    "refs optimize": _PACK,
    "refs rename": (("{command} refs/heads/topic refs/heads/old/topic", "its log goes with it"),),
    "refs update": (
        ("{command} refs/heads/topic main", "move a branch to where main is"),
        ("{command} refs/heads/topic main topic~1", "only if it has not moved meanwhile"),
    ),
    "refs verify": (
        ("{command}", "look at every byte of every table, and at the names of refs"),
        ("{command} --strict --verbose", "warnings count as errors; tell what is looked at"),
        ("{command} --json", "findings for a program: one JSON object a line"),
    ),
    "rev-parse": (
        ("{command} main", "the id that main has"),
        ("{command} --verify -q topic", "nothing, and status 1, if there is no topic"),
        ("{command} --abbrev-ref HEAD", "the branch that is checked out"),
        ("{command} --show-ref-format", "how the refs are stored"),
    ),
    "show-ref": (
        ("{command} --branches", "the branches with their ids"),
        ("{command} --verify --hash refs/heads/main", "the id of main, by its full name"),
        ("{command} --tags --dereference", "tags, and the commits that they lead to"),
    ),
    "symbolic-ref": (
        ("{command} HEAD", "the branch that is checked out"),
        ("{command} HEAD refs/heads/topic", "make it another, and touch no file"),
        ("{command} -d refs/remotes/origin/HEAD", "delete a symbolic ref"),
    ),
    "update-ref": (
        ("{command} refs/heads/topic main", "create a branch, or move it"),
        ("{command} refs/heads/topic main topic~1", "only if it has not moved meanwhile"),
        ("{command} -d refs/heads/topic", "delete it"),
        ("{command} --stdin <commands", "many changes, all or none"),
    ),
}


def examples_text(command: str, program: str) -> str:
    """The examples for `command`, as the end of its help; empty if there are none."""
    lines = []
    for line, what in EXAMPLES.get(command, ()):
        lines.append("    " + line.format(command=f"{program} {command}"))
        lines.append(f"        {what}")
    return "\n".join(["Examples:", *lines, "", ""]) if lines else ""


def command_of(table: Table) -> str:
    """The command that a table belongs to: the words its first usage line begins with."""
    words = []
    for word in table.usage[0].split():
        if not word[0].isalpha():
            break
        words.append(word)
    return words[0] if table.subcommands else " ".join(words)
