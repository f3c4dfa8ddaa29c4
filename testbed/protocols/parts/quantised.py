"""Protocols of datagrams in which floats travel as integers, and blocks of exponents go ahead of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from testbed.hunt.contract import Protocol
from testbed.protocols.parts.whole_vectors import WholeVectors
from testbed.scenario.protocols.protocol import KeyGroup
from workloads.config import HostConfig

if TYPE_CHECKING:
    from testbed.checkers.folds import Array
    from testbed.plan.model import Plan
    from testbed.scenario.model import Scenario
    from workloads.datagrams.problems import ConfigProblem

__all__ = ["AtpWorkers", "QuantisedSums"]


class QuantisedSums(Protocol):
    """Its sums, its blocks, and the keys of jobs that share switches."""

    def optional_keys(self) -> frozenset[KeyGroup]:
        return frozenset({KeyGroup.JOBS, KeyGroup.LAYERS})

    def runs_files(self) -> bool:
        return True

    def wire_dtype(self, dtype: str) -> str:
        return "int32" if dtype == "float32" else dtype

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.orders import quantised  # when a run is judged

        return quantised(plan, workers, gradients)

    def blocks(self, worker: HostConfig, elements: int) -> int | None:
        from testbed.checkers.blocks import blocks_with_exponents  # when a run is judged

        return blocks_with_exponents(worker, elements)


class AtpWorkers(QuantisedSums, WholeVectors):
    """The same, with the workers of ATP: packets carry the slot that they ask for, which is another one after a
    collision."""

    def optional_keys(self) -> frozenset[KeyGroup]:
        return super().optional_keys() | {KeyGroup.IN_PLACE, KeyGroup.MARKS}

    def servers(self) -> int:
        return 1

    def largest_mtu(self) -> int:
        return 1024

    def why_bytes_depend_on_time(self, scenario: Scenario) -> str:
        if len(scenario.all_jobs) > 1:
            return "jobs that share slots move to other ones when their packets meet"
        return ""

    def worker_problems(self, worker: HostConfig) -> Iterable[ConfigProblem]:
        from workloads.atp import AtpConfig  # when a worker runs alone
        from workloads.atp.checks import problems_in_worker

        assert isinstance(worker, AtpConfig)
        return problems_in_worker(worker)
