"""A ring of flows beside the plain reference: with a bound of 0 both are the same, and what is missing is bounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.checkers.folds import fold, ring_fold
from testbed.protocols.dlcp.bounded_ring import RingJob
from testbed.protocols.dlcp.bounded_told import Findings, ToldLoss
from tests.support.dlcp_star import gradients, host_config
from workloads.config import ArithmeticSpec
from workloads.datagrams.blocks import BlockSummed
from workloads.dlcp.events import FlowClosed

WORDS, RANKS = 46, 4


def judged(bitmaps: dict[tuple[int, int], int], others: int, bound: float) -> list[tuple[int, Any, Any]]:
    """By rank, as the judge has it, where (receiver, step) got those packets, and all others those of `others`."""
    told = ToldLoss()
    for rank in range(RANKS):
        for step in range(2 * (RANKS - 1)):
            number = (rank - 1 - step) % RANKS if step < RANKS - 1 else (rank - (step - RANKS + 1)) % RANKS
            packets = -(-len(np.array_split(np.zeros(WORDS), RANKS)[number]) // 4)
            bitmap = bitmaps.get((rank, step), others)
            end = FlowClosed(1, 0, (rank - 1) % RANKS, packets, bitmap.bit_count(), f"{bitmap:x}", step)
            told.closed[f"h{rank + 1}", 0, end.sender, step] = end
            for packet in range(packets):
                counts = [0] * RANKS
                counts[end.sender], counts[rank] = bitmap >> packet & 1, 1
                told.summed[f"h{rank + 1}", step * 3 + packet] = BlockSummed(1, 0, 0, tuple(counts)).contributions
    hosts = [host_config(rank, RANKS, words=WORDS, loss_bound=bound) for rank in range(RANKS)]
    rows = gradients(0, size=RANKS, words=WORDS)
    found = list(RingJob(hosts, told, Findings()).results(0, rows))
    assert not [each for each in found if isinstance(each, str)]
    return [each for each in found if not isinstance(each, str)]


def test_a_whole_ring_is_the_plain_one() -> None:
    total = ring_fold(gradients(0, size=RANKS, words=WORDS), ArithmeticSpec())
    for _, result, bound in judged({}, 0b111, 0.0):
        assert result.tobytes() == total.tobytes()
        assert not bound.any()


def test_what_is_lost_on_the_way_takes_all_before_it_along() -> None:
    """Chunk 0, elements 0 .. 11, on its way from rank 1 to rank 2: the second packet holds ranks 0 and 1."""
    rows = gradients(0, size=RANKS, words=WORDS)
    found = judged({(2, 1): 0b101}, 0b011, 0.34)
    lost = fold([rows[0][4:8], rows[1][4:8]], ArithmeticSpec())
    for _, result, bound in found:
        assert result[4:8].tobytes() == fold([rows[2][4:8], rows[3][4:8]], ArithmeticSpec()).tobytes()
        assert (bound[4:8] == np.abs(lost.astype(np.float64))).all()
