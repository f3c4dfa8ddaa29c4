from dataclasses import replace

import pytest

from testbed.plan import make_plan, udp_ends
from testbed.plan.congestion import PRESETS, scaled_dcqcn, time_scale
from testbed.scenario.model import BackgroundFlow, DcqcnOptions
from testbed.scenario.protocols.names import DCQCN_PRESETS
from tests.support.simulation import rack_plan
from topologies import LinkShape, rack


def test_at_the_reference_rate_the_parameters_are_the_published_ones():
    found = scaled_dcqcn(DcqcnOptions(), 40_000_000_000, 1024)
    assert (found.alpha_timer_ns, found.increase_timer_ns, found.cnp_interval_ns) == (55_000, 55_000, 50_000)
    assert (found.cut_period_ns, found.byte_counter_bytes, found.gain) == (4_000, 10_000_000, 1 / 256)
    assert (found.additive_bps, found.hyper_bps, found.recovery_steps) == (40_000_000, 200_000_000, 5)


def test_timers_stretch_and_steps_shrink_with_the_rate():
    """40 Gbit/s to 40 Mbit/s: a packet lasts a thousand times longer."""
    found = scaled_dcqcn(DcqcnOptions(), 40_000_000, 1024)
    assert time_scale(DcqcnOptions(), 40_000_000) == 1000
    assert (found.alpha_timer_ns, found.cnp_interval_ns, found.cut_period_ns) == (55_000_000, 50_000_000, 4_000_000)
    assert (found.additive_bps, found.hyper_bps, found.byte_counter_bytes) == (40_000, 200_000, 10_000_000)
    assert (found.line_rate_bps, found.min_rate_bps) == (40_000_000, 400_000)


def test_a_scale_of_ones_own_changes_timers_and_bytes_only():
    own, auto = (scaled_dcqcn(DcqcnOptions(time_scale=scale), 40_000_000, 1024) for scale in (500.0, None))
    assert own.increase_timer_ns * 2 == auto.increase_timer_ns
    assert own.byte_counter_bytes * 2 == auto.byte_counter_bytes
    assert own.additive_bps == auto.additive_bps


def test_what_is_given_is_taken():
    options = DcqcnOptions(None, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    found = scaled_dcqcn(options, 1_000_000, 1024)
    given = (
        found.gain, found.alpha_timer_ns, found.increase_timer_ns, found.byte_counter_bytes, found.cnp_interval_ns,
        found.cut_period_ns, found.additive_bps, found.hyper_bps, found.min_rate_bps, found.burst_ns,
        found.recovery_steps,
    )  # fmt: skip
    assert given == (0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    assert scaled_dcqcn(DcqcnOptions(min_rate_bps=10**9), 1_000_000, 1024).min_rate_bps == 1_000_000


@pytest.mark.parametrize("rate", [1_000_000, 100_000_000, 40_000_000_000])
def test_a_burst_is_sixteen_packets_and_no_longer_than_two_milliseconds(rate):
    burst_ns = scaled_dcqcn(DcqcnOptions(), rate, 1024).burst_ns
    assert burst_ns == min(2_000_000, 16 * (1024 + 74) * 8 * 10**9 // rate)


def test_each_queue_pair_has_the_line_rate_of_its_own_host():
    topology = rack(3, LinkShape(), {"h2-s1": LinkShape(rate_bps=30_000_000)})
    plan = rack_plan(3, topology=topology, transport={"congestion_control": "dcqcn"})
    assert [worker.to_successor.dcqcn.line_rate_bps for worker in plan.workers] == [10**8, 3 * 10**7, 10**8]
    assert {worker.to_successor.dcqcn for worker in rack_plan(3).workers} == {None}


def test_the_job_runs_on_its_hosts_in_their_order_and_the_ring_is_installed_for_them():
    plan = rack_plan(4, job={"hosts": ("h4", "h1", "h3")})
    assert [worker.name for worker in plan.workers] == ["h4", "h1", "h3"]
    (ring,) = plan.switches[0].rings
    assert [(member.rank, member.port) for member in ring.members] == [(0, 3), (1, 0), (2, 2)]
    assert len(plan.switches[0].macs) == 4


def test_background_flows_change_nothing_of_the_job():
    plain = rack_plan(3)
    flows = (BackgroundFlow("a", "udp", "h1", "h3", 10**6), BackgroundFlow("b", "tcp", "h3", "h1", None))
    plan = make_plan(replace(plain.scenario, background=flows))
    assert (plan.workers, plan.switches, plan.connections) == (plain.workers, plain.switches, plain.connections)
    assert [(flow.kind, flow.source, flow.target, flow.config.dport) for flow in plan.background] == [
        ("udp", "h1", "h3", 5201), ("tcp", "h3", "h1", 5202),
    ]  # fmt: skip
    assert [flow.config.envelope.tos for flow in plan.background] == [0, 0]
    for host, ends in (("h1", (1, 0)), ("h2", (0, 0)), ("h3", (0, 1))):
        assert tuple(map(len, udp_ends(plan.background, host))) == ends


def test_presets_are_published_sets_at_their_own_line_rates():
    found = {name: scaled_dcqcn(DcqcnOptions(preset=name), PRESETS[name].reference_bps, 1024) for name in PRESETS}
    assert list(found) == list(DCQCN_PRESETS)
    for name, timer, alpha, steps, rates in (
        ("paper", 55_000, 55_000, 5, (40, 200, 400)), ("hpcc", 900_000, 1_000, 1, (50, 100, 100)),
        ("conweave", 300_000, 1_000, 1, (40, 100, 100)),
    ):  # fmt: skip
        each = found[name]
        assert (each.increase_timer_ns, each.alpha_timer_ns, each.recovery_steps) == (timer, alpha, steps)
        assert tuple(rate // 10**6 for rate in (each.additive_bps, each.hyper_bps, each.min_rate_bps)) == rates
        assert each.gain == 1 / 256


def test_keys_of_a_file_replace_those_of_the_preset():
    options = DcqcnOptions(preset="hpcc", gain=1 / 16, recovery_steps=5, increase_timer_ns=1_500_000)
    found = scaled_dcqcn(options, 100_000_000_000, 1024)
    assert (found.gain, found.recovery_steps, found.increase_timer_ns) == (1 / 16, 5, 1_500_000)
    assert found.additive_bps == 50_000_000


def test_a_slower_link_stretches_the_timers_of_a_preset():
    found = scaled_dcqcn(DcqcnOptions(preset="conweave"), 25_000_000_000, 1024)
    assert (found.increase_timer_ns, found.additive_bps) == (1_200_000, 10_000_000)
