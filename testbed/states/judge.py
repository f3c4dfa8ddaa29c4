"""What must hold: at every step of a node, and where the job ends."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from switch_nodes.events import MessageAggregated, SlotsAtEnd
from testbed.checkers.reference import expected_results
from testbed.plan import Plan
from testbed.states.station import NodeStep
from workloads.datagrams.blocks import BlockSummed, MemoryAtEnd, PartialSent, SlotMixed
from workloads.events import CollectiveCompleted, WorkerFailed
from workloads.machine import Event

__all__ = ["BIT_EXACT", "CRASH", "DEADLOCK", "EXACTLY_ONCE", "LIVENESS", "SLOTS_EMPTY", "STUCK", "Judge"]

BIT_EXACT, EXACTLY_ONCE, LIVENESS, SLOTS_EMPTY = "bit_exact", "exactly_once", "liveness", "slots_empty"
CRASH, DEADLOCK, STUCK = "crash", "deadlock", "stuck"
Problem = tuple[str, str]
"""(check, what broke it)"""


class Judge:
    """Of one plan. The reference of each result comes from the stock checker."""

    def __init__(self, plan: Plan) -> None:
        self._right: dict[tuple[str, int], str] = {}
        for iteration, results in enumerate(expected_results(plan)):
            for worker, expected in zip(plan.workers, results, strict=True):
                data = expected.astype(expected.dtype.newbyteorder("<"), copy=False).tobytes()
                self._right[worker.name, iteration] = hashlib.sha256(data).hexdigest()

    def step(self, node: str, step: NodeStep) -> Problem | None:
        """What is wrong with a step of a node."""
        if step.crash:
            return CRASH, f"{node} raises {step.crash}"
        for event in step.events:
            match event:
                case CollectiveCompleted(iteration=iteration, sha256=digest):
                    if digest != self._right.get((node, iteration)):
                        return BIT_EXACT, f"{node} has another result of iteration {iteration} than the reference"
                case BlockSummed(block=block, contributions=counts) if set(counts) != {1}:
                    return EXACTLY_ONCE, f"block {block}: contributions of the ranks {list(counts)}, each must be 1"
                case PartialSent(block=block, contributions=counts) if max(counts, default=0) > 1:
                    return EXACTLY_ONCE, f"part of block {block}: contributions {list(counts)}, each may be 1 at most"
                case SlotMixed(block=block, slot=slot):
                    return EXACTLY_ONCE, f"a contribution to block {block} entered slot {slot}, which another block has"
                case MessageAggregated(message=message, packets=packets, contributions=counts):
                    if set(counts) != {packets}:
                        return EXACTLY_ONCE, f"message {message} of {packets} packets: packets by rank {list(counts)}"
                case WorkerFailed(reason=reason, detail=detail):
                    return LIVENESS, f"{node} gave up: {reason}: {detail}"
                case _:
                    pass
        return None

    def end(self, node: str, events: Iterable[Event]) -> Problem | None:
        """What is wrong with what a switch reports after the job."""
        for event in events:
            if isinstance(event, MemoryAtEnd | SlotsAtEnd) and event.open:
                return SLOTS_EMPTY, f"{event.open} slots of {node} hold contributions without a sum after the job"
        return None
