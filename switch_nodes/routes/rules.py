"""The routes of a plan as flow rules."""

from __future__ import annotations

from collections.abc import Iterable

from switch_nodes.routes.layout import PlannedRoute
from switch_nodes.steering.rules import FlowMatch, FlowRule
from workloads.wire.aggregation import AGGREGATION_PORT

__all__ = ["flow_rules"]

_FROM_SOURCE, _FROM_ANYWHERE = 160, 150
"""priorities: between hosts and steered data (`switch_nodes.steering.steer.Priority`)"""


def flow_rules(routes: Iterable[PlannedRoute]) -> tuple[FlowRule, ...]:
    """Those of a commodity switch, in one order whatever the order of `routes`."""
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
