"""The Machine of a host: what the class of its configuration names as `runs`."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from workloads.config import NodeConfig
from workloads.errors import InternalError
from workloads.machine import Machine
from workloads.plugins import is_of_plugin

__all__ = ["OWN_MODULES", "HostMachine", "create_host"]

OWN_MODULES = "own_"
"""prefix of the names of modules that are the user's own files"""


class HostMachine(Machine, Protocol):
    """A Machine that a host runs."""

    def finish(self, now: int) -> None:
        """The world stops: queue the last events, statistics among them."""
        ...


def create_host(config: NodeConfig, start_ns: int = 0) -> HostMachine:
    """The Machine of one host, with its gradient source. Raises ScenarioError when the configuration asks for something
    that is not there, HostCapabilityError when its data is not installed."""
    runs = getattr(config, "runs", "")
    modules = str(runs), type(config).__module__
    if any(name.startswith(OWN_MODULES) or is_of_plugin(name.partition(":")[0]) for name in modules):
        from workloads.witness import create_own  # for files of the user's own alone

        return cast(HostMachine, create_own(config, start_ns))
    module, _, function = runs.partition(":")
    if not module:
        raise InternalError(f"no Machine for a host of {type(config).__name__}")
    machine: HostMachine = getattr(import_module(module), function)(config, start_ns)
    return machine
