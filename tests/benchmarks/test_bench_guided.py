"""The table of guided against random hunts, from rows that are made up; and one real pair."""

from __future__ import annotations

from typing import Any

from benchmarks.bench_guided import KINDS, different, late_bugs, pairs, search, table
from testbed.hunt.runner import Prey
from testbed.hunt.state import GUIDED, RANDOM


def row(bug: str, random: tuple[int | None, float], guided: tuple[int | None, float], seed: int = 1) -> dict[str, Any]:
    how = [{"schedules": count, "check": "x", "cpu_s": cpu} for count, cpu in (random, guided)]
    return {"seed": seed, "kind": "atp", "bug": bug, RANDOM: how[0], GUIDED: how[1]}


def test_the_ratio_is_the_geometric_mean_over_bugs() -> None:
    rows = [row("a", (100, 4.0), (10, 1.0)), row("b", (10, 1.0), (10, 1.0)), row("c", (None, 9.0), (50, 9.0))]
    assert list(table(rows, 2000))[-1] == "| all | 3 | 3 | 2 | 3 | 100 : 10 | 0.63 (0.09 to 4.60) | 0 |"
    later = [row("a", (10, 1.0), (100, 3.0))]
    assert list(table(later, 2000))[-1] == "| all | 1 | 1 | 1 | 1 | 10 : 100 | 3.00 (0.00 to inf) | 1 |"


def test_early_and_late_bugs_stand_apart() -> None:
    kind, late = next((kind, name) for kind, name in sorted(late_bugs()) if kind == "atp")
    early = next(name for name in KINDS[kind] if (kind, name) not in late_bugs())
    lines = list(table([row(early, (1, 1.0), (1, 2.0)), row(late, (900, 8.0), (100, 2.0))], 2000))
    assert [line.split(" | ")[6][:4] for line in lines[-3:]] == ["2.00", "0.25", "0.71"]
    assert [line.split(" | ")[0] for line in lines[-3:]] == ["| early bugs", "| late bugs", "| all"]
    assert 50 < len(late_bugs()) < 120


def test_a_bug_counts_with_its_median_over_seeds() -> None:
    rows = [row("a", (count, count / 10), (10, 1.0), seed) for seed, count in enumerate((1, 100, 50))]
    (line,) = different(rows, 2000)
    assert line.split(maxsplit=2)[2].startswith("50 : 10 schedules, 5.0 : 1.0 s")
    assert not list(different([row("a", (4, 1.0), (20, 1.0))], 2000)), "too few to say"


def test_all_planted_bugs_are_in_it_once_for_each_seed() -> None:
    all_of_them = list(pairs(list(KINDS), [1, 2], []))
    assert len(all_of_them) == len(set(all_of_them)) == 2 * sum(map(len, KINDS.values())) > 600
    assert {seed for seed, _, _ in all_of_them[: len(all_of_them) // 2]} == {1}


def test_both_searches_find_a_bug_and_end_when_their_time_is_spent() -> None:
    prey, bug = Prey(1, 200, program="switchml", kind="switchml"), KINDS["switchml"]["NoShadowCopy"]
    for how in (RANDOM, GUIDED):
        found = search(how, prey, bug, 60.0)
        assert found["check"]
        assert 0 < found["schedules"] < 100
        assert search(how, prey, bug, -1.0)["schedules"] is None
