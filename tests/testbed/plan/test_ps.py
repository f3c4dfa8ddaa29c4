"""What workers, servers and switches of a plain parameter server are told."""

from __future__ import annotations

import pytest

from testbed.plan import make_plan
from testbed.scenario import parse_scenario
from testbed.scenario.known import protocol_of
from workloads.errors import ScenarioError

TEXT = """
name: p
world: simulated
topology: {kind: spine_leaf, leaves: 2, spines: 2, hosts_per_leaf: [2, 3], link: {rate: 100Mbps}}
switch: {program: ps, memory: 32}
job: {collective: ps, dtype: int32, size: 20kB, window_packets: 4%s}
"""


def planned(keys=""):
    return make_plan(parse_scenario(TEXT % keys, "p.yaml"))


@pytest.mark.parametrize("aggregation", ["true", "false"])
@pytest.mark.parametrize("multicast", ["true", "false"])
def test_each_optimisation_has_a_key_of_its_own(aggregation, multicast):
    plan = planned(f", aggregation: {aggregation}, multicast: {multicast}")
    told = {switch.name: switch.jobs for switch in plan.switches}
    leaves = [*told["leaf1"], *told["leaf2"]]
    assert {job.adds for job in leaves} == ({aggregation == "true"} if leaves else set())
    assert bool(leaves) == ("true" in (aggregation, multicast))
    assert not told["spine1"]
    assert plan.servers[0].jobs[0].multicast == (multicast == "true")


def test_neither_is_there_unless_asked_for():
    plan = planned()
    assert not any(switch.jobs for switch in plan.switches)
    assert not plan.servers[0].jobs[0].multicast


def test_a_server_that_holds_results_back_has_the_whole_gradient_outstanding():
    plan = planned(", streaming: false, aggregation: true")
    blocks = -(-20_000 // 1024)
    assert {worker.window for worker in plan.workers} == {blocks}
    assert {job.window for switch in plan.switches for job in switch.jobs} == {blocks}
    (job,) = plan.servers[0].jobs
    assert (job.window, job.gradient_blocks) == (blocks, blocks)
    streaming = planned()
    assert ({worker.window for worker in streaming.workers}, streaming.servers[0].jobs[0].gradient_blocks) == ({4}, 0)


def test_floats_need_results_while_they_are_sent():
    with pytest.raises(ScenarioError, match="the server holds them back"):
        parse_scenario((TEXT % ", streaming: false").replace("int32", "float32"), "p.yaml")


@pytest.mark.parametrize(
    ("keys", "streams"),
    [
        ("", 4),
        (", multicast: true", 4),
        (", aggregation: true", 4),
        (", streaming: false", 8),
        (", streaming: false, multicast: true", 5),
        (", streaming: false, aggregation: true", 5),
        (", streaming: false, aggregation: true, multicast: true", 2),
    ],
)
def test_the_bound_counts_what_the_link_of_the_server_carries(keys, streams):
    plan = planned(keys)
    framing = plan.workers[0].framing
    rate = 100e6 * framing.payload_bytes / framing.frame_bytes
    assert protocol_of("ps").bound(plan, 1e12) == pytest.approx(rate / streams)


def test_with_both_the_bound_is_that_of_the_links():
    assert protocol_of("ps").bound(planned(", aggregation: true, multicast: true"), 123.0) == 123.0


def test_where_packets_take_several_ways_a_gap_is_no_loss():
    text = (TEXT % "").replace("leaves: 2", "multipath: spray, leaves: 2")
    assert {worker.in_order for worker in make_plan(parse_scenario(text, "p.yaml")).workers} == {False}
    assert {worker.in_order for worker in planned().workers} == {True}
