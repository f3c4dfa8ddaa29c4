"""Sums that wait until all of their iteration are complete."""

from __future__ import annotations

from collections.abc import Sequence

from workloads.server.block import Block

__all__ = ["HeldBack"]


class HeldBack:
    """`blocks`: of each iteration; 0: nothing waits. A worker that asks for a waiting sum gets it at once (REPLAY). So
    where packets are lost no worker depends on the others."""

    def __init__(self, blocks: int) -> None:
        self._blocks = blocks
        self._waiting: dict[int, Block] = {}

    def release(self, block: Block) -> Sequence[Block]:
        """What may leave now that this one is complete, in order. Those of an iteration before are with all workers."""
        if not self._blocks:
            return (block,)
        iteration = block.number // self._blocks
        kept = {number: each for number, each in self._waiting.items() if number // self._blocks == iteration}
        kept[block.number] = block
        if len(kept) < self._blocks:
            self._waiting = kept
            return ()
        self._waiting = {}
        return [kept[number] for number in sorted(kept)]
