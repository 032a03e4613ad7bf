"""Reflog expiry: times by configuration, reachability, completeness, the choice of one entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyreftable.errors import ConfigError, ObjectMissingError
from pyreftable.hashes import SHA1
from pyreftable.merged import Merged
from pyreftable.refs.approxidate import END_OF_TIME
from pyreftable.refs.config import Config
from pyreftable.refs.config_parser import Origin, parse_config
from pyreftable.refs.history import Completeness, History, Reachable
from pyreftable.refs.reflog import Reflog, ReflogEntry
from pyreftable.refs.reflog_expiry import ExpiryRules, Times, select_entry

NOW = 2_000_000_000
DAY = 86_400
DEFAULT = Times(NOW - 90 * DAY, NOW - 30 * DAY)


def rules_of(text: str, *, total: int | None = None, unreachable: int | None = None) -> ExpiryRules:
    config = Config(lambda: parse_config(text.encode(), Origin("local", "config")), {})
    return ExpiryRules(config, total=total, unreachable=unreachable, now=NOW)


class TestRules:
    """Which times hold for which log."""

    def test_defaults(self) -> None:
        assert rules_of("").times_for("refs/heads/main") == DEFAULT
        assert rules_of("").times_for("HEAD") == DEFAULT

    def test_stash_never_expires_unless_told(self) -> None:
        assert rules_of("").times_for("refs/stash") == Times(0, 0)
        text = "[gc]\n\treflogExpire = now\n"
        assert rules_of(text).times_for("refs/stash") == Times(0, 0)
        assert rules_of(text, total=5).times_for("refs/stash") == Times(5, 0)
        text = '[gc "refs/stash"]\n\treflogExpire = now\n'
        assert rules_of(text).times_for("refs/stash") == Times(END_OF_TIME, 0)

    def test_general_settings(self) -> None:
        text = "[gc]\n\treflogExpire = never\n\treflogExpireUnreachable = 1.day.ago\n"
        assert rules_of(text).times_for("refs/heads/main") == Times(0, NOW - DAY)

    def test_the_last_setting_of_a_key_wins(self) -> None:
        text = "[gc]\n\treflogExpire = never\n\treflogExpire = now\n"
        assert rules_of(text).times_for("refs/heads/main").total == END_OF_TIME

    def test_the_first_matching_pattern_wins(self) -> None:
        text = (
            '[gc "refs/heads/*"]\n\treflogExpire = now\n'
            '[gc "refs/heads/main"]\n\treflogExpire = never\n'
            '[gc "refs/heads/*"]\n\treflogExpireUnreachable = now\n'
        )
        assert rules_of(text).times_for("refs/heads/main") == Times(END_OF_TIME, END_OF_TIME)
        assert rules_of(text).times_for("refs/tags/main") == DEFAULT

    def test_a_star_crosses_slashes(self) -> None:
        text = '[gc "refs/*"]\n\treflogExpire = now\n'
        assert rules_of(text).times_for("refs/heads/a/b").total == END_OF_TIME

    def test_a_pattern_s_other_time_is_never(self) -> None:
        """As in git: not the general setting's."""
        text = '[gc]\n\treflogExpire = now\n[gc "refs/*"]\n\treflogExpireUnreachable = now\n'
        assert rules_of(text).times_for("refs/heads/main") == Times(0, END_OF_TIME)

    def test_the_caller_overrides_everything(self) -> None:
        text = '[gc "refs/*"]\n\treflogExpire = now\n\treflogExpireUnreachable = now\n'
        assert rules_of(text, total=1).times_for("refs/x") == Times(1, END_OF_TIME)
        assert rules_of(text, unreachable=2).times_for("refs/x") == Times(END_OF_TIME, 2)
        assert rules_of(text, total=0, unreachable=0).times_for("refs/x") == Times(0, 0)

    def test_other_settings_of_gc_do_not_matter(self) -> None:
        text = "[gc]\n\tauto = bogus\n\tpruneExpire = bogus\n"
        assert rules_of(text).times_for("HEAD") == DEFAULT

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("reflogExpire = bogus", "'bogus' for 'gc.reflogexpire' is not a valid timestamp"),
            ("reflogExpire =", "'' for 'gc.reflogexpire' is not a valid timestamp"),
            ("reflogExpireUnreachable", "missing value for 'gc.reflogexpireunreachable'"),
        ],
    )
    def test_a_bad_time_is_refused(self, line: str, reason: str) -> None:
        with pytest.raises(ConfigError, match=r"^bad config variable 'gc\.reflogexpire") as caught:
            rules_of(f"[gc]\n\t{line}\n")
        assert str(caught.value.__cause__) == reason


