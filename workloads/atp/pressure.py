"""What a worker knows about the urgency of its packets: measures time and bytes, and asks its rule of priority."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from workloads.atp.config import AtpConfig
from workloads.datagrams.priority import Outlook, priority_of
from workloads.gradients import GradientSource
from workloads.server.kinds import served_kinds
from workloads.wire.aggregation import Policy

__all__ = ["Pressure"]


class Pressure:
    """The inputs and priorities of one worker's packets. ATP has no priorities: 0. Times in ns."""

    def __init__(self, config: AtpConfig, source: GradientSource) -> None:
        self._rule = priority_of(config.priority, config.priority_x0)
        self._used = served_kinds()[config.collective.kind].policy is Policy.ESA
        self._block, self._elements, self._iterations = config.elements, source.elements, source.iterations
        compute = config.workload.compute
        layers = compute.layers if compute is not None else ()
        self._busy = sum(layer.forward_ns + layer.backward_ns for layer in layers)
        self._ends = list(accumulate(layer.elements for layer in reversed(layers))) or [source.elements]
        """end of each layer in the gradient, the last layer of the model first"""
        self._done = 0
        self._started = self._ended = 0
        self._communication = self._computation = 0
        self._known: dict[int, int] = {}
        """priority of each layer in this iteration"""

    def start(self, now: int) -> None:
        """An iteration's packets may leave."""
        self._computation, self._started = self._busy or now - self._ended, now
        self._known.clear()

    def complete(self, now: int) -> None:
        """All its results are there."""
        self._communication, self._ended = now - self._started, now
        self._done += 1

    def priority(self, packet: int, ahead: int = 0) -> int:
        """Priority of a packet of the tensor, counted from 0. Its elements are of block packet - ahead
        (`Tensor.ahead`). The bytes of a job change by whole iterations: all workers agree."""
        if not self._used:
            return 0
        first = packet - ahead if packet > ahead else 0
        first = min(first * self._block, self._elements - 1)
        layer = len(self._ends) - 1 - bisect_right(self._ends, first)
        found = self._known.get(layer)
        if found is None:
            size = 4 * self._elements
            served = self._done * size
            found = self._known[layer] = self._rule(
                Outlook(
                    layer,
                    len(self._ends),
                    self._communication,
                    self._computation,
                    self._iterations * size - served,
                    served,
                )
            )
        return found
