"""Runs of flows against what theory says of them.

Switches and hosts serve frames in order of arrival: there is no fair service by flow, so the mean of processor sharing
(M/G/1-PS) is no oracle here. What queues in order of arrival must do is tried instead.
"""

from __future__ import annotations

import pytest

from testbed.protocols.flows.figures import flow_times
from testbed.protocols.flows.plan_alone import DATA_HEADERS, FLOW_HEADERS
from tests.support.flow_runs import run_text

SHARED = """
name: shared
world: simulated
topology: {kind: rack, hosts: 3, link: {rate: 10Gbps, delay: 2us, queue: 10000}}
switch: {program: forward}
transport: {recovery: RECOVERY}
job: {collective: flows, pattern: incast, flow_size: 300kB}
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
job: {collective: flows, pattern: permutation, load: 0.6, flow_size: 1000B, duration: 10ms, warm_up: 1ms}
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
