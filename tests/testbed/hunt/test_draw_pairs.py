"""Drawn all-reduces between hosts can be written to a file, must end in time, and hold what hunts are for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.faults.healing import kind_of
from testbed.faults.model import Forge
from testbed.hunt.draw import draw_schedule
from testbed.hunt.draw_faults import FORGED_ANSWERS
from testbed.hunt.draw_pairs import smaller_pairs
from testbed.hunt.expected import may_fail, unsurvivable
from testbed.hunt.judge import judge_schedule
from testbed.hunt.kinds import PairsHunt
from testbed.hunt.protocols import PROTOCOLS
from testbed.hunt.schedule import Schedule
from testbed.hunt.survival import travel_ns
from testbed.plan import make_plan
from testbed.plan.paths import data_volumes
from testbed.scenario import dump_scenario, load_scenario, parse_scenario
from tests.support.drawn import Drawn
from workloads.collectives.operations import OPERATIONS

KINDS = [name for name, hunted in PROTOCOLS.items() if isinstance(hunted.hunt, PairsHunt)]
MANY = {
    kind: Drawn(200, lambda number, kind=kind: draw_schedule(3, number, None, "forward", kind).scenario)
    for kind in KINDS
}
EACH = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.protocols("ring")
def test_all_that_is_a_schedule_of_transfers_is_hunted_and_the_ring() -> None:
    assert set(KINDS) == {
        "binomial_tree", "mesh", "pairwise", "rabenseifner", "recursive_doubling", "ring", "sharded_ps",
    }  # fmt: skip


@EACH
def test_every_schedule_is_a_file(kind: str) -> None:
    for scenario in MANY[kind][:60]:
        assert parse_scenario(dump_scenario(scenario), "drawn") == scenario


@EACH
def test_what_is_simpler_is_a_file_too(kind: str) -> None:
    """Beside its faults, of which some name ranks that are gone: shrinking passes these over."""
    for scenario in MANY[kind][:8]:
        for smaller in smaller_pairs(replace(scenario, faults=()), PROTOCOLS[kind]):
            assert parse_scenario(dump_scenario(smaller), "drawn").job == smaller.job


@EACH
def test_every_schedule_must_end_well_or_may_fail(kind: str) -> None:
    for scenario in MANY[kind]:
        assert may_fail(scenario) is not None or unsurvivable(scenario) is None


@EACH
def test_nothing_is_forged_that_a_receiver_dies_of_where_no_switch_keeps_it_back(kind: str) -> None:
    forged = {fault.what for scenario in MANY[kind] for fault in scenario.faults if isinstance(fault, Forge)}
    assert forged
    assert forged <= set(FORGED_ANSWERS)


@pytest.mark.parametrize("file", sorted((Path(__file__).parent / "ended_badly").iterdir()), ids=lambda file: file.stem)
def test_what_ended_badly_once_must_end_well_now(file: Path) -> None:
    """Found by hunts: an argument that promised too much, and a time limit that was too short."""
    failure, _ = judge_schedule(Schedule(0, load_scenario(str(file))))
    assert failure is None


@EACH
def test_the_time_limit_is_longer_than_all_retries_one_after_the_other(kind: str) -> None:
    limits = {scenario.time_limit_ns for scenario in MANY[kind]}
    assert min(limits) == 60_000_000_000
    assert max(limits) > 600_000_000_000


@EACH
def test_the_longest_way_of_all_data_is_counted(kind: str) -> None:
    """No link carries in one iteration what takes longer than the window of the argument."""
    for scenario in MANY[kind][:40]:
        volumes = data_volumes(make_plan(scenario))
        links = {link.name: link.shape.rate_bps for link in scenario.topology.links}
        longest_s = max(8 * size / links[link] for (link, _), size in volumes.items()) / scenario.job.iterations
        assert travel_ns(scenario) >= longest_s * 1e9


@EACH
def test_hosts_recoveries_fabrics_and_faults_are_all_drawn(kind: str) -> None:
    drawn = MANY[kind]
    assert {len(scenario.topology.hosts) for scenario in drawn} == set(range(2, 9))
    assert {scenario.topology.kind for scenario in drawn} == {"rack", "spine_leaf"}
    assert {scenario.transport.recovery for scenario in drawn} == {"gbn", "irn", "irn-rack"}
    assert {scenario.transport.verb for scenario in drawn} == {"write", "send"}
    summing = [scenario for scenario in drawn if OPERATIONS[scenario.job.operation].sums]
    assert {scenario.job.op for scenario in summing} == ({"sum", "max", "xor"} if summing else set())
    assert {scenario.job.operation for scenario in drawn} == set(PROTOCOLS[kind].operations)
    roots = {scenario.job.root for scenario in drawn if OPERATIONS[scenario.job.operation].has_root}
    assert not roots or (roots >= set(range(5)) and max(roots) < 8)
    assert {scenario.job.dtype for scenario in drawn} == {"float32", "int32"}
    assert len({kind_of(fault) for scenario in drawn for fault in scenario.faults}) >= 11


def test_near_and_far_partners_are_drawn_and_near_ones_are_simpler() -> None:
    drawn = [scenario for scenario in MANY["rabenseifner"] if len(scenario.topology.hosts) > 2]
    far = [scenario for scenario in drawn if scenario.job.own.partners == "far"]
    assert len(drawn) / 3 < len(far) < 2 * len(drawn) / 3
    simpler = [smaller.job.own.partners for smaller in smaller_pairs(far[0], PROTOCOLS["rabenseifner"])]
    assert simpler.count("near") == 1
