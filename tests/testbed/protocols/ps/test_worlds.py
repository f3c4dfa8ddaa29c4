"""A plain parameter server over fabrics, in both worlds: built-in scenarios, and what each link of a tree carries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.history import of_kind
from testbed.history.events import ShapingMeasured
from testbed.plan import make_plan
from testbed.runs.run import run_scenario
from testbed.scenario import load_scenario
from testbed.scenario.model import Scenario
from tests.support.emulated import needs_root
from tests.support.passing import assert_passes
from tests.support.selection import in_both_worlds
from topologies import Direction
from workloads.events import DatagramResent

UP, DOWN = Direction.UP.value, Direction.DOWN.value
TREES_OVER = {"host": 1.0, "edge": 1 / 2, "agg": 1 / 4}
"""share of a gradient, by the lower end of a link: all trees, those over one of two aggregation switches, over one of
four cores"""


def carried(scenario: Scenario, path: Path) -> dict[tuple[str, str], float]:
    """By link and direction: gradients, headers apart."""
    result = run_scenario(scenario, path / "run")
    assert_passes(result.document)
    assert not list(of_kind(result.history, DatagramResent))
    found: Counter[tuple[str, str]] = Counter()
    for record in of_kind(result.history, ShapingMeasured):
        found[record.event.link, record.event.direction] += record.event.bytes
    framing = make_plan(scenario).workers[0].framing
    unit = scenario.job.size_bytes * scenario.job.iterations * framing.frame_bytes / framing.payload_bytes
    return {use: size / unit for use, size in found.items()}


@pytest.mark.parametrize(
    ("name", "world"),
    in_both_worlds(
        ["ps-fat-tree", "ps-fat-tree-lossy", "ps-spine-sum-lost", "ps-core-restarted", "ps-link-down"],
        emulated=["ps-spine-sum-lost"],
    ),
)
def test_a_built_in_passes(name: str, world: str, tmp_path: Path) -> None:
    result = run_scenario(load_scenario(name, world=world), tmp_path / "run")
    assert_passes(result.document)
    assert all(fault["strikes"] for fault in result.document["faults"])


@pytest.mark.parametrize("world", ["simulated", pytest.param("emulated", marks=needs_root)])
def test_each_link_of_a_fat_tree_carries_the_share_of_its_trees(world: str, tmp_path: Path) -> None:
    """Both ways alike: up sums, down copies. What kernels would answer to packets that programs read is on no link."""
    scenario = load_scenario("ps-fat-tree", ["job.dtype=int32", "job.size=480kB", "transport.rto=2s"], world=world)
    found = carried(scenario, tmp_path)
    for link in scenario.topology.links:
        share = next((share for low, share in TREES_OVER.items() if link.a.startswith(low)), 1.0)
        assert (found[link.name, UP], found[link.name, DOWN]) == pytest.approx((share, share), rel=0.02), link.name


@pytest.mark.parametrize(
    ("aggregation", "multicast", "to_server", "from_server"),
    [(True, True, 1, 1), (True, False, 1, 15), (False, True, 15, 1), (False, False, 15, 15)],
)
def test_what_the_link_of_the_server_and_the_cores_carry(
    aggregation: bool, multicast: bool, to_server: int, from_server: int, tmp_path: Path
) -> None:
    """Three workers are in the server's pod, twelve in the others."""
    scenario = load_scenario("ps-fat-tree", ["job.dtype=int32", "transport.rto=2s"], world="simulated")
    keys = replace(scenario.job.own, aggregation=aggregation, multicast=multicast)
    found = carried(replace(scenario, job=replace(scenario.job, own=keys)), tmp_path)
    assert found["h16-edge8", DOWN] == pytest.approx(to_server, rel=0.02)
    assert found["h16-edge8", UP] == pytest.approx(from_server, rel=0.02)
    links = [link.name for link in scenario.topology.links if link.a in ("agg7", "agg8")]
    assert sum(found[link, DOWN] for link in links) == pytest.approx(1 if aggregation else 12, rel=0.02)
    assert sum(found[link, UP] for link in links) == pytest.approx(1 if multicast else 12, rel=0.02)
