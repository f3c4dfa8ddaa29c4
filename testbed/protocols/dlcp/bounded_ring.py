"""What ranks of a DLCP ring must hold.

Chunk c begins at rank c. Each of the next N-1 ranks adds its own to what came of it, +0 where nothing did. Then the sum
goes on to the others, with +0 for what does not come, also at those behind. What an element misses is what was on its
way when it was left out: a sum of all ranks before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from testbed.checkers.folds import Array, fold
from testbed.protocols.dlcp.bounded_told import JobJudge, inside_of, without

__all__ = ["RingJob"]


class RingJob(JobJudge):
    """Rank r sends to rank r + 1 alone."""

    def results(self, iteration: int, gradients: Sequence[Array]) -> Iterator[tuple[int, Array, Array] | str]:
        ranks = len(self.hosts)
        held = [np.array_split(gradient.copy(), ranks) for gradient in gradients]
        missing = [[np.zeros(len(chunk)) for chunk in chunks] for chunks in held]
        """by rank and chunk: magnitudes that were left out so far"""
        for number in range(ranks):
            for step in range(2 * (ranks - 1)):
                yield from self._step(iteration, number, step, held, missing)
        for rank in range(ranks):
            yield rank, np.concatenate(held[rank]), np.concatenate(missing[rank])

    def _step(
        self, iteration: int, number: int, step: int, held: list[list[Array]], missing: list[list[Array]]
    ) -> Iterator[str]:
        """Chunk `number` goes one rank further: it begins to be summed in step 0, and to be spread in step N - 1."""
        ranks = len(self.hosts)
        adds = step < ranks - 1
        sender = (number + step) % ranks if adds else (number - 1 + step - (ranks - 1)) % ranks
        receiver = (sender + 1) % ranks
        given, own = held[sender][number], held[receiver][number]
        packets = self.packets_of(len(given))
        if not packets:
            return
        bitmap = self.bitmap(receiver, iteration, sender, packets, step=step)
        self.count("up" if adds else "down", packets, [bitmap])
        came = without(given, bitmap, self.size)
        held[receiver][number] = fold([came, own], self.arithmetic) if adds else came
        with np.errstate(invalid="ignore"):
            left_out = np.abs(np.asarray(given, np.float64))
        inside = inside_of(given, bitmap, self.size)
        missing[receiver][number] = missing[sender][number] + np.where(inside, 0, left_out)
        if adds:
            yield from self._entered(iteration, step, receiver, sender, bitmap, packets)

    def _entered(
        self, iteration: int, step: int, receiver: int, sender: int, bitmap: int, packets: int
    ) -> Iterator[str]:
        """What came entered once, and the receiver's own."""
        ranks, name = len(self.hosts), self.hosts[receiver].name
        most = self.packets_of(-(-self.elements // ranks))
        first = (iteration * 2 * (ranks - 1) + step) * most
        for packet in range(packets):
            wanted = tuple(
                1 if rank == receiver else bitmap >> packet & 1 if rank == sender else 0 for rank in range(ranks)
            )
            inside = self.told.summed.get((name, first + packet))
            if inside != wanted:
                yield f"{name}, iteration {iteration}, step {step}, packet {packet}: {inside} entered, {wanted} came"