class Objects:
    """An object store in a dict: id to type and body; counts what is read."""

    def __init__(self) -> None:
        self.stored: dict[str, tuple[str, bytes]] = {}
        self.reads = 0

    def add(self, kind: str, body: bytes) -> str:
        oid = f"{len(self.stored) + 1:040x}"
        self.stored[oid] = (kind, body)
        return oid

    def add_tree(self, **entries: str) -> str:
        """A tree of blobs, and of trees where the name begins with `dir`."""
        modes = {name: "40000" if name.startswith("dir") else "100644" for name in entries}
        parts = (
            f"{modes[name]} {name}\0".encode() + bytes.fromhex(oid) for name, oid in entries.items()
        )
        return self.add("tree", b"".join(parts))

    def add_commit(self, tree: str, *parents: str) -> str:
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), "", "message"]
        return self.add("commit", "\n".join(lines).encode())

    def add_tag(self, target: str, kind: str = "commit") -> str:
        return self.add("tag", f"object {target}\ntype {kind}\ntag t\n".encode())

    def info(self, hexid: str) -> tuple[str, int] | None:
        found = self.stored.get(hexid)
        return None if found is None else (found[0], len(found[1]))

    def prefetch(self, hexids: Iterable[str]) -> None:
        pass

    def read(self, hexid: str) -> tuple[str, bytes]:
        self.reads += 1
        if hexid not in self.stored:
            raise ObjectMissingError(f"object {hexid} is missing")
        return self.stored[hexid]

    def peel(self, hexid: str) -> str | None:
        kind, body = self.read(hexid)
        if kind != "tag":
            return None
        target = body.split(b"\n")[0].removeprefix(b"object ").decode()
        return self.peel(target) or target

    def expand(self, prefix: str) -> list[str]:
        return [oid for oid in self.stored if oid.startswith(prefix)]

    def close(self) -> None:
        pass


class Scene:
    """Commits that share a tree: a line of `length`, oldest first, and a merge of its ends."""

    def __init__(self, length: int = 6) -> None:
        self.objects = Objects()
        self.blob = self.objects.add("blob", b"content")
        self.tree = self.objects.add_tree(file=self.blob)
        self.line: list[str] = []
        for _ in range(length):
            self.line.append(self.objects.add_commit(self.tree, *self.line[-1:]))
        self.side = self.objects.add_commit(self.tree, self.line[1])
        self.merge = self.objects.add_commit(self.tree, self.line[-1], self.side)
        self.history = History(self.objects, "/nonexistent")


class TestReachable:
    """Which commits a set of tips leads to."""

    def test_ancestors_are_reachable(self) -> None:
        scene = Scene()
        reachable = Reachable(scene.history, [scene.merge])
        assert all(commit in reachable for commit in (*scene.line, scene.side, scene.merge))

    def test_others_are_not(self) -> None:
        scene = Scene()
        reachable = Reachable(scene.history, [scene.line[3]])
        assert scene.line[4] not in reachable
        assert scene.side not in reachable
        assert scene.line[0] in reachable

    def test_no_tips_lead_nowhere(self) -> None:
        scene = Scene()
        assert scene.line[0] not in Reachable(scene.history, [])

    def test_walks_no_farther_than_asked(self) -> None:
        scene = Scene(length=50)
        reachable = Reachable(scene.history, [scene.line[-1]])
        assert scene.line[-3] in reachable
        assert scene.objects.reads <= 3
        assert scene.line[0] in reachable
        assert scene.objects.reads <= 50

    def test_missing_commits_end_the_walk(self) -> None:
        scene = Scene()
        del scene.objects.stored[scene.line[3]]
        reachable = Reachable(scene.history, [scene.line[5]])
        assert scene.line[2] not in reachable
        assert reachable.all() == {scene.line[4], scene.line[5]}

    def test_shallow_boundary_has_no_parents(self, tmp_path: object) -> None:
        scene = Scene()
        with open(f"{tmp_path}/shallow", "w") as file:
            file.write(f"{scene.line[2]}\n")
        reachable = Reachable(History(scene.objects, str(tmp_path)), [scene.line[4]])
        assert scene.line[2] in reachable
        assert scene.line[1] not in reachable

    @given(st.data())
    def test_agrees_with_a_plain_search(self, data: st.DataObject) -> None:
        """Any graph, any tips, asked in any order."""
        objects = Objects()
        tree = objects.add_tree()
        commits: list[str] = []
        parents: dict[str, list[str]] = {}
        for _ in range(data.draw(st.integers(1, 8))):
            chosen = data.draw(st.lists(st.sampled_from(commits or [""]), max_size=2, unique=True))
            chosen = [parent for parent in chosen if parent]
            commits.append(objects.add_commit(tree, *chosen))
            parents[commits[-1]] = chosen
        tips = data.draw(st.lists(st.sampled_from(commits), max_size=3))
        expected: set[str] = set()
        pending = list(tips)
        while pending:
            commit = pending.pop()
            expected.add(commit)
            pending += parents[commit]
        reachable = Reachable(History(objects, "/nonexistent"), tips)
        for commit in data.draw(st.permutations(commits)):
            assert (commit in reachable) == (commit in expected)


