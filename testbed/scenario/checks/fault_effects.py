"""Refusal of faults that would change nothing, as the file alone shows: a run would prove nothing about them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from testbed.faults.model import Fault, NodeFault, RateChange, Reorder
from testbed.reading.known import as_far_as_known
from testbed.reading.problems import KeyPath, Problems
from testbed.reading.units import format_rate
from testbed.scenario.keys.background import BackgroundFlow
from testbed.scenario.keys.fault_loader import Placed
from testbed.scenario.keys.job import Job
from topologies import Topology

__all__ = ["busy_hosts", "check_effects"]

_NEVER = "the fault can never hit: "


def busy_hosts(topology: Topology, jobs: Sequence[Job], background: Sequence[BackgroundFlow]) -> frozenset[str]:
    """Names of those that run a job or serve one, or that a background flow begins or ends at."""
    named = {name for job in jobs for name in job.hosts}
    if not named:
        named = {host.name for host in topology.hosts}
    return frozenset(
        named | {job.server for job in jobs} | {end for flow in background for end in (flow.source, flow.target)}
    )


def check_effects(
    problems: Problems, placed: Sequence[Placed], topology: Topology, busy: Collection[str], shapes_known: bool = True
) -> None:
    """`busy`: hosts that do anything in this run; `shapes_known`: of all links."""
    for path, _, fault in placed:
        with as_far_as_known():
            _check_effect(problems, path, fault, topology, busy, shapes_known)


def _check_effect(
    problems: Problems, path: KeyPath, fault: Fault, topology: Topology, busy: Collection[str], shapes_known: bool
) -> None:
    _check_node(problems, path, fault, topology, busy)
    if isinstance(fault, RateChange) and fault.links and shapes_known:
        rates = {topology.link(name).shape.rate_bps for name in fault.links}
        if rates == {fault.rate_bps}:
            problems.add((*path, "rate"), f"{_NEVER}its links have that rate already",
                         found=format_rate(fault.rate_bps), allowed="another rate")  # fmt: skip
    if isinstance(fault, Reorder) and fault.delay_ns == 0:
        problems.add((*path, "delay"), f"{_NEVER}nothing overtakes a packet that is not held back", found="0ns",
                     allowed="more than 0ns")  # fmt: skip


def _check_node(problems: Problems, path: KeyPath, fault: Fault, topology: Topology, busy: Collection[str]) -> None:
    idle = {host.name for host in topology.hosts} - set(busy)
    if isinstance(fault, NodeFault) and fault.node in idle:
        nodes = [node.name for node in topology.nodes if node.name not in idle]
        problems.add((*path, "node"), f"{_NEVER}no job runs on that host, and no background flow", found=fault.node,
                     allowed=", ".join(nodes))  # fmt: skip
