"""`pyreftable for-each-ref`, as a user types it, against the same typed at git.

Messages are those of git 2.55. Where the git of the test environment (2.50.1) does not know an
option yet, the expected output is made from a listing of git's without it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyreftable.format.records import OID, OID_AND_PEELED, SYMREF, RefRecord
from pyreftable.refs.store import RefStore
from pyreftable.stack import Snapshot, Stack
from pyreftable.writer import TableWriter
from tests.command_server import Outcome
from tests.support import find_git, git_env, init_repo, pyreftable_cmd, run_git
from tests.twins import git_is_followed, run_ours, run_theirs

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"

#: One line a ref: what `update-ref --stdin` reads, with ids put in. Names that sort, quote, pad,
#: shorten and match in different ways.
REFS = """\
create refs/heads/main {c2}
create refs/heads/main2 {c1}
create refs/heads/dir/a {c0}
create refs/heads/dir/sub/b {c1}
create refs/heads/dirx {c1}
create refs/heads/dir-y {c1}
create refs/heads/Upper {c1}
create refs/heads/lower {c1}
create refs/heads/v-1 {c0}
create refs/heads/v-10 {c1}
create refs/heads/v-2 {c2}
create refs/heads/ünï {c0}
create refs/heads/漢字 {c0}
create refs/heads/a.b.c {c1}
create refs/heads/it's!x {c1}
create refs/heads/$v"q{{}} {c1}
create refs/heads/both {c0}
create refs/tags/both {c1}
create refs/tags/main {c0}
create refs/tags/light {c0}
create refs/tags/annotated {tag}
create refs/tags/nested {nested}
create refs/tags/of-blob {blobtag}
create refs/tags/blob {blob}
create refs/tags/tree {tree}
create refs/remotes/origin/main {c1}
create refs/remotes/origin/topic {c0}
create refs/odd/spot {c0}
create refs/notes/commits {c2}
create refs/top {c2}
create ORIG_HEAD {c1}
symref-create refs/heads/sym refs/heads/main
symref-create refs/heads/sym2 refs/heads/sym
symref-create refs/heads/dangling refs/heads/nowhere
symref-create refs/heads/loop1 refs/heads/loop2
symref-create refs/heads/loop2 refs/heads/loop1
symref-create refs/remotes/origin/HEAD refs/remotes/origin/main
symref-create DANGLING_HEAD refs/heads/nowhere
"""


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the refs of `REFS`, on several tables; tests only read it."""
    path = init_repo(
        tmp_path_factory.mktemp("listing") / request.param, object_format=request.param
    )
    fill(path)
    return path


