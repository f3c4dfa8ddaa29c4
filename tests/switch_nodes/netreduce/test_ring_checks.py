"""Rings of leaves and spines that cannot be installed; a rack's are in `test_rings`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.config import LeafLinks, RingMember, SpineLinks
from switch_nodes.netreduce.ring_checks import check_ring
from tests.support.netreduce_fabric import FabricJob
from workloads.config import ArithmeticSpec
from workloads.errors import ScenarioError

CONFIGS = FabricJob().configs()
LEAF, SPINE = CONFIGS["leaf2"].rings[0], CONFIGS["spine1"].rings[0]


def refused(name: str, changes: dict[str, object], links: dict[str, object]) -> str:
    config = CONFIGS[name]
    ring = config.rings[0]
    assert ring.links is not None
    with pytest.raises(ScenarioError) as caught:
        check_ring(replace(ring, **changes, links=replace(ring.links, **links)), config)  # type: ignore[arg-type]
    return str(caught.value).removeprefix(f"scenario: switch {name}: ring 7: ")


def test_those_of_a_fabric_can_be_installed() -> None:
    assert isinstance(LEAF.links, LeafLinks)
    assert isinstance(SPINE.links, SpineLinks)
    for config in CONFIGS.values():
        check_ring(config.rings[0], config)


@pytest.mark.parametrize(
    ("changes", "links", "message"),
    [
        ({"members": ()}, {}, "number of members; found 0; allowed: 1 .. 64"),
        ({}, {"group": 1}, "number of hosts; found 1; allowed: 2 .. 1024"),
        ({}, {"group": 1025}, "number of hosts; found 1025; allowed: 2 .. 1024"),
        ({}, {"group": 5}, "ranks; found [3, 4, 5]; allowed: 0 .. 4"),
        ({"members": LEAF.members[::2]}, {}, "members are not in rank order; found [3, 5]; allowed: contiguous"),
        ({"members": LEAF.members[::-1]}, {}, "members are not in rank order; found [5, 4, 3]; allowed: contiguous"),
        ({}, {"uplinks": ()}, "uplinks; found none; allowed: one for each spine"),
        ({}, {"uplinks": (3, 5)}, "port of an uplink; found 5; allowed: 0 .. 4"),
        ({}, {"uplinks": (-1,)}, "port of an uplink; found -1; allowed: 0 .. 4"),
        (
            {"arithmetic": ArithmeticSpec("sum", "int32sat")},
            {},
            "arithmetic; found sum of int32sat over several switches; allowed: one switch; or int32, float32",
        ),
    ],
)
def test_leaves_that_cannot_be(changes: dict[str, object], links: dict[str, object], message: str) -> None:
    assert refused("leaf2", changes, links) == message


@pytest.mark.parametrize(
    ("changes", "links", "message"),
    [
        ({"members": SPINE.members[:1]}, {}, "number of members; found 1; allowed: 2 .. 64"),
        ({"members": SPINE.members[::-1]}, {}, "members are not in rank order; found [5, 2, 1]; allowed: ascending"),
        (
            {"members": (*SPINE.members[:2], RingMember(2, b"\x0a\0\0\x09", 2))},
            {},
            "members are not in rank order; found [1, 2, 2]; allowed: ascending",
        ),
        ({}, {"group": 4}, "ranks; found [1, 2, 5]; allowed: 0 .. 3"),
        ({}, {"successor_ips": (b"1234",)}, "number of successors; found 1; allowed: 3"),
        ({}, {"number": 2}, "number of the spine; found 2; allowed: 0 .. 1"),
        ({}, {"number": -1}, "number of the spine; found -1; allowed: 0 .. 1"),
        (
            {"arithmetic": ArithmeticSpec("max", "int32sat")},
            {},
            "arithmetic; found max of int32sat over several switches; allowed: one switch; or int32, float32",
        ),
    ],
)
def test_spines_that_cannot_be(changes: dict[str, object], links: dict[str, object], message: str) -> None:
    assert refused("spine1", changes, links) == message
