"""Cells of the matrix of optimisations: where each runs, and that its scenario can be planned."""

from __future__ import annotations

import pytest

from testbed.plan import make_plan
from testbed.protocols.ps.bench_evolution.cells import FABRICS, MODELS, RACK_MODEL, ROWS, Cell, cells
from testbed.scenario import dump_scenario, parse_scenario

ALL = list(cells())


def test_every_row_is_in_every_column():
    columns = {cell.column for cell in ALL}
    assert len(ALL) == len(set(ALL)) == len(columns) * len(ROWS)
    assert {column[0] for column in columns} == {fabric.name for fabric in FABRICS}
    assert {column[3] for column in columns} == {"0 %", "10 %", "50 %"}
    assert {column[4] for column in columns} == {model.name for model in MODELS}
    assert {column[1:3] for column in columns if column[0] != "star"} == {
        (server, ranks) for server in ("rack", "elsewhere") for ranks in ("contiguous", "shuffled")
    }
    assert {column[1:3] for column in columns if column[0] == "star"} == {("-", "-")}


@pytest.mark.protocols("ring")
def test_what_a_scheme_does_not_care_for_is_not_run_again():
    ring, ps = (
        next(cell for cell in ALL if cell.scheme.protocol == name and cell.fabric == FABRICS[1])
        for name in ("ring", "ps")
    )
    assert len({cell.measured() for cell in ALL if (cell.scheme, cell.fabric) == (ring.scheme, ring.fabric)}) == 18
    assert len({cell.measured() for cell in ALL if (cell.scheme, cell.fabric) == (ps.scheme, ps.fabric)}) == 18


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("fabric", FABRICS, ids=lambda fabric: fabric.name)
def test_the_server_is_in_the_first_workers_rack_or_in_none(fabric, apart):
    scenario = Cell(ROWS[3], fabric, MODELS[0], apart, False, 0).scenario()
    plan, topology = make_plan(scenario), scenario.topology
    switches = {host.name: link.b for host in topology.hosts for _, link, _ in topology.ports(host.name)}
    homes = [switches[worker.name] for worker in plan.workers]
    assert len(homes) == fabric.workers
    # The first rack of the fat tree has one worker, whose second one is in a fifth: the server has a place in either.
    assert len(set(homes)) == fabric.racks + bool(fabric.pods)
    assert homes == sorted(homes, key=lambda home: homes.index(home)), "ranks of a rack are contiguous"
    server = switches[plan.servers[0].name]
    assert server == homes[0] if fabric.racks == 1 or not apart else server not in homes


def test_oversubscription_is_that_of_the_workers():
    for fabric, share in zip(FABRICS[1:4], (1, 2, 4), strict=True):
        topology = Cell(ROWS[0], fabric, MODELS[0], True, False, 0).scenario().topology
        up = [link.shape.rate_bps for link in topology.links if link.name.startswith("leaf")]
        assert {rate * fabric.per_rack * share for rate in up} == {fabric.per_rack * MODELS[0].rate_bps}


def test_skew_makes_one_worker_late_by_a_part_of_computing():
    plan = make_plan(Cell(ROWS[0], FABRICS[0], MODELS[0], False, False, 50).scenario())
    assert [worker.workload.straggle_ns for worker in plan.workers] == [0] * 7 + [50_000_000]


def test_shuffled_ranks_are_the_same_hosts():
    contiguous, shuffled = (
        Cell(ROWS[-1], FABRICS[1], MODELS[0], False, mixed, 0).scenario().job.hosts for mixed in (False, True)
    )
    assert contiguous != shuffled
    assert sorted(contiguous) == sorted(shuffled)


def test_scenarios_can_be_written_down():
    for scheme in ROWS:
        for fabric in FABRICS:
            scenario = Cell(scheme, fabric, RACK_MODEL, True, True, 10).scenario()
            assert make_plan(parse_scenario(dump_scenario(scenario), "x.yaml")).workers == make_plan(scenario).workers
