"""The workers' connections, as faults and checkers need them."""

from __future__ import annotations

from testbed.faults.connections import Connection
from workloads.collectives.lengths import message_packets
from workloads.collectives.messages import channel_packets
from workloads.config import CHANNEL, WorkerConfig

__all__ = ["plan_connections"]


def plan_connections(workers: tuple[WorkerConfig, ...]) -> tuple[Connection, ...]:
    """Messages of each connection, as the workers' protocols will send them."""
    connections = []
    for worker in workers:
        for number, part in enumerate(worker.all_parts):
            qp, workload = part.to_successor, part.workload
            there, back = qp.envelope.src_ip, qp.envelope.dst_ip
            connections.append(
                Connection(
                    rank=worker.collective.rank,
                    requests=(there, back, qp.peer_qpn),
                    answers=(back, there, qp.qpn),
                    first_psn=qp.first_psn,
                    message_packets=channel_packets(worker, number)
                    if part.collective.kind == CHANNEL
                    else message_packets(part.collective, workload.elements, workload.iterations, qp.path_mtu),
                )
            )
    return tuple(connections)