@pytest.fixture
def copy(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of one's own to damage, with SHA-1 ids."""
    path = init_repo(tmp_path / "copy")
    fill(path)
    return path


def fill(repo: Path) -> None:
    """Make objects, then the refs of `REFS`."""

    def run(*args: str, input: str = "") -> str:
        return run_git(args, repo, input=input.encode()).stdout.decode().strip()

    def tag(target: str, kind: str, name: str) -> str:
        tagger = "tagger A U Thor <author@example.com> 1700000000 +0000"
        text = f"object {target}\ntype {kind}\ntag {name}\n{tagger}\n\nmessage\n"
        return run("mktag", input=text)

    ids = {"blob": run("hash-object", "-w", "--stdin", input="content\n")}
    ids["tree"] = run("mktree", input=f"100644 blob {ids['blob']}\tfile\n")
    for number in range(3):
        parents = ["-p", ids[f"c{number - 1}"]] if number else []
        ids[f"c{number}"] = run("commit-tree", "-m", f"commit {number}", *parents, ids["tree"])
    ids["tag"] = tag(ids["c0"], "commit", "annotated")
    ids["nested"] = tag(ids["tag"], "tag", "nested")
    ids["blobtag"] = tag(ids["blob"], "blob", "of-blob")
    run("update-ref", "refs/heads/gone", ids["c0"])
    run("update-ref", "--stdin", input=REFS.format(**ids))
    run("update-ref", "-d", "refs/heads/gone")
    (repo / ".git" / "MERGE_HEAD").write_text(ids["c0"] + "\n")


def both(command: str, repo: Path, input: bytes = b"") -> tuple[Outcome, Outcome]:
    """What git and pyreftable make of a command line (words as a shell would split them)."""
    args = shlex.split(command)
    return run_theirs(args, repo, input), run_ours(args, repo, input)


def check(command: str, repo: Path, input: bytes = b"") -> Outcome:
    """Run the command in both and require the same output, messages and status."""
    theirs, ours = both(command, repo, input)
    assert ours == theirs
    return ours


PATTERNS = [
    "",
    "refs",
    "refs/",
    "refs/heads",
    "refs/heads/",
    "refs/heads/di",
    "refs/heads/dir",
    "refs/heads/dir/",
    "refs/heads/dir refs/tags",
    "refs/tags refs/heads/dir refs/heads/dir/a",
    "refs/heads/main",
    "'refs/heads/*'",
    "'refs/heads/**'",
    "'refs/heads/d*'",
    "'refs/*/main'",
    "'refs/**/main'",
    "'refs/**'",
    "'**/a'",
    "'*'",
    "'refs/tags/[a-m]*' refs/heads/v-1",
    "'refs/heads/v-?'",
    "'refs/heads/v-[!1]*'",
    "'refs/heads/[[:upper:]]*'",
    "'refs/heads/dir['",
    r"'refs/heads/v-\1'",
    "HEAD",
    "''",
    "main",
    "refs/none",
    "--exclude=refs/heads/dir refs/heads",
    "--exclude=refs/heads/dir/",
    "--exclude='refs/heads/d*'",
    "--exclude=refs/tags --exclude='refs/*/m*'",
    "--exclude=refs/tags --no-exclude --exclude=refs/heads",
    "--exclude=refs",
    "--ignore-case",
    "--ignore-case refs/heads/UPPER refs/HEADS/dir 'refs/heads/L*'",
    "--ignore-case --exclude=refs/heads/UPPER",
    "--include-root-refs",
    "--include-root-refs '*HEAD'",
    "--include-root-refs HEAD refs/heads/main",
    "--include-root-refs --format='%(refname:short) %(symref)'",
    "--points-at=refs/heads/main",
    "--points-at=refs/heads/main~1 --points-at=annotated",
    "--points-at=refs/heads/main --no-points-at --points-at=refs/tags/nested",
    "--points-at=nonsense",
    "--end-of-options refs/heads",
    "-- refs/heads",
    "refs/heads --count=1",
]


@pytest.mark.parametrize("arguments", PATTERNS)
def test_which_refs_are_listed(repo: Path, arguments: str) -> None:
    check(f"for-each-ref {arguments}", repo)


ORDERS = [
    "--count=3",
    "--count=0",
    "--count=1k",
    "--count=0x3",
    "--no-count",
    "--count=3 --sort=-refname",
    "--count=2 'refs/heads/*'",
    "--sort=refname",
    "--sort=-refname",
    "--sort=objectname",
    "--sort=-objectname --sort=objecttype",
    "--sort=objecttype --sort=-objectname",
    "--sort=-objecttype --sort=-refname",
    "--sort=objectsize",
    "--sort=-objectsize",
    "--sort='*objectsize'",
    "--sort=symref",
    "--sort=refname:short",
    "--sort=HEAD",
    "--sort=end",
    "--no-sort",
    "--no-sort --sort=-refname",
    "--ignore-case --sort=refname",
    "--ignore-case --sort=-refname",
    "--ignore-case --sort=objecttype",
    "--sort=nonsense",
    "--sort=",
    "--sort=-",
]


@pytest.mark.parametrize("arguments", ORDERS)
def test_order_and_count(repo: Path, arguments: str) -> None:
    check(f"for-each-ref {arguments}", repo)


FORMATS = [
    "%(refname)",
    "%(refname:)",
    "%(refname:short)",
    "%(refname:lstrip=1)|%(refname:lstrip=2)|%(refname:lstrip=3)|%(refname:strip=2)",
    "%(refname:lstrip=-1)|%(refname:lstrip=-2)|%(refname:lstrip=-9)|%(refname:lstrip=0)",
    "%(refname:rstrip=1)|%(refname:rstrip=2)|%(refname:rstrip=3)",
    "%(refname:rstrip=-1)|%(refname:rstrip=-2)|%(refname:rstrip=-9)|%(refname:rstrip=0)",
    "%(*refname)|%(*refname:short)",
    "%(symref)",
    "%(symref:short)|%(symref:lstrip=2)|%(*symref)",
    "%(objectname)",
    "%(refname) %(objectname)",
    "%(objectname) %(refname)",
    "%(objectname:short)",
    "%(objectname:short=1)",
    "%(objectname:short=10)",
    "%(objectname:short=99)",
    "%(objecttype)",
    "%(objectsize) %(refname)",
    "%(refname) %(*objectname)",
    "%(refname) %(*objectname:short) %(*objecttype) %(*objectsize)",
    "%(objecttype)%(*objecttype)",
    "%(HEAD)%(refname)",
    "%(flag)|%(refname)",
    "%00%41%%41%%%41 %4 %zz %(refname)%",
    "%%(refname) %%%(refname)",
    "x",
    "",
    "%(align:30)%(refname)%(end)|",
    "%(align:30,right)%(refname)%(end)|",
    "%(align:middle,31)%(refname)%(end)|",
    "%(align:width=33,position=right)x%(refname)%00y%(end)|",
    "%(align:20,left)%(align:12,right)%(refname:short)%(end)%(end)|",
    "%(if)%(symref)%(then)S:%(symref)%(else)%(refname)%(end)",
    "%(if)%(symref)%(then)S%(end)|",
    "%(if:equals=refs/heads/main)%(refname)%(then)YES%(else)no%(end)",
    "%(if:notequals=main)%(refname:short)%(then)YES%(else)no%(end)",
    "%(if:equals=)%(symref)%(then)none%(end)",
    "%(if)%(HEAD)%(then)H%(else)%(if)%(symref)%(then)S%(else)-%(end)%(end)",
]


@pytest.mark.parametrize("text", FORMATS)
def test_formats(repo: Path, text: str) -> None:
    check(f"for-each-ref {shlex.quote(f'--format={text}')}", repo)


@pytest.mark.parametrize("style", ["--shell", "--perl", "--python", "--tcl", "-s", "-p", "-s -s"])
def test_quoting(repo: Path, style: str) -> None:
    check(f"for-each-ref {style} '--format=%(refname)=%(symref)'", repo)
    check(f"for-each-ref {style} '--format=%(align:9)%(refname:short)%(end)%(refname)'", repo)
    check(f"for-each-ref {style} '--format=%(if)%(symref)%(then)%(symref)%0a%(end)'", repo)


@pytest.mark.parametrize("text", ["", "%(symref)", "%(if)%(symref)%(then)x%(end)", "x"])
def test_omit_empty(repo: Path, text: str) -> None:
    check(f"for-each-ref --omit-empty '--format={text}'", repo)
    check(f"for-each-ref --omit-empty --count=30 '--format={text}'", repo)


BAD_FORMATS = [
    "%(refname:lstrip=)",
    "%(refname:lstrip=x)",
    "%(refname:rstrip=x)",
    "%(refname:rstrip=99999999999999)",
    "%(refname:foo)",
    "%(*refname:foo)",
    "%(objectname:short=0)",
    "%(objectname:short=-4)",
    "%(objectname:short=)",
    "%(*objectname:foo)",
    "%(objecttype:foo)",
    "%(objectsize:foo)",
    "%(HEAD:x)",
    "%(bogus) %(refname",
    "%(*bogus:x)",
    "%()",
    "%(*)",
    "%(:x)",
    "%(rest)",
    "%(if:bogus)x%(then)y%(end)",
    "%(align)x%(end)",
    "%(align:)x%(end)",
    "%(align:foo)x%(end)",
    "%(align:left)x%(end)",
    "%(align:-3)x%(end)",
    "%(align:width=x)x%(end)",
    "%(align:position=x)x%(end)",
    "%(if)",
    "%(then) %(end)",
    "%(else) %(end)",
    "%(if) %(else) %(end)",
    "%(if) %(then) %(then) %(end)",
    "%(if) %(then) %(else) %(then) %(end)",
    "%(if) %(then) %(else)",
    "%(if) %(then) %(else) %(else) %(end)",
    "%(if) %(end)",
    "%(end)",
    "%(align:5)%(then)%(end)",
    "%(if)%(align:5)x%(then)%(end)",
]


@pytest.mark.parametrize("text", BAD_FORMATS)
def test_bad_formats(repo: Path, text: str) -> None:
    assert check(f"for-each-ref '--format={text}'", repo).status == 128


def test_misplaced_marks_need_a_ref_to_matter(repo: Path) -> None:
    assert check("for-each-ref '--format=%(if) %(end)' refs/none", repo).status == 0


BAD_OPTIONS = [
    "--count=-1",
    "--count=1x",
    "--count=",
    "--count=99999999999",
    "--count",
    "--no-count=3",
    "--shell=3",
    "--color=x",
    "--format",
    "-sp",
    "-x",
    "-sx",
    "-shell",
    "-shel",
    "-no-shell",
    "--bogus",
    "--co=1",
    "--no-",
    "--no-no-merged",
    "--format='%(refname'",
]


@pytest.mark.parametrize("arguments", BAD_OPTIONS)
def test_bad_options(repo: Path, arguments: str) -> None:
    """The complaint is git's; the usage text after it changes from version to version."""
    theirs, ours = both(f"for-each-ref {arguments}", repo)
    assert ours.status == theirs.status == 129
    assert ours.stdout == b""
    if git_is_followed():
        assert ours == theirs
    assert ours.stderr.splitlines()[0] == theirs.stderr.splitlines()[0]
    has_usage = b"usage: git for-each-ref " in theirs.stderr + theirs.stdout
    assert (b"\nusage: git for-each-ref " in ours.stderr) == has_usage


GOOD_OPTIONS = ["--form=%(refname)", "--color", "--color=never", "--no-color", "-s --no-shell -p"]


@pytest.mark.parametrize("arguments", GOOD_OPTIONS)
def test_ways_to_write_options(repo: Path, arguments: str) -> None:
    check(f"for-each-ref {arguments}", repo)


def test_help(repo: Path, tmp_path: Path) -> None:
    for folder in (repo, tmp_path):
        ours = run_ours(["for-each-ref", "-h"], folder)
        assert ours.status == 0
        assert ours.stdout.startswith(b"usage: git for-each-ref [--count=<count>]")
        if git_is_followed():
            lines = ours.stdout.splitlines()
            shown = [line for line in lines if b"json" not in line]
            assert shown == run_theirs(["for-each-ref", "-h"], folder).stdout.splitlines()


@pytest.mark.parametrize(
    "lines",
    [
        b"refs/heads\n",
        b"refs/heads/dir\r\nrefs/tags/a*",
        b"",
        b"\n",
        b"refs/heads/main\0ignored\n",
    ],
)
def test_patterns_from_stdin(repo: Path, lines: bytes) -> None:
    check("for-each-ref --stdin", repo, lines)


def test_patterns_from_stdin_and_arguments_exclude_each_other(repo: Path) -> None:
    assert check("for-each-ref --stdin refs/heads", repo, b"refs/tags\n").status == 128


def test_start_after(repo: Path) -> None:
    names = run_theirs(["for-each-ref", "--format=%(refname)"], repo).stdout.splitlines()
    markers = ["", "refs/heads/main", "refs/heads/mai", "refs/odd", "refs/odd/", "refs/zzz"]
    for marker in markers:
        ours = run_ours(["for-each-ref", "--format=%(refname)", f"--start-after={marker}"], repo)
        after = [name for name in names if name > marker.encode()]
        assert ours.stdout.splitlines() == after
        assert ours.status == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("refs/tags", b"fatal: cannot use --start-after with patterns\n"),
        ("--sort=refname", b"fatal: cannot use --start-after with custom sort options\n"),
    ],
)
def test_start_after_stands_alone(repo: Path, arguments: str, message: bytes) -> None:
    ours = run_ours(["for-each-ref", "--start-after=refs/heads/main", arguments], repo)
    assert ours == Outcome(128, b"", message)


