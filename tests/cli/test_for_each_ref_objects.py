"""Fields of `for-each-ref` that say what is in an object: type by type, and who made it."""

from __future__ import annotations

import os
import shlex
import shutil
from collections import Counter
from pathlib import Path

import pytest

from pyreftable.refs.objects import StoredObjects
from tests.cli.for_each_ref_scene import Objects, check, make_scene, set_refs
from tests.cli.test_for_each_ref import run_here
from tests.cli.twin_cases import ours
from tests.support import git_env, run_git
from tests.twins import git_is_followed, run_ours


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scene; tests only read it."""
    return make_scene(tmp_path_factory.mktemp("objects"), request.param)


@pytest.fixture(scope="module")
def sha1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scene with SHA-1 ids only, for what has nothing to do with them."""
    return make_scene(tmp_path_factory.mktemp("objects"), "sha1")


def listed(text: str, repo: Path, arguments: str = "", **env: str) -> bytes:
    """The same listing from both."""
    done = check(f"for-each-ref {shlex.quote(f'--format={text}')} {arguments}", repo, env=env)
    assert done.status == 0
    return done.stdout


FORMATS = [
    "%(tree)|%(tree:short)|%(tree:short=12)|%(*tree)",
    "%(parent)|%(parent:short)|%(parent:short=9)|%(numparent)|%(*parent)|%(*numparent)",
    "%(object)|%(type)|%(tag)|%(*object)|%(*type)|%(*tag)",
    "%(author)|%(committer)|%(tagger)|%(creator)",
    "%(*author)|%(*committer)|%(*tagger)|%(*creator)",
    "%(authorname)|%(committername)|%(taggername)|%(*authorname)",
    "%(authoremail)|%(committeremail)|%(taggeremail)|%(*committeremail)",
    "%(authoremail:trim)|%(authoremail:localpart)|%(taggeremail:trim,localpart)",
    "%(authorname:mailmap)|%(committername:mailmap)|%(taggername:mailmap)",
    "%(authoremail:mailmap)|%(authoremail:mailmap,trim)|%(taggeremail:localpart,mailmap)",
    "%(raw:size)|%(*raw:size)",
    "%(objecttype) %(objectsize) %(*objecttype) %(*objectsize) %(tree)",
]


@pytest.mark.parametrize("text", FORMATS)
def test_fields(repo: Path, text: str) -> None:
    listed(f"%(refname) {text}", repo)


@pytest.mark.parametrize("style", ["", "--perl"])
def test_raw(repo: Path, style: str) -> None:
    listed("%(refname) %(raw)%(*raw)", repo, style)
    listed("%(align:30)%(raw)%(end)|", repo, f"{style} refs/tags/binary refs/tags/blob")


@pytest.mark.parametrize("style", ["--python", "--shell", "--tcl"])
def test_raw_has_no_place_in_some_languages(sha1: Path, style: str) -> None:
    assert check(f"for-each-ref {style} '--format=%(raw)'", sha1).status == 128
    assert check(f"for-each-ref {style} '--format=%(*raw)'", sha1).status == 128
    listed("%(raw:size)", sha1, style)


DATES = [
    "",
    ":default",
    ":local",
    ":default-local",
    ":short",
    ":short-local",
    ":iso",
    ":iso8601",
    ":iso-local",
    ":iso-strict",
    ":iso8601-strict-local",
    ":rfc",
    ":rfc2822-local",
    ":raw",
    ":raw-local",
    ":unix",
    ":relative",
    ":relative-local",
    ":human",
    ":human-local",
    ":format:%Y-%m-%dT%H:%M:%S %z %s",
    ":format-local:%d.%m.%y %H h",
    ":auto:short",
]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_dates(sha1: Path, zone: str) -> None:
    """All forms at once; the present is a day after one of the commits."""
    fields = "|".join(f"%(creatordate{form})" for form in DATES)
    now = {"TZ": zone, "GIT_TEST_DATE_NOW": str(1700000000 + 86400)}
    text = f"%(refname) %(authordate)|%(taggerdate)|%(committerdate)|%(*creatordate)|{fields}"
    # git does not know the offset of local times before 1970.
    names = ("huge", "epoch", "bad-date", "brackets")
    listed(text, sha1, " ".join(f"'--exclude=refs/**/{name}'" for name in names), **now)


