"""The routes of a plan, looked up frame by frame."""

from __future__ import annotations

from collections.abc import Iterable

import cython

from switch_nodes.routes.layout import PlannedRoute
from workloads.wire.aggregation import AGGREGATION_PORT
from workloads.wire.places import DPORT_AT, ETHERTYPE_AT, IP_AT, PROTOCOL_AT, UDP_PAYLOAD_AT

if not cython.compiled:
    from workloads.kernels import get8, get16
    from workloads.wire.inspected import address_of

__all__ = ["RouteTable"]

_LEAST, _IPV4, _NO_OPTIONS, _UDP, _PORT = UDP_PAYLOAD_AT, 0x0800, 0x45, 17, AGGREGATION_PORT
"""Ethernet, IPv4 without options, UDP"""
_TYPE_AT, _VERSION_AT, _PROTOCOL_AT, _PORT_AT = ETHERTYPE_AT, IP_AT, PROTOCOL_AT, DPORT_AT
_ANY = -1
"""number that means "any", in the place of a source"""


class RouteTable:
    """Source and destination first, then the destination alone."""

    def __init__(self, routes: Iterable[PlannedRoute]) -> None:
        self._ways: dict[int, dict[int, tuple[int, ...]]] = {}
        """ports by source, by destination; addresses as numbers"""
        for route in routes:
            source = _ANY if route.src_ip is None else int.from_bytes(route.src_ip, "big")
            self._ways.setdefault(int.from_bytes(route.dst_ip, "big"), {})[source] = route.ports

    def find(self, frame: bytes) -> tuple[int, ...] | None:
        """None: not one of the plan's datagrams."""
        if (
            len(frame) < _LEAST
            or get16(frame, _TYPE_AT) != _IPV4
            or get8(frame, _VERSION_AT) != _NO_OPTIONS
            or get8(frame, _PROTOCOL_AT) != _UDP
            or get16(frame, _PORT_AT) != _PORT
        ):
            return None
        ways = self._ways.get(address_of(frame, True))
        if ways is None:
            return None
        ports = ways.get(address_of(frame, False))
        return ways.get(_ANY) if ports is None else ports
