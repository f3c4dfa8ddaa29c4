"""Frames of program `grid` that are made of a packet or of a slot."""

from __future__ import annotations

import cython

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.memory import Aggregator
from switch_nodes.routes.layout import RoutedSwitch
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    DatagramFlag,
    DatagramKind,
    Policy,
    encode_datagram,
)
from workloads.wire.places import UDP_PAYLOAD_AT

if not cython.compiled:
    from switch_nodes.aggregators.packets import put_sum
    from workloads.kernels import copy_bytes, finished, new_draft, put8
    from workloads.wire.inspected import AT_FAN_IN0, AT_PAYLOAD

__all__ = ["from_slot", "head_of", "rate_packet"]

_ECT = 0x02
_ECN, _OVERFLOW = int(DatagramFlag.ECN), int(DatagramFlag.OVERFLOW)
_HEAD = UDP_PAYLOAD_AT
"""bytes of Ethernet, IP and UDP"""


def head_of(switch: RoutedSwitch) -> bytes:
    """What all sums have in front."""
    envelope = Envelope(switch.mac, switch.server_mac, switch.ip, switch.server_ip, AGGREGATION_PORT, _ECT)
    return encode_datagram(envelope, AGGREGATION_PORT, AggregationHeader(Policy.GRID, 0, 0, 0, 0, 0, 1), b"")[:_HEAD]


def from_slot(slot: Aggregator, head: bytes, flags: int) -> bytes:
    """What is inside, to the server."""
    draft = new_draft(AT_PAYLOAD + 4 * slot.size)
    copy_bytes(draft, 0, slot.frame, 0, AT_PAYLOAD)
    copy_bytes(draft, 0, head, 0, _HEAD)
    put8(draft, AT_FAN_IN0, len(slot.entered))
    put_sum(draft, slot, flags | (_ECN if slot.congested else 0) | (_OVERFLOW if slot.overflow else 0))
    return finished(draft)


def rate_packet(a: AggregatorArrival, switch: RoutedSwitch) -> bytes:
    """To the packet's worker: its slot is taken."""
    found = a.found
    header = found.header._replace(kind=DatagramKind.RATE, flags=int(DatagramFlag.ECN), nelem=0)
    envelope = Envelope(switch.mac, found.src_mac, switch.ip, found.src_ip, AGGREGATION_PORT, _ECT | 1)
    return encode_datagram(envelope, AGGREGATION_PORT, header, b"")
