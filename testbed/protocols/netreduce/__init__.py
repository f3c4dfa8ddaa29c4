"""NetReduce: each host sends its gradient once, under RoCE v2, and the switch puts the sum into the packets
(docs/netreduce.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from testbed.protocols.parts.checks_fabric import check_fabric
from testbed.protocols.parts.connected import ConnectedProtocol
from testbed.protocols.parts.whole_vectors import WholeVectors
from testbed.scenario.protocols.protocol import KeyGroup
from workloads.config import IRN_RECOVERIES

if TYPE_CHECKING:
    from testbed.bench.contract import Bench
    from testbed.bench.papers.headline import Headline
    from testbed.checkers.folds import Array
    from testbed.explain.contract import NodeWait
    from testbed.plan.model import Plan
    from testbed.scale.model import RackModel
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario
    from testbed.states.contract import Explored
    from workloads.config import HostConfig

__all__ = ["PROTOCOL"]


class _NetReduce(ConnectedProtocol, WholeVectors):
    def optional_keys(self) -> frozenset[KeyGroup]:
        return frozenset({KeyGroup.IN_PLACE, KeyGroup.FALLBACK})

    def as_stage(self) -> str:
        return self.summary

    def message_window(self, messages: int, packets: int) -> int:
        return messages * packets

    def recoveries(self) -> tuple[str, ...]:
        return ("gbn", *IRN_RECOVERIES)

    def check(self, sections: KnownSections) -> None:
        check_fabric(sections.problems, sections.topology, sections.job)

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.parts.plan_ring import plan_ring  # when a plan is made

        return plan_ring(scenario)

    def record_share(self) -> float:
        return 0.06

    def order(self, plan: Plan, workers: Sequence[HostConfig], gradients: Sequence[Array]) -> list[Array]:
        from testbed.checkers.orders import in_rank_order  # when a run is judged

        return in_rank_order(plan, workers, gradients)

    def states(self) -> Explored:
        from testbed.protocols.netreduce.states import EXPLORED  # when states are visited

        return EXPLORED

    def ring_steps(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        from testbed.protocols.netreduce.hunt_steps import ON_FABRIC, ON_RACK  # in a hunt

        return ON_RACK, ON_FABRIC

    def waits(self, machines: Mapping[str, object], plan: Plan) -> Iterable[NodeWait]:
        from testbed.protocols.netreduce.waits import waits_in  # when a stall is explained

        return waits_in(machines, plan)

    def benches(self) -> tuple[Bench, ...]:
        from testbed.protocols.netreduce.bench import BENCHES  # when one is run

        return BENCHES

    def headlines(self) -> tuple[Headline, ...]:
        from testbed.protocols.netreduce.bench_papers import HEADLINES  # when papers are compared

        return HEADLINES

    def rack_model(self) -> RackModel:
        from testbed.protocols.netreduce.scale import MODEL  # when a large system is estimated

        return MODEL


PROTOCOL = _NetReduce(
    name="netreduce",
    title="NetReduce",
    summary="each host sends its gradient once, the switch sums it (program netreduce)",
    programs=("netreduce", "fpga", "rtl"),
)
