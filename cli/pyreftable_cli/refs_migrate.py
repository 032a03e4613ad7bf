"""`refs migrate`: store a repository's refs as files, or in reftables, from now on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyreftable.errors import ReftableError
from pyreftable.refs.migration import migrate
from pyreftable.refs.repository import discover
from pyreftable.refs.repository_format import REF_STORAGES

from .context import encode
from .exits import FAILURE_STATUS
from .options import Option, Table, flag, string
from .refs_writing import wrong_arguments

if TYPE_CHECKING:
    from .context import Context

USAGE = "refs migrate --ref-format=<format> [--no-reflog] [--dry-run]"


class _Settings:
    def __init__(self) -> None:
        self.ref_format: str | None = None
        self.dry_run = False
        self.no_reflog = False


def _not_negatable(option: Option) -> Option:
    option.negatable = False
    return option


def main(context: Context, argv: list[str]) -> int:
    """Run `refs migrate`; status 0, or 255 if it was refused or failed."""
    settings = _Settings()
    table = Table(
        (USAGE,),
        (
            _not_negatable(
                string("", "ref-format", "format", "specify the reference format to convert to")
            ),
            flag("", "dry-run", "perform a non-destructive dry-run"),
            flag("", "no-reflog", "drop reflogs entirely during the migration"),
        ),
    )
    if context.parse_options(table, argv, settings):
        wrong_arguments("too many arguments")
    if settings.ref_format is None:
        wrong_arguments("missing --ref-format=<format>")
    if settings.ref_format not in REF_STORAGES:
        context.error(f"unknown ref storage format '{settings.ref_format}'")
        return FAILURE_STATUS
    repository = discover(".", environ=context.environ, config=context.config)
    try:
        aside = migrate(
            repository,
            settings.ref_format,
            reflogs=not settings.no_reflog,
            dry_run=settings.dry_run,
            progress=context.progress(),
        )
    except ReftableError as error:
        context.error(str(error))
        return FAILURE_STATUS
    if aside is not None:
        shown = os.path.relpath(aside) if aside.startswith(os.getcwd() + "/") else aside
        context.stdout.write(
            encode(f"Finished dry-run migration of refs, the result can be found at '{shown}'\n")
        )
    return 0
