"""ESA: ATP with priorities, in slots that can be taken away (docs/esa.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from testbed.protocols.parts.checks_served import check_served_in_racks
from testbed.protocols.parts.quantised import AtpWorkers
from testbed.scenario.protocols.protocol import KeyGroup
from workloads.atp import AtpConfig

if TYPE_CHECKING:
    from testbed.bench.contract import Bench
    from testbed.bench.papers.headline import Headline
    from testbed.explain.contract import NodeWait
    from testbed.hunt.contract import Hunt
    from testbed.plan.model import Plan
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario
    from testbed.states.contract import Explored

__all__ = ["PROTOCOL"]


class _Esa(AtpWorkers):
    def optional_keys(self) -> frozenset[KeyGroup]:
        return super().optional_keys() | {KeyGroup.FIXED_SCALE, KeyGroup.PRIORITY}

    def check(self, sections: KnownSections) -> None:
        check_served_in_racks(sections.problems, sections.topology, sections.transport, sections.job, sections.entries)

    def server_knobs(self) -> tuple[str, ...]:
        return ("reminder",)

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.parts.plan_atp import plan_atp  # when a plan is made

        return plan_atp(scenario)

    def why_bytes_depend_on_time(self, scenario: Scenario) -> str:
        from workloads.datagrams.priority import TIMELESS  # when a run is replayed

        jobs = scenario.all_jobs
        if len(jobs) == 1 and jobs[0].priority not in TIMELESS:
            return f"packets carry a priority ({jobs[0].priority}) that depends on time"
        return super().why_bytes_depend_on_time(scenario)

    def hunt(self) -> Hunt:
        from testbed.protocols.esa.hunt import HUNT  # when schedules are drawn

        return HUNT

    def states(self) -> Explored:
        from testbed.protocols.esa.states import EXPLORED  # when states are visited

        return EXPLORED

    def waits(self, machines: Mapping[str, object], plan: Plan) -> Iterable[NodeWait]:
        from testbed.protocols.parts.waits_server import waits_with_server  # when a stall is explained

        return waits_with_server(machines, plan)

    def benches(self) -> tuple[Bench, ...]:
        from testbed.protocols.esa.bench_ina import BENCHES  # when one is run

        return BENCHES

    def headlines(self) -> tuple[Headline, ...]:
        from testbed.protocols.esa.bench_papers import HEADLINES  # when papers are compared

        return HEADLINES


PROTOCOL = _Esa(
    name="esa",
    title="ESA",
    summary="as atp, with priorities, in slots that can be taken away (program esa, or forward)",
    programs=("esa", "forward"),
    worker=AtpConfig,
)  # fmt: skip