def test_dates_that_are_none(sha1: Path) -> None:
    listed("%(refname) %(authordate)|%(taggerdate:iso)|%(creatordate:raw)", sha1)


@pytest.mark.parametrize("age", [0, 3600, 26 * 3600, 4 * 86400, 6 * 86400, 40 * 86400, -90000])
def test_human_dates_fade(sha1: Path, age: int) -> None:
    text = "%(creatordate:human)|%(creatordate:human-local)|%(creatordate:relative)"
    env = {"TZ": "Europe/Berlin", "GIT_TEST_DATE_NOW": str(1700000000 + age)}
    listed(text, sha1, "refs/heads/person refs/tags/person", **env)


BAD_FORMATS = [
    "%(tree:foo)",
    "%(parent:short=0)",
    "%(authorname:foo)",
    "%(authoremail:foo)",
    "%(authoremail:trim,)",
    "%(authoremail:trim,foo)",
    "%(authoremail:trimmed)",
    "%(*taggeremail:mailmap,x)",
    "%(raw:foo)",
    "%(*raw:foo)",
    "%(refname) %(authordate:foo)",
    "%(creatordate:format)",
    "%(creatordate:shorter)",
    "%(deltabase:x)",
    "%(color)",
    "%(color:nonsense)",
    "%(color:red green blue)",
    "%(ahead-behind)",
    "%(ahead-behind:nonsense)",
    "%(is-base)",
    "%(is-base:nonsense)",
    "%(describe:foo)",
    "%(describe:tags=maybe)",
    "%(describe:abbrev=)",
    "%(describe:abbrev=-1)",
    "%(describe:abbrev=x)",
    "%(describe:match=)",
    "%(signature:foo)",
    "%(upstream:foo)",
    "%(upstream:short,track)",
    "%(push:lstrip=x)",
    "%(*push)",
]


@pytest.mark.parametrize("text", BAD_FORMATS)
def test_bad_formats(sha1: Path, text: str) -> None:
    assert check(f"for-each-ref '--format={text}'", sha1).status == 128


def test_arguments_that_git_ignores(sha1: Path) -> None:
    listed("%(numparent:x)%(object:x)%(type:x)%(tag:x)%(author:x)%(creator:x)", sha1)


def test_missing_and_damaged_objects(sha1: Path, tmp_path: Path) -> None:
    """Lines before the ref in question are shown, unless refs are sorted by a field."""
    copy = tmp_path / "copy"
    shutil.copytree(sha1, copy)
    objects = Objects(copy, "sha1")
    lost = objects.put("blob", b"lost")
    set_refs(copy, {"heads/person/q-lost": objects.commit("1" * 40), "tags/z-lost": lost})
    os.remove(copy / ".git" / "objects" / lost[:2] / lost[2:])
    message = f"fatal: missing object {lost} for refs/tags/z-lost\n".encode()
    for arguments, lines in (("'--format=%(refname) %(tree)'", 71), ("--sort=tree", 0)):
        command = f"for-each-ref {arguments}"
        # git 2.55 crashes here.
        done = ours(copy, command) if git_is_followed() else check(command, copy)
        assert (done.status, done.stderr) == (128, message)
        assert len(done.stdout.splitlines()) == lines
    assert check("for-each-ref '--format=%(refname) %(upstream)' refs/tags", copy).status == 0


