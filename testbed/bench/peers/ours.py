"""Ring and NetReduce on the same links, as runs of the emulated world."""

from __future__ import annotations

from dataclasses import replace

from testbed.bench.measure import allreduce_scenario, measure
from testbed.bench.peers.cases import RATE_BPS, PeerBenchCase, Sample
from testbed.faults.model import Loss
from testbed.scenario.model import Scenario

__all__ = ["measure_ours", "our_scenario"]

_PATH_MTU = 1024
_TIMEOUT_CODE = 15
"""134 ms; TCP's own timers are of this order, 200 ms at the least"""


def our_scenario(subject: str, case: PeerBenchCase, repeat: int, dilation: int | None) -> Scenario:
    """`subject`: `ring` or `netreduce`, or either with `-irn`. `dilation`: None leaves it to the machine."""
    protocol, _, recovery = subject.partition("-")
    lossless = allreduce_scenario(protocol, case.hosts, RATE_BPS, _PATH_MTU, case.size_bytes, repeat, dilation)
    transport = replace(lossless.transport, timeout_code=_TIMEOUT_CODE, recovery=recovery or "gbn")
    links = tuple(link.name for link in lossless.topology.links)
    faults = (Loss("loss", links, rate=case.loss),) if case.loss else ()
    return replace(lossless, name=f"bench-{subject}-{case.hosts}", transport=transport, faults=faults)


def measure_ours(subject: str, case: PeerBenchCase, repeat: int, dilation: int | None) -> Sample:
    """Raises InternalError when a sum is wrong."""
    found = measure(our_scenario(subject, case, repeat, dilation))
    return Sample(
        subject, case, repeat, found.jct_s, found.struck, found.fidelity, found.dilation, found.deviation, found.reasons
    )
