"""SwitchML whose workers cut their floats to bfloat16 before they send them."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from testbed.checkers.blocks import blocks_with_exponents
from testbed.checkers.folds import Array
from testbed.checkers.orders import quantised
from testbed.plan import Plan, plan_as
from testbed.protocols import Hunt, KeyGroup, Protocol
from testbed.scenario import Scenario
from workloads.config import HostConfig
from workloads.gradients import GradientSource, source_of
from workloads.switchml import SwitchMlConfig, SwitchMlWorker


def cut(values: Array) -> Array:
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

    def gradient(self, iteration: int) -> Array:
        return cut(self._source.gradient(iteration))


class Bf16Config(SwitchMlConfig):
    """The Machine that it makes is the one thing that differs."""

    def create(self, start_ns: int) -> SwitchMlWorker:
        return SwitchMlWorker(self, Cutting(source_of(self)), start_ns=start_ns)


class Bf16(Protocol):
    """SwitchML, with gradients that are cut."""

    def optional_keys(self) -> frozenset[KeyGroup]:
        """Several jobs at a time, and gradients that are sent layer by layer."""
        return frozenset({KeyGroup.JOBS, KeyGroup.LAYERS})

    def runs_files(self) -> bool:
        """Its workers sum vectors of any length."""
        return True

    def wire_dtype(self, dtype: str) -> str:
        return "int32" if dtype == "float32" else dtype

    def largest_mtu(self) -> int:
        return 1024

    def plan(self, scenario: Scenario) -> Plan:
        """That of SwitchML, for workers that cut."""
        found = plan_as("switchml", scenario)
        workers = [{field.name: getattr(each, field.name) for field in fields(each)} for each in found.workers]
        return replace(found, workers=tuple(Bf16Config(**values) for values in workers))

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        """SwitchML's, of gradients that are cut."""
        return quantised(plan, workers, [cut(gradient) for gradient in gradients])

    def blocks(self, worker: HostConfig, elements: int) -> int:
        return blocks_with_exponents(worker, elements)

    def hunt(self) -> Hunt:
        from testbed.protocols import DatagramHunt  # when schedules are drawn

        return DatagramHunt({"float32": 1, "int32": 1}, values_per_index=2)


BF16 = Bf16(
    name="bf16",
    summary="SwitchML with floats cut to bfloat16",
    like="switchml",
    programs=("switchml",),
)
