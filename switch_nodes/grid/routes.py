"""The routes of a plan, looked up frame by frame."""

from __future__ import annotations

from collections.abc import Iterable

import cython

from switch_nodes.grid.layout import GridRoute
from switch_nodes.steering.rules import FlowMatch, FlowRule
from workloads.wire.aggregation import AGGREGATION_PORT

if not cython.compiled:
    from workloads.kernels import get8, get16
    from workloads.wire.inspected import address_of

__all__ = ["RouteTable", "flow_rules"]

_LEAST, _IPV4, _NO_OPTIONS, _UDP, _PORT = 42, 0x0800, 0x45, 17, AGGREGATION_PORT
"""Ethernet, IPv4 without options, UDP"""
_FROM_SOURCE, _FROM_ANYWHERE = 160, 150
"""priorities: between hosts and steered data (`switch_nodes.steering.steer.Priority`)"""

_ANY = -1
"""number that means "any", in the place of a source"""


class RouteTable:
    """Source and destination first, then the destination alone."""

    def __init__(self, routes: Iterable[GridRoute]) -> None:
        self._ways: dict[int, dict[int, tuple[int, ...]]] = {}
        """ports by source, by destination; addresses as numbers"""
        for route in routes:
            source = _ANY if route.src_ip is None else int.from_bytes(route.src_ip, "big")
            self._ways.setdefault(int.from_bytes(route.dst_ip, "big"), {})[source] = route.ports

    def find(self, frame: bytes) -> tuple[int, ...] | None:
        """None: not one of the plan's datagrams."""
        if (
            len(frame) < _LEAST
            or get16(frame, 12) != _IPV4
            or get8(frame, 14) != _NO_OPTIONS
            or get8(frame, 23) != _UDP
            or get16(frame, 36) != _PORT
        ):
            return None
        ways = self._ways.get(address_of(frame, True))
        if ways is None:
            return None
        ports = ways.get(address_of(frame, False))
        return ways.get(_ANY) if ports is None else ports


def flow_rules(routes: Iterable[GridRoute]) -> tuple[FlowRule, ...]:
    """The same as flow rules of a commodity switch, in one order whatever the order of `routes`."""
    rules = [
        FlowRule(
            route.name,
            _FROM_ANYWHERE if route.src_ip is None else _FROM_SOURCE,
            FlowMatch(ip_src=route.src_ip, ip_dst=route.dst_ip, udp_dst=AGGREGATION_PORT),
            route.ports,
            copies=len(route.ports) > 1,
        )
        for route in routes
    ]
    return tuple(sorted(rules, key=lambda rule: (-rule.priority, rule.name)))
