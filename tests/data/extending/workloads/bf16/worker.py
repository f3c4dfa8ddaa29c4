"""A SwitchML worker whose gradients are cut to bfloat16."""

from typing import Any

import numpy as np

from workloads.bf16.config import Bf16Config
from workloads.gradients import GradientSource, Vector, source_of
from workloads.switchml import SwitchMlWorker

__all__ = ["create_worker", "cut"]


def cut(values: Vector) -> Vector:
    """Towards zero, so that what is below 2^127 stays below; integers as they are."""
    if values.dtype.kind != "f":
        return values
    return (np.ascontiguousarray(values).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


class Cutting:
    """A gradient source that cuts what another one makes."""

    def __init__(self, source: GradientSource) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def gradient(self, iteration: int) -> Vector:
        return cut(self._source.gradient(iteration))


def create_worker(config: Bf16Config, start_ns: int) -> SwitchMlWorker:
    return SwitchMlWorker(config, Cutting(source_of(config)), start_ns=start_ns)
