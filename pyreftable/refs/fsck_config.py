"""How serious each finding of a check is: git's message ids, and what `fsck.<id>` makes of them.

Source: `git-fsck`, section "FSCK MESSAGES", and `git-config`, `fsck.<msg-id>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ConfigError

if TYPE_CHECKING:
    from .config import Config

#: The findings that a check of a stack can have, and how serious they are unless configured.
DEFAULTS = {
    "badHeadTarget": "error",
    "badReferentName": "error",
    "badRefName": "error",
    "badRefOid": "error",
    "badReftableTableName": "warn",
    "symrefTargetIsNotARef": "info",
}

_OF_OBJECTS = """
    nulinheader unterminatedheader badheadercontinuation baddate baddateoverflow bademail
    badgpgsig badname badobjectsha1 badpackedrefentry badpackedrefheader badparentsha1
    badrefcontent badreffiletype badtimezone badtree badtreesha1 badtype duplicateentries
    gitattributesblob gitattributeslarge gitattributeslinelength gitattributesmissing
    gitmodulesblob gitmoduleslarge gitmodulesmissing gitmodulesname gitmodulespath
    gitmodulessymlink gitmodulesupdate gitmodulesurl missingauthor missingcommitter missingemail
    missingnamebeforeemail missingobject missingspacebeforedate missingspacebeforeemail
    missingtag missingtagentry missingtree missingtype missingtypeentry multipleauthors
    packedrefentrynotterminated packedrefunsorted treenotsorted unknowntype zeropaddeddate
    emptyname fullpathname hasdot hasdotdot hasdotgit largepathname nullsha1 nulincommit
    zeropaddedfilemode badfilemode badtagname emptypackedrefsfile gitattributessymlink
    gitignoresymlink gitmodulesparse mailmapsymlink missingtaggerentry refmissingnewline
    symlinkref trailingrefcontent extraheaderentry
"""
_FATAL = ("nulinheader", "unterminatedheader")
_LEVELS = ("error", "warn", "ignore")


class Severities:
    """What becomes of each finding: "error", "warning" or `None` (ignored).

    `strict` makes errors of warnings, but not of those that the configuration asks for, nor of
    what is by default only informative.
    """

    def __init__(self, config: Config | None = None, *, strict: bool = False) -> None:
        self.strict = strict
        self._levels = {
            name: "error" if strict and level == "warn" else level
            for name, level in DEFAULTS.items()
        }
        if config is not None:
            self._configure(config)

    def of(self, msg_id: str) -> str | None:
        """How serious a finding with that id is."""
        level = self._levels[msg_id]
        if level == "ignore":
            return None
        return "error" if level == "error" else "warning"

    def _configure(self, config: Config) -> None:
        """Raises `ConfigError` for ids and levels that git does not know."""
        known = {name.lower(): name for name in DEFAULTS}
        others = frozenset(_OF_OBJECTS.split())
        for subsection, variable, entry in config.section("fsck"):
            if subsection is not None or variable == "skiplist":
                continue
            level = entry.value or ""
            if entry.value is None:
                raise ConfigError(f"missing value for '{entry.key}'")
            if variable not in known and variable not in others:
                raise ConfigError(f"Unhandled message id: {variable}")
            if variable == "largepathname":
                level = level.partition(":")[0]
            if level not in _LEVELS:
                raise ConfigError(f"Unknown fsck message type: '{level}'")
            if variable in _FATAL and level != "error":
                raise ConfigError(f"Cannot demote {variable} to {level}")
            if variable in known:
                self._levels[known[variable]] = level
