"""The plan of a job over a mesh, and how long its operations take."""

from __future__ import annotations

from math import ceil

from testbed.plan.connections import plan_connections
from testbed.plan.jobs import plan_jobs
from testbed.plan.meshed import mesh_workers
from testbed.plan.model import Plan
from testbed.plan.switches import plan_switches
from testbed.scenario.model import Scenario
from workloads.config import MeshTask

__all__ = ["plan_mesh", "times_of_vector"]


def plan_mesh(scenario: Scenario) -> Plan:
    """Queue pairs, PSNs and keys of all connections are drawn from the seed."""
    (only,) = plan_jobs(scenario)
    size, vector = len(only.hosts), only.workloads[0].elements
    task = MeshTask(only.job.operation, tuple(range(size)), only.job.root)
    # What a host sends, as if it sent as much to each of the others.
    each = ceil(times_of_vector(task.operation, size) * vector / max(1, size - 1))
    workers = mesh_workers(scenario, only.hosts, only.workloads, task, max(1, each))
    return Plan(scenario, workers, plan_switches(scenario, only.arithmetic), plan_connections(workers))


def times_of_vector(operation: str, ranks: int) -> float:
    """How many times a vector's own time on a link an operation takes, without latencies. A tree's vectors all cross
    the root's link."""
    if operation in ("broadcast", "reduce"):
        return float((ranks - 1).bit_length())
    if operation == "barrier":
        return 0.0
    if operation == "send":
        return 1.0
    return (2 if operation == "all_reduce" else 1) * (ranks - 1) / ranks
