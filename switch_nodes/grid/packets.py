"""Packets of program `grid`: what comes in with its place, and the frames that are made of it or of a slot."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from switch_nodes.grid.layout import GridSwitch
from switch_nodes.grid.memory import GridSlot
from switch_nodes.jobs import JobConfig
from workloads.machine import Buffer
from workloads.wire import Envelope
from workloads.wire.aggregation import (
    AGGREGATION_PORT,
    AggregationHeader,
    Datagram,
    DatagramFlag,
    DatagramKind,
    encode_datagram,
)

__all__ = ["Arrival", "from_slot", "onward", "rate_packet"]

_ECT = 0x02
_TOS, _TTL = 15, 22


class Arrival(NamedTuple):
    """A packet that is addressed to the aggregator of this switch."""

    job: JobConfig
    rank: int
    expected: int
    """ranks whose packets of the block the plan sends here"""
    port: int
    frame: Buffer
    found: Datagram
    congested: bool

    @property
    def block(self) -> int:
        return (self.found.header.sequence - 1) & 0xFFFFFFFF

    @property
    def key(self) -> tuple[int, int]:
        return self.found.header.job, self.found.header.sequence


def onward(a: Arrival, switch: GridSwitch, flags: int) -> bytes:
    """The packet as it is, to the server."""
    found = a.found
    envelope = Envelope(
        found.src_mac, switch.server_mac, found.src_ip, switch.server_ip, found.sport, a.frame[_TOS], a.frame[_TTL]
    )
    header = found.header._replace(flags=found.header.flags | flags)
    return encode_datagram(envelope, AGGREGATION_PORT, header, found.payload)


def from_slot(slot: GridSlot, switch: GridSwitch, flags: int) -> bytes:
    """What is inside, to the server."""
    if slot.congested:
        flags |= DatagramFlag.ECN
    if slot.overflow:
        flags |= DatagramFlag.OVERFLOW
    first, second = slot.exponents
    header = slot.header._replace(
        bitmap0=slot.bitmap,
        flags=flags,
        exponent0=first,
        exponent1=second,
        nelem=len(slot.values),
        fan_in0=len(slot.entered),
    )
    envelope = Envelope(switch.mac, switch.server_mac, switch.ip, switch.server_ip, AGGREGATION_PORT, _ECT)
    return encode_datagram(envelope, AGGREGATION_PORT, header, slot.payload)


def rate_packet(a: Arrival, switch: GridSwitch) -> bytes:
    """To the packet's worker: its slot is taken."""
    found = a.found
    header: AggregationHeader = found.header._replace(kind=DatagramKind.RATE, flags=int(DatagramFlag.ECN), nelem=0)
    envelope = Envelope(switch.mac, found.src_mac, switch.ip, found.src_ip, AGGREGATION_PORT, _ECT)
    return encode_datagram(replace(envelope, tos=_ECT | 1), AGGREGATION_PORT, header, b"")
