"""Which rule decides a frame: OpenFlow's matching on the fields of `FlowMatch`, in Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from switch_nodes.steering.rules import FlowRule
from workloads.machine import Buffer
from workloads.wire.envelope import UDP
from workloads.wire.places import (
    DST_IP,
    DST_MAC,
    ETHERTYPE,
    FRAGMENT,
    IP_AT,
    IS_IPV4,
    PROTOCOL_AT,
    SRC_IP,
    TOS_AT,
    UDP_AT,
)

__all__ = ["FlowTable", "FrameFields", "fields_of"]

_UDP = 17


@dataclass(frozen=True, slots=True)
class FrameFields:
    """Of one frame, as in `FlowMatch`; None where the frame has no such layer."""

    in_port: int
    eth_dst: bytes
    ip_src: bytes | None = None
    ip_dst: bytes | None = None
    dscp: int | None = None
    udp_dst: int | None = None


def fields_of(port: int, frame: Buffer) -> FrameFields:
    """`frame`: an Ethernet frame of at least 14 bytes. Fragments behind the first have no UDP header."""
    destination = bytes(frame[DST_MAC])
    if bytes(frame[ETHERTYPE]) != IS_IPV4 or len(frame) < UDP_AT or frame[IP_AT] >> 4 != 4:
        return FrameFields(port, destination)
    udp = IP_AT + 4 * (frame[IP_AT] & 15)
    dport = UDP.span("dport", udp)
    first = not int.from_bytes(frame[FRAGMENT], "big") & 0x1FFF
    has_udp = frame[PROTOCOL_AT] == _UDP and first and len(frame) >= dport.stop
    return FrameFields(
        port,
        destination,
        bytes(frame[SRC_IP]),
        bytes(frame[DST_IP]),
        frame[TOS_AT] >> 2,
        int.from_bytes(frame[dport], "big") if has_udp else None,
    )


class FlowTable:
    """Rules in the order in which they decide."""

    def __init__(self, rules: Iterable[FlowRule]) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: -rule.priority))

    def find(self, fields: FrameFields) -> FlowRule | None:
        """None: no rule matches, and the frame is dropped."""
        return next((rule for rule in self.rules if _matches(rule, fields)), None)


def _matches(rule: FlowRule, fields: FrameFields) -> bool:
    match = rule.match
    return (
        match.in_port in (None, fields.in_port)
        and match.eth_dst in (None, fields.eth_dst)
        and match.ip_src in (None, fields.ip_src)
        and match.ip_dst in (None, fields.ip_dst)
        and match.dscp in (None, fields.dscp)
        and match.udp_dst in (None, fields.udp_dst)
    )
