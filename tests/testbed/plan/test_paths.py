from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.plan import Plan, make_plan
from testbed.plan.paths import data_flows, data_volumes, flow_paths, overbooked
from testbed.protocols.ps.keys import PsKeys
from testbed.scenario import load_scenario
from testbed.scenario.model import Job, Scenario, SwitchOptions
from tests.support.flow_path import flow_path
from topologies import Direction, LinkShape, Topology, fat_tree, machines, rack, spine_leaf

SHAPE, UP, DOWN = LinkShape(), Direction.UP, Direction.DOWN


def plan_of(topology: Topology, seed: int = 1) -> Plan:
    scenario = Scenario("t", topology, SHAPE, seed=seed, job=Job(protocol="ring"), switch=SwitchOptions("forward"))
    return make_plan(scenario)


def test_within_a_rack_and_between_racks() -> None:
    plan = plan_of(spine_leaf([2, 2], 1, SHAPE))
    assert flow_path(plan, "h1", plan.workers[0].to_successor.envelope) == (("h1-leaf1", UP), ("h2-leaf1", DOWN))
    assert flow_path(plan, "h2", plan.workers[1].to_successor.envelope) == (
        ("h2-leaf1", UP), ("leaf1-spine1", UP), ("leaf2-spine1", DOWN), ("h3-leaf2", DOWN),
    )  # fmt: skip


@pytest.mark.parametrize("topology", [spine_leaf([1, 2, 3], 3, SHAPE), fat_tree(4, SHAPE)], ids=lambda t: t.kind)
def test_every_connection_arrives(topology: Topology) -> None:
    plan = plan_of(topology)
    for worker, peer in zip(plan.workers, (*plan.workers[1:], plan.workers[0]), strict=True):
        for source, envelope, end in (
            (worker, worker.to_successor.envelope, peer),
            (peer, peer.from_predecessor.envelope, worker),
        ):
            last, direction = flow_path(plan, source.name, envelope)[-1]
            assert (topology.link(last).a, direction) == (end.name, DOWN)


def test_seeds_use_all_spines() -> None:
    """The source ports come from the seed."""
    used = {use for seed in range(8) for use in data_flows(plan_of(spine_leaf([1, 1], 4, SHAPE), seed))}
    assert {(f"leaf1-spine{n}", UP) for n in range(1, 5)} <= used


def test_a_ring_crosses_each_rack_boundary_once() -> None:
    flows = data_flows(plan_of(spine_leaf([4, 4, 4], 2, SHAPE)))
    for leaf in ("leaf1", "leaf2", "leaf3"):
        for direction in (UP, DOWN):
            assert sum(flows.get((f"{leaf}-spine{n}", direction), 0) for n in (1, 2)) == 1
    assert set(data_flows(plan_of(rack(3, SHAPE))).values()) == {1}


