"""From the background traffic of a scenario to the configuration of its ends. It has random draws of its own, so that
the job is the same without it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testbed.scenario.model import Scenario
from workloads.background import FlowConfig
from workloads.wire import Envelope

if TYPE_CHECKING:
    from workloads.background import UdpSink, UdpSource

__all__ = ["PlannedFlow", "plan_background", "udp_ends"]

_FIRST_PORT = 5201
"""iperf3's own, then one per flow"""
_ECT0 = 2


@dataclass(frozen=True, slots=True)
class PlannedFlow:
    """A flow of the scenario, by the names of its ends."""

    kind: str
    """udp, tcp"""
    source: str
    target: str
    config: FlowConfig


def plan_background(scenario: Scenario) -> tuple[PlannedFlow, ...]:
    """In the order of the scenario."""
    draw = random.Random(f"background {scenario.seed}")
    flows = []
    for number, flow in enumerate(scenario.background):
        source, target = scenario.topology.node(flow.source), scenario.topology.node(flow.target)
        envelope = Envelope(
            src_mac=source.mac,
            dst_mac=target.mac,
            src_ip=source.ip,
            dst_ip=target.ip,
            sport=draw.randrange(0x8000, 0xC000),
            tos=flow.dscp << 2 | (_ECT0 if flow.ecn else 0),
        )
        config = FlowConfig(
            name=flow.name,
            envelope=envelope,
            dport=_FIRST_PORT + number,
            rate_bps=flow.rate_bps,
            start_ns=flow.start_ns,
            stop_ns=flow.stop_ns,
            size_bytes=flow.size_bytes,
            payload_bytes=flow.payload_bytes,
        )
        flows.append(PlannedFlow(flow.kind, flow.source, flow.target, config))
    return tuple(flows)


def udp_ends(
    flows: Iterable[PlannedFlow], host: str, start_ns: int = 0, timeout_ns: int = 0
) -> tuple[tuple[UdpSource, ...], tuple[UdpSink, ...]]:
    """Of the UDP flows that begin and end at a host. `start_ns`: when the traffic starts, by its clock. `timeout_ns`:
    as of UdpSource."""
    from workloads.background import UdpSink, UdpSource  # a plan alone runs none

    udp = [flow for flow in flows if flow.kind == "udp"]
    sources = tuple(UdpSource(flow.config, start_ns, timeout_ns) for flow in udp if flow.source == host)
    return sources, tuple(UdpSink(flow.config) for flow in udp if flow.target == host)