@pytest.mark.parametrize(
    "command",
    [
        "-c core.warnAmbiguousRefs=false for-each-ref '--format=%(refname:short)'",
        "-c core.abbrev=12 for-each-ref '--format=%(objectname:short)'",
        "-c core.abbrev=no for-each-ref '--format=%(objectname:short)'",
        "-c core.abbrev=4 for-each-ref '--format=%(objectname:short)'",
        "-c core.abbrev=auto for-each-ref '--format=%(objectname:short)'",
    ],
)
def test_settings(repo: Path, command: str) -> None:
    check(command, repo)


@pytest.mark.parametrize("name", ["sha1.git", "sha256.git", "worktree.git"])
def test_fixtures(name: str) -> None:
    """Without any git: the listing that git made when it made the fixture."""
    expected = (FIXTURES / name / "for-each-ref.txt").read_bytes()
    assert run_ours(["for-each-ref"], FIXTURES / name) == Outcome(0, expected, b"")


def many_refs(repo: Path) -> None:
    """5,000 refs of which 300 are annotated tags, on several tables."""
    commit = run_git(["rev-parse", "refs/heads/main"], repo).stdout.decode().strip()
    tags = []
    for number in range(3):
        text = f"object {commit}\ntype commit\ntag t{number}\ntagger T <t@x> 1 +0000\n\nm\n"
        tags.append(run_git(["mktag"], repo, input=text.encode()).stdout.decode().strip())
    lines = [f"create refs/heads/many/{number % 70}/{number:04} {commit}" for number in range(4700)]
    lines += [f"create refs/tags/many/{number:04} {tags[number % 3]}" for number in range(300)]
    for start in range(5):
        part = "".join(f"{line}\n" for line in lines[start::5])
        run_git(["update-ref", "--stdin"], repo, input=part.encode())


