"""A repository for the fields of `for-each-ref` that look into objects, and how to compare.

Objects are written straight into the repository: git would not make some of them.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import zlib
from pathlib import Path

from tests.command_server import Outcome
from tests.support import git_env, init_repo, run_git, run_pyreftable
from tests.twins import git_is_followed, run_ours, run_theirs

SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n\nnot really\n-----END PGP SIGNATURE-----\n"

#: Name of the ref below refs/tags/message -> message of its tag.
MESSAGES = {
    "plain": "subject\n",
    "none": "",
    "blank": "\n\n",
    "noeol": "subject",
    "body": "subject\n\nbody one\n\nbody two\n",
    "long": "subject one\nsubject two\nsubject three\n\nbody one\nbody two\n",
    "crlf": "subject one\r\nsubject two\r\n\r\nbody\r\n",
    "empty-lines": "\n\n\nsubject\n\n\n\nbody\n\n\n",
    "odd-title": "--..fix: the «thing»... (again)..\tnow! .. --\n",
    "signed": f"subject\n\nbody\n{SIGNATURE}",
    "signed-title": f"subject\n{SIGNATURE}",
    "signature-only": SIGNATURE,
    "ssh": "subject\n\nbody\n-----BEGIN SSH SIGNATURE-----\nx\n",
    "inner-signature": f"subject\n\nbody\n{SIGNATURE}\nmore\n-----BEGIN SIGNED MESSAGE-----\nx\n",
    "trailers": "subject\n\nbody\n\nSigned-off-by: A <a@x>\nAcked-by: B <b@x>\nAcked-by: C\n",
    "folded": "subject\n\nKey: one\n two\n\tthree\nOther: x\nLast:\n  folded\n",
    "trailers-signed": f"subject\n\nbody\n\nSigned-off-by: A <a@x>\n{SIGNATURE}",
    "mixed": "subject\n\nline one\nline two\nSigned-off-by: A\nline three\n",
    "too-mixed": "subject\n\nl\nl\nl\nl\nSigned-off-by: A\n",
    "no-trailers": "subject\n\nbody\n\nKey: value\nplain line\n",
    "cherry": "subject\n\nbody\n\n(cherry picked from commit 123)\n",
    "title-only-trailers": "Key: value\nOther: value\n",
    "comments": "subject\n\n# comment\nKey: value\n# comment\nOther : value\n# end\n",
    "scissors": "subject\n\nKey: v\n# ------------------------ >8 ------------------------\nX: y\n",
    "conflicts": "subject\n\nKey: v\n\nConflicts:\n\tfile\n",
    "spaces": "subject\n\nbody\n  \nKey:value\nKey2 :  value  \n",
    "config": "subject\n\nbody\n\nsome text\nmore text\nfix #12\nclose=13\nshort: x\n",
    "not-utf8": "s\udcffbject \udc80\n\nbod\udcff\n",
}

#: Name of the ref below refs/heads/person -> the author and committer lines of its commit.
PERSONS = {
    "plain": "A U Thor <author@example.com> 1112911993 -0700",
    "utc": "A U Thor <author@example.com> 1112911993 +0000",
    "east": "Jänis Kō <j@x> 1600000000 +0530",
    "mapped": "nick <nick@localhost> 1700000000 +0100",
    "mapped-name": "Other <shared@host> 1700000000 +0100",
    "no-at": "Local <user> 1500000000 +0000",
    "two-ats": "Two <a@b@c> 1500000000 +0000",
    "no-name": "<only@mail> 1400000000 +0000",
    "no-mail": "No Mail 1400000000 +0000",
    "no-date": "No Date <n@d>",
    "no-close": "No Close <n@d 1400000000 +0000",
    "bad-zone": "Bad Zone <b@z> 1400000000 +05x",
    "bad-date": "Bad Date <b@d> 14x +0000",
    "huge": "Huge <h@d> 99999999999999999999999 +0000",
    "epoch": "Epoch <e@d> 0 +0000",
    "brackets": "Br > <b@c>> 1400000000 +0000",
}

MAILMAP = """\
# comment
Proper Name <proper@example.com> nick <NICK@localhost>
<new@example.com> <author@example.com>
Shared One <one@host> one <shared@host>
Shared Two <shared@host>
Nobody <
"""


class Objects:
    """Writes loose objects into a repository, whatever they are."""

    def __init__(self, repo: Path, object_format: str) -> None:
        self._folder = repo / ".git" / "objects"
        self._hash = getattr(hashlib, object_format)

    def put(self, kind: str, body: str | bytes) -> str:
        """The hex id of a new object."""
        data = body.encode("utf-8", "surrogateescape") if isinstance(body, str) else body
        whole = b"%s %d\0" % (kind.encode(), len(data)) + data
        oid: str = self._hash(whole).hexdigest()
        path = self._folder / oid[:2] / oid[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(whole))
        return oid

    def commit(self, tree: str, *parents: str, message: str = "m\n", person: str = "") -> str:
        """A commit by `person`."""
        who = person or PERSONS["plain"]
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {who}", f"committer {who.replace('A U Thor', 'C O Mitter')}"]
        return self.put("commit", "\n".join([*lines, "", message]))

    def tag(self, target: str, kind: str, name: str, message: str, tagger: str = "") -> str:
        """An annotated tag; without a tagger if that is "-"."""
        lines = [f"object {target}", f"type {kind}", f"tag {name}"]
        if tagger != "-":
            lines.append(f"tagger {tagger or 'T Agger <tagger@example.com> 1234567890 +0200'}")
        return self.put("tag", "\n".join([*lines, "", message]))


def make_scene(home: Path, object_format: str) -> Path:
    """A repository with `MESSAGES`, `PERSONS`, and objects of all types."""
    repo = init_repo(home / f"scene-{object_format}", object_format=object_format)
    objects = Objects(repo, object_format)
    blob = objects.put("blob", b"content\n")
    binary = objects.put("blob", b"\0a'\"\\\n\0\xff")
    tree = objects.put("tree", b"100644 file\0" + bytes.fromhex(blob))
    one = objects.commit(tree, message="first\n")
    two = objects.commit(tree, one, message="second\n\nwith body\n")
    refs = {
        "heads/main": objects.commit(tree, one, two, message="merge\n"),
        "heads/root": one,
        "tags/blob": blob,
        "tags/binary": binary,
        "tags/tree": tree,
        "tags/light": two,
        "tags/of-blob": objects.tag(blob, "blob", "of-blob", "about a blob\n"),
        "tags/of-tree": objects.tag(tree, "tree", "of-tree", "about a tree\n"),
        "tags/no-tagger": objects.tag(one, "commit", "no-tagger", "x\n", "-"),
    }
    inner = objects.tag(two, "commit", "inner", "inner\n\nbody\n")
    refs["tags/nested"] = objects.tag(inner, "tag", "nested", "outer\n")
    for name, message in MESSAGES.items():
        refs[f"tags/message/{name}"] = objects.tag(one, "commit", name, message)
    for name, person in PERSONS.items():
        refs[f"heads/person/{name}"] = objects.commit(tree, one, message=name, person=person)
        refs[f"tags/person/{name}"] = objects.tag(one, "commit", name, "x\n", person)
    set_refs(repo, refs)
    (repo / ".mailmap").write_text(MAILMAP)
    return repo


def set_refs(repo: Path, refs: dict[str, str]) -> None:
    """Create refs (names without `refs/`)."""
    lines = "".join(f"update refs/{name} {oid}\n" for name, oid in refs.items())
    run_git(["update-ref", "--stdin"], repo, input=lines.encode())


def check(
    command: str, repo: Path, *, input: bytes = b"", env: dict[str, str] | None = None
) -> Outcome:
    """Give a command line to git and to pyreftable; both must answer the same."""
    args = shlex.split(command)
    environ = git_env(repo) | (env or {})
    theirs = run_theirs(args, repo, input, environ)
    if env and "TZ" in env:
        # A process learns its time zone when it starts.
        done = run_pyreftable(args, repo, env=environ, input=input, check=False)
        ours = Outcome(done.returncode, done.stdout, done.stderr)
    else:
        ours = run_ours(args, repo, input, environ)
    assert ours == theirs
    return ours


def check_but_for_ids(command: str, repo: Path) -> Outcome:
    """As `check`, where git 2.50.1 names another object in its messages than 2.55 does."""
    args = shlex.split(command)
    theirs, ours = run_theirs(args, repo), run_ours(args, repo)
    if not git_is_followed():
        theirs, ours = (
            done._replace(stderr=re.sub(rb"[0-9a-f]{40}", b"ID", done.stderr))
            for done in (theirs, ours)
        )
    assert ours == theirs
    return ours