def test_mailmap_of_a_bare_repository(sha1: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    shutil.copytree(sha1 / ".git", bare)
    run_git(["config", "core.bare", "true"], bare)
    (bare / "map").write_text("Mapped <m@x> <author@example.com>\n")
    fields = "'--format=%(authorname:mailmap) %(authoremail:mailmap)'"
    check(f"for-each-ref {fields}", bare)
    check(f"-c mailmap.file={bare}/map for-each-ref {fields}", bare)
    blob = run_git(["hash-object", "-w", "map"], bare).stdout.decode().strip()
    check(f"-c mailmap.blob={blob} for-each-ref {fields}", bare)


def test_replaced_objects(sha1: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(sha1, copy)
    tree = run_git(["rev-parse", "refs/tags/tree"], copy).stdout.decode().strip()
    other = Objects(copy, "sha1").commit(tree, message="instead\n")
    run_git(["replace", "refs/tags/light", other], copy)
    for command in ("", "-c core.useReplaceRefs=false ", "--no-replace-objects "):
        check(f"{command}for-each-ref '--format=%(refname) %(subject) %(parent)'", copy)
        check(f"{command}for-each-ref", copy)
        check(f"{command}for-each-ref --contains=refs/heads/root refs/heads refs/tags", copy)
        check(f"{command}for-each-ref '--format=%(ahead-behind:HEAD)' refs/heads", copy)


@pytest.mark.parametrize(
    ("arguments", "reads"),
    [
        (["--format=%(tree) %(refname) %(subject) %(authordate)", "--sort=creatordate"], 1),
        (["--format=%(subject)%(ahead-behind:HEAD)", "--merged=HEAD", "refs/heads/person"], 1),
        (["--format=%(refname)%(objectname)%(upstream)%(push:remotename)%(worktreepath)"], 0),
        (["--format=%(*objectname)%(refname:short)%(symref)", "--sort=version:refname"], 0),
    ],
)
def test_how_often_objects_are_read(
    sha1: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], reads: int
) -> None:
    """At most once, and not at all for what refs say themselves."""
    read: Counter[str] = Counter()
    real_read = StoredObjects.read

    def counted(stored: StoredObjects, hexid: str) -> tuple[str, bytes]:
        read[hexid] += 1
        return real_read(stored, hexid)

    monkeypatch.setattr(StoredObjects, "read", counted)
    assert run_here(["for-each-ref", *arguments], sha1, monkeypatch) == 0
    assert max(read.values(), default=0) == reads


def test_how_objects_are_stored(sha1: Path, tmp_path: Path) -> None:
    # git forgets the delta base of an object when a `*` field is asked for beside it.
    fields = "'--format=%(objectsize:disk) %(deltabase)'"
    check(f"for-each-ref {fields}", sha1)
    check("for-each-ref '--format=%(*objectsize:disk) %(*deltabase)'", sha1)
    check("for-each-ref --sort=objectsize:disk", sha1)
    packed = tmp_path / "packed"
    shutil.copytree(sha1, packed)
    big = b"".join(b"%d line\n" % number for number in range(3000))
    objects = Objects(packed, "sha1")
    set_refs(packed, {f"tags/big{n}": objects.put("blob", big + b"%d\n" % n) for n in range(3)})
    run_git(["repack", "-adq"], packed)
    loose = objects.put("blob", b"loose")
    set_refs(packed, {"tags/loose": loose})
    done = check(f"for-each-ref {fields} refs/tags/big* refs/tags/loose refs/tags/nested", packed)
    assert len(set(done.stdout.split())) > 4


def test_without_git_what_needs_it_says_so(sha1: Path) -> None:
    env = {"PATH": "/nowhere", "GIT_PYTHON_GIT_EXECUTABLE": "no-such-git"}
    done = run_ours(
        ["for-each-ref", "--format=%(describe)", "refs/heads/main"], sha1, env=git_env(sha1) | env
    )
    assert (done.status, done.stdout) == (128, b"")
    assert b"needs git" in done.stderr
    assert ours(sha1, "for-each-ref --format=%(subject) refs/heads/root").stdout == b"first\n"


def test_describe(repo: Path) -> None:
    listed("%(refname) %(describe)|%(*describe)", repo, "refs/heads/main refs/tags/nested")
    listed("%(describe:tags)|%(describe:abbrev=12,match=l*,tags=yes)", repo, "refs/heads/main")
    listed("%(describe:exclude=nested)", repo, "refs/heads/main refs/tags/light refs/tags/blob")


def test_signature(sha1: Path) -> None:
    parts = ("", ":grade", ":signer", ":key", ":fingerprint", ":primarykeyfingerprint")
    text = "|".join(f"%(signature{part})" for part in (*parts, ":trustlevel"))
    listed(text, sha1, "refs/heads/main refs/tags/blob refs/tags/nested")