def test_many_refs(repo: Path, tmp_path: Path) -> None:
    big = tmp_path / "big"
    shutil.copytree(repo, big, symlinks=True)
    many_refs(big)
    for arguments in ("", "refs/tags", "'refs/heads/many/*/*7'", "--sort=-refname", "--count=700"):
        check(f"for-each-ref {arguments}", big)
        check(f"for-each-ref '--format=%(refname)%(*objectname)' {arguments}", big)
    check("for-each-ref '--format=%(refname:short)'", big)


_ATOMS = st.sampled_from(
    ["a", "m", "v", "-", "1", "/", "*", "**", "**/", "?", "[a-m]", "[!d]", "ir"]
)
_GLOBS = st.builds(
    lambda head, rest: head + "".join(rest),
    st.sampled_from(["", "refs/", "refs/heads/", "refs/*/", "refs/tags/"]),
    st.lists(_ATOMS, max_size=5),
)


@given(st.lists(_GLOBS, max_size=3), st.lists(_GLOBS, max_size=2), st.booleans())
def test_any_patterns(
    repo: Path, wanted: list[str], excluded: list[str], ignore_case: bool
) -> None:
    options = [f"--exclude={pattern}" for pattern in excluded]
    if ignore_case:
        options.append("--ignore-case")
    args = ["for-each-ref", "--format=%(refname)", *options, "--", *wanted]
    assert run_ours(args, repo) == run_theirs(args, repo)


