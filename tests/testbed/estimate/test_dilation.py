"""Which dilation a machine needs for a plan."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.estimate.dilation import SHARE, CpuCalibration, choose_dilation, cpu_share, least_real_s, node_loads
from testbed.plan import make_plan
from testbed.plan.time_need import time_need
from testbed.scenario import builtin_names, load_scenario
from testbed.scenario.protocols.known import protocol_of

MACHINE = CpuCalibration(
    {"host": {256: 8000.0, 1024: 8000.0, 4096: 14000.0}, "switch": {256: 5000.0, 1024: 6000.0, 4096: 9000.0}},
    {"host": 50_000.0, "switch": 27_000.0},
)


def plan_of(*changes: str, name: str = "rack"):
    return make_plan(load_scenario(name, changes))


FAST = plan_of("topology.link.rate=100Gbps", "topology.link.mtu=9000", "transport.path_mtu=4096", "job.size=256MB")


@pytest.mark.parametrize(
    ("size", "cost"), [(256, 8000.0), (1024, 8000.0), (2560, 11_000.0), (4096, 14_000.0), (8192, 22_000.0)]
)
def test_the_cost_of_a_packet_lies_on_lines_between_the_sizes_that_were_measured(size: int, cost: float) -> None:
    assert MACHINE.packet_ns("host", size, 1e12) == pytest.approx(cost)


def test_a_packet_that_comes_alone_costs_a_wake_up() -> None:
    assert MACHINE.packet_ns("switch", 1024, 10.0) == 27_000.0
    assert MACHINE.packet_ns("switch", 1024, 4_000.0) == pytest.approx((6_000 + 27_000) / 2)


def test_loads_are_those_of_full_links() -> None:
    loads = {load.node: load for load in node_loads(FAST)}
    packets_per_s = 100e9 / 8 / FAST.workers[0].framing.frame_bytes
    assert loads["h1"].packets_per_s == pytest.approx(2 * packets_per_s * 1.1)
    assert loads["s1"].packets_per_s == pytest.approx(4 * loads["h1"].packets_per_s)
    assert (loads["h1"].role, loads["s1"].role, loads["s1"].payload_bytes) == ("host", "switch", 4096)


def test_a_rack_of_fast_links_needs_a_few_hundred() -> None:
    factor = choose_dilation(FAST, MACHINE, 2)
    loads = node_loads(FAST)
    assert 100 < factor < 1000
    assert cpu_share(loads, MACHINE, 2, factor) <= SHARE < cpu_share(loads, MACHINE, 2, factor - 1)


def test_a_short_job_lasts_long_enough_for_wake_ups_not_to_count() -> None:
    plan = plan_of("job.size=100kB")
    assert choose_dilation(plan, MACHINE, 64) * time_need(plan).least_s >= 1.5


def test_no_built_in_is_slowed_beyond_what_its_data_need() -> None:
    """Each plan says how long its data take: a job of no time at all would be slowed to a standstill."""
    for name in builtin_names():
        if any("emulated" not in protocol_of(part.job.protocol).worlds() for part in load_scenario(name).parts):
            continue
        plan = plan_of(name=name)
        assert time_need(plan).least_s > 0.004, name
        assert choose_dilation(plan, MACHINE, 64) <= 400, name


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 128), st.floats(0.05, 20.0), st.integers(1, 300))
def test_more_processors_and_cheaper_packets_never_need_more(processors: int, times: float, least: int) -> None:
    def machine(factor: float) -> CpuCalibration:
        dense = {
            role: {size: cost * factor for size, cost in costs.items()} for role, costs in MACHINE.dense_ns.items()
        }
        return CpuCalibration(dense, {role: cost * factor for role, cost in MACHINE.alone_ns.items()})

    found = choose_dilation(FAST, machine(times), processors, least)
    assert found >= least
    assert choose_dilation(FAST, machine(times), processors + 1, least) <= found
    assert choose_dilation(FAST, machine(times * 1.5), processors, least) >= found


@pytest.mark.parametrize(("iterations", "seconds"), [(1, 1.5), (10, 4.0), (1000, 30.0)])
def test_each_iteration_lasts_long_enough_within_reason(iterations: int, seconds: float) -> None:
    plan = plan_of("job.size=8kB", f"job.iterations={iterations}")
    assert least_real_s(plan) == seconds
    known_s = 0.2
    assert choose_dilation(plan, MACHINE, 1000, traffic_s=known_s) == pytest.approx(seconds / known_s, abs=1)


def test_other_tasks_leave_less_of_the_processors() -> None:
    calm, busy = choose_dilation(FAST, MACHINE, 2), choose_dilation(FAST, MACHINE, 2, crowd=9.0)
    assert busy > 1.5 * calm
    assert cpu_share(node_loads(FAST), MACHINE, 2, busy) <= SHARE / 2
    assert least_real_s(plan_of("job.iterations=10"), crowd=9.0) == 8.0
