from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.bench import swept
from testbed.bench.measure import measure
from testbed.protocols.parallel_netreduce import bench as hierarchical
from testbed.protocols.parallel_netreduce.bench import Setting, bench_hierarchical, find_crossover
from testbed.protocols.parallel_netreduce.bench_machines import MachinesPlace, closed_form
from testbed.scenario import dump_scenario, parse_scenario
from testbed.sweeps.showing import read_sweep
from workloads.costs import machine_cost
from workloads.errors import InternalError

pytestmark = pytest.mark.protocols("ring")

SMALL = Setting(
    MachinesPlace(2, 2, 100_000_000, 0, 5_000, 250_000),
    ratios=(1.5,), crossovers=(1.25,), above=2.5, size_bytes=400_000, sizes=(64_000, 256_000),
    first_size=64_000, pipelined_too=False, has_targets=True,
)  # fmt: skip


def test_the_crossover_is_where_the_sign_changes() -> None:
    asked: list[int] = []

    def advantage(size: int) -> float:
        asked.append(size)
        return 3.0 - (size / 100_000) ** 1.1

    assert find_crossover(advantage, 8_000) == pytest.approx(100_000 * 3 ** (1 / 1.1), rel=0.01)
    assert all(size % 4 == 0 for size in asked)
    assert len(asked) < 14


@pytest.mark.parametrize(
    ("gain", "text"),
    [(-1.0, "PN does not beat FR at 8000 bytes: the crossover lies below"), (1.0, "there is no crossover")],
)
def test_curves_that_do_not_cross_are_an_error(gain: float, text: str) -> None:
    with pytest.raises(InternalError, match=text):
        find_crossover(lambda size: gain, 8_000)


@pytest.mark.parametrize("algorithm", ["FR", "TA", "PN"])
@pytest.mark.parametrize(("count", "each", "ratio"), [(2, 2, 1.0), (3, 2, 3.0), (2, 4, 2.0)])
def test_the_closed_forms_say_what_is_measured(algorithm: str, count: int, each: int, ratio: float) -> None:
    """Within 5 %, as the protocol text asks; nothing is fitted."""
    place = replace(SMALL.place, machines=count, per_machine=each, intra_bps=round(ratio * 100_000_000))
    found = measure(place.scenario(algorithm, 1_000_000)).jct_s
    assert found == pytest.approx(machine_cost(algorithm).seconds(place.costs(), 1_000_000), rel=0.05)


@pytest.mark.parametrize("world", ["simulated", "emulated"])
def test_a_place_can_be_read_off_its_scenario(world: str) -> None:
    place = replace(SMALL.place, machines=3, intra_bps=150_000_000, world=world)
    for algorithm in ("FR", "TA", "PN"):
        assert MachinesPlace.of(parse_scenario(dump_scenario(place.scenario(algorithm, 64_000)), "x.yaml")) == place


def test_the_bench_in_the_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    rows = bench_hierarchical(said.append, setting=SMALL)
    assert [row.what for row in rows] == [
        "FR time, ratio 1.5, 0.4 MB", "TA time, ratio 1.5, 0.4 MB", "PN time, ratio 1.5, 0.4 MB",
        "M* of PN against FR, ratio 1.25", "least FR time / PN time, ratio 2.5, 0.064 to 0.256 MB",
    ]  # fmt: skip
    crossover = rows[3]
    assert (crossover.target, crossover.most, crossover.met) == (0.9, 1.1, True)
    assert rows[4].met
    assert any(line.startswith("times: PN, B_intra/B_inter 1.5, 400000 bytes: ") for line in said)
    sweeps = {name: read_sweep(tmp_path / "runs" / "bench-hierarchical" / name) for name in ("times", "crossover")}
    assert [outcome.figures["jct_s"] for outcome in sweeps["times"].outcomes] == [row.median for row in rows[:3]]
    closed = [outcome.figures["closed_form_s"] for outcome in sweeps["times"].outcomes]
    assert [row.ratio for row in rows[:3]] == [row.median / form for row, form in zip(rows, closed, strict=False)]  # type: ignore[operator]
    sizes = [point.values["job.size"] for point in sweeps["crossover"].points]
    assert sizes[:4] == [64_000, 64_000, 128_000, 128_000], "all that was tried is in the tables"

    monkeypatch.setattr(swept, "_compute_here", lambda points: pytest.fail("what is there is not run again"))
    assert bench_hierarchical(said.append, setting=SMALL) == rows


def test_pipelined_rings_have_no_closed_form() -> None:
    for pipelined, has in ((False, True), (True, False)):
        place = replace(SMALL.place, intra_bps=150_000_000)
        found = closed_form(place.scenario("FR", 64_000, pipelined=pipelined), [], {})
        assert (found["closed_form_s"] is not None) == has
        assert found["dilation"] == 1


def test_where_the_machine_itself_is_in_the_figures_nothing_is_asked() -> None:
    assert not hierarchical.SETTINGS["emulated"].has_targets
    assert hierarchical.SETTINGS["simulated"].has_targets
    assert len(hierarchical.SETTINGS["simulated"].crossovers) == 3
