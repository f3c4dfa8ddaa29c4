"""Timers and cap of IRN, worked out by hand."""

from __future__ import annotations

import pytest

from testbed.plan import make_plan
from testbed.plan.irn import round_trip_ns
from testbed.scenario import load_scenario
from topologies import LinkShape, rack, spine_leaf
from workloads.transports.timing import rounded_ns


def test_a_round_trip_is_all_wires_there_and_back() -> None:
    topology = rack(2, LinkShape(rate_bps=8_000_000, delay_ns=500))
    own, peer = topology.hosts
    # Two links each way: 1,000 bytes at 1 byte per us, 70 bytes back, 500 ns each time.
    assert round_trip_ns(topology, own, peer, 1000) == 2 * (1_000_000 + 70_000 + 2 * 500)
    assert round_trip_ns(topology, own, peer, 1000, 25) == 2 * (1_000_000 + 70_000 + 2 * 500) + 4 * 25


def test_of_several_ways_the_slowest_counts() -> None:
    slow, plain = LinkShape(8_000_000, delay_ns=90_000), LinkShape(8_000_000)
    topology = spine_leaf([1, 1], 3, plain, overrides={"leaf2-spine2": slow})
    own, peer = topology.hosts
    assert round_trip_ns(topology, own, peer, 1000) == 4 * (1_000_000 + 70_000) + 2 * 90_000


@pytest.mark.parametrize(("scenario", "in_order"), [("irn-lossy", False), ("irn-ring-lossy", True)])
def test_timers_and_cap_of_a_job(scenario: str, in_order: bool) -> None:
    plan = make_plan(load_scenario(scenario, (), world="simulated"))
    packet, rate = 1024 + 78, 100_000_000
    trip = 2 * 8 * (packet + 70) * 1_000_000_000 // rate
    for worker in plan.workers:
        for qp in (worker.to_successor, worker.from_predecessor):
            assert qp.recovery == "irn"
            irn = qp.irn
            low = rounded_ns(2 * plan.timers.trip.empty_ns)
            assert (irn.rto_low_ns, irn.rto_high_ns, irn.few_packets) == (low, rounded_ns(low * 16 // 5), 3)
            covered = trip if in_order else trip + 2 * irn.rto_high_ns
            assert irn.cap_packets == rate * covered // (8 * packet * 1_000_000_000) + 1
            assert irn.in_order is in_order


def test_the_slowest_connection_of_a_ring_counts_for_all() -> None:
    plan = make_plan(load_scenario("irn-spine-leaf-lossy", (), world="simulated"))
    assert len({worker.to_successor.irn for worker in plan.workers}) == 1
    packet = 1024 + 58  # each frame there, its answer back, and one more frame's time at each end of each link
    inner, outer = (8 * (3 * packet + 70) * 1_000_000_000 // rate for rate in (40_000_000, 20_000_000))
    assert plan.workers[0].to_successor.irn.rto_low_ns == rounded_ns(2 * (2 * inner + 2 * (outer + 1_000_000)))


def test_switches_know_where_memory_begins_and_only_then() -> None:
    with_irn = make_plan(load_scenario("irn-lossy"))
    (ring,) = with_irn.switches[0].rings
    assert ring.receive_vas == tuple(worker.collective.base_va for worker in with_irn.workers)
    assert make_plan(load_scenario("rack-lossy")).switches[0].rings[0].receive_vas == ()
