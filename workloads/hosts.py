"""The Machine of a host, which its configuration makes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from workloads.config import MeshedConfig, NodeConfig, WorkerConfig
from workloads.errors import InternalError
from workloads.machine import HostMachine
from workloads.plugins import is_of_plugin

__all__ = ["OWN_MODULES", "RUNS", "create_host", "maker_of"]

RUNS = "runs"
"""attribute of older configurations of the user's own that names what makes the Machine: `module:function`"""
OWN_MODULES = "own_"
"""prefix of the names of modules that are the user's own files"""


def create_host(config: NodeConfig, start_ns: int = 0) -> HostMachine:
    """The Machine of one host, with its gradient source; next to connections, if the configuration has a mesh. Raises
    ScenarioError when the configuration asks for something that is not there, HostCapabilityError when its data is not
    installed."""
    if isinstance(config, MeshedConfig) and isinstance(config.mesh, WorkerConfig):
        return _next_to(config.mesh, config, start_ns)
    create = getattr(config, "create", None)
    if _is_own(type(config).__module__) or _is_own(maker_of(config)):
        from workloads.witness import create_own  # for files of the user's own alone

        return cast(HostMachine, create_own(config, start_ns))
    if create is None:
        raise InternalError(f"no Machine for a host of {type(config).__name__}")
    return cast(HostMachine, create(start_ns))


def _next_to(mesh: WorkerConfig, config: Any, start_ns: int) -> HostMachine:
    """The worker need not know of the mesh: it gets its iterations alone, as if they came from a training."""
    from workloads.gradients import source_of  # for trainings and traces alone
    from workloads.gradients.external import attached
    from workloads.tasked_host import with_mesh

    alone = replace(config, mesh=None, workload=replace(config.workload, kind="external"))

    def make(source: Any) -> HostMachine:
        with attached(config.collective.rank, source):
            return create_host(alone, start_ns)

    return with_mesh(mesh, source_of(config), make, start_ns)


def maker_of(config: NodeConfig) -> str:
    """The module whose code makes its Machine; empty: none does."""
    own = type(config)
    if hasattr(own, RUNS):
        return str(getattr(own, RUNS)).partition(":")[0]
    return getattr(getattr(own, "create", None), "__module__", "")


def _is_own(module: str) -> bool:
    """Of a file of the user's own, or of an installed package."""
    return module.startswith(OWN_MODULES) or is_of_plugin(module)
