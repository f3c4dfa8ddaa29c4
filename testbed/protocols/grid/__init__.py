"""GRID: each host streams its gradient to the switches that a plan of gradient routes chose for it
(docs/routing.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from switch_nodes.grid.layout import COLLISIONS
from switch_nodes.grid.tables import slot_table
from testbed.protocols.grid.checks import check_grid
from testbed.protocols.parts.server_steps import NO_REMINDER, ONE_SIZE, OVERRUN, SERVER_STEPS, never_in_blocks
from testbed.scenario.checks_server import check_served
from testbed.scenario.protocol import Hunt, Protocol, Traits
from workloads.automaton import step_names
from workloads.grid import GridConfig
from workloads.grid.checks import problems_in_grid_worker
from workloads.lazily import later

if TYPE_CHECKING:
    from testbed.plan.model import Plan

__all__ = ["PROTOCOL"]

_NO_COPY = "no switch of GRID makes a result, and a worker gives its own away as a sum of all"


def _bound(plan: Plan, link_bps: float) -> float:
    """What the first plan of routes gives the worst-served worker."""
    framing = plan.workers[0].framing
    return plan.routing[0].plan.min_rate_bps * framing.payload_bytes / framing.frame_bytes


PROTOCOL = Protocol(
    name="grid",
    summary="each host streams its gradient to the switches that a plan of gradient routes chose for it (program grid)",
    plan=later("testbed.protocols.grid.plan:plan_grid"),
    programs=("grid",),
    traits=Traits(
        several_jobs=True,
        layered=True,
        floats_as_integers=True,
        has_server=True,
        server_completes=True,
        largest_mtu=8192,
        needs="a section routing",
    ),
    checks=(check_served, check_grid),
    order=later("testbed.checkers.orders:quantised"),
    blocks=later("testbed.checkers.blocks:blocks_with_exponents"),
    bound=_bound,
    worker=GridConfig,
    worker_problems=problems_in_grid_worker,
    hunt=Hunt(
        {"float32": 34, "int32": 54, "int32sat": 12},
        (*step_names("slot", (pair for how in COLLISIONS for pair in slot_table(how))), *SERVER_STEPS),
        {
            "slot filling/mismatch": ONE_SIZE,
            "block open/mismatch": ONE_SIZE,
            "block unknown/overrun": OVERRUN,
            **never_in_blocks("copy", _NO_COPY),
            **never_in_blocks("nothing_there", NO_REMINDER),
        },
        draw="testbed.protocols.grid.hunt:draw_grid_schedule",
        survival="testbed.protocols.grid.hunt_survival:SURVIVAL",
        rules="testbed.protocols.grid.hunt_rules:broken_grid_rules",
        values="testbed.hunt.coverage:values_of_plans",
        smaller="testbed.protocols.grid.hunt_smaller:smaller_grid",
        watches_slots=False,
    ),
)
