"""What the workers and switches of NetReduce wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from switch_nodes.program import slot_waits
from testbed.explain.contract import NodeWait
from testbed.plan import Plan
from workloads.rc.numbers import psn_of

__all__ = ["waits_in"]


def waits_in(machines: Mapping[str, Any], plan: Plan) -> Iterator[NodeWait]:
    """`machines`: those that live, by node."""
    topology = plan.scenario.topology
    hosts = {node.ip: node.name for node in topology.hosts}
    above = {worker.name: _neighbour(plan, worker.name) for worker in plan.workers}
    for worker in plan.workers:
        if worker.name in machines:
            yield from _of_worker(worker.name, machines[worker.name], above[worker.name], hosts)
    for switch in plan.switches:
        ports = {port: link.a if link.b == switch.name else link.b for port, link, _ in topology.ports(switch.name)}
        missing = {
            ports[port] for wait in slot_waits(machines.get(switch.name)) for port in wait.missing if port in ports
        }
        for node in sorted(missing):
            yield NodeWait(switch.name, f"packets of {node} for sums that it holds", node)


def _neighbour(plan: Plan, host: str) -> str:
    """The switch of a host."""
    _, link, _ = next(iter(plan.scenario.topology.ports(host)))
    return link.a if link.b == host else link.b


def _of_worker(name: str, worker: Any, switch: str, hosts: Mapping[bytes, str]) -> Iterator[NodeWait]:
    if getattr(worker, "finished", True):
        return
    collective = getattr(worker, "_collective", None)
    if collective is not None and getattr(collective, "_received", 0) < getattr(collective, "_last", 0):
        yield NodeWait(name, f"the result of message {collective._received}", switch)
    for pair in worker.endpoint.queue_pairs:
        if not pair.requester.outstanding:
            continue
        recovery = pair.requester.recovery
        una = getattr(recovery, "una", None)
        una = recovery.window.una if una is None else una
        peer = hosts.get(pair.config.envelope.dst_ip, "")
        yield NodeWait(name, f"the acknowledgement of PSN {psn_of(una)} by {peer}", peer, recovery.deadline)