# States of a repository


def test_head(copy: Path) -> None:
    command = "for-each-ref --include-root-refs '--format=%(HEAD) %(refname) %(symref)'"
    run_git(["update-ref", "--no-deref", "HEAD", "refs/heads/main"], copy)
    check(command, copy)
    run_git(["symbolic-ref", "HEAD", "refs/heads/unborn"], copy)
    check(command, copy)
    run_git(["symbolic-ref", "HEAD", "refs/heads/sym2"], copy)
    check(command, copy)


def test_empty_repository(tmp_path: Path) -> None:
    empty = init_repo(tmp_path / "empty", bare=True)
    assert check("for-each-ref", empty) == Outcome(0, b"", b"")
    check("for-each-ref --include-root-refs --sort=-refname", empty)


def test_linked_worktree(copy: Path) -> None:
    run_git(["worktree", "add", "--quiet", "../linked", "refs/heads/main2"], copy)
    linked = copy.parent / "linked"
    run_git(["update-ref", "refs/bisect/bad", "HEAD"], linked)
    run_git(["update-ref", "refs/bisect/good", "HEAD"], copy)
    run_git(["update-ref", "refs/worktree/own", "HEAD"], linked)
    for folder in (copy, linked):
        for arguments in ("", "--include-root-refs", "refs/bisect", "'refs/w*/*'"):
            check(f"for-each-ref '--format=%(HEAD)%(refname) %(objectname)' {arguments}", folder)


