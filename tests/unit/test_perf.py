"""Every benchmark runs, small and once, and gives figures; how fast is asked elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perf import readme
from perf.program import Program, git, pyreftable
from perf.report import as_json, load, merged, seconds, write
from perf.runner import Plan, Result, run
from perf.workloads import WORKLOADS
from tests.support import find_git

SIZE = 50


@pytest.fixture(scope="module")
def known_git() -> Program:
    return git(find_git())


def plan(known_git: Program, name: str, folder: Path) -> Plan:
    return Plan(pyreftable(), (known_git,), (SIZE,), 1, (name,), 0.02, str(folder))


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload_gives_figures(name: str, known_git: Program, tmp_path: Path) -> None:
    results = list(run(plan(known_git, name, tmp_path), say=lambda text: None))
    assert {result.size for result in results} == {SIZE}
    assert "pyreftable" in {result.contender for result in results}
    for result in results:
        (figures,) = result.rounds
        assert {"wall", "memory", "rate"} & set(figures)
        assert all(value >= 0 for value in figures.values())
    assert list(tmp_path.iterdir()) == []


def test_only_what_matches(known_git: Program, tmp_path: Path) -> None:
    chosen = plan(known_git, "listing", tmp_path)._replace(match="first ref")
    results = run(chosen, say=lambda text: None)
    assert {result.workload for result in results} == {"list the first ref"}


def grown() -> list[Result]:
    """A workload whose time is proportional to the size; git needs half as long."""
    return [
        Result("work", size, label, ({"wall": size * factor, "cpu": size * factor},) * 3)
        for size in (100, 1000)
        for label, factor in (("pyreftable", 2e-6), ("git 1.0", 1e-6))
    ]


def test_readme_shows_the_main_figures(tmp_path: Path) -> None:
    file, folder = tmp_path / "README.md", tmp_path / "results"
    folder.mkdir()
    (folder / "growth-p1401-recreate.svg").write_text("<svg/>")
    file.write_text(f"before\n{readme.BEGIN}old\n{readme.END}after\n")
    results = [
        Result("optimize", 1_000_000, label, ({"wall": value},))
        for label, value in (("pyreftable", 2.0), ("git 1.0", 0.5))
    ]
    readme.update(file, results, folder)
    text = file.read_text()
    assert "| optimize | 1,000,000 | 2.00 s | 500 ms | 4.00 |" in text
    assert "](results/growth-p1401-recreate.svg)" in text
    assert text.startswith(f"before\n{readme.BEGIN}")
    assert text.endswith(f"{readme.END}after\n")
    assert "old" not in text
    readme.update(file, results, folder)
    assert file.read_text() == text
    file.write_text("no marks")
    with pytest.raises(ValueError, match="no lines"):
        readme.update(file, results, folder)
    assert file.read_text() == "no marks"


def test_report_of_medians_ratios_and_growth(tmp_path: Path) -> None:
    about = Plan(pyreftable(), (Program("git 1.0", ("git",)),), (100, 1000), 3, (), 1)
    write(grown(), about, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "results.md",
        "results.json",
        "growth-work.svg",
    }
    table = (tmp_path / "results.md").read_text()
    assert "| work | 1,000 | 2.00 ms | 1.00 ms | 2.00 | 10.00 |" in table
    assert "| work | 100 | 200 us | 100 us | 2.00 |  |" in table
    rows = json.loads(as_json(grown(), about))["results"]
    assert [row["size"] for row in rows] == [100, 100, 1000, 1000]


def test_plot_shows_straight_lines_for_proportional_growth(tmp_path: Path) -> None:
    about = Plan(pyreftable(), (), (100, 1000), 3, (), 1)
    write(grown(), about, tmp_path)
    svg = (tmp_path / "growth-work.svg").read_text()
    assert svg.count("<circle") == 4
    assert "git 1.0" in svg


def test_earlier_results_are_kept_and_replaced(tmp_path: Path) -> None:
    about = Plan(pyreftable(), (), (100, 1000), 3, (), 1)
    assert load(tmp_path) == []
    write(grown(), about, tmp_path)
    assert load(tmp_path) == grown()
    again = grown()[0]._replace(rounds=({"wall": 1.0},))
    other = grown()[0]._replace(workload="other")
    assert merged(load(tmp_path), [again, other]) == [again, *grown()[1:], other]


@pytest.mark.parametrize(
    ("value", "shown"), [(12.3456, "12.3 s"), (0.5, "500 ms"), (1e-3, "1.00 ms"), (2e-7, "0.20 us")]
)
def test_times_are_shown_in_their_unit(value: float, shown: str) -> None:
    assert seconds(value) == shown
