"""The NetReduce switch program: connection table, slots, status monitor, release order."""

from __future__ import annotations

from switch_nodes.config import SwitchConfig
from switch_nodes.netreduce.program import NetReduceProgram

__all__ = ["NetReduceProgram", "create_netreduce"]


def create_netreduce(config: SwitchConfig) -> NetReduceProgram:
    """Raises ScenarioError for a configuration that cannot be installed."""
    return NetReduceProgram(config)
