"""Checking all stacks of a repository: what git's `refs verify` reports, and what it does not.

Git looks at table names, at object ids that are null, and at where symrefs point. Beyond that
this looks at every byte of every table (`table_check`), at lists and files (`stack.check`), and at
the names of refs: malformed ones, and refs that lie in one another's way.

A finding that git has too carries git's id (or its words); `is_gits` tells them apart, so that a
command can print those as git does.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..errors import FormatError, ReftableError
from ..merged import Merged
from ..progress import SILENCE, Progress, estimated_logs, estimated_refs
from ..stack import DirectoryStorage
from ..stack.check import (
    StackReport,
    check_content,
    check_files,
    check_order,
    check_range,
    has_valid_name,
    open_stack,
)
from .names import check_refname, is_root_ref, parse_worktree_ref
from .text import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..format.check import Problem
    from ..format.records import RefRecord
    from .fsck_config import Severities
    from .store import RefStore

_TARGETS = ("refs/", "worktrees/")


class Finding(NamedTuple):
    """One thing that is wrong.

    `severity` is "error" or "warning"; `msg_id` git's name for it, if it has one. `subject` is
    what git names: the table, or the ref by its long name. `file` and `offset` (bytes) say where
    on disk, `ref` which ref is concerned; each `None` where that is not known or not meant.
    """

    severity: str
    what: str
    msg_id: str = ""
    subject: str = ""
    file: str | None = None
    offset: int | None = None
    ref: str | None = None
    worktree: str | None = None
    is_gits: bool = False


def verify(
    store: RefStore,
    severities: Severities,
    note: Callable[[str], object] | None = None,
    progress: Progress = SILENCE,
) -> Iterator[Finding]:
    """Everything that is wrong with the refs of all worktrees.

    `note` is told what is being looked at, in git's words, `progress` how far it is. Raises
    nothing but what reading the configuration or listing the worktrees raises.
    """
    tell = note or (lambda _: None)
    for name in (None, *(worktree.name for worktree in store.repository.worktrees())):
        tell("Checking references consistency")
        yield from _StackCheck(store, name, severities, tell, progress).run()


class _StackCheck:
    """The check of one stack: the main one, or that of the linked worktree `worktree`."""

    def __init__(
        self,
        store: RefStore,
        worktree: str | None,
        severities: Severities,
        note: Callable[[str], object],
        progress: Progress,
    ) -> None:
        folder = os.path.join(store.repository.ref_directory(worktree), "reftable")
        self.store = store
        self.worktree = worktree
        self.prefix = "" if worktree is None else f"worktrees/{worktree}/"
        self.severities = severities
        self.note = note
        self.progress = progress
        self.storage = DirectoryStorage(folder)

    def run(self) -> Iterator[Finding]:
        report = open_stack(self.storage, self.store.hash)
        try:
            if report.broken:
                yield self._whole(f"reftable stack {self._named()} is broken")
            yield from self._stored(report.problems)
            yield from self._tables(report)
            if not report.broken:
                yield from self._refs(report)
            yield from self._stored(check_files(self.storage, report, self._is_listed), "warning")
        finally:
            for _, table in report.tables:
                table.close()

    def _is_listed(self, name: str) -> bool:
        try:
            return name in self.storage.read_list().names
        except ReftableError:
            # The list's own trouble is reported once, when it is first read.
            return True

    # Tables

    def _tables(self, report: StackReport) -> Iterator[Finding]:
        tables = [table for _, table in report.tables]
        if self.progress is not SILENCE:
            records = estimated_refs(tables) + estimated_logs(tables)
            self.progress.start("Checking records", records)
        for name, table in report.tables:
            self.note(f"Checking table: {name}")
            if not has_valid_name(name):
                yield from self._by_id(
                    "badReftableTableName", "invalid reftable table name", name, file=table.path
                )
            else:
                problem = check_range(name, table)
                yield from self._stored([problem] if problem else [], "warning")
            yield from self._stored(check_content(table.path, self.progress))
        yield from self._stored(check_order(self.storage, report))

    def _stored(self, problems: Iterable[Problem], severity: str = "error") -> Iterator[Finding]:
        if self.severities.strict:
            severity = "error"
        for problem in problems:
            yield Finding(
                severity,
                problem.what,
                file=problem.path,
                offset=problem.offset,
                ref=self.prefix + as_text(problem.key) if problem.key else None,
                worktree=self.worktree,
            )

    # Refs

    def _refs(self, report: StackReport) -> Iterator[Finding]:
        merged = Merged([table for _, table in report.tables])
        above: list[bytes] = []
        if self.progress is not SILENCE:
            self.progress.start("Checking refs", estimated_refs(merged.tables))
        try:
            for record in merged.refs():
                self.progress.advance(1)
                if not record.is_deletion:
                    yield from self._one_ref(as_text(record.refname), record)
                    yield from self._in_the_way(record.refname, above)
        except FormatError:
            # What is wrong with the bytes is reported where they are checked.
            yield self._whole(f"could not read record {self._named()}")

    def _named(self) -> str:
        return (
            "of the main worktree" if self.worktree is None else f"for worktree '{self.worktree}'"
        )

    def _whole(self, what: str) -> Finding:
        """A finding about the stack as a whole, in git's words for a linked worktree's."""
        return Finding("error", what, worktree=self.worktree, is_gits=True)

    def _in_the_way(self, key: bytes, above: list[bytes]) -> Iterator[Finding]:
        """Names come in order; `above` are those below which `key`, or a later one, may lie.

        `a.b` and `a-b` come between `a` and `a/b`, so it is not only the last name.
        """
        while above and key >= above[-1] + b"0":
            above.pop()
        for folder in above:
            if key.startswith(folder + b"/"):
                name, other = as_text(key), as_text(folder)
                yield self._about_ref(name, f"lies below the ref '{self.prefix}{other}'")
        above.append(key)

    def _one_ref(self, name: str, record: RefRecord) -> Iterator[Finding]:
        if not check_refname(name, allow_onelevel=True) or not ("/" in name or is_root_ref(name)):
            yield from self._by_id("badRefName", "invalid refname format", name, ref=name)
        target = record.target
        if target is not None:
            yield from self._symref(name, as_text(target))
        elif not any(record.oid or b""):
            what = f"points to invalid object ID '{self.store.hash.null_hex}'"
            yield from self._by_id("badRefOid", what, name, ref=name)

    def _symref(self, name: str, target: str) -> Iterator[Finding]:
        """Git's checks, and its order: an error ends them, a warning does not."""
        checks = (
            (
                "badHeadTarget",
                parse_worktree_ref(name).refname == "HEAD" and not target.startswith("refs/heads/"),
                f"HEAD points to non-branch '{target}'",
            ),
            (
                "badReferentName",
                not is_root_ref(target) and not check_refname(target),
                f"points to invalid refname '{target}'",
            ),
            (
                "symrefTargetIsNotARef",
                not is_root_ref(target) and not target.startswith(_TARGETS),
                f"points to non-ref target '{target}'",
            ),
        )
        for msg_id, is_bad, what in checks:
            if is_bad:
                yield from self._by_id(msg_id, what, name, ref=name)
                if self.severities.of(msg_id) == "error":
                    return

    def _by_id(
        self,
        msg_id: str,
        what: str,
        subject: str,
        *,
        file: str | None = None,
        ref: str | None = None,
    ) -> Iterator[Finding]:
        severity = self.severities.of(msg_id)
        if severity is not None:
            yield Finding(
                severity,
                what,
                msg_id,
                subject if ref is None else self.prefix + ref,
                file=file,
                ref=None if ref is None else self.prefix + ref,
                worktree=self.worktree,
                is_gits=True,
            )

    def _about_ref(self, name: str, what: str) -> Finding:
        ref = self.prefix + name
        return Finding("error", what, subject=ref, ref=ref, worktree=self.worktree)
