"""The routes of a plan, looked up frame by frame."""

from __future__ import annotations

from collections.abc import Iterable

from switch_nodes.grid.layout import GridRoute
from switch_nodes.steering.rules import FlowMatch, FlowRule
from workloads.machine import Buffer
from workloads.wire.aggregation import AGGREGATION_PORT

__all__ = ["RouteTable", "flow_rules"]

_LEAST, _UDP = 42, 17
"""Ethernet, IPv4 without options, UDP"""
_FROM_SOURCE, _FROM_ANYWHERE = 160, 150
"""priorities: between hosts and steered data (`switch_nodes.steering.steer.Priority`)"""


class RouteTable:
    """Source and destination first, then the destination alone."""

    def __init__(self, routes: Iterable[GridRoute]) -> None:
        self._ports = {(route.src_ip, route.dst_ip): route.ports for route in routes}

    def find(self, frame: Buffer) -> tuple[int, ...] | None:
        """None: not one of the plan's datagrams."""
        if len(frame) < _LEAST or frame[12] != 8 or frame[13] or frame[14] != 0x45 or frame[23] != _UDP:
            return None
        if int.from_bytes(frame[36:38], "big") != AGGREGATION_PORT:
            return None
        src, dst = bytes(frame[26:30]), bytes(frame[30:34])
        ports = self._ports.get((src, dst))
        return self._ports.get((None, dst)) if ports is None else ports


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
