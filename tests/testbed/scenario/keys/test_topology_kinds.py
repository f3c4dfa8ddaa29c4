"""Fabrics and custom topologies: from a file to a graph and back. What is wrong with bad ones: `errors/topology-*`."""

from __future__ import annotations

import re

import pytest

from testbed.plan import make_plan
from testbed.scenario import dump_scenario, parse_scenario
from testbed.scenario.keys.topology_kinds import TOPOLOGY_KINDS
from workloads.errors import ScenarioError

_FABRIC = "name: x\nswitch: {program: forward}\njob: {protocol: ring}\ntopology:\n  "


@pytest.mark.parametrize(
    "topology",
    [
        "{kind: spine_leaf, leaves: 3, spines: 2, hosts_per_leaf: [1, 4, 2]}",
        (
            "{kind: spine_leaf, leaves: 2, spines: 3, hosts_per_leaf: 2, oversubscription: 1.5, uplink: {delay: 1ms, "
            "mtu: "
            "9000}}"
        ),
        (
            "{kind: spine_leaf, leaves: 2, spines: 1, hosts_per_leaf: [2, 1], oversubscription: 3, links: {h1-leaf1: "
            "{queue: 7}}}"
        ),
        "{kind: spine_leaf, leaves: 2, spines: 2, hosts_per_leaf: 1, multipath: spray}",
        "{kind: fat_tree, k: 4, multipath: spray}",
        "{kind: fat_tree, k: 4, link: {rate: 10Mbps}, uplink: {rate: 20Mbps}, core: {delay: 2ms}}",
        "{kind: fat_tree, k: 2, core: {rate: 1Mbps}, links: {agg1-core1: {rate: 2Mbps}, h1-edge1: {delay: 1us}}}",
        "{kind: machines, machines: 3, workers_per_machine: 2, link: {rate: 9Mbps}, uplink: {rate: 4Mbps, delay: 1ms}}",
        "{kind: machines, machines: 2, workers_per_machine: 1, links: {m2-s1: {queue: 7}, h1-m1: {delay: 1us}}}",
        (
            "{kind: custom, link: {delay: 1ms}, nodes: [{name: h1, role: host}, {name: s, role: core}, {name: n, role: "
            "host}], "
            "links: [{ends: [s, h1]}, {ends: [n, s], delay: 0, rate: 5Mbps}]}"
        ),
    ],
)
def test_fabrics_survive_being_written(topology):
    scenario = parse_scenario(_FABRIC + topology, "x.yaml")
    assert parse_scenario(dump_scenario(scenario), "copy.yaml") == scenario


def test_tiers_have_the_shape_of_the_one_below_but_for_what_they_change():
    text = (
        "{kind: fat_tree, k: 2, link: {rate: 10Mbps, delay: 1ms}, uplink: {rate: 20Mbps}, core: {delay: 3ms}, links: "
    )
    scenario = parse_scenario(_FABRIC + text + "{agg2-core1: {mtu: 2000}}}", "x.yaml")
    shapes = {link.name: (link.shape.rate_bps, link.shape.delay_ns, link.shape.mtu) for link in scenario.topology.links}
    assert shapes["h1-edge1"] == (10_000_000, 1_000_000, 1500)
    assert shapes["edge1-agg1"] == (20_000_000, 1_000_000, 1500)
    assert shapes["agg1-core1"] == (20_000_000, 3_000_000, 1500)
    assert shapes["agg2-core1"] == (20_000_000, 3_000_000, 2000)


def test_one_switch_of_ones_own_may_aggregate():
    text = (
        "name: x\ntopology: {kind: custom, nodes: [{name: a, role: host}, {name: tor, role: leaf}, {name: b, role: "
        "host}], "
    )
    plan = make_plan(parse_scenario(text + "links: [{ends: [b, tor]}, {ends: [a, tor]}]}", "x.yaml"))
    (ring,) = plan.switches[0].rings
    assert [(member.rank, member.port) for member in ring.members] == [(0, 1), (1, 0)]
    assert [worker.name for worker in plan.workers] == ["a", "b"]


def test_a_host_stands_first_in_its_link():
    text = (
        "{kind: custom, nodes: [{name: a, role: host}, {name: t, role: leaf}, {name: b, role: host}, {name: u, role: "
        "leaf}], "
    )
    scenario = parse_scenario(_FABRIC + text + "links: [{ends: [t, a]}, {ends: [b, u]}, {ends: [u, t]}]}", "x.yaml")
    assert [link.name for link in scenario.topology.links] == ["a-t", "b-u", "u-t"]


def test_the_refusal_of_netreduce_names_every_kind_that_it_runs_over() -> None:
    keys = {
        "rack": ", hosts: 4", "rack_accelerator": ", hosts: 4", "spine_leaf": ", leaves: 2, spines: 2, hosts_per_leaf: "
                                                                              "2",
        "fat_tree": ", k: 4", "machines": ", machines: 2, workers_per_machine: 2", "grid_triangle": "",
    }  # fmt: skip
    assert {*keys, "custom"} == set(TOPOLOGY_KINDS)
    runs, refusals = [], set()
    for kind, more in keys.items():
        text = f"name: x\ntopology: {{kind: {kind}{more}}}\njob: {{protocol: netreduce, size: 40kB}}\n"
        try:
            parse_scenario(text, "x.yaml")
            runs.append(kind)
        except ScenarioError as error:
            refusals.add(str(error).partition("job.protocol: ")[2].partition("allowed: ")[2])
    (refusal,) = refusals
    named = set(re.findall(r"\w+", refusal.partition("; or")[0])) & set(TOPOLOGY_KINDS)
    assert named == {*runs, "custom"}
