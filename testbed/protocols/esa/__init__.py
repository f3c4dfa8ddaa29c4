"""ESA: ATP with priorities, in slots that can be taken away (docs/esa.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.protocols.parts.quantised import AtpWorkers
from testbed.scenario.checks_server import check_served
from testbed.scenario.protocol import Traits
from workloads.atp import AtpConfig

if TYPE_CHECKING:
    from testbed.hunt.contract import Hunt
    from testbed.plan.model import Plan
    from testbed.scenario.model import Scenario

__all__ = ["PROTOCOL"]


class _Esa(AtpWorkers):
    def plan(self, scenario: Scenario) -> Plan:
        from testbed.plan.atp import plan_atp  # when a plan is made

        return plan_atp(scenario)

    def hunt(self) -> Hunt:
        from testbed.protocols.esa.hunt import HUNT  # when schedules are drawn

        return HUNT


PROTOCOL = _Esa(
    name="esa",
    summary="as atp, with priorities, in slots that can be taken away (program esa, or forward)",
    programs=("esa", "forward"),
    traits=Traits(
        several_jobs=True, layered=True, floats_as_integers=True, fixed_scale=True, has_server=True, names_racks=True,
        server_knobs=("reminder",),
        in_place=True, has_priorities=True, heeds_marks=True, slots_move=True, largest_mtu=1024,
    ),
    checks=(check_served,),
    worker=AtpConfig,
)  # fmt: skip
