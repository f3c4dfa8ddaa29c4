"""What workers, servers and switches of a plain parameter server are told."""

from __future__ import annotations

import pytest

from testbed.plan import make_plan
from testbed.plan.contract import planned_protocol
from testbed.scenario import parse_scenario
from workloads.errors import ScenarioError

TEXT = """
name: p
world: simulated
topology: {kind: spine_leaf, leaves: 2, spines: 2, hosts_per_leaf: [2, 3], link: {rate: 100Mbps}}
switch: {program: ps, memory: 32}
job: {protocol: ps, dtype: int32, size: 20kB, window_packets: 4%s}
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
    assert bool(told["spine2"]) == bool(leaves)
    assert not told["spine1"], "a job takes one tree where packets of a flow take one path"
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
    assert planned_protocol("ps").bound(plan, 1e12) == pytest.approx(rate / streams)


def test_with_both_the_bound_is_that_of_the_links():
    assert planned_protocol("ps").bound(planned(", aggregation: true, multicast: true"), 123.0) == 123.0


@pytest.mark.parametrize("keys", ["", ", aggregation: true", ", multicast: true"])
def test_where_each_frame_takes_any_way_a_gap_is_no_loss(keys):
    text = (TEXT % keys).replace("leaves: 2", "multipath: spray, leaves: 2")
    assert {worker.ways for worker in make_plan(parse_scenario(text, "p.yaml")).workers} == {0}
    assert {worker.ways for worker in planned(keys).workers} == {1}


def trees_at(switch, text):
    plan = make_plan(parse_scenario(text, "p.yaml"))
    (config,) = (config for config in plan.switches if config.name == switch)
    return {job.job: job.trees for job in config.jobs}


BOTH = TEXT % ", aggregation: true, multicast: true"
SPRAYED = BOTH.replace("leaves: 2", "multipath: spray, leaves: 2")


def test_where_packets_and_results_take_trees_in_turn_each_has_gaps_of_its_own():
    plan = make_plan(parse_scenario(SPRAYED, "p.yaml"))
    (trees,) = {len(job.trees) for switch in plan.switches for job in switch.jobs}
    assert {worker.ways for worker in plan.workers} == {trees}
    assert trees > 1


def test_where_packets_are_sprayed_each_spine_has_a_tree():
    """Workers h1, h2 are at the first leaf, h3, h4 and the server at the second."""
    (at_leaf,) = trees_at("leaf1", SPRAYED).values()
    assert [tree.up for tree in at_leaf] == [2, 3]
    assert {tuple((child.port, child.ranks, child.host) for child in tree.children) for tree in at_leaf} == {
        ((0, 0b01, 0), (1, 0b10, 1))
    }
    for number in (1, 2):
        (at_spine,) = trees_at(f"spine{number}", SPRAYED).values()
        assert [tree is not None for tree in at_spine] == [number == 1, number == 2]
        (tree,) = (tree for tree in at_spine if tree is not None)
        assert (tree.up, [(child.port, child.ranks, child.host) for child in tree.children]) == (1, [(0, 0b11, -1)])
        assert not tree.is_last
    (at_server,) = trees_at("leaf2", SPRAYED).values()
    assert [(tree.up, tree.is_last) for tree in at_server] == [(2, True)] * 2
    assert [[child.ranks for child in tree.children] for tree in at_server] == [[0b0100, 0b1000, 0b0011]] * 2


def test_jobs_side_by_side_take_different_trees():
    jobs = "jobs:\n  - {hosts: [h1, h3], server: h5}\n  - {hosts: [h2, h4], server: h5}\n"
    assert [set(trees_at(spine, BOTH + jobs)) for spine in ("spine1", "spine2")] == [{2}, {1}]


def test_in_a_rack_the_tree_is_its_switch():
    text = BOTH.replace("{kind: spine_leaf, leaves: 2, spines: 2, hosts_per_leaf: [2, 3],", "{kind: rack, hosts: 3,")
    ((tree,),) = trees_at("s1", text).values()
    assert (tree.up, tree.is_last, [child.ranks for child in tree.children]) == (2, True, [1, 2])
