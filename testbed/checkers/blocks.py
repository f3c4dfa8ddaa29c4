"""The blocks of a job that travels in datagrams, worked out from the plan and the number of elements alone.

A block is what one packet of a worker carries. SwitchML, ATP, ESA (docs/switchml.md): K = ceil(elements / s) blocks of an
iteration; float32 needs W packets more than max(K, W), which carry exponents ahead of the integers; int32, and float32 with one scale, K.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from switch_nodes.jobs import JobConfig
from testbed.checkers.context import CheckContext
from workloads.atp import AtpConfig
from workloads.events import CollectiveStarted
from workloads.switchml import SwitchMlConfig

__all__ = ["IN_BLOCKS", "BlockLayout", "block_layout", "served_jobs", "summing_nodes"]

IN_BLOCKS = (SwitchMlConfig, AtpConfig)
"""configurations of workers that send blocks; floats as integers"""


@dataclass(frozen=True, slots=True)
class BlockLayout:
    iterations: int
    per_iteration: int

    @property
    def total(self) -> int:
        """Blocks of the whole job."""
        return self.iterations * self.per_iteration

    def name(self, block: int) -> str:
        """For a person."""
        iteration, part = divmod(block, self.per_iteration)
        return f"block {block} (iteration {iteration}, packet {part + 1} of {self.per_iteration})"


def block_layout(context: CheckContext, job: int) -> BlockLayout:
    """Of one job in `context`. The gradient's size is what its first worker told, else what the scenario asks for. Raises
    ValueError for workers whose blocks follow no rule that is known here."""
    worker = context.plan.groups[job][0]
    if not isinstance(worker, IN_BLOCKS):
        raise ValueError(f"nothing is known of the blocks of {worker.collective.kind}")
    started = context.events(CollectiveStarted)
    told = [record.event.bytes // 4 for record in started if record.node == worker.name]
    blocks = -(-(told[0] if told else worker.workload.elements) // worker.elements)
    if worker.collective.arithmetic.dtype == "float32" and not (isinstance(worker, AtpConfig) and worker.fixed_scale):
        blocks = max(blocks, worker.window) + worker.window
    return BlockLayout(worker.workload.iterations, blocks)


def served_jobs(context: CheckContext) -> Mapping[tuple[str, int], JobConfig]:
    """By (switch, job id): what switches were told to aggregate."""
    return {(switch.name, job.job): job for switch in context.plan.switches for job in switch.jobs}


def summing_nodes(context: CheckContext) -> frozenset[tuple[str, int]]:
    """(switch or parameter server, job id): who may complete blocks of which job."""
    servers = {(server.name, job.job) for server in context.plan.servers for job in server.jobs}
    return frozenset(served_jobs(context)) | servers
