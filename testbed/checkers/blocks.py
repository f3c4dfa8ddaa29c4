"""The blocks of a job that travels in datagrams, worked out from the plan and the number of elements alone.

A block is what one packet of a worker carries. SwitchML, ATP, ESA (docs/switchml.md): K = ceil(elements / s) blocks of
an iteration. float32 needs W packets more than max(K, W), which carry exponents ahead of the integers. int32, and
float32 with one scale, need K.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from switch_nodes.jobs import JobConfig
from testbed.checkers.context import CheckContext, is_training
from testbed.checkers.contract import JudgedProtocol, Part, judged_protocol
from testbed.checkers.reference import expected_contributions
from testbed.scenario.protocols.own_code import require
from workloads.config import HostConfig
from workloads.events import CollectiveStarted
from workloads.ownvalues import Allowed, misfit

__all__ = [
    "BlockLayout",
    "block_layout",
    "blocks_of",
    "blocks_with_exponents",
    "part_of",
    "served_jobs",
    "summing_nodes",
]


_BLOCKS = Allowed("a whole number from 1, or None", lambda found: found is None or (type(found) is int and found >= 1))
_PART = Allowed("a Part", lambda found: misfit(found, Part) is None)


class BlockConfig(HostConfig, Protocol):
    """Of a worker that sends blocks, a window of them ahead of results."""

    @property
    def elements(self) -> int:
        """of a full block"""
        ...

    @property
    def window(self) -> int: ...


@dataclass(frozen=True, slots=True)
class BlockLayout:
    iterations: int
    per_iteration: int
    due: Sequence[tuple[int, ...]] | None = None
    """for each block of the job, how often each rank enters its sum, where the data says that; None: all in the same
    way"""
    is_free: bool = False
    """the data says who enters a sum, and is not known here: each rank enters once at most, and blocks may be absent"""

    @property
    def total(self) -> int:
        """Blocks of the whole job."""
        return self.iterations * self.per_iteration

    @property
    def awaited(self) -> Iterator[int]:
        """Blocks that must be summed."""
        if not self.is_free:
            yield from (block for block in range(self.total) if self.due is None or any(self.due[block]))

    def counts(self, block: int, ordinary: Sequence[int]) -> Sequence[int] | None:
        """How often each rank must enter the sum. `ordinary`: where the data says nothing. None: not known."""
        if self.is_free:
            return None
        return ordinary if self.due is None or not 0 <= block < len(self.due) else self.due[block]

    def name(self, block: int) -> str:
        """For a person."""
        iteration, part = divmod(block, self.per_iteration)
        return f"block {block} (iteration {iteration}, packet {part + 1} of {self.per_iteration})"


@dataclass(frozen=True, slots=True)
class UnevenBlocks(BlockLayout):
    """Of a job whose gradients have different sizes."""

    sizes: tuple[int, ...] = ()
    """blocks of each iteration"""

    @property
    def total(self) -> int:
        return sum(self.sizes)

    def name(self, block: int) -> str:
        return f"block {block} of {self.total}"


def block_layout(context: CheckContext, job: int) -> BlockLayout:
    """The layout of one job in `context`. The gradient's size is what its first worker reported, else what the scenario
    asks for. Raises ValueError for workers whose blocks follow no rule that is known here."""
    worker, scenario = context.plan.groups[job][0], context.plan.scenario
    protocol, sums = judged_protocol(scenario.job.protocol), judged_protocol(scenario.job.runs).sums(worker)
    if sums is not None:
        sizes = tuple(blocks_of(protocol, worker, elements) for elements in sums) * worker.workload.iterations
        return UnevenBlocks(worker.workload.iterations, 0, sizes=sizes)
    lengths = [
        record.event.bytes // 4
        for record in context.events(CollectiveStarted)
        if record.node == worker.name and not record.event.operation
    ]
    if is_training(context):
        depends = type(protocol).contributions is not JudgedProtocol.contributions
        sizes = tuple(blocks_of(protocol, worker, elements) for elements in lengths)
        return UnevenBlocks(len(lengths), 0, None, depends, sizes)
    blocks = blocks_of(protocol, worker, lengths[0] if lengths else worker.workload.elements)
    due = expected_contributions(context.plan, context.plan.groups[job])
    return BlockLayout(worker.workload.iterations, blocks, due)


def blocks_of(protocol: JudgedProtocol, worker: HostConfig, elements: int) -> int:
    """Of one iteration, as the protocol says. Raises ValueError where it says nothing."""
    found: int | None = require(protocol.blocks, protocol.blocks(worker, elements), _BLOCKS)
    if found is None:
        raise ValueError(f"nothing is known of the blocks of {protocol.name}")
    return int(found)


def blocks_with_exponents(host: HostConfig, elements: int) -> int:
    """Of one iteration, as `Protocol.blocks`. Packets that carry exponents go a window ahead of the integers. `host`: a
    BlockConfig."""
    worker = cast(BlockConfig, host)
    blocks = -(-elements // worker.elements)
    if worker.collective.arithmetic.dtype == "float32" and not getattr(worker, "fixed_scale", None):
        blocks = max(blocks, worker.window) + worker.window
    return blocks


def served_jobs(context: CheckContext) -> Mapping[tuple[str, int], JobConfig]:
    """By (switch, job id): the jobs that switches are configured to aggregate."""
    return {(switch.name, job.job): job for switch in context.plan.switches for job in switch.jobs}


def summing_nodes(context: CheckContext) -> frozenset[tuple[str, int]]:
    """The nodes that may complete blocks, with the job: (switch, parameter server or worker, job id)."""
    servers = {(server.name, job.job) for server in context.plan.servers for job in server.jobs}
    workers = {(worker.name, worker.group) for worker in context.plan.workers if part_of(context, worker).sums}
    return frozenset(served_jobs(context)) | servers | workers


def part_of(context: CheckContext, worker: HostConfig) -> Part:
    """What a worker does for the sums of its job."""
    protocol = judged_protocol(context.plan.scenario.job.protocol)
    found: Part = require(protocol.part, protocol.part(worker), _PART)
    return found
