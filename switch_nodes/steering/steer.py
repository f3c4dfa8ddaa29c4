"""The rules of one commodity switch: a pure function, for the software switch `steer` and for an OpenFlow controller.

What no rule can say, as OpenFlow matches no field of RoCE: "only data". So data of the job carries a DSCP of its own:
senders' queue pairs set it. Receivers' queue pairs, which make ACKs and NAKs, do not. The match is UDP port, DSCP,
addresses of the ring edge, and the port where the sender is. What comes back from the accelerator comes in elsewhere,
so the same packet is never led there twice.

The fallback drops the job's data rather than passing it on. A packet with that DSCP that no accelerator summed is one
rank's contribution. Its receiver would take it for the sum and could not notice. A job that goes on without the
accelerator does so as plain ring, with the DSCP of other traffic, and passes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from enum import IntEnum

from switch_nodes.routes.rules import flow_rules
from switch_nodes.steering.layout import SteeringConfig
from switch_nodes.steering.rules import FLOOD, FlowMatch, FlowRule
from workloads.rc.transport import RELIABLE

__all__ = ["Priority", "falls_back", "steering_rules"]


class Priority(IntEnum):
    """Of the rules, lowest first."""

    FLOOD = 10
    ISOLATE = 20
    HOST = 100
    ROUTE = 150
    ROUTE_FROM = 160
    STEER = 200


def falls_back(config: SteeringConfig, down: Collection[int]) -> bool:
    """Whether the accelerator is out of use. One dead port of it is enough, since the edges behind that port would be
    missing in every sum."""
    return any(port in down for port in config.accelerator_ports)


def steering_rules(config: SteeringConfig, down: Collection[int] = ()) -> tuple[FlowRule, ...]:
    """The rules while the ports `down` are down: no rule leads there, and a dead accelerator port gives the fallback.
    In descending priority; names are unique. No two rules of one priority match the same frame."""
    return (*_steer(config, down), *_routes(config, down), *_hosts(config, down), *_isolate(config), _flood())


def _steer(config: SteeringConfig, down: Collection[int]) -> Iterator[FlowRule]:
    fallback = falls_back(config, down)
    for edge in config.edges:
        for in_port in edge.in_ports:
            match = FlowMatch(
                in_port=in_port, ip_src=edge.src_ip, ip_dst=edge.dst_ip, dscp=config.dscp, udp_dst=RELIABLE.udp_port
            )
            name = edge.name if len(edge.in_ports) == 1 else f"{edge.name}-{in_port}"
            if fallback:
                yield FlowRule(f"fallback-{name}", Priority.STEER, match, ())
            else:
                yield FlowRule(f"steer-{name}", Priority.STEER, match, (edge.port,))


def _routes(config: SteeringConfig, down: Collection[int]) -> Iterator[FlowRule]:
    """A route whose port is dead drops: another plan is not ours to make."""
    for rule in flow_rules(config.routes):
        yield replace(rule, outputs=tuple(port for port in rule.outputs if port not in down))


def _hosts(config: SteeringConfig, down: Collection[int]) -> Iterator[FlowRule]:
    """A host that no living port leads to keeps a rule that drops: what goes to it must not flood."""
    for host in config.hosts:
        alive = tuple(port for port in host.ports if port not in down)
        yield FlowRule(f"host-{host.name}", Priority.HOST, FlowMatch(eth_dst=host.mac), alive)


def _isolate(config: SteeringConfig) -> Iterator[FlowRule]:
    """The accelerator sends to hosts, and nothing else: what floods there would come back by its other ports."""
    for port in config.accelerator_ports:
        yield FlowRule(f"isolate-{port}", Priority.ISOLATE, FlowMatch(in_port=port), ())


def _flood() -> FlowRule:
    """ARP, other broadcasts, unknown destinations."""
    return FlowRule("flood", Priority.FLOOD, FlowMatch(), (FLOOD,))
