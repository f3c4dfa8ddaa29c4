"""When packets left again, and how many. A sender of go-back-N records that it went back, not each packet that it sends
again until it goes back the next time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from testbed.history import Record, of_kinds
from testbed.history.events import NodeExited
from testbed.scenario.geometry import FRAME_OVERHEAD_BYTES
from testbed.scenario.model import Scenario
from workloads.events import DatagramResent, RcStatistics, Retransmission

__all__ = ["Resent", "packet_times", "resent"]

_READ = DatagramResent, Retransmission, RcStatistics, NodeExited
Resent = tuple[str, int, int, int]
"""(node, from, until: ns, packets that left again between the two)"""


def packet_times(scenario: Scenario) -> dict[str, float]:
    """ns that a full packet of each host takes on the host's links at least."""
    bits = 8 * (FRAME_OVERHEAD_BYTES + scenario.transport.path_mtu)
    rates = dict[str, int]()
    for link in scenario.topology.links:
        for end in (link.a, link.b):
            rates[end] = rates.get(end, 0) + link.shape.rate_bps
    return {host.name: bits * 1e9 / rates[host.name] for host in scenario.topology.hosts if host.name in rates}


def resent(history: Sequence[Record], packet_ns: Mapping[str, float]) -> Iterator[Resent]:
    """All packets that left again, as the statistics of the queue pairs count them. A killed process left no
    statistics, and what it sent after it last went back is not known. `packet_ns`: as `packet_times`."""
    went_back: dict[tuple[str, int], tuple[int, int]] = {}
    """(when, how many had left again until then)"""

    def until(key: tuple[str, int], total: int, end: int) -> Iterator[Resent]:
        """What left since the queue pair went back the last time."""
        since, before = went_back.get(key, (end, total))
        if total > before:
            took = round((total - before) * packet_ns.get(key[0], 0))
            yield key[0], since, max(since, min(end, since + took)), total - before

    for record in sorted(of_kinds(history, *_READ), key=lambda record: record.t):
        event, key = record.event, (record.node, getattr(record.event, "qpn", 0))
        if isinstance(event, DatagramResent):
            yield record.node, record.t, record.t, 1
        elif isinstance(event, Retransmission):
            before = event.resent_before
            if before is None:
                yield record.node, record.t, record.t, event.packets
            else:
                yield from until(key, before, record.t)
                went_back[key] = record.t, before
        elif isinstance(event, RcStatistics):
            yield from until(key, event.packets_retransmitted, record.t)
            went_back.pop(key, None)
        elif isinstance(event, NodeExited):
            for known in [known for known in went_back if known[0] == event.node]:
                del went_back[known]
