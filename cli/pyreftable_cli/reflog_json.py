"""`reflog show --json`: each entry as a JSON object on a line of its own.

    log, number     the log's name as it was asked for, and the entry's number in it, 0 the newest
    old_oid, new_oid
    committer, email, time, tz      who, when (seconds since the epoch), and where (`+0130`)
    message         without its line end

Bytes that are not UTF-8 become lone surrogates (`\\udc80` to `\\udcff`). The members but for the
first two are named as in `dump --json`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reflog_walk import Shown


def json_line(shown: Shown) -> bytes:
    """The text for one entry, without a line end."""
    entry = shown.entry
    members = {
        "log": shown.name,
        "number": shown.number,
        "old_oid": entry.old_oid,
        "new_oid": entry.new_oid,
        "committer": entry.name,
        "email": entry.email,
        "time": entry.time,
        "tz": f"{entry.tz_offset:+05d}",
        "message": entry.message,
    }
    return json.dumps(members).encode()
