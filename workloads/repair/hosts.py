"""The Machine of a host of a repair job, by its rank."""

from __future__ import annotations

from workloads.machine import HostMachine
from workloads.repair.config import RepairConfig
from workloads.repair.donor import Donor
from workloads.repair.newcomer import Newcomer

__all__ = ["create_host"]


def create_host(config: RepairConfig, start_ns: int) -> HostMachine:
    """Raises ScenarioError for a configuration that cannot be."""
    return Newcomer(config, start_ns=start_ns) if config.is_newcomer else Donor(config, start_ns=start_ns)
