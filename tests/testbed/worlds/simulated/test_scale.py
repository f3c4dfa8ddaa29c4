"""Jobs of more workers than a word has bits, over racks: sums, lost packets, and names on the wire."""

from __future__ import annotations

import pytest

from switch_nodes.events import MessageAggregated
from testbed.checkers import CheckContext, run_checks
from testbed.history import Record, sort_history
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.plan.model import Plan
from testbed.scenario import parse_scenario
from testbed.worlds.simulated.world import Simulation
from tests.support.simulation import digests, expected_digests, of
from workloads.datagrams.blocks import BlockSummed, PartialSent
from workloads.events import WorkerFinished

_LINKS = "link: {rate: 10Gbps}, uplink: {rate: 100Gbps}"
_RAIN = "faults: [{kind: loss, name: rain, links: all, direction: both, rate: 2%}]"


def plan_of(protocol: str, program: str, topology: str, more: str, size: str = "4kB") -> Plan:
    text = (
        f"name: large\nworld: simulated\ncapture: false\ntopology: {{{topology}, {_LINKS}}}\n"
        f"switch: {{program: {program}, memory: 64}}\njob: {{protocol: {protocol}, size: {size}}}\n{more}\n"
    )
    return make_plan(parse_scenario(text, "large.yaml"))


def run(plan: Plan, *, native: bool = True) -> list[Record]:
    records: list[Record] = []
    Simulation(plan, records.append, native=native).run()
    return records


def leaves(count: int, hosts: int | list[int]) -> str:
    return f"kind: spine_leaf, leaves: {count}, spines: 2, hosts_per_leaf: {hosts}"


def assert_passes(plan: Plan, records: list[Record]) -> None:
    results = run_checks(CheckContext(plan, sort_history(records))).results
    assert {found.name: found.detail for found in results if found.verdict is Verdict.FAIL} == {}
    assert len({record.node for record in of(records, WorkerFinished)}) == len(plan.workers)


@pytest.mark.parametrize("more", ["", _RAIN])
def test_netreduce_names_ranks_beyond_a_byte(more: str) -> None:
    """Ring of 288: leaves of 32, ranks up to 287."""
    plan = plan_of("netreduce, dtype: int32", "netreduce", leaves(9, 32), more)
    records = run(plan)
    assert_passes(plan, records)
    assert digests(records) == expected_digests(plan)
    assert of(records, MessageAggregated)


def test_a_ring_of_more_ranks_than_a_word_has_bits() -> None:
    plan = plan_of("ring", "forward", leaves(2, 33), "", size="264B")
    records = run(plan)
    assert_passes(plan, records)
    assert digests(records) == expected_digests(plan)


@pytest.mark.parametrize(
    ("protocol", "program"),
    [
        ("atp", "atp"),
        ("esa", "esa"),
        ("atp", "forward"),
        ("ps, aggregation: true, multicast: true", "ps"),
        ("ps", "ps"),
    ],
)
@pytest.mark.parametrize("more", ["", _RAIN])
def test_sums_of_racks_are_exact(protocol: str, program: str, more: str) -> None:
    """Two whole racks and 16 workers next to the server, whose switch adds both."""
    plan = plan_of(protocol, program, leaves(3, [32, 32, 17]), more)
    records = run(plan)
    assert_passes(plan, records)
    assert all(record.event.contributions == (1,) * 80 for record in of(records, BlockSummed))


def test_whole_racks_are_added_over_three_tiers() -> None:
    plan = plan_of("ps, aggregation: true, multicast: true", "ps", "kind: fat_tree, k: 6", _RAIN)
    records = run(plan)
    assert_passes(plan, records)
    assert any(sum(record.event.contributions) > 32 for record in of(records, PartialSent))


def test_parts_of_two_racks_leave_one_by_one() -> None:
    """No header names them together. The server's switch holds some of its workers when parts of another rack come
    to it once more."""
    plan = plan_of("atp", "atp", leaves(3, [32, 32, 17]), _RAIN.replace("2%", "10%"))
    records = run(plan)
    assert_passes(plan, records)
    racks = [range(32), range(32, 64), range(64, 80)]
    for record in of(records, PartialSent):
        inside = [sum(record.event.contributions[rank] for rank in rack) for rack in racks]
        assert sum(0 < count < len(rack) for count, rack in zip(inside, racks, strict=True)) <= 1


def test_both_loops_have_one_history() -> None:
    plan = plan_of("netreduce", "netreduce", leaves(3, 24), _RAIN)
    assert run(plan) == run(plan, native=False)
