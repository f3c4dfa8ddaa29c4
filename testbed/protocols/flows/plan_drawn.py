"""The flows of a job: which pairs of hosts send how much, and when. All of it follows from the seed, and nothing from
the transport, so that runs with different transports carry the same flows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from testbed.protocols.flows.keys import INCAST, PERMUTATION, FlowsKeys
from testbed.protocols.flows.plan_alone import DATA_HEADERS, FLOW_HEADERS
from workloads.errors import ScenarioError
from workloads.flows.sizes import FlowSizes

__all__ = ["MOST_FLOWS", "DrawnFlow", "draw_flows", "mean_frame_bytes"]

MOST_FLOWS = 100_000
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class DrawnFlow:
    """From rank `source` to rank `target`."""

    source: int
    target: int
    size: int
    """bytes"""
    start_ns: int


def mean_frame_bytes(sizes: FlowSizes, mtu: int) -> float:
    """Bytes of the frames of a flow on average, as go-back-N sends them. Retransmissions and answers are not in it."""
    return sizes.mean + sizes.mean_packets(mtu) * DATA_HEADERS + FLOW_HEADERS


def draw_flows(keys: FlowsKeys, rates_bps: Sequence[int], mtu: int, seed: int) -> list[DrawnFlow]:
    """In the order of their starts. `rates_bps`: of each rank's link. Raises ScenarioError for more than
    `MOST_FLOWS`."""
    per_bit = 0.0 if keys.load is None else keys.load / 8 / _SECOND / mean_frame_bytes(keys.distribution, mtu)
    """flows that begin in a nanosecond, for each bit per second of a link"""
    expected = _expected(keys, rates_bps, per_bit)
    if expected > MOST_FLOWS:
        raise ScenarioError(
            f"the job has about {expected:,.0f} flows", key="job",
            allowed=f"at most {MOST_FLOWS:,}: a lower load, a shorter duration, or fewer hosts",
        )  # fmt: skip
    if keys.load is not None:
        found = list(_poisson(keys, [per_bit * rate for rate in rates_bps], seed))
    else:
        found = list(_at_once(keys, len(rates_bps), seed))
    return sorted(found, key=lambda flow: (flow.start_ns, flow.source, flow.target))


def _expected(keys: FlowsKeys, rates_bps: Sequence[int], per_bit: float) -> float:
    size = len(rates_bps)
    if keys.load is not None:
        return sum(rates_bps) * per_bit * keys.duration_ns
    pairs = (
        size if keys.pattern == PERMUTATION else _senders(keys, size) if keys.pattern == INCAST else size * (size - 1)
    )
    return pairs * keys.each


def _senders(keys: FlowsKeys, size: int) -> int:
    return size - 1 if keys.fan_in is None else min(keys.fan_in, size - 1)


def _poisson(keys: FlowsKeys, per_ns: Sequence[float], seed: int) -> Iterator[DrawnFlow]:
    """`per_ns`: flows that each rank begins in a nanosecond on average."""
    partners = _partners(len(per_ns), seed)
    for source, often in enumerate(per_ns):
        draw, at = random.Random(f"flows {seed} {source}"), 0.0
        while True:
            at += draw.expovariate(often)
            other = draw.randrange(len(per_ns) - 1)
            size = keys.distribution.at(draw.random())
            if at >= keys.duration_ns:
                break
            target = partners[source] if keys.pattern == PERMUTATION else other + (other >= source)
            yield DrawnFlow(source, target, size, int(at))


def _at_once(keys: FlowsKeys, size: int, seed: int) -> Iterator[DrawnFlow]:
    draw = random.Random(f"flows {seed}")
    if keys.pattern == PERMUTATION:
        pairs = list(enumerate(_partners(size, seed)))
    elif keys.pattern == INCAST:
        pairs = [(source, 0) for source in range(1, 1 + _senders(keys, size))]
    else:
        pairs = [(source, target) for source in range(size) for target in range(size) if source != target]
    for source, target in pairs:
        for _ in range(keys.each):
            yield DrawnFlow(source, target, keys.distribution.at(draw.random()), 0)


def _partners(size: int, seed: int) -> list[int]:
    """Of each rank the one that it sends to: one circle through all, in an order that is drawn."""
    order = list(range(size))
    random.Random(f"permutation {seed}").shuffle(order)
    found = [0] * size
    for place, rank in enumerate(order):
        found[rank] = order[(place + 1) % size]
    return found
