"""Traffic of other tenants beside the job: UDP of a constant rate, and hosts that carry it."""

from workloads.background.host import TenantHost, with_flows
from workloads.background.udp import FlowConfig, UdpSink, UdpSource

__all__ = ["FlowConfig", "TenantHost", "UdpSink", "UdpSource", "with_flows"]