def test_links_that_are_slower_than_what_may_come() -> None:
    slow = replace(SHAPE, rate_bps=SHAPE.rate_bps // 2)
    assert overbooked(plan_of(spine_leaf([2, 2], 1, SHAPE))) == set()
    assert overbooked(plan_of(spine_leaf([2, 2], 1, SHAPE, slow))) == {
        (f"leaf{n}-spine1", way) for n in (1, 2) for way in (UP, DOWN)
    }


def test_a_walk_ends_where_no_table_leads_on_and_never_circles() -> None:
    plan = plan_of(spine_leaf([1, 1], 1, SHAPE))
    envelope = plan.workers[0].to_successor.envelope
    bare = [replace(config, macs=(), groups=()) for config in plan.switches]
    assert len(flow_path(replace(plan, switches=tuple(bare)), "h1", envelope)) == 1
    mac, leaf = envelope.dst_mac, plan.switches[0]
    circle = (replace(leaf, macs=((mac, 1),)), plan.switches[1], replace(plan.switches[2], macs=((mac, 0),)))
    assert [link for link, _ in flow_path(replace(plan, switches=circle), "h1", envelope)] == [
        "h1-leaf1", "leaf1-spine1", "leaf1-spine1",
    ]  # fmt: skip


def test_what_a_leaf_sums_takes_every_spine_in_equal_shares() -> None:
    plan = make_plan(Scenario("t", spine_leaf([2, 1], 4, SHAPE), SHAPE))
    flows = data_flows(plan)
    for spine in range(1, 5):
        for leaf in (1, 2):
            assert (flows[f"leaf{leaf}-spine{spine}", UP], flows[f"leaf{leaf}-spine{spine}", DOWN]) == (0.25, 0.25)
    assert {flows[f"h{n}-leaf{leaf}", way] for n, leaf in ((1, 1), (2, 1), (3, 2)) for way in (UP, DOWN)} == {1.0}
    slow = replace(SHAPE, rate_bps=SHAPE.rate_bps // 2)
    tight = overbooked(make_plan(Scenario("t", spine_leaf([2, 1], 2, SHAPE, slow), SHAPE)))
    assert tight == {(f"leaf{leaf}-spine{n}", way) for leaf in (1, 2) for n in (1, 2) for way in (UP, DOWN)}


def test_the_phases_of_a_worker_do_not_add_up() -> None:
    """Two workers of 100 Mbit/s share an uplink of 100; inside its machine each has its links for itself, phase by
    phase."""
    scenario = Scenario("t", machines(2, 2, SHAPE), SHAPE, job=Job(protocol="parallel_netreduce"))
    assert overbooked(make_plan(scenario)) == {
        ("m1-s1", UP), ("m1-s1", DOWN), ("m2-s1", UP), ("m2-s1", DOWN),
    }  # fmt: skip
    assert data_flows(make_plan(scenario))["h1-m1", UP] == 3


@pytest.mark.parametrize(("topology", "ways"), [(spine_leaf([1, 1], 3, SHAPE), 3), (fat_tree(4, SHAPE), 4)])
def test_a_sprayed_flow_takes_every_shortest_way(topology: Topology, ways: int) -> None:
    plan = plan_of(replace(topology, multipath="spray"))
    own, peer = plan.workers[0], plan.workers[-1]
    paths = list(flow_paths(plan, own.name, own.from_predecessor.envelope))
    assert len(set(paths)) == len(paths) == ways
    assert {path[-1][0] for path in paths} == {f"{peer.name}-{'leaf2' if ways == 3 else 'edge8'}"}
    one_way = plan_of(topology)
    assert flow_path(one_way, own.name, one_way.workers[0].from_predecessor.envelope) in paths


def test_sprayed_data_loads_all_spines_alike() -> None:
    flows = data_flows(plan_of(replace(spine_leaf([2, 2], 2, SHAPE), multipath="spray")))
    assert {flows[f"leaf1-spine{n}", UP] for n in (1, 2)} == {0.5}
    assert {flows[f"leaf2-spine{n}", DOWN] for n in (1, 2)} == {0.5}


@pytest.mark.parametrize(
    ("name", "gradients"),
    [
        ("binomial-tree", {"h1-s1": 3, "h2-s1": 1, "h3-s1": 2, "h4-s1": 1, "h5-s1": 1}),
        ("sharded-ps", dict.fromkeys(("h1-s1", "h2-s1", "h3-s1", "h4-s1", "h5-s1"), 1.6)),
        # Three machines of two: to the master and back, and a ring of the masters.
        ("hierarchical-tencent", {"h1-m1": 1 + 4 / 3, "h2-m1": 1, "m1-s1": 4 / 3}),
    ],
)
def test_chains_and_pairs_send_what_their_steps_say(name: str, gradients: dict[str, float]) -> None:
    """In gradients, each way alike: of a chain all send but its last rank."""
    plan = make_plan(load_scenario(name))
    worker = plan.workers[0]
    framing, work = worker.framing, worker.workload
    one = work.elements * 4 * work.iterations * framing.frame_bytes / framing.payload_bytes
    volumes = data_volumes(plan)
    for link, times in gradients.items():
        assert [volumes[link, way] / one for way in (UP, DOWN)] == pytest.approx([times, times], rel=1e-4)


@pytest.mark.parametrize(("multipath", "share"), [("spray", 0.25), ("flow", 1.0)])
def test_what_trees_add_loads_each_of_their_links_once(multipath: str, share: float) -> None:
    """Workers in eight racks, the server in the last one: above a rack, and above a pod, one sum is left. Where packets
    are sprayed four trees share it."""
    job = Job(protocol="ps", own=PsKeys(aggregation=True), dtype="int32")
    topology = replace(fat_tree(4, SHAPE), multipath=multipath)
    flows = data_flows(make_plan(Scenario("t", topology, SHAPE, job=replace(job, server="h16"))))
    assert flows["h1-edge1", UP] == flows["h16-edge8", DOWN] == 1.0
    cores = {use: load for use, load in flows.items() if "core" in use[0]}
    assert set(cores.values()) == {share}
    assert len(cores) == (16 if multipath == "spray" else 4)
    assert {flows[use] for use in flows if "agg" in use[0] and "core" not in use[0]} == {min(1.0, 2 * share)}
