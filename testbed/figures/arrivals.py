"""When the bytes of messages arrived. A history says when a message was complete; its bytes came before that, one after
the other, and never faster than the link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testbed.faults.model import RateChange
from testbed.scenario.model import Scenario

__all__ = ["arrived", "host_rates"]


def host_rates(scenario: Scenario) -> Mapping[str, float]:
    """Bits per second that come to a host at most, over all its links; a fault may make a link faster for a while."""
    rates: dict[str, float] = {}
    for link in scenario.topology.links:
        faster = [
            fault.rate_bps for fault in scenario.faults if isinstance(fault, RateChange) and link.name in fault.links
        ]
        for end in (link.a, link.b):
            rates[end] = rates.get(end, 0.0) + max([link.shape.rate_bps, *faster])
    return rates


def arrived(
    completed: Sequence[tuple[int, float]], starts_ns: Sequence[int], edges_ns: Sequence[int], rate_bps: float | None
) -> list[float]:
    """Bits in each interval between `edges_ns`. `completed`: (ns, bits) of messages of one host in order of time;
    `starts_ns`: when its collectives began, in order.

    A message came evenly between the one before it, or the start of the collective, and its own end. Several that end
    at once, behind a gap that was filled, came before that: the link says since when at the latest."""
    bits = [0.0] * (len(edges_ns) - 1)
    before = 0
    for end_ns, size in completed:
        began = max([before, *(start for start in starts_ns if start <= end_ns)])
        _spread(bits, edges_ns, min(began, end_ns), end_ns, size)
        before = end_ns
    if rate_bps is None:
        return bits
    late = 0.0
    for at in range(len(bits) - 1, -1, -1):
        room = rate_bps * (edges_ns[at + 1] - edges_ns[at]) / 1e9
        whole = bits[at] + late
        bits[at] = min(whole, room)
        late = whole - bits[at]
    return bits


def _spread(bits: list[float], edges_ns: Sequence[int], began_ns: int, end_ns: int, size: float) -> None:
    last = len(bits) - 1
    step = edges_ns[1] - edges_ns[0]
    if end_ns <= began_ns:
        bits[min(last, end_ns // step)] += size
        return
    for at in range(min(last, began_ns // step), min(last, end_ns // step) + 1):
        until = end_ns if at == last else edges_ns[at + 1]
        shared = min(end_ns, until) - max(began_ns, edges_ns[at])
        bits[at] += size * max(0, shared) / (end_ns - began_ns)
