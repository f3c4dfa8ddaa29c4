"""The stages of an iteration under a strategy: transfers one after the other, with computing between them.

Each operator in turn has up to three parts. If its split differs from the one before, there is a reshard of the
activations between them. Then comes its computing. Then comes its all-reduce, of the weights' gradient (DP) or of its
activations (MP).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workloads.strategies.chain import MODEL, Chain, Strategy

__all__ = ["REDUCE", "RESHARD", "Stage", "stages_of"]

REDUCE, RESHARD = "reduce", "reshard"
_ELEMENT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Stage:
    """One transfer, and what is computed before it."""

    operator: str
    kind: str
    """REDUCE: all devices sum a vector; RESHARD: each device gives its part of one to all others"""
    elements: int
    """elements of the whole vector"""
    compute_ns: int
    """computing time of each device before the transfer"""

    @property
    def name(self) -> str:
        return f"{self.operator}.{self.kind}"


def stages_of(chain: Chain, strategy: Strategy, devices: int, divide: int = 1) -> tuple[Stage, ...]:
    """`divide`: by it all vectors are smaller, but never below an element for each device; times are as they are."""
    return tuple(_stages(chain, strategy, devices, divide))


def _stages(chain: Chain, strategy: Strategy, devices: int, divide: int) -> Iterator[Stage]:
    def elements(size_bytes: int) -> int:
        return max(devices, -(-size_bytes // (_ELEMENT_BYTES * divide)))

    for place, (operator, split) in enumerate(zip(chain.operators, strategy, strict=True)):
        if place and split != strategy[place - 1]:
            yield Stage(operator.name, RESHARD, elements(chain.operators[place - 1].activations_bytes), 0)
        size = operator.activations_bytes if split == MODEL else operator.weights_bytes
        yield Stage(operator.name, REDUCE, elements(size), operator.compute_ns // devices)
