"""Object look-ups on objects made by hand: loose ones, alternates, tags, broken ones."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from pyreftable.errors import ObjectMissingError, RepositoryError
from pyreftable.hashes import SHA1, SHA256, HashAlgorithm
from pyreftable.refs.loose import object_directories
from pyreftable.refs.object_content import commit_parents, commit_tree, parse_tag, tree_entries
from pyreftable.refs.objects import ObjectStore, open_objects
from pyreftable.refs.quoting import unquote_c_style

NO_GIT: Mapping[str, str] = {"PATH": os.devnull}


class Home(NamedTuple):
    """The least that a repository is to its objects."""

    git_dir: str
    environ: Mapping[str, str]
    hash: HashAlgorithm

    @property
    def common_dir(self) -> str:
        """The same folder."""
        return self.git_dir


def home(path: Path, algorithm: HashAlgorithm = SHA1, environ: Mapping[str, str] = NO_GIT) -> Home:
    """A repository in `path`, where no git can be found."""
    return Home(str(path), environ, algorithm)


def put(objects: Path, kind: str, body: bytes, algorithm: HashAlgorithm = SHA1) -> str:
    """Store a loose object in an object directory, and return its id."""
    stored = f"{kind} {len(body)}\0".encode() + body
    hexid = hashlib.new(algorithm.name, stored).hexdigest()
    path = objects / hexid[:2] / hexid[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.compress(stored))
    return hexid


def put_tag(objects: Path, target: str, kind: str, algorithm: HashAlgorithm = SHA1) -> str:
    """Store an annotated tag."""
    body = f"object {target}\ntype {kind}\ntag t\ntagger T <t@x> 1 +0000\n\ntext\n"
    return put(objects, "tag", body.encode(), algorithm)


@pytest.fixture(params=[SHA1, SHA256], ids=["sha1", "sha256"])
def algorithm(request: pytest.FixtureRequest) -> HashAlgorithm:
    """Both object formats."""
    chosen: HashAlgorithm = request.param
    return chosen


class TestLoose:
    """Loose objects are read without gitdb and without git."""

    def test_info_and_read(self, tmp_path: Path, algorithm: HashAlgorithm) -> None:
        """Type, size and body of each type, small and large."""
        store = open_objects(home(tmp_path, algorithm))
        bodies = {"blob": b"", "commit": b"c", "tree": bytes(range(256)) * 40, "tag": b"t" * 99}
        for kind, body in bodies.items():
            hexid = put(tmp_path / "objects", kind, body, algorithm)
            assert store.info(hexid) == (kind, len(body))
            assert store.read(hexid) == (kind, body)

    def test_missing(self, tmp_path: Path, algorithm: HashAlgorithm) -> None:
        """A missing object is `None` to ask about and an error to read; nothing remembers it."""
        store = open_objects(home(tmp_path, algorithm))
        hexid = put(tmp_path / "elsewhere", "blob", b"later", algorithm)
        assert store.info(hexid) is None
        with pytest.raises(ObjectMissingError, match=hexid):
            store.read(hexid)
        put(tmp_path / "objects", "blob", b"later", algorithm)
        assert store.info(hexid) == ("blob", 5)

    def test_empty_tree_needs_no_file(self, tmp_path: Path, algorithm: HashAlgorithm) -> None:
        """git knows the empty tree by heart, and no other object."""
        store = open_objects(home(tmp_path, algorithm))
        tree = hashlib.new(algorithm.name, b"tree 0\0").hexdigest()
        blob = hashlib.new(algorithm.name, b"blob 0\0").hexdigest()
        assert store.info(tree) == ("tree", 0)
        assert store.read(tree) == ("tree", b"")
        assert store.peel(tree) is None
        assert store.info(blob) is None

    @pytest.mark.parametrize(
        "stored",
        [
            b"",
            b"no zlib data at all",
            zlib.compress(b"blob 5"),
            zlib.compress(b"blob x\0hello"),
            zlib.compress(b"blob -5\0hello"),
            zlib.compress(b"junk 5\0hello"),
            zlib.compress(b"blob 5\0hello")[:4],
        ],
    )
    def test_damaged_counts_as_missing(self, tmp_path: Path, stored: bytes) -> None:
        """A damaged object is no object, whatever the damage."""
        hexid = put(tmp_path / "objects", "blob", b"hello")
        (tmp_path / "objects" / hexid[:2] / hexid[2:]).write_bytes(stored)
        store = open_objects(home(tmp_path))
        assert store.info(hexid) is None
        with pytest.raises(ObjectMissingError):
            store.read(hexid)

    @pytest.mark.parametrize("stored", [b"blob 4\0hello", b"blob 6\0hello"])
    def test_wrong_size(self, tmp_path: Path, stored: bytes) -> None:
        """A body of another size than its header says is not given out."""
        hexid = put(tmp_path / "objects", "blob", b"hello")
        (tmp_path / "objects" / hexid[:2] / hexid[2:]).write_bytes(zlib.compress(stored))
        with pytest.raises(ObjectMissingError):
            open_objects(home(tmp_path)).read(hexid)

    def test_prefetch(self, tmp_path: Path) -> None:
        """What was fetched ahead is answered from memory; missing ids do no harm."""
        hexid = put(tmp_path / "objects", "blob", b"hello")
        store = open_objects(home(tmp_path))
        store.prefetch([hexid, "0" * 40, hexid])
        (tmp_path / "objects" / hexid[:2] / hexid[2:]).unlink()
        assert store.info(hexid) == ("blob", 5)
        assert store.info("0" * 40) is None

    def test_expand(self, tmp_path: Path, algorithm: HashAlgorithm) -> None:
        """All ids with a prefix, sorted; too short or odd prefixes have none."""
        objects = tmp_path / "objects"
        ids = sorted(put(objects, "blob", b"%d" % number, algorithm) for number in range(2000))
        (objects / ids[0][:2] / "tmp_obj_x").touch()
        store = open_objects(home(tmp_path, algorithm))
        for length in (4, 5, 8, algorithm.hex_size):
            for hexid in ids[::200]:
                prefix = hexid[:length]
                expected = [other for other in ids if other.startswith(prefix)]
                assert store.expand(prefix) == store.expand(prefix.upper()) == expected
        assert store.expand(ids[0] + "0") == []
        assert store.expand(ids[0][:3]) == store.expand("") == store.expand("../..") == []
        assert store.expand("wxyz") == []


class TestPeel:
    """Annotated tags lead to what they tag."""

    def test_follows_all_tags(self, tmp_path: Path, algorithm: HashAlgorithm) -> None:
        """A tag, a tag of a tag, and things that are no tags."""
        objects = tmp_path / "objects"
        blob = put(objects, "blob", b"hello", algorithm)
        tag = put_tag(objects, blob, "blob", algorithm)
        nested = put_tag(objects, tag, "tag", algorithm)
        store = open_objects(home(tmp_path, algorithm))
        assert store.peel(blob) is None
        assert store.peel(tag) == store.peel(nested) == store.peel(nested) == blob

    def test_broken_chains(self, tmp_path: Path) -> None:
        """Missing ends, wrong types and odd bodies are errors that name the object."""
        objects = tmp_path / "objects"
        blob = put(objects, "blob", b"hello")
        store = open_objects(home(tmp_path))
        broken = [
            "1" * 40,
            put_tag(objects, "1" * 40, "commit"),
            put_tag(objects, put_tag(objects, "1" * 40, "commit"), "tag"),
            put_tag(objects, blob, "commit"),
            put(objects, "tag", b"object 123\ntype blob\ntag x\n"),
            put(objects, "tag", b"type blob\nobject " + blob.encode() + b"\n"),
            put(objects, "tag", b""),
        ]
        for hexid in broken:
            with pytest.raises(ObjectMissingError):
                store.peel(hexid)

    def test_missing_tag_may_appear(self, tmp_path: Path) -> None:
        """A failure is not remembered."""
        objects = tmp_path / "objects"
        blob = put(tmp_path / "later", "blob", b"hello")
        tag = put_tag(objects, blob, "blob")
        store = open_objects(home(tmp_path))
        with pytest.raises(ObjectMissingError):
            store.peel(tag)
        put(objects, "blob", b"hello")
        assert store.peel(tag) == blob


class TestDirectories:
    """Where objects are looked for; gitrepository-layout(5)."""

    def test_alternates(self, tmp_path: Path) -> None:
        """Relative, absolute, quoted and commented lines, through several levels, once each."""
        for name in ("objects/info", "a/info", "b/info", "c d", "e"):
            (tmp_path / name).mkdir(parents=True)
        quoted = '"' + str(tmp_path / "c d").replace("c", r"\143") + '"'
        lines = ["# a comment", "../a", "", quoted, "../nowhere", str(tmp_path / "objects")]
        (tmp_path / "objects/info/alternates").write_text("\n".join(lines) + "\n")
        (tmp_path / "a/info/alternates").write_text("../b")
        (tmp_path / "b/info/alternates").write_text("../a\n../e\n../objects\n")
        found = [os.path.realpath(path) for path in object_directories(str(tmp_path), {})]
        assert found == [str(tmp_path / name) for name in ("objects", "a", "b", "e", "c d")]

    def test_depth(self, tmp_path: Path) -> None:
        """Alternates of alternates are followed five deep."""
        for level in range(8):
            info = tmp_path / f"o{level}" / "info"
            info.mkdir(parents=True)
            (info / "alternates").write_text(f"../o{level + 1}\n")
        environ = {"GIT_OBJECT_DIRECTORY": str(tmp_path / "o0")}
        found = list(object_directories(str(tmp_path), environ))
        assert [Path(path).name for path in found] == ["o0", "o1", "o2", "o3", "o4", "o5"]

    def test_environment(self, tmp_path: Path) -> None:
        """Objects are found in the directories that the environment names."""
        other, third = tmp_path / "other", tmp_path / "th:ird"
        own = put(other, "blob", b"own")
        alternate = put(third, "blob", b"alternate")
        environ = {
            **NO_GIT,
            "GIT_OBJECT_DIRECTORY": str(other),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'/nowhere:"{third}":',
        }
        store = open_objects(home(tmp_path, environ=environ))
        assert store.info(own) == ("blob", 3)
        assert store.read(alternate) == ("blob", b"alternate")
        assert store.expand(alternate[:6]) == [alternate]

    def test_bad_quotes(self, tmp_path: Path) -> None:
        """An entry whose quotes are broken is a name with a quote in it."""
        (tmp_path / '"x').mkdir()
        environ = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{tmp_path}/{chr(34)}x"}
        assert list(object_directories(str(tmp_path), environ))[1:] == [f'{tmp_path}/"x']


class TestPacksWithoutGit:
    """Where packs must be read and nothing can read them, the error says so."""

    @pytest.mark.parametrize("ask", ["info", "read", "peel", "expand", "prefetch"])
    def test_sha256_needs_git(self, tmp_path: Path, ask: str) -> None:
        """A SHA-256 pack and no git: an error, not "missing"."""
        (tmp_path / "objects/pack").mkdir(parents=True)
        (tmp_path / "objects/pack/pack-1.pack").touch()
        store = open_objects(home(tmp_path, SHA256))
        question = ["1" * 64] if ask == "prefetch" else "1" * 64
        with pytest.raises(RepositoryError, match="needs git"):
            getattr(store, ask)(question)

    def test_broken_pack_needs_git(self, tmp_path: Path) -> None:
        """So it does for a SHA-1 pack that gitdb fails on."""
        (tmp_path / "objects/pack").mkdir(parents=True)
        (tmp_path / "objects/pack/pack-1.pack").write_bytes(b"PACK")
        (tmp_path / "objects/pack/pack-1.idx").write_bytes(b"\xfftOc\0\0\0\x09")
        with pytest.raises(RepositoryError, match="needs git"):
            open_objects(home(tmp_path)).info("1" * 40)

    def test_no_pack_needs_nothing(self, tmp_path: Path) -> None:
        """Without packs a missing object is simply missing."""
        (tmp_path / "objects/pack").mkdir(parents=True)
        store: ObjectStore = open_objects(home(tmp_path, SHA256))
        assert store.info("1" * 64) is None
        store.close()


class TestContents:
    """What is read of tags, commits and trees."""

    def test_commit(self) -> None:
        """The tree and the parents of the header; lines of the message do not count."""
        tree, one, two = "a" * 40, "b" * 40, "c" * 40
        body = f"tree {tree}\nparent {one}\nparent {two}\nauthor x\n\nparent {tree}\n".encode()
        assert commit_tree(body, one) == tree
        assert commit_parents(body, one) == [one, two]
        assert commit_parents(f"tree {tree}\nauthor x\n\n".encode(), one) == []

    def test_tree(self) -> None:
        """Names, whether they are trees, ids."""
        body = b"100644 a b\0" + b"\1" * 20 + b"40000 c\0" + b"\0" * 20
        expected = [(b"a b", False, "01" * 20), (b"c", True, "00" * 20)]
        assert list(tree_entries(body, "d" * 40)) == expected

    def test_damage(self) -> None:
        """Every strict prefix of a tree ends between entries or is an error; so for the others."""
        body = b"100644 a\0" + b"\1" * 20 + b"40000 c\0" + b"\0" * 20
        ends = {0, 29, len(body)}
        for length in range(len(body)):
            if length not in ends:
                with pytest.raises(ObjectMissingError):
                    list(tree_entries(body[:length], "d" * 40))
        for bad in (b"", b"tree", b"tree 12\n", b"parent " + b"a" * 40 + b"\n"):
            with pytest.raises(ObjectMissingError):
                commit_tree(bad, "d" * 40)
        with pytest.raises(ObjectMissingError):
            commit_parents(b"tree " + b"a" * 40 + b"\nparent 12\n\n", "d" * 40)
        with pytest.raises(ObjectMissingError):
            parse_tag(b"object " + b"g" * 40 + b"\ntype blob\n", "d" * 40)


class TestQuoting:
    """C-style quotes."""

    @pytest.mark.parametrize(
        ("text", "value", "rest"),
        [
            (b'""', b"", b""),
            (b'"a" b', b"a", b" b"),
            (rb'"\a\b\t\n\v\f\r\"\\"', b'\a\b\t\n\v\f\r"\\', b""),
            (rb'"\303\274\000\377"x', b"\xc3\xbc\0\xff", b"x"),
        ],
    )
    def test_unquotes(self, text: bytes, value: bytes, rest: bytes) -> None:
        """Every escape, and what follows the closing quote."""
        assert unquote_c_style(text) == (value, rest)

    @pytest.mark.parametrize(
        "text", [b"", b"a", b'"', b'"a', rb'"\x"', rb'"\12"', rb'"\400"', b'"\\']
    )
    def test_refuses(self, text: bytes) -> None:
        """No opening or closing quote, unknown or short escapes."""
        with pytest.raises(ValueError, match=r"quote|escape"):
            unquote_c_style(text)
