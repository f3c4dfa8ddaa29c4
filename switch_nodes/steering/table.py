"""Which rule decides a frame: OpenFlow's matching on the fields of `FlowMatch`, in Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from switch_nodes.steering.rules import FlowRule
from workloads.machine import Buffer

__all__ = ["FlowTable", "FrameFields", "fields_of"]

_ETHERNET, _IPV4, _UDP = 14, 20, 17


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
    destination = bytes(frame[:6])
    if bytes(frame[12:14]) != b"\x08\x00" or len(frame) < _ETHERNET + _IPV4 or frame[_ETHERNET] >> 4 != 4:
        return FrameFields(port, destination)
    udp = _ETHERNET + 4 * (frame[_ETHERNET] & 15)
    first = not int.from_bytes(frame[20:22], "big") & 0x1FFF
    has_udp = frame[23] == _UDP and first and len(frame) >= udp + 4
    return FrameFields(
        port,
        destination,
        bytes(frame[26:30]),
        bytes(frame[30:34]),
        frame[15] >> 2,
        int.from_bytes(frame[udp + 2 : udp + 4], "big") if has_udp else None,
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