def test_outside_a_repository(tmp_path: Path) -> None:
    check("for-each-ref", tmp_path)
    check("for-each-ref --bogus", tmp_path)


def test_missing_object(copy: Path) -> None:
    oid = run_git(["rev-parse", "refs/heads/v-10"], copy).stdout.decode().strip()
    run_git(["update-ref", "refs/heads/w", run_new_commit(copy)], copy)
    lost = run_git(["rev-parse", "refs/heads/w"], copy).stdout.decode().strip()
    run_git(["update-ref", "refs/tags/w", lost], copy)
    (copy / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    assert check("for-each-ref", copy).stderr.startswith(b"fatal: missing object ")
    check("for-each-ref --sort=objectsize", copy)
    check("for-each-ref --shell", copy)
    assert check("for-each-ref '--format=%(objectname) %(refname)'", copy).status == 0
    assert check("for-each-ref '--format=%(objectname:short)'", copy).status == 0
    # A branch need not be looked at to know that it does not point there; a tag must be.
    branches = [f"--points-at={oid}", "--format=%(refname)", "refs/heads/[vw]*"]
    assert run_ours(["for-each-ref", *branches], copy).stdout == b"refs/heads/v-10\n"
    run_git(["update-ref", "-d", "refs/heads/w"], copy)
    assert check(f"for-each-ref --points-at={oid}", copy).status == 128


def test_points_at_through_all_that_leads(copy: Path) -> None:
    """Tags of tags, tags stored without peeled ids, symrefs to all of these, in any folder."""
    for words in ("-m one t1 main", "-m two t2 t1", "-m three t3 t2"):
        run_git(["tag", "-a", *words.split()], copy)
    ids = {}
    for name in ("main", "t1", "t2", "t3"):
        ids[name] = run_git(["rev-parse", name], copy).stdout.decode().strip()
        bare = RefRecord(b"refs/bare/" + name.encode(), 0, OID, bytes.fromhex(ids[name]))
        add_raw(copy, bare)
    for number, target in enumerate(
        ["refs/bare/t3", "refs/bare/t1", "refs/tags/t2", "refs/bare/main"]
    ):
        run_git(["symbolic-ref", f"refs/heads/alias-{number}", target], copy)
        run_git(["symbolic-ref", f"refs/remotes/origin/alias-{number}", target], copy)
    for name, oid in ids.items():
        for wanted in (name, oid):
            shown = check(f"for-each-ref --points-at={wanted} '--format=%(refname)'", copy).stdout
            assert f"refs/bare/{name}\n".encode() in shown
    assert (
        b"refs/heads/alias-0\n"
        in check("for-each-ref --points-at=t2 --format='%(refname)'", copy).stdout
    )


def run_new_commit(repo: Path) -> str:
    """A commit that nothing else names."""
    args = ["commit-tree", "-m", "lonely", "refs/heads/main^{tree}"]
    return run_git(args, repo).stdout.decode().strip()


def add_raw(repo: Path, *records: RefRecord) -> None:
    """Put records into the stack that no healthy writer would make."""

    def write(writer: TableWriter, snapshot: Snapshot) -> None:
        index = snapshot.next_update_index
        writer.add_refs(record._replace(update_index=index) for record in sorted(records))

    stack = Stack.open(os.fspath(repo / ".git" / "reftable"))
    stack.add(write)
    stack.close()


BAD_NAMES = [
    b"refs/heads/bad..name",
    b"refs/heads/.hidden",
    b"refs/heads/a b",
    b"refs/heads/x.lock",
    b"refs/heads/y.lock/z",
    b"refs/heads/end.",
    b"refs/heads/@{x",
    b"refs/heads/tab\t",
]


def test_broken_refs(copy: Path) -> None:
    """They are left out, each with a warning, unless a pattern makes git not see them."""
    oid = bytes.fromhex(run_git(["rev-parse", "refs/heads/main"], copy).stdout.decode().strip())
    add_raw(copy, *(RefRecord(name, 0, OID, oid) for name in BAD_NAMES))
    add_raw(copy, RefRecord(b"refs/heads/@", 0, OID, oid), RefRecord(b"FOO", 0, OID, oid))
    add_raw(copy, RefRecord(b"refs/heads/zero", 0, OID, bytes(20)))
    add_raw(copy, RefRecord(b"refs/heads/zero2", 0, OID_AND_PEELED, bytes(20) + oid))
    add_raw(copy, RefRecord(b"refs/heads/to-zero", 0, SYMREF, b"refs/heads/zero"))
    add_raw(copy, RefRecord(b"refs/heads/to-bad", 0, SYMREF, BAD_NAMES[0]))
    for arguments in ("", "--sort=-refname", "--include-root-refs", "'refs/heads/a*'", "refs/tags"):
        ours = check(f"for-each-ref {arguments}", copy)
        assert ours.status == 0
    assert (
        b"warning: ignoring ref with broken name refs/heads/bad..name\n"
        in run_ours(["for-each-ref"], copy).stderr
    )


def test_dangerous_name(copy: Path) -> None:
    oid = bytes.fromhex(run_git(["rev-parse", "refs/heads/main"], copy).stdout.decode().strip())
    add_raw(copy, RefRecord(b"refs/nn/../../config", 0, OID, oid))
    assert check("for-each-ref", copy).stderr.startswith(b"fatal: refname is dangerous: refs/nn/")
    check("for-each-ref --sort=-refname", copy)
    assert check("for-each-ref refs/heads", copy).status == 0


def test_symrefs_five_deep(copy: Path) -> None:
    links = [(f"refs/heads/c{n}".encode(), f"refs/heads/c{n + 1}".encode()) for n in range(6)]
    add_raw(copy, *(RefRecord(name, 0, SYMREF, target) for name, target in links))
    oid = bytes.fromhex(run_git(["rev-parse", "refs/heads/main"], copy).stdout.decode().strip())
    add_raw(copy, RefRecord(b"refs/heads/c6", 0, OID, oid))
    check("for-each-ref '--format=%(refname) %(symref)'", copy)


def test_damaged_table(copy: Path) -> None:
    """git 2.55 prints nothing and exits 0; here damage is an error that says where it is."""
    table = max((copy / ".git" / "reftable").glob("*.ref"), key=lambda path: path.stat().st_size)
    data = bytearray(table.read_bytes())
    data[-1] ^= 1
    table.chmod(0o644)
    table.write_bytes(data)
    for arguments in ([], ["--sort=-refname"], ["refs/heads/main"], ["--count=1"]):
        ours = run_ours(["for-each-ref", *arguments], copy)
        assert ours.status == 128
        assert ours.stdout == b""
        assert ours.stderr.startswith(b"fatal: ")
        assert os.fsencode(table.name) in ours.stderr
        assert b"offset" in ours.stderr


# What is not looked at


def test_formats_of_refs_open_no_object(copy: Path) -> None:
    formats = ["%(refname)", "%(refname:short) %(symref)", "%(objectname)", "%(HEAD)%(flag)"]
    tags = "--format=%(objectname) %(*objectname) %(*refname)"
    before = [run_ours(["for-each-ref", f"--format={text}"], copy) for text in formats]
    peeled = run_ours(["for-each-ref", tags, "refs/tags/annotated", "refs/tags/nested"], copy)
    shutil.rmtree(copy / ".git" / "objects")
    (copy / ".git" / "objects").mkdir()
    after = [run_ours(["for-each-ref", f"--format={text}"], copy) for text in formats]
    assert after == before
    assert peeled.status == 0
    assert (
        run_ours(["for-each-ref", tags, "refs/tags/annotated", "refs/tags/nested"], copy) == peeled
    )


class Watch:
    """Counts what a run asks of objects and of the store."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from pyreftable.refs import objects

        self.looked_up: list[str] = []
        self.prefixes: list[bytes] = []
        self.runs = 0
        real_info = objects.StoredObjects.info
        real_runs = RefStore.ref_runs

        def info(stored: objects.StoredObjects, hexid: str) -> tuple[str, int] | None:
            self.looked_up.append(hexid)
            return real_info(stored, hexid)

        def ref_runs(store: RefStore, prefix: bytes = b"", *, root_refs: bool = False) -> Iterator:  # type: ignore[type-arg]
            self.prefixes.append(prefix)
            for run in real_runs(store, prefix, root_refs=root_refs):
                self.runs += 1
                yield run

        monkeypatch.setattr(objects.StoredObjects, "info", info)
        monkeypatch.setattr(RefStore, "ref_runs", ref_runs)


def run_here(args: list[str], repo: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run pyreftable in this process."""
    from pyreftable_cli.main import main

    monkeypatch.chdir(repo)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in git_env(repo).items():
        monkeypatch.setenv(name, value)
    return main(args)


def test_each_object_is_looked_up_once(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    many_refs(copy)
    watch = Watch(monkeypatch)
    assert run_here(["for-each-ref"], copy, monkeypatch) == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) > 5000
    ids = {line.split()[0] for line in lines}
    assert sorted(watch.looked_up) == sorted(ids)


def test_a_pattern_reads_only_its_prefix(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    many_refs(copy)
    watch = Watch(monkeypatch)
    args = ["for-each-ref", "refs/tags/many/000*", "refs/heads/main", "refs/tags/many/0001"]
    assert run_here(args, copy, monkeypatch) == 0
    assert len(capfd.readouterr().out.splitlines()) == 11
    # Where objects are looked at, so are the refs that may replace them.
    assert watch.prefixes == [b"refs/heads/main", b"refs/replace/", b"refs/tags/many/000"]
    assert watch.runs <= 4


def test_count_stops_reading(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    many_refs(copy)
    watch = Watch(monkeypatch)
    assert run_here(["for-each-ref", "--count=1"], copy, monkeypatch) == 0
    assert len(capfd.readouterr().out.splitlines()) == 1
    assert watch.runs <= 20


def test_works_without_git(copy: Path) -> None:
    """SHA-1 needs no other program, packs included."""
    expected = run_git(["for-each-ref"], copy).stdout
    run_git(["repack", "-adq"], copy)
    env = git_env(copy) | {"PATH": os.fspath(copy)}
    done = subprocess.run(
        [*pyreftable_cmd(), "for-each-ref"], cwd=copy, env=env, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")
    assert Path(find_git()).parent != copy
