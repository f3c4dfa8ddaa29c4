"""From a scenario to the hosts of a job of RDMA flows."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

from testbed.faults.connections import Connection
from testbed.plan.irn import irn_config
from testbed.plan.jobs import plan_jobs
from testbed.plan.model import Plan
from testbed.plan.pairs import PairEnd, queue_pair
from testbed.plan.switches import plan_switches
from testbed.protocols.flows.keys import FlowsKeys
from testbed.protocols.flows.plan_drawn import draw_flows
from testbed.scenario.model import Scenario
from topologies import Node
from workloads.config import ELEMENT_BYTES, JobShare, QpConfig
from workloads.flows import FlowEnd, FlowsConfig
from workloads.rc.numbers import any_psn, psn_of

__all__ = ["plan_flows"]

_FIRST_QPN = 0x100
_PATIENT = 7


def plan_flows(scenario: Scenario) -> Plan:
    """Each flow has a queue pair at both ends. PSNs and UDP source ports are drawn from the seed, and do not depend on
    the transport. With `retry_count: 7` senders never give up (decided here)."""
    (only,) = plan_jobs(scenario)
    hosts, transport = only.hosts, scenario.transport
    keys = only.job.own if isinstance(only.job.own, FlowsKeys) else FlowsKeys()
    seed = only.workloads[0].seed
    flows = draw_flows(keys, [_rate_bps(scenario, host) for host in hosts], transport.path_mtu, seed)
    irn = None
    if transport.speaks_irn:
        irn = irn_config(scenario, {(hosts[flow.source], hosts[flow.target]) for flow in flows})
    draw = random.Random(f"plan {scenario.seed}")
    outgoing, incoming = defaultdict[int, list[FlowEnd]](list), defaultdict[int, list[FlowEnd]](list)
    connections = []
    patient = transport.retry_count == _PATIENT
    for number, flow in enumerate(flows):
        psn = any_psn(draw.randrange) if transport.start_psn is None else psn_of(transport.start_psn)
        sports = draw.randrange(0xC000, 0x10000), draw.randrange(0xC000, 0x10000)
        qpns = _FIRST_QPN + 2 * number, _FIRST_QPN + 2 * number + 1
        ends = hosts[flow.source], hosts[flow.target]

        def qp(
            side: int, qpns: tuple[int, int], ends: tuple[Node, Node], sports: tuple[int, int], psn: int
        ) -> QpConfig:
            found = queue_pair(
                scenario, PairEnd(ends[side], qpns[side], 0 if side else psn),
                PairEnd(ends[1 - side], qpns[1 - side], psn if side else 0), sport=sports[side], irn=irn,
            )  # fmt: skip
            return replace(found, retry7_infinite=patient)

        sender, receiver = (qp(side, qpns, ends, sports, psn) for side in (0, 1))
        outgoing[flow.source].append(FlowEnd(number, flow.size, flow.start_ns, sender))
        incoming[flow.target].append(FlowEnd(number, flow.size, flow.start_ns, receiver))
        there, back = sender.envelope.src_ip, sender.envelope.dst_ip
        packets = max(1, -(-flow.size // transport.path_mtu))
        connections.append(Connection(flow.source, (there, back, qpns[1]), (back, there, qpns[0]), psn, (packets,)))
    last_ns = keys.duration_ns if keys.load is not None else 0
    workers = tuple(
        FlowsConfig(
            name=host.name,
            collective=JobShare(only.job.protocol, only.number, rank, len(hosts), only.arithmetic),
            workload=replace(workload, elements=_elements(outgoing[rank])),
            outgoing=tuple(outgoing[rank]),
            incoming=tuple(incoming[rank]),
            stop_ns=None if keys.drain_ns is None else last_ns + keys.drain_ns,
        )
        for rank, (host, workload) in enumerate(zip(hosts, only.workloads, strict=True))
    )
    return Plan(scenario, workers, plan_switches(scenario, only.arithmetic), tuple(connections))


def _elements(outgoing: list[FlowEnd]) -> int:
    """As many as make the bytes that the host sends, from which timers and the need for memory follow."""
    return max(1, sum(end.size for end in outgoing) // ELEMENT_BYTES)


def _rate_bps(scenario: Scenario, host: Node) -> int:
    _, link, _ = next(iter(scenario.topology.ports(host.name)))
    return link.shape.rate_bps
