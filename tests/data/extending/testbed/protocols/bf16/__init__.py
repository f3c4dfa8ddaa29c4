"""SwitchML with gradients in bfloat16 (docs/bf16.md)."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

from testbed.checkers.blocks import blocks_with_exponents
from testbed.checkers.folds import Array
from testbed.checkers.orders import quantised
from testbed.plan import Plan, plan_as
from testbed.protocols import Hunt, KeyGroup, Protocol
from testbed.protocols.switchml.checks import check_switchml, check_switchml_fault
from testbed.reading.problems import Problems
from testbed.scenario.keys.fault_loader import Placed
from testbed.scenario.model import Job, Scenario, Transport
from testbed.scenario.checks.sections import KnownSections
from workloads.bf16 import Bf16Config
from workloads.bf16.worker import cut
from workloads.config import HostConfig
from workloads.datagrams.problems import ConfigProblem
from workloads.switchml.checks import problems_in_worker

__all__ = ["PROTOCOL"]


class Bf16(Protocol):
    """SwitchML, with gradients that are cut."""

    def optional_keys(self) -> frozenset[KeyGroup]:
        """Several jobs at a time, and gradients that are sent layer by layer."""
        return frozenset({KeyGroup.JOBS, KeyGroup.LAYERS})

    def wire_dtype(self, dtype: str) -> str:
        return "int32" if dtype == "float32" else dtype

    def largest_mtu(self) -> int:
        return 1024

    def framings(self) -> tuple[str, ...]:
        return ("udp", "uc")

    def check(self, sections: KnownSections) -> None:
        check_switchml(
            sections.problems, sections.topology, sections.switch, sections.transport, sections.job, sections.entries
        )

    def check_fault(
        self, problems: Problems, placed: Placed, job: Job, transport: Transport, ranks: int | None
    ) -> None:
        check_switchml_fault(problems, placed, job, transport, ranks)

    def worker_problems(self, worker: HostConfig) -> Iterable[ConfigProblem]:
        assert isinstance(worker, Bf16Config)
        return problems_in_worker(worker)

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


PROTOCOL = Bf16(
    name="bf16",
    summary="as switchml, with floats cut to bfloat16 (program bf16)",
    programs=("bf16",),
    worker=Bf16Config,
)
