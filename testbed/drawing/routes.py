"""A plan as a picture: loads on the links, and how much each node aggregates in the nodes. Full links are red."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from testbed.drawing import Picture
from testbed.drawing.load_table import format_bps
from testbed.drawing.picture import PictureLine, PicturePoint, picture_of
from testbed.scenario.model import Scenario

if TYPE_CHECKING:
    from topologies.routing.gradients import RoutingPlan

__all__ = ["picture_of_plan"]

_FULL = 1 - 1e-6


def picture_of_plan(scenario: Scenario, plan: RoutingPlan) -> Picture:
    """Each used link says what goes along it, in both directions where both are used."""
    base = picture_of(scenario)
    switches = {load.name: load for load in plan.switch_loads}
    nodes: dict[str, list[str]] = {}
    for stream in plan.streams:
        nodes.setdefault(stream.worker, []).append(stream.node)

    def point(old: PicturePoint) -> PicturePoint:
        if old.name in plan.problem.servers:
            return replace(old, detail="server")
        if old.name in nodes:
            where = list(dict.fromkeys(nodes[old.name]))
            return replace(old, detail=f"to {where[0]}" + (f" +{len(where) - 1}" if len(where) > 1 else ""))
        load = switches.get(old.name)
        return old if load is None or not load.load_bps else replace(old, detail=f"sums {format_bps(load.load_bps)}")

    def line(old: PictureLine) -> PictureLine:
        loads = [load for load in plan.link_loads if {old.a, old.b} == set(load.name.split("->"))]
        if not loads:
            return replace(old, usual=True)
        up = [load for load in loads if load.name.startswith(f"{old.a}->")]
        texts = [format_bps(load.load_bps) for load in up + [load for load in loads if load not in up]]
        full = any(load.load_bps >= _FULL * load.capacity_bps for load in loads)
        return replace(old, label=" / ".join(texts) + (" full" if full else ""), usual=False)

    title = f"{scenario.name}: {plan.planner}, slowest worker {format_bps(plan.min_rate_bps)}"
    return Picture(title, tuple(map(point, base.points)), tuple(map(line, base.lines)), base.bands)
