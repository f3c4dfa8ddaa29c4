"""Which flows are drawn: patterns, loads, and what they may not depend on."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from testbed.protocols.flows import plan_drawn
from testbed.protocols.flows.keys import FlowsKeys
from testbed.protocols.flows.plan_drawn import draw_flows, mean_frame_bytes
from workloads.errors import ScenarioError
from workloads.flows.sizes import built_in

RATE = 10_000_000_000


def test_poisson_flows_offer_the_load() -> None:
    keys = FlowsKeys(load=0.6, sizes=built_in("hadoop"), duration_ns=400_000_000)
    flows = draw_flows(keys, [RATE] * 8, 1024, 3)
    size = mean_frame_bytes(keys.distribution, 1024)
    assert len(flows) * size == pytest.approx(0.6 * 8 * RATE / 8 * 0.4, rel=0.05)
    assert {flow.source for flow in flows} == {flow.target for flow in flows} == set(range(8))
    assert all(flow.source != flow.target for flow in flows)
    assert [flow.start_ns for flow in flows] == sorted(flow.start_ns for flow in flows)
    assert max(flow.start_ns for flow in flows) < keys.duration_ns


def test_gaps_between_the_flows_of_a_host_are_exponential() -> None:
    """Their standard deviation is their mean."""
    keys = FlowsKeys(load=0.5, flow_size_bytes=10_000, duration_ns=500_000_000)
    starts = [flow.start_ns for flow in draw_flows(keys, [RATE] * 2, 1024, 1) if flow.source == 0]
    gaps = [after - before for before, after in pairwise(starts)]
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    assert variance**0.5 == pytest.approx(mean, rel=0.04)


def test_destinations_are_drawn_evenly() -> None:
    keys = FlowsKeys(load=0.5, flow_size_bytes=10_000, duration_ns=100_000_000)
    counts = Counter(flow.target for flow in draw_flows(keys, [RATE] * 5, 1024, 1) if flow.source == 2)
    assert set(counts) == {0, 1, 3, 4}
    assert max(counts.values()) < 1.15 * min(counts.values())


def test_a_permutation_pairs_each_host_with_one_other() -> None:
    at_once = draw_flows(FlowsKeys(pattern="permutation", each=2), [RATE] * 6, 1024, 4)
    assert Counter((flow.source, flow.target) for flow in at_once) == dict.fromkeys(
        {(flow.source, flow.target) for flow in at_once}, 2
    )
    assert sorted({flow.target for flow in at_once}) == list(range(6))
    loaded = draw_flows(FlowsKeys(pattern="permutation", load=0.5), [RATE] * 6, 1024, 4)
    assert {(flow.source, flow.target) for flow in loaded} <= {(flow.source, flow.target) for flow in at_once}


def test_an_incast_leads_to_the_first_host() -> None:
    flows = draw_flows(FlowsKeys(pattern="incast", fan_in=3), [RATE] * 6, 1024, 1)
    assert [(flow.source, flow.target, flow.start_ns) for flow in flows] == [(1, 0, 0), (2, 0, 0), (3, 0, 0)]
    assert len(draw_flows(FlowsKeys(pattern="incast"), [RATE] * 6, 1024, 1)) == 5


def test_all_to_all_has_each_pair() -> None:
    flows = draw_flows(FlowsKeys(pattern="all_to_all"), [RATE] * 4, 1024, 1)
    assert len({(flow.source, flow.target) for flow in flows}) == len(flows) == 12


def test_the_seed_decides() -> None:
    keys = FlowsKeys(load=0.5)
    assert draw_flows(keys, [RATE] * 4, 1024, 1) == draw_flows(keys, [RATE] * 4, 1024, 1)
    assert draw_flows(keys, [RATE] * 4, 1024, 1) != draw_flows(keys, [RATE] * 4, 1024, 2)


def test_hosts_with_faster_links_begin_more_flows() -> None:
    keys = FlowsKeys(load=0.5, flow_size_bytes=10_000, duration_ns=100_000_000)
    counts = Counter(flow.source for flow in draw_flows(keys, [RATE, 4 * RATE], 1024, 1))
    assert counts[1] / counts[0] == pytest.approx(4, rel=0.1)


def test_too_many_flows_are_refused_before_they_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_drawn, "MOST_FLOWS", 11)
    with pytest.raises(ScenarioError, match="the job has about 12 flows"):
        draw_flows(FlowsKeys(pattern="all_to_all"), [RATE] * 4, 1024, 1)
