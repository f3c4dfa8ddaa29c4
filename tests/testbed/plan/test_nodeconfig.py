"""Configurations of one node, from a file."""

from __future__ import annotations

import json

import pytest

from switch_nodes.config import RingConfig, RingMember, SwitchConfig
from testbed.plan.nodeconfig import parse_node_config
from tests.support.nodetexts import QP_TEXT, SWITCH_TEXT, WORKER_TEXT
from workloads.config import ArithmeticSpec, WorkerConfig
from workloads.errors import ScenarioError


def test_a_switch_is_told_everything_from_a_file():
    config = parse_node_config(SWITCH_TEXT, "s1.yaml", SwitchConfig, {"program": "netreduce", "ports": 2})
    members = (RingMember(0, bytes((10, 77, 0, 2)), 0), RingMember(1, bytes((10, 77, 0, 3)), 1))
    assert config == SwitchConfig(
        name="s1",
        program="netreduce",
        ports=2,
        macs=((bytes.fromhex("02494e410001"), 0), (bytes.fromhex("02494e410002"), 1)),
        rings=(RingConfig(1, members, ArithmeticSpec("sum", "int32"), window_messages=4),),
        release="asap",
    )


def test_json_is_read_as_well():
    config = parse_node_config(json.dumps({"name": "s2"}), "s2.json", SwitchConfig, {"program": "x", "ports": 1})
    assert config == SwitchConfig("s2", "x", 1)


def test_a_worker_is_told_everything_from_a_file():
    config = parse_node_config(WORKER_TEXT, "h1.yaml", WorkerConfig)
    assert config.to_successor.peer_first_psn == 5
    assert config.to_successor.envelope.dst_ip == bytes((10, 77, 0, 3))
    assert config.collective.window_messages == 2
    assert config.workload.elements == 100


def test_a_worker_may_have_phases():
    pair = "".join(f"{name}:\n{QP_TEXT}" for name in ("to_successor", "from_predecessor"))
    phase = (
        pair
        + "collective: {kind: all_gather, ring_id: 2, rank: 0, size: 2, phase: last}\n"
        + "first_element: 4\nelements: 8\nstep: 0"
    )
    text = WORKER_TEXT + "phases:\n- " + phase.replace("\n", "\n  ")
    (found,) = parse_node_config(text, "h1.yaml", WorkerConfig).phases
    assert (found.collective.kind, found.collective.phase, found.first_element, found.elements) == (
        "all_gather",
        "last",
        4,
        8,
    )
    assert found.to_successor.qpn == 256


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("release: asap", "release: fast"), "s1.yaml:8: release: unknown value; found 'fast'; allowed: order, asap"),
        (("release: asap", "ports: 2"), ("s1.yaml:8: ports: given on the command line; allowed: name, macs, rings, "
                                        "release, gate, trace, groups, flow_salt, spray, flood_ports, hairpin, "
                                        "steering, carrier, jobs, memory, knobs, grid")),
        (("release: asap", "relase: asap"), ("s1.yaml:8: relase: unknown key; allowed: name, macs, rings, release, "
                                            "gate, trace, groups, flow_salt, spray, flood_ports, hairpin, steering, "
                                            "carrier, jobs, memory, knobs, grid; did you mean 'release'?")),
        (("name: s1\n", ""), "s1.yaml:1: name: is missing"),
        (("rank: 0, ip: 10.77.0.2", "rank: 0, ip: 10.77.0"), ("s1.yaml:5: rings[0].members[0].ip: no IP address; found "
                                                             "'10.77.0'; allowed: an IP address as 10.77.0.2")),
        (("rank: 0, ip: 10.77.0.2", "rank: 0, ip: \"02:49:4e:41:00:01\""),
            ("s1.yaml:5: rings[0].members[0].ip: no IP address; found '02:49:4e:41:00:01'; allowed: an IP address as "
            "10.77.0.2")),
        (("\"02:49:4e:41:00:02\"", "10.77.0.2"), ("s1.yaml:2: macs[1][0]: no MAC; found '10.77.0.2'; allowed: a MAC as "
                                                 "02:49:4e:41:00:01")),
        (("release: asap", "knobs: {age: foo}"), ("s1.yaml:8: knobs.age: unknown value; found 'foo'; allowed: none, "
                                                 "minus1, shift1")),
        (("window_messages: 4", "window_messages: -4"), ("s1.yaml:7: rings[0].window_messages: not a whole number; "
                                                        "found -4; allowed: a whole number from 0")),
        (("dtype: int32", "dtype: int33"), ("s1.yaml:6: rings[0].arithmetic.dtype: unknown value; found 'int33'; "
                                           "allowed: float32, int32, int32sat; did you mean 'int32'?")),
        (("  - ring_id: 1", "  - ring_id: true"), ("s1.yaml:4: rings[0].ring_id: not a whole number; found true; "
                                                  "allowed: a whole number from 0")),
        (("rings:\n", "rings: 5\nx:\n"), ("s1.yaml:3: rings: not a list; found 5; allowed: a list\ns1.yaml:4: x: "
                                         "unknown key; allowed: name, macs, rings, release, gate, trace, groups, "
                                         "flow_salt, spray, flood_ports, hairpin, steering, carrier, jobs, memory, "
                                         "knobs, grid")),
    ],
)  # fmt: skip
def test_mistakes_are_told_like_those_of_a_scenario(change, text):
    with pytest.raises(ScenarioError) as caught:
        parse_node_config(SWITCH_TEXT.replace(*change), "s1.yaml", SwitchConfig, {"program": "netreduce", "ports": 2})
    assert str(caught.value) == text
