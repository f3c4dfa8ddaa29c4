"""A plain parameter server, with in-network sums on the way up and multicast on the way down as two switches of its
own (docs/ps.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.protocols.parts.checks_served import check_served_in_racks
from testbed.protocols.parts.quantised import AtpWorkers
from testbed.protocols.ps.checks import check_ps
from testbed.protocols.ps.keys import PsKeys
from testbed.reading.known import as_far_as_known
from workloads.atp import AtpConfig

if TYPE_CHECKING:
    from testbed.bench.contract import Bench
    from testbed.bench.papers.headline import Headline
    from testbed.hunt.contract import Hunt
    from testbed.plan.model import Plan
    from testbed.scenario.checks.sections import KnownSections
    from testbed.scenario.model import Scenario

__all__ = ["PROTOCOL"]


class _Ps(AtpWorkers):
    def check(self, sections: KnownSections) -> None:
        with as_far_as_known():
            check_served_in_racks(
                sections.problems, sections.topology, sections.transport, sections.job, sections.entries
            )
        check_ps(sections.problems, sections.job, sections.entries)

    def plan(self, scenario: Scenario) -> Plan:
        from testbed.protocols.ps.plan import plan_ps  # when a plan is made

        return plan_ps(scenario)

    def bound(self, plan: Plan, link_bps: float) -> float:
        """The bound of the job with the most workers. Results that the server sends one by one share its link, and so
        do contributions that no switch adds."""
        from testbed.protocols.ps.plan import keys_of_ps  # when a run is measured

        keys, topology = keys_of_ps(plan.scenario), plan.scenario.topology
        if keys.aggregation and keys.multicast and keys.streaming:
            return link_bps
        bounds = [link_bps]
        for server in plan.servers:
            ((_, link, _), *_) = topology.ports(server.name)
            framing = plan.workers[0].framing
            rate = link.shape.rate_bps * framing.payload_bytes / framing.frame_bytes
            up = sum(1 if keys.aggregation else len(job.members) for job in server.jobs)
            down = sum(1 if keys.multicast else len(job.members) for job in server.jobs)
            bounds.append(rate / (max(up, down) if keys.streaming else up + down))
        return min(bounds)

    def server_completes(self) -> bool:
        return True

    def hunt(self) -> Hunt:
        from testbed.protocols.ps.hunt import HUNT  # when schedules are drawn

        return HUNT

    def benches(self) -> tuple[Bench, ...]:
        from testbed.protocols.ps.bench_evolution import BENCHES  # when one is run

        return BENCHES

    def headlines(self) -> tuple[Headline, ...]:
        from testbed.protocols.ps.bench_papers import HEADLINES  # when papers are compared

        return HEADLINES


PROTOCOL = _Ps(
    name="ps",
    title="Parameter server",
    summary="each host streams its gradient to a parameter server; sums on the way up and copies on the way down are "
            "options (program ps)",
    programs=("ps",),
    job_keys=PsKeys,
    worker=AtpConfig,
)  # fmt: skip
