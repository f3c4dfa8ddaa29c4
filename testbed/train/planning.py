"""From a scenario to the plan of a training: the workers' gradients come from outside, piece by piece, for as long as
there are any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from testbed.checkers.contract import judged_protocol
from testbed.plan import Plan, make_plan
from testbed.plan.connections import plan_connections
from testbed.plan.meshed import meshes, with_mesh
from testbed.scenario import load_scenario
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.named import protocol_names
from topologies import Node
from workloads.collectives.operations import ALL_REDUCE
from workloads.config import ELEMENT_BYTES, MeshedConfig, WorkerConfig
from workloads.errors import ScenarioError

__all__ = ["TrainingSource", "carries_all", "has_one_size", "judged_plan", "round_piece", "training_plan"]

LEAST_PIECE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class TrainingSource:
    """Where the scenario of a training comes from, to load it again with another size or number of iterations."""

    name_or_path: str
    overrides: tuple[str, ...] = ()
    seed: int | None = None
    world: str | None = None
    captures: bool = False
    """captures of a long training are long too"""

    def load(self, changes: Sequence[str] = ()) -> Scenario:
        """Raises ScenarioError for a file with mistakes, and for a job that no training can use."""
        scenario = load_scenario(self.name_or_path, (*self.overrides, *changes), self.seed, self.world)
        _require_summing(scenario)
        # The ranks say what they want, call by call.
        scenario = replace(scenario, job=replace(scenario.job, operation=ALL_REDUCE, root=0))
        # Ranks compute in real time: without a factor of the user's, the network keeps that time, too.
        return replace(scenario, capture=self.captures, dilation=scenario.dilation or 1)

    def sized(self, piece_bytes: int) -> Scenario:
        """The same with gradients of that size."""
        return self.load(_changes(piece_bytes, 1))


def _trains(collective: str) -> bool:
    protocol = judged_protocol(collective)
    result = protocol.result()
    return result.is_sum and (result.is_exact or protocol.piece_judge() is not None)


def _require_summing(scenario: Scenario) -> None:
    job, able = scenario.job, list(filter(_trains, protocol_names()))
    wrong = (
        ("jobs", f"{len(scenario.jobs)} jobs", "one job: a training has the fabric for itself", bool(scenario.jobs)),
        ("beside", "jobs of other collectives", "a training has the fabric for itself", bool(scenario.beside)),
        ("job.copies", str(job.copies), "1: a training has the fabric for itself", job.copies != 1),
        ("job.workload", "a file", "synthetic: ranks bring their own gradients", job.file is not None),
        ("job.dtype", job.dtype, "float32", job.dtype != "float32"),
        ("job.op", job.op, "sum", job.op != "sum"),
        ("job.protocol", job.protocol, ", ".join(able), not _trains(job.protocol)),
        ("nics", "devices", "soft", bool(scenario.nics)),
    )
    for key, found, allowed, is_wrong in wrong:
        if is_wrong:
            raise ScenarioError("a training cannot use this", key=key, found=found, allowed=allowed)


def _changes(piece_bytes: int, iterations: int) -> tuple[str, ...]:
    return f"job.size={piece_bytes}B", f"job.iterations={iterations}", "job.workload=synthetic"


def training_plan(scenario: Scenario) -> Plan:
    """Raises ScenarioError as `make_plan` does."""
    plan = make_plan(scenario)
    workers = tuple(_external(worker) for worker in plan.workers)
    hosts = [scenario.topology.node(worker.name) for worker in workers]
    if workers and all(isinstance(worker, MeshedConfig) and not isinstance(worker, WorkerConfig) for worker in workers):
        return _with_mesh(plan, workers, hosts)
    if not all(isinstance(worker, WorkerConfig) for worker in workers):
        return replace(plan, workers=workers)
    meshed = with_mesh(plan.scenario, hosts, workers)
    return replace(plan, workers=meshed, connections=plan_connections(meshed))


def _with_mesh(plan: Plan, workers: tuple[Any, ...], hosts: Sequence[Node]) -> Plan:
    """Sums of all ranks travel in datagrams, everything else over the mesh."""
    if len(workers) < 2:
        return replace(plan, workers=workers)
    others = meshes(plan.scenario, hosts, [worker.workload for worker in workers])
    meshed = tuple(replace(worker, mesh=other) for worker, other in zip(workers, others, strict=True))
    return replace(plan, workers=meshed, connections=(*plan.connections, *plan_connections(others)))


def carries_all(plan: Plan) -> bool:
    """Whether its network carries every collective; else it carries sums of all ranks alone."""
    return bool(plan.workers) and all(isinstance(worker, MeshedConfig) and worker.mesh for worker in plan.workers)


def judged_plan(source: TrainingSource, piece_bytes: int, iterations: int) -> Plan:
    """What a training turned out to be: so many iterations of pieces of that size."""
    scenario = source.load(_changes(piece_bytes, max(1, iterations)))
    return training_plan(scenario)


def _external(worker: Any) -> Any:
    """A worker without a second life: a rank cannot take back what it learned from sums of the first."""
    workload = replace(worker.workload, kind="external", compute=None)
    changes: dict[str, Any] = {"workload": workload}
    if getattr(worker, "fallback", None) is not None:
        changes["fallback"] = None
    return replace(worker, **changes)


def has_one_size(plan: Plan) -> bool:
    """Whether all gradients of a job must be equally long. Its hosts know the length, or phases work on parts of them
    that the plan has cut."""
    by_hosts = judged_protocol(plan.scenario.job.protocol).one_size()
    return by_hosts or any(worker.phases for worker in plan.ring_workers)


def round_piece(size_bytes: int) -> int:
    """Whole elements, and at least LEAST_PIECE_BYTES."""
    return max(LEAST_PIECE_BYTES, -(-size_bytes // ELEMENT_BYTES) * ELEMENT_BYTES)
