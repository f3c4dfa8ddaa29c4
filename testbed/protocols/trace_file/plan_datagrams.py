"""The plan of a trace whose sums travel in datagrams: that of their protocol, whose workers have the trace next to
them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from testbed.plan.connections import plan_connections
from testbed.plan.contract import planned_protocol
from testbed.plan.jobs import plan_jobs
from testbed.plan.model import Plan
from testbed.protocols.trace_file.plan import traced_workers
from testbed.scenario.model import Scenario
from workloads.config import ELEMENT_BYTES, HostConfig, MeshedConfig
from workloads.errors import ScenarioError
from workloads.traces.program import TracedConfig

__all__ = ["plan_in_datagrams", "sums_of"]


def sums_of(trace: TracedConfig) -> tuple[int, ...]:
    """Elements of each sum in datagrams, in their order."""
    summed = sorted((each for each in trace.communications if each.turn >= 0), key=lambda each: each.turn)
    return tuple(each.gives for each in summed)


def plan_in_datagrams(scenario: Scenario) -> Plan:
    """Windows are those of the largest sum."""
    (only,) = plan_jobs(scenario)
    traced, _ = traced_workers(scenario, only)
    largest = max(sums_of(traced[0]), default=1)
    job = replace(scenario.job, file=None, size_bytes=ELEMENT_BYTES * largest, straggler=None)
    own = planned_protocol(job.protocol).plan(replace(scenario, job=job))
    workers = tuple(_next_to(worker, trace) for worker, trace in zip(own.workers, traced, strict=True))
    return replace(own, scenario=scenario, workers=workers, connections=(*own.connections, *plan_connections(traced)))


def _next_to(worker: Any, trace: TracedConfig) -> HostConfig:
    """A worker whose iterations are the sums of the trace. The trace alone is late. Raises ScenarioError for a worker
    of the user's own without connections."""
    has_connections = isinstance(worker, MeshedConfig)
    if not has_connections:
        raise ScenarioError(
            "its workers cannot have connections, which a trace needs", key="job.protocol", found=type(worker).__name__,
            allowed="a configuration with a field mesh, None by default",
        )  # fmt: skip
    made: HostConfig = replace(worker, workload=replace(trace.workload, straggle_ns=0), mesh=trace)
    return made
