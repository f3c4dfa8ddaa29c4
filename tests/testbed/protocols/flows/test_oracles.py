"""Runs of flows against what theory says of them: queues in order of arrival, and fair ones (`priority: fair`)."""

from __future__ import annotations

from statistics import mean, stdev

import pytest
from scipy.stats import t

from testbed.protocols.flows.figures import flow_times
from testbed.protocols.flows.plan_alone import DATA_HEADERS, FLOW_HEADERS
from tests.support.flow_runs import run_text

SHARED = """
name: shared
world: simulated
topology: {kind: rack, hosts: 3, link: {rate: 10Gbps, delay: 2us, queue: 10000}}
switch: {program: forward}
transport: {recovery: RECOVERY}
job: {protocol: flows, pattern: incast, flow_size: 300kB}
time_limit: 1s
"""


@pytest.mark.parametrize("recovery", ["gbn", "irn"])
def test_two_equal_flows_share_a_link_equally(recovery: str) -> None:
    """Both send at the rate of their own links, so each has half of the frames in the queue. Both end within two frames
    of each other, at the time when the link has carried all of them without a pause."""
    first, second = flow_times(run_text(SHARED.replace("RECOVERY", recovery)))
    assert first.fct_ns is not None
    assert second.fct_ns is not None
    frame_ns = (1024 + DATA_HEADERS + FLOW_HEADERS) * 8 / 10
    assert abs(first.fct_ns - second.fct_ns) <= 2 * frame_ns
    delay_ns = 4000
    busy_ns = 2 * (float(first.alone_ns) - delay_ns - frame_ns)
    assert max(first.fct_ns, second.fct_ns) == pytest.approx(busy_ns + delay_ns + frame_ns, abs=2 * frame_ns)


QUEUE = """
name: queue
seed: SEED
world: simulated
topology: {kind: rack, hosts: 2, link: {rate: 1Gbps, delay: 1us, queue: 100000}}
switch: {program: forward}
transport: {timeout: 20}
job: {protocol: flows, pattern: permutation, load: 0.6, flow_size: 1000B, duration: 10ms, warm_up: 1ms}
time_limit: 1s
"""


def test_flows_of_one_packet_wait_as_theory_says() -> None:
    """Each host sends flows of one packet at random times, and acknowledges those of the other first: a queue with two
    priorities and without preemption (A. Cobham, 1954). The mean wait is R / ((1 - a) (1 - a - d)), where a and d are
    the loads by ACKs and data, and R is the mean rest of the frame in service."""
    waits = []
    for seed in range(1, 5):
        times = flow_times(run_text(QUEUE.replace("SEED", str(seed))))
        waits += [each.fct_ns - float(each.alone_ns) for each in times if each.fct_ns is not None]
    data_ns, ack_ns = 8 * (1000 + DATA_HEADERS + FLOW_HEADERS), 8 * (DATA_HEADERS + 4)
    per_ns = 0.6 / data_ns
    a, d = per_ns * ack_ns, per_ns * data_ns
    rest = per_ns * (ack_ns**2 + data_ns**2) / 2
    assert sum(waits) / len(waits) == pytest.approx(rest / ((1 - a) * (1 - a - d)), rel=0.1)


UNLIKE = """
name: unlike
world: simulated
topology:
  kind: rack
  hosts: 3
  link: {rate: 10Gbps, delay: 2us, queue: 10000, priority: PRIORITY}
  links: {h2-s1: {rate: 40Gbps}}
switch: {program: forward}
transport: {recovery: RECOVERY}
job: {protocol: flows, pattern: incast, flow_size: 300kB}
time_limit: 1s
"""


@pytest.mark.parametrize("recovery", ["gbn", "irn"])
def test_fair_queues_give_equal_flows_of_unequal_senders_equal_shares(recovery: str) -> None:
    """One sender's link is four times as fast. In order of arrival its flow ends much earlier."""
    spread = {}
    for priority in ("fair", "none"):
        text = UNLIKE.replace("RECOVERY", recovery).replace("PRIORITY", priority)
        fcts = [each.fct_ns for each in flow_times(run_text(text))]
        assert None not in fcts
        spread[priority] = abs(fcts[0] - fcts[1])  # type: ignore[operator]
    frame_ns = (1024 + DATA_HEADERS + FLOW_HEADERS) * 8 / 10
    assert spread["fair"] <= 3 * frame_ns
    assert spread["none"] > 20 * frame_ns


BOTTLENECK = """
name: bottleneck
seed: SEED
world: simulated
topology:
  kind: custom
  nodes: [{name: h1, role: host}, {name: h2, role: host}, {name: s1, role: switch}, {name: s2, role: switch}]
  link: {rate: 100Gbps, queue: 1000000}
  links: [{ends: [h1, s1]}, {ends: [h2, s2]}, {ends: [s1, s2], rate: 1Gbps, priority: PRIORITY}]
switch: {program: forward}
transport: {timeout: 0}
job: {protocol: flows, load: LOAD, sizes: [[0, 0], [20000, 50], [200000, 100]], duration: DURATIONms, warm_up: WARMms}
time_limit: 100s
"""
_MEAN_BITS = 8 * (10_000 + 110_000) / 2


def slowdowns(load: float, flows: int, seeds: int, priority: str = "fair") -> list[tuple[float, float]]:
    """Of each seed: the mean slowdown of flows up to 20 kB, and of longer ones. Each host sends about `flows`. Their
    links are a hundred times as fast as the bottleneck, so that all of a flow waits there at once."""
    duration_ms = flows * _MEAN_BITS / load / 1e6
    found = []
    for seed in range(1, seeds + 1):
        text = BOTTLENECK.replace("PRIORITY", priority).replace("LOAD", f"{load / 100}").replace("SEED", str(seed))
        text = text.replace("DURATION", f"{duration_ms:.0f}").replace("WARM", f"{duration_ms / 10:.0f}")
        times = flow_times(run_text(text))
        parts = [[each.slowdown for each in times if (each.size <= 20_000) is small] for small in (True, False)]
        short, long = (mean(value for value in part if value is not None) for part in parts)
        found.append((short, long))
    return found


@pytest.mark.parametrize(
    ("load", "flows", "seeds"), [(0.5, 120, 8), pytest.param(0.7, 300, 16, marks=pytest.mark.minutes)]
)
def test_the_mean_of_processor_sharing_is_met_at_a_fair_bottleneck(load: float, flows: int, seeds: int) -> None:
    """In M/G/1-PS a flow of any size has the mean slowdown 1 / (1 - load), and only the mean size matters
    (L. Kleinrock, Queueing Systems II, 4.4). It lies within the 99 % interval over the seeds."""
    expected = 1 / (1 - load)
    for part in zip(*slowdowns(load, flows, seeds), strict=True):
        half = float(t.ppf(0.995, seeds - 1)) * stdev(part) / seeds**0.5
        assert abs(mean(part) - expected) <= half
        assert half < expected / 3


def test_order_of_arrival_is_not_processor_sharing() -> None:
    ((short, long),) = slowdowns(0.5, 120, 1, "none")
    assert short > 4 * long
