"""`refs verify`: check every stack of the repository.

What git reports too goes to stderr in git's words; what is found beyond it (see
`pyreftable.refs.verify`) to stdout, with file, offset and ref. `--json` puts all of it on stdout,
one object a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyreftable.refs.fsck_config import Severities
from pyreftable.refs.verify import verify

from .context import encode
from .exits import FAILURE_STATUS, UsageExit
from .options import Table, flag

if TYPE_CHECKING:
    from pyreftable.refs.verify import Finding

    from .context import Context

USAGE = "refs verify [--strict] [--verbose]"


class _Settings:
    def __init__(self) -> None:
        self.verbose = False
        self.strict = False
        self.json = False


def main(context: Context, argv: list[str]) -> int:
    """Run `refs verify`; status 0 if there is nothing worse than warnings, else 255."""
    settings = _Settings()
    table = Table(
        (USAGE,),
        (
            flag("", "verbose", "be verbose"),
            flag("", "strict", "enable strict checking"),
            flag("", "json", "print the findings as JSON, one object a line"),
        ),
    )
    if context.parse_options(table, argv, settings):
        raise UsageExit(usage="usage: 'git refs verify' takes no arguments\n")
    store = context.store
    severities = Severities(store.repository.config, strict=settings.strict)
    note = context.message if settings.verbose else None
    status = 0
    for finding in verify(store, severities, note, context.progress()):
        if settings.json:
            context.stdout.write(_as_json(finding))
        elif finding.is_gits:
            _print_as_git(context, finding)
        else:
            context.stdout.write(_line(finding))
        if finding.severity == "error":
            status = FAILURE_STATUS
    return status


def _print_as_git(context: Context, finding: Finding) -> None:
    text = finding.what
    if finding.msg_id:
        text = f"{finding.subject}: {finding.msg_id}: {text}"
    context.message(f"{finding.severity}: {text}")


def _line(finding: Finding) -> bytes:
    where = finding.file or finding.subject
    if finding.offset is not None:
        where += f", offset {finding.offset}"
    about = f" (ref '{finding.ref}')" if finding.ref and finding.ref != where else ""
    return encode(f"{finding.severity}: {where}: {finding.what}{about}\n")


def _as_json(finding: Finding) -> bytes:
    import json

    names = {
        "severity": finding.severity,
        "id": finding.msg_id or None,
        "message": finding.what,
        "file": finding.file,
        "offset": finding.offset,
        "ref": finding.ref,
        "worktree": finding.worktree,
    }
    return json.dumps(names).encode() + b"\n"
