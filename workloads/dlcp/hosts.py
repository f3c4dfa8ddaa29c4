"""The Machine of a host of a DLCP job, by its place in it."""

from __future__ import annotations

from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.ring import DlcpRing
from workloads.dlcp.server import DlcpServer
from workloads.dlcp.worker import DlcpWorker
from workloads.machine import HostMachine

__all__ = ["create_host"]


def create_host(config: DlcpConfig, start_ns: int) -> HostMachine:
    """Raises ScenarioError for a configuration that cannot be."""
    if config.ring:
        return DlcpRing(config, start_ns=start_ns)
    return DlcpServer(config, start_ns=start_ns) if config.is_server else DlcpWorker(config, start_ns=start_ns)
