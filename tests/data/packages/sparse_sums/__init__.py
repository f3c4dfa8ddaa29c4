"""A protocol of a package of its own: its own header and transport, blocks that the data decides, its own timer."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sparse_sums.header import TRANSPORT
from sparse_sums.worker import SparseConfig, blocks_in, kept
from switch_nodes.jobs import JobConfig
from testbed.checkers.folds import Array
from testbed.plan import Plan
from testbed.plan.jobs import SERVICE_IP, SERVICE_MAC, job_members, plan_jobs
from testbed.plan.switches import plan_switches
from testbed.protocols import Hunt, KeyGroup, Protocol
from testbed.scenario import Scenario
from workloads.config import HostConfig, JobShare
from workloads.transports import TransportKind
from workloads.wire.envelope import Envelope

__all__ = ["PROTOCOL"]


class SparseSums(Protocol):
    """Sums of the blocks that workers keep; a block that a worker does not send counts as zeros."""

    def optional_keys(self) -> frozenset[KeyGroup]:
        return frozenset({KeyGroup.JOBS})

    def largest_mtu(self) -> int:
        return 1024

    def transport(self, framing: str) -> TransportKind:
        return TRANSPORT

    def plan(self, scenario: Scenario) -> Plan:
        jobs, of = plan_jobs(scenario), scenario.transport.path_mtu // 4
        per = [blocks_in(job.workloads[0].elements, of) for job in jobs]
        workers = tuple(
            SparseConfig(
                host.name, JobShare("sparse_sums", job.number, rank, len(job.hosts), job.arithmetic), workload,
                Envelope(host.mac, SERVICE_MAC, host.ip, SERVICE_IP, 0xC000 + rank), of, job.job.window_packets,
                scenario.transport.chosen_rto_ns,
            )
            for job in jobs
            for rank, (host, workload) in enumerate(zip(job.hosts, job.workloads, strict=True))
        )  # fmt: skip
        firsts = [sum(per[:number]) for number in range(len(per))]
        switches = tuple(
            replace(
                switch,
                rings=(),
                memory=sum(per),
                jobs=tuple(
                    JobConfig(job.number, job_members(switch, job.hosts), SERVICE_MAC, SERVICE_IP, first, slots, of,
                              job.arithmetic)
                    for job, first, slots in zip(jobs, firsts, per, strict=True)
                ),
            )
            for switch in plan_switches(scenario, jobs[0].arithmetic)
        )  # fmt: skip
        return Plan(scenario, workers, switches, ())

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        """In rank order; a block that a rank leaves out is not added."""
        of, total = workers[0].framing.payload_bytes // 4, np.zeros_like(gradients[0])
        for block, due in enumerate(self.contributions(workers, gradients)):
            parts = [gradients[rank][block * of : (block + 1) * of] for rank, count in enumerate(due) if count]
            for number, part in enumerate(parts):
                inside = total[block * of : (block + 1) * of]
                inside[:] = inside + part if number else part
        return [total] * len(workers)

    def blocks(self, worker: HostConfig, elements: int) -> int:
        return blocks_in(elements, worker.framing.payload_bytes // 4)

    def contributions(self, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[tuple[int, ...]]:
        of = workers[0].framing.payload_bytes // 4
        return [tuple(map(int, due)) for due in zip(*(kept(each, of) for each in gradients), strict=True)]

    def hunt(self) -> Hunt:
        from testbed.protocols import DatagramHunt  # when schedules are drawn

        return DatagramHunt({"float32": 1, "int32": 1}, waits=4, vectors=2, frames_each_way=4, tells_overflow=False)


PROTOCOL = SparseSums(
    name="sparse_sums",
    summary="sums of the blocks that workers keep",
    programs=("sparse_sums",),
    worker=SparseConfig,
)
