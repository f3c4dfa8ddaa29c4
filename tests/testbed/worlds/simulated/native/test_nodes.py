"""Hosts in the compiled loop: when their endpoints are in Python."""

from __future__ import annotations

import pytest

from testbed.faults.model import Loss
from testbed.worlds.simulated.native.nodes import NativeHostNode
from testbed.worlds.simulated.world import Simulation
from tests.support.both_loops import same
from tests.support.native import needs_native
from tests.support.simulation import of, rack_links, rack_plan
from workloads.events import MessageAcked, MessageReceived
from workloads.rc.irn_native_endpoint import NativeIrnEndpoint

needs_c = needs_native("simulator")


@needs_c
def test_a_host_with_irn_stays_in_c_while_it_reports_events_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only completions need the endpoint in Python."""
    taken, with_news = [0], list[int]()
    back, hear = NativeIrnEndpoint.take_back, NativeHostNode.hear_news

    def take_back(endpoint: NativeIrnEndpoint, now: int) -> None:
        taken[0] += 1
        back(endpoint, now)

    def hear_news(node: NativeHostNode) -> None:
        before = taken[0]
        hear(node)
        with_news.append(taken[0] - before)

    monkeypatch.setattr(NativeIrnEndpoint, "take_back", take_back)
    monkeypatch.setattr(NativeHostNode, "hear_news", hear_news)
    losses = Loss("loss", rack_links(3), rate=0.1)
    job = {"size_bytes": 300_000, "message_packets": 64}
    records = same(rack_plan(3, faults=(losses,), job=job, transport={"recovery": "irn"}))["records"]
    completions = len(of(records, MessageReceived, MessageAcked))
    assert len(with_news) > 2 * completions
    assert sum(with_news) <= completions


@needs_c
def test_what_comes_from_outside_takes_a_host_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training may have posted an all-reduce, of which compiled code knows nothing."""
    plan = rack_plan(3, job={"size_bytes": 300_000, "message_packets": 64}, transport={"recovery": "irn"})
    simulation = Simulation(plan, lambda record: None)
    simulation.start()
    simulation.advance(500_000, lambda: True)
    node = simulation.nodes["h1"]
    assert isinstance(node, NativeHostNode)
    assert node.struct.is_held
    now, taken, back = simulation.agenda.now, list[int](), NativeIrnEndpoint.take_back

    def take_back(endpoint: NativeIrnEndpoint, now: int) -> None:
        taken.append(now)
        back(endpoint, now)

    monkeypatch.setattr(NativeIrnEndpoint, "take_back", take_back)
    simulation.nudge("h1")
    simulation.advance(600_000, lambda: not taken)
    assert taken == [now]
    assert node.struct.is_held, "and handed over again"