class TestHistory:
    """What counts as a commit."""

    def test_tags_lead_to_commits(self) -> None:
        scene = Scene()
        tag = scene.objects.add_tag(scene.objects.add_tag(scene.merge), "tag")
        assert scene.history.commit_of(tag) == scene.merge
        assert scene.history.commit_of(scene.merge) == scene.merge

    def test_other_objects_do_not(self) -> None:
        scene = Scene()
        tag = scene.objects.add_tag(scene.tree, "tree")
        damaged = scene.objects.add("commit", b"damaged")
        for oid in (scene.blob, scene.tree, tag, damaged, "f" * 40):
            assert scene.history.commit_of(oid) is None

    def test_each_commit_is_read_once(self) -> None:
        scene = Scene()
        for _ in range(3):
            assert scene.line[0] in Reachable(scene.history, [scene.merge])
        assert scene.objects.reads <= len(scene.line) + 2


class TestCompleteness:
    """Whether commits have all their objects."""

    def test_whole_history_is_complete(self) -> None:
        scene = Scene()
        complete = Completeness(scene.history, [])
        assert scene.merge in complete
        assert scene.line[0] in complete

    def test_a_missing_blob_spoils_its_commit_and_what_follows(self) -> None:
        scene = Scene()
        blob = scene.objects.add("blob", b"x")
        folder = scene.objects.add_tree(file=blob)
        tree = scene.objects.add_tree(dir1=folder, file=scene.blob)
        bad = scene.objects.add_commit(tree, scene.line[0])
        child = scene.objects.add_commit(scene.tree, bad)
        assert child in Completeness(scene.history, [])
        for missing in (blob, folder, tree, bad):
            kept = scene.objects.stored.pop(missing)
            fresh = Completeness(History(scene.objects, "/nonexistent"), [])
            assert child not in fresh
            assert bad not in fresh
            assert scene.line[0] in fresh
            scene.objects.stored[missing] = kept

    def test_what_refs_lead_to_is_trusted(self) -> None:
        """Neither a ref's commits nor its trees are looked into."""
        scene = Scene()
        del scene.objects.stored[scene.blob]
        complete = Completeness(scene.history, [scene.line[3]])
        assert scene.line[3] in complete
        assert scene.line[0] in complete
        assert scene.side in complete
        other = scene.objects.add_tree(file=scene.blob, more=scene.blob)
        assert scene.objects.add_commit(other, scene.line[3]) not in complete

    def test_a_reachable_commit_that_is_missing_is_not_trusted(self) -> None:
        scene = Scene()
        del scene.objects.stored[scene.line[2]]
        complete = Completeness(scene.history, [scene.line[5]])
        assert scene.line[5] in complete
        assert scene.line[2] not in complete
        assert scene.line[1] in complete


def entry_at(time: int, index: int) -> ReflogEntry:
    return ReflogEntry(SHA1.null_hex, "1" * 40, "A", "a@x", time, 0, f"entry {index}", index)


class FixedLog(Reflog):
    """A log of given entries, newest first."""

    def __init__(self, entries: list[ReflogEntry]) -> None:
        super().__init__(Merged([]), b"")
        self._entries = entries

    def __iter__(self) -> Iterator[ReflogEntry]:
        return iter(self._entries)


class TestSelection:
    """Which entry `ref@{...}` names for deletion."""

    LOG = FixedLog([entry_at(300, 3), entry_at(200, 2), entry_at(100, 1)])

    @pytest.mark.parametrize(
        ("selector", "index"),
        [
            ("0", 3),
            ("1", 2),
            ("2", 1),
            ("3", None),
            ("", 3),
            ("+1", 2),
            (" 1", 2),
            ("-0", 3),
            ("-1", None),
            ("1970-01-01 00:04:00 +0000", 2),
            ("1970-01-01 00:05:00 +0000", 2),
            ("1970-01-01 00:05:01 +0000", 3),
            ("1970-01-01 00:01:00 +0000", None),
            ("now", 3),
            ("not a date", 3),
        ],
    )
    def test_selection(self, selector: str, index: int | None) -> None:
        found = select_entry(self.LOG, selector)
        assert (None if found is None else found.update_index) == index

    def test_times_out_of_order(self) -> None:
        """Two entries are older; so the second oldest is the one, as in git."""
        log = FixedLog([entry_at(100, 3), entry_at(300, 2), entry_at(200, 1)])
        found = select_entry(log, "1970-01-01 00:04:00 +0000")
        assert found is not None
        assert found.update_index == 2

    def test_an_empty_log_has_none(self) -> None:
        for selector in ("0", "", "now"):
            assert select_entry(FixedLog([]), selector) is None
