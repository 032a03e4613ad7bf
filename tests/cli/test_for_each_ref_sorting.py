"""`for-each-ref --sort`: by what objects say, and by version."""

from __future__ import annotations

import itertools
import random
import shlex
from pathlib import Path

import pytest

from tests.cli.for_each_ref_scene import Objects, check, make_scene, set_refs
from tests.support import init_repo

KEYS = [
    "authordate",
    "-committerdate",
    "taggerdate",
    "creatordate",
    "-creatordate",
    "creatordate:short",
    "-creatordate:iso",
    "authorname",
    "taggeremail",
    "creator",
    "numparent",
    "parent",
    "tree",
    "object",
    "type",
    "tag",
    "subject",
    "-subject:sanitize",
    "body",
    "contents",
    "contents:size",
    "-contents:lines=2",
    "trailers",
    "raw",
    "-raw:size",
    "*raw:size",
    "*subject",
    "*creatordate",
    "*committerdate",
]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scene; tests only read it."""
    return make_scene(tmp_path_factory.mktemp("sorting"), "sha1")


@pytest.mark.parametrize("key", KEYS)
def test_keys(repo: Path, key: str) -> None:
    check(f"for-each-ref --sort={key}", repo)
    check(f"for-each-ref --sort=refname --sort={key} --ignore-case --format='%({key[-6:]})'", repo)


def test_several_keys(repo: Path) -> None:
    for keys in itertools.permutations(("-objecttype", "creatordate", "subject")):
        arguments = " ".join(f"--sort={key}" for key in keys)
        check(f"for-each-ref {arguments} --count=20 '--format=%(refname) %(subject)'", repo)


VERSIONS = [
    *("v1.0", "v1.0-rc1", "v1.0-rc2", "v1.0-rc10", "v1.0-beta", "v1.0-beta-2", "v1.0.1", "v1"),
    *(
        "v1.00",
        "v1.01",
        "v1.010",
        "v1.09",
        "v1.9",
        "v1.10",
        "v1.0a",
        "v01.1",
        "v001.1",
        "v0",
        "v00",
    ),
    *("v2", "v10", "v10.0-fix", "V2.0", "v2.0-alpha", "v2.0-alpha-rc1", "v", "v.1", "1", "02", "2"),
]

SUFFIXES = [
    "",
    "-c versionsort.suffix=-rc",
    "-c versionsort.suffix=-beta -c versionsort.suffix=-rc",
    "-c versionsort.suffix=-rc -c versionsort.suffix=-beta -c versionsort.suffix=-alpha",
    "-c versionsort.suffix=-rc -c versionsort.suffix= -c versionsort.suffix=-fix",
    "-c versionsort.suffix=-alpha -c versionsort.suffix=-alpha-rc",
    "-c versionsort.prereleaseSuffix=-rc",
    "-c versionsort.prereleaseSuffix=-rc -c versionsort.suffix=-beta",
]


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a tag for each of `VERSIONS`, and for made-up ones."""
    path = init_repo(tmp_path_factory.mktemp("versions") / "repo")
    blob = Objects(path, "sha1").put("blob", b"")
    choose = random.Random(7)
    made_up = {"".join(choose.choices("019.a", k=choose.randrange(1, 7))) for _ in range(150)}
    names = [*VERSIONS, *(f"x{name}x" for name in made_up if ".." not in name)]
    set_refs(path, {f"tags/{name}": blob for name in names})
    return path


@pytest.mark.parametrize("settings", SUFFIXES)
def test_versions(versions: Path, settings: str) -> None:
    for key in ("version:refname", "-v:refname", "v:refname:short"):
        check(f"{settings} for-each-ref --sort={key} 'refs/tags/[vV12]*'", versions)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_of_versions(versions: Path, seed: int) -> None:
    """The order of a few at a time: that of many is not always without circles."""
    names = random.Random(seed).sample(VERSIONS, 4)
    for settings in SUFFIXES[1:4]:
        patterns = shlex.join(f"refs/tags/{name}" for name in names)
        check(f"{settings} for-each-ref --sort=version:refname {patterns}", versions)


def test_digits_and_zeros(versions: Path) -> None:
    check("for-each-ref --sort=v:refname 'refs/tags/x*'", versions)


def test_bad_keys(repo: Path) -> None:
    for key in ("version:", "v:nonsense", "authordate:nonsense", "raw:x", "ahead-behind"):
        check(f"for-each-ref --sort={key}", repo)
