"""The workloads: a function of each module yields the cases of one size.

bulk          create: into an empty and into a full store, on one object and on distinct ones,
              in one process too
transactions  p1400: create, update, delete in one and in many transactions of one process;
              one ref in a big store; a thousand transactions in a row, with auto-compaction
tombstones    p1401: create and re-create where many refs were deleted
listing       names; default format on one object and on many; one prefix; the first ref;
              names and ids into a dict, against parsing git's output
lookup        a ref, and one that is missing: warm, cold, in a process, among tombstones;
              refs_for(oid)
optimizing    a big table and small ones become one
reflogs       the last entry of a log, all of one log, expiry
starting      `refs exists` against `python -c pass`
memory        the peak of listing and of compacting
reading       readers beside a writer, in threads and in processes

Who is compared does the same work on equal repositories. "(in process)" is pyreftable as a
library, in one Python process, against a whole process of git.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from perf.case import Bench, Case
from perf.workloads import (
    bulk,
    listing,
    lookup,
    memory,
    optimizing,
    reading,
    reflogs,
    starting,
    tombstones,
    transactions,
)

WORKLOADS: dict[str, Callable[[Bench, int], Iterator[Case]]] = {
    "bulk": bulk.cases,
    "transactions": transactions.cases,
    "tombstones": tombstones.cases,
    "listing": listing.cases,
    "lookup": lookup.cases,
    "optimizing": optimizing.cases,
    "reflogs": reflogs.cases,
    "starting": starting.cases,
    "memory": memory.cases,
    "reading": reading.cases,
}
