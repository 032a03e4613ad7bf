"""Walks of history, against sets of ancestors computed the long way."""

from __future__ import annotations

import random

import pytest

from pyreftable.errors import ObjectMissingError
from pyreftable.refs.ancestry import Contains, ahead_behind, nearest_base
from pyreftable.refs.history import History


class Graph:
    """Commits by number; serves as object store for a `History`."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.ancestors: dict[str, set[str]] = {}

    def add(self, number: int, parents: list[str], date: int) -> str:
        """The id of a new commit."""
        oid = f"{number:040x}"
        lines = [f"tree {0:040x}", *(f"parent {parent}" for parent in parents)]
        self.bodies[oid] = "\n".join([*lines, f"committer A <a@x> {date} +0000", "", ""]).encode()
        self.ancestors[oid] = {oid}.union(*(self.ancestors[parent] for parent in parents))
        return oid

    def read(self, hexid: str) -> tuple[str, bytes]:
        """See `ObjectStore`."""
        if hexid not in self.bodies:
            raise ObjectMissingError(hexid)
        return "commit", self.bodies[hexid]

    @property
    def history(self) -> History:
        """A history of the graph."""
        return History(self, "/nowhere")  # type: ignore[arg-type]


def random_graph(seed: int) -> Graph:
    """Sixty commits with one to three parents among those shortly before."""
    choose = random.Random(seed)
    graph = Graph()
    for number in range(60):
        recent = list(graph.bodies)[-6:]
        parents = choose.sample(recent, min(len(recent), choose.choice((0, 1, 1, 1, 2, 3))))
        graph.add(number, parents, 1000 + number)
    return graph


@pytest.mark.parametrize("seed", range(20))
class TestRandomGraphs:
    def test_distances(self, seed: int) -> None:
        graph = random_graph(seed)
        oids = list(graph.bodies)
        bases, tips = oids[::17], oids[::5]
        sets = graph.ancestors
        assert ahead_behind(graph.history, bases, tips) == [
            [(len(sets[tip] - sets[base]), len(sets[base] - sets[tip])) for base in bases]
            for tip in tips
        ]

    def test_contains(self, seed: int) -> None:
        graph = random_graph(seed)
        wanted = {f"{20:040x}", f"{33:040x}"}
        contains = Contains(graph.history, wanted)
        for oid in graph.bodies:
            assert contains(oid) is bool(graph.ancestors[oid] & wanted)


def test_a_missing_ancestor_might_be_the_one() -> None:
    graph = Graph()
    first = graph.add(1, [], 1)
    second = graph.add(2, [first], 2)
    third = graph.add(3, [second], 3)
    del graph.bodies[first]
    contains = Contains(graph.history, [second])
    assert contains(third)
    with pytest.raises(ObjectMissingError, match=f"could not parse commit {first}"):
        Contains(graph.history, [third])(second)


def test_clocks_may_be_off_by_a_few_commits() -> None:
    """The parent of all claims to be younger than its children."""
    graph = Graph()
    root = graph.add(0, [], 5000)
    left, right = graph.add(1, [root], 10), graph.add(2, [root], 20)
    tip = graph.add(3, [left, right], 5)
    assert ahead_behind(graph.history, [right], [tip, left]) == [[(2, 0)], [(1, 1)]]


def test_nearest_base() -> None:
    graph = Graph()
    line = [graph.add(0, [], 0)]
    for number in range(1, 6):
        line.append(graph.add(number, line[-1:], number))
    early, late = graph.add(10, [line[1]], 10), graph.add(11, [line[3]], 11)
    merged = graph.add(12, [early, line[4]], 12)
    alone = graph.add(13, [], 13)
    history, tip = graph.history, line[5]
    assert nearest_base(history, tip, [early, late, merged]) == 1
    assert nearest_base(history, tip, [merged, early]) == 0
    assert nearest_base(history, tip, [None, alone, early]) == 2
    assert nearest_base(history, tip, [late, tip]) == 1
    assert nearest_base(history, tip, [alone, None]) is None
    assert nearest_base(history, tip, [graph.add(14, [alone], 14), alone]) is None


def test_circles_end() -> None:
    """Replaced commits can lead back to themselves."""
    graph = Graph()
    first = graph.add(1, [], 1)
    second = graph.add(2, [first], 2)
    graph.add(1, [second], 1)
    history = graph.history
    assert not Contains(history, ["9" * 40])(second)
    assert ahead_behind(history, [first], [second]) == [[(0, 0)]]
    assert nearest_base(history, second, ["9" * 40, first]) == 1


def test_nothing_to_compare() -> None:
    history = Graph().history
    assert ahead_behind(history, [], ["1" * 40]) == [[]]
    assert ahead_behind(history, ["1" * 40], []) == []
