"""How long a worker computes. In the forward pass each layer waits for its result of the iteration before. The backward
pass starts with the last layer, and emits each layer's gradient as soon as that layer is done.

No gradient is ready before the forward pass of all layers is over. So all times of an iteration are known when the last
result is there. The only timers are those of gradients that become ready.

In stages (`ComputeConfig.in_stages`) there are no passes. A layer is computed when the whole result of the layer in
front of it in the gradient is there. The first layer is computed when all results of the iteration before are there.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from workloads.layers import ComputeConfig

__all__ = ["LayerCompute", "Passes"]

_MASK64 = (1 << 64) - 1
_STREAM = 0x636F6D70757465
"""apart from the gradients, which are drawn from the same seed, rank and iteration"""
_FRACTION_BITS = 53


@dataclass(frozen=True, slots=True)
class Passes:
    """The passes of one iteration; times in ns."""

    forward_at: int
    backward_at: int
    ready: tuple[tuple[int, int], ...]
    """(when, how many elements from the beginning of the gradient are ready then)"""


class LayerCompute:
    """The computing of one worker. Deterministic in configuration, seed, rank, and the times at which results came."""

    def __init__(self, config: ComputeConfig, seed: int, rank: int) -> None:
        self._config, self._seed, self._rank = config, seed, rank
        emitted = [layer.elements for layer in reversed(config.layers)]
        self._ends = list(accumulate(emitted))
        """end of each layer in the gradient, in the order in which backward emits them"""
        self._missing = list(emitted)
        self._result_at = [0] * len(emitted)
        self._stage, self._takes = 0, list[int]()
        """for stages: the one that is ready or being computed, and the time that each takes"""

    @property
    def elements(self) -> int:
        return self._ends[-1]

    def deliver(self, first: int, elements: int, now: int) -> None:
        """The result of these elements is there; each is delivered once."""
        place, end = bisect_right(self._ends, first), first + elements
        while first < end:
            stop = min(self._ends[place], end)
            self._missing[place] -= stop - first
            if not self._missing[place]:
                self._result_at[place] = now
            first, place = stop, place + 1

    def deliver_rest(self, now: int) -> None:
        """All results are there."""
        for place, missing in enumerate(self._missing):
            if missing:
                self._missing[place], self._result_at[place] = 0, now

    def passes(self, iteration: int, late_ns: int) -> Passes:
        """The iteration that follows the delivered results, `late_ns` late. From now on the worker waits for the next
        results."""
        config = self._config
        forward, backward = self._times(iteration)
        if config.in_stages:
            at = max(self._result_at) + late_ns
            self._missing = [layer.elements for layer in reversed(config.layers)]
            self._stage, self._takes = 0, backward[::-1]
            return Passes(at, at, ((at + self._takes[0], self._ends[0]),))
        at = forward_at = self._result_at[-1] + late_ns
        for result_at, takes in zip(reversed(self._result_at), forward, strict=True):
            at = max(at, result_at) + takes
        backward_at, ready = at, list[tuple[int, int]]()
        for takes, end in zip(reversed(backward), self._ends, strict=True):
            at += takes
            if ready and ready[-1][0] == at:
                ready.pop()
            ready.append((at, end))
        self._missing = [layer.elements for layer in reversed(config.layers)]
        return Passes(forward_at, backward_at, tuple(ready))

    def next_stage(self, now: int) -> tuple[int, int] | None:
        """In stages: as an entry of `Passes.ready`, once for each stage that can be computed now; None: none, as far as
        results were delivered."""
        if not self._takes or self._missing[self._stage] or self._stage + 1 == len(self._ends):
            return None
        self._stage += 1
        return now + self._takes[self._stage], self._ends[self._stage]

    def _times(self, iteration: int) -> tuple[list[int], list[int]]:
        """Times of each layer, in forward order."""
        config, count = self._config, len(self._config.layers)
        factors = [config.slowdown] * (2 * count)
        if config.jitter:
            key = np.array([(self._seed ^ _STREAM) & _MASK64, self._rank << 32 | iteration], np.uint64)
            words: list[int] = np.random.Philox(key=key).random_raw(2 * count).tolist()
            for place, word in enumerate(words):
                unit = (word >> (64 - _FRACTION_BITS)) / (1 << _FRACTION_BITS)
                factors[place] *= 1 + config.jitter * (2 * unit - 1)
        times = [
            round(layer_ns * factor)
            for layer_ns, factor in zip(
                [layer.forward_ns for layer in config.layers] + [layer.backward_ns for layer in config.layers],
                factors,
                strict=True,
            )
        ]
        return times[:count], times[count:]
