"""Program `ps`: which packets are for it, and what of them it does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.aggregators.entrance import Entrance
from switch_nodes.aggregators.packets import Arrival
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.ps import PsProgram
from tests.support.aggregator_bench import contribution, job_config
from workloads.wire.aggregation import Policy, decode_datagram


@pytest.mark.parametrize("adds", [True, False])
def test_a_job_without_aggregation_passes_packets_on(adds):
    job = replace(job_config(workers=3), adds=adds)
    frame = contribution(job, 1, 0, policy=Policy.PS)
    found = decode_datagram(frame)
    assert found is not None
    told = Entrance({7: ServedJob(job)}, PsProgram.policy).admit(1, frame, found)
    assert isinstance(told, Arrival) == adds
