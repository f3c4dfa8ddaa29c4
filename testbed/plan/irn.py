"""The cap of IRN, from the round trips of a job's connections without load; its timers are those of the scenario."""

from __future__ import annotations

from collections.abc import Collection

from switch_nodes.kinds import sums
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of
from topologies import Node, Topology
from topologies.routing import NextHops, next_hops
from workloads.config import IrnConfig
from workloads.rc.transport import RELIABLE
from workloads.wire.packet import EMPTY_FRAME_BYTES

__all__ = ["irn_config", "round_trip_ns"]

_SECOND = 1_000_000_000
_HEADERS = EMPTY_FRAME_BYTES + RELIABLE.part_bytes["RETH"] + RELIABLE.part_bytes["ImmDt"]
"""of a data packet: Ethernet, IPv4, UDP, BTH, RETH, ImmDt, iCRC"""
_ANSWER_BYTES = RELIABLE.answer_bytes(0)
"""Ethernet, IPv4, UDP, BTH, AETH, both PSNs, iCRC"""
_WAKE_NS = 150_000
"""what a node takes to act on a frame where time is real: its process must wake up"""


def irn_config(scenario: Scenario, pairs: Collection[tuple[Node, Node]] = ()) -> IrnConfig:
    """The same for all connections of the job, which are those of `pairs` of hosts, or without any those of the ring of
    all ranks: the longest round trip counts. A ring that a switch sums waits
    for the slowest of its hosts, and for whatever that one lost: its cap covers RTO_high twice too. Between two hosts
    alone it is what the line holds."""
    hosts, topology = scenario.ranks, scenario.topology
    packet = scenario.transport.path_mtu + _HEADERS
    wake = 0 if scenario.world == "simulated" else _WAKE_NS
    hops = next_hops(topology)
    trip = max(
        round_trip_ns(topology, own, peer, packet, wake, hops)
        for own, peer in pairs or zip(hosts, [*hosts[1:], hosts[0]], strict=True)
    )
    low, high = scenario.transport.chosen_irn_ns
    fastest = max(link.shape.rate_bps for host in hosts for _, link, _ in topology.ports(host.name))
    summed = any(map(sums, protocol_of(scenario.job.protocol).programs))
    covered = trip + 2 * high if summed else trip
    return IrnConfig(low, high, fastest * covered // (packet * 8 * _SECOND) + 1, in_order=not summed)


def round_trip_ns(
    topology: Topology, own: Node, peer: Node, packet_bytes: int, wake_ns: int = 0, hops: NextHops | None = None
) -> int:
    """A packet's way from `own` to `peer` and its answer's way back, over empty queues, by the slowest of the shortest
    ways. Each frame is sent whole before the next node has it. Each node on the way takes `wake_ns` to act. `hops`:
    those of the topology, where the caller has them."""
    bits = 8 * (packet_bytes + _ANSWER_BYTES)
    ways = next_hops(topology) if hops is None else hops

    def rest(here: str, port: int) -> int:
        """From the link at a port of a node to the peer, and back."""
        link = next(found for number, found, _ in topology.ports(here) if number == port)
        there = link.b if link.a == here else link.a
        here_ns = 2 * (link.shape.delay_ns + wake_ns) + bits * _SECOND // link.shape.rate_bps
        return here_ns + (0 if there == peer.name else max(rest(there, further) for further in ways[there, peer.name]))

    return rest(own.name, next(iter(topology.ports(own.name)))[0])
