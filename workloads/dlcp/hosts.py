"""The Machine of a host of a DLCP job, by its rank."""

from __future__ import annotations

from workloads.dlcp.config import DlcpConfig
from workloads.dlcp.server import DlcpServer
from workloads.dlcp.worker import DlcpWorker
from workloads.hosts import HostMachine

__all__ = ["create_host"]


def create_host(config: DlcpConfig, start_ns: int) -> HostMachine:
    """Raises ScenarioError for a configuration that cannot be."""
    return DlcpServer(config, start_ns=start_ns) if config.is_server else DlcpWorker(config, start_ns=start_ns)
