"""Traffic of other tenants next to the job: UDP of a constant rate, and hosts that carry it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.background.config import FlowConfig
    from workloads.background.host import TenantHost, with_flows
    from workloads.background.udp import UdpSink, UdpSource

__all__ = [
    "FlowConfig",
    "TenantHost",
    "UdpSink",
    "UdpSource",
    "with_flows",
]

__getattr__ = lazily(
    __name__,
    {
        "FlowConfig": ".config",
        "TenantHost": ".host",
        "UdpSink": ".udp",
        "UdpSource": ".udp",
        "with_flows": ".host",
    },
)
