"""The Machine of a host, by the kind of its configuration: the one place that knows which protocols there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from workloads.atp import AtpConfig, AtpWorker
from workloads.config import NodeConfig, WorkerConfig
from workloads.errors import InternalError
from workloads.fallback import create_worker
from workloads.gradients import create_source
from workloads.grid import GridConfig, GridWorker
from workloads.machine import Machine
from workloads.server import ParameterServer, ServerConfig
from workloads.switchml import SwitchMlConfig, SwitchMlWorker

__all__ = ["HostMachine", "create_host", "register_host"]


class HostMachine(Machine, Protocol):
    """A Machine that a host runs."""

    def finish(self, now: int) -> None:
        """The world stops: queue the last events, statistics among them."""
        ...


HostFactory = Callable[[Any, int], HostMachine]
"""(configuration, when it starts by its own clock in ns)"""


def _switchml(config: SwitchMlConfig, start_ns: int) -> HostMachine:
    share = config.collective
    source = create_source(config.workload, share.rank, share.size, share.arithmetic.dtype)
    return SwitchMlWorker(config, source, start_ns=start_ns)


def _atp(config: AtpConfig, start_ns: int) -> HostMachine:
    share = config.collective
    source = create_source(config.workload, share.rank, share.size, share.arithmetic.dtype)
    return AtpWorker(config, source, start_ns=start_ns)


def _grid(config: GridConfig, start_ns: int) -> HostMachine:
    share = config.collective
    source = create_source(config.workload, share.rank, share.size, share.arithmetic.dtype)
    return GridWorker(config, source, start_ns=start_ns)


def _server(config: ServerConfig, start_ns: int) -> HostMachine:
    return ParameterServer(config, start_ns=start_ns)


_FACTORIES: dict[type, HostFactory] = {
    WorkerConfig: create_worker,
    SwitchMlConfig: _switchml,
    AtpConfig: _atp,
    GridConfig: _grid,
    ServerConfig: _server,
}


def register_host(kind: type, factory: HostFactory) -> None:
    """Hosts with a configuration of this class run what `factory` makes. Raises ValueError when the class is taken."""
    if kind in _FACTORIES:
        raise ValueError(f"hosts of {kind.__name__} have a Machine already")
    _FACTORIES[kind] = factory


def create_host(config: NodeConfig, start_ns: int = 0) -> HostMachine:
    """The Machine of one host, with its gradient source. Raises ScenarioError when the configuration asks for something that
    is not there, HostCapabilityError when its data is not installed."""
    factory = _FACTORIES.get(type(config))
    if factory is None:
        raise InternalError(f"no Machine for a host of {type(config).__name__}")
    return factory(config, start_ns)
