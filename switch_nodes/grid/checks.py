"""What program `grid` cannot serve is refused."""

from __future__ import annotations

from switch_nodes.config import SwitchConfig
from switch_nodes.job_checks import check_job
from switch_nodes.routes.layout import COLLISIONS
from workloads.errors import ScenarioError
from workloads.wire.aggregation import MAX_GRID_ELEMENTS

__all__ = ["check_grid"]

_DTYPES = ("float32", "int32", "int32sat")


def check_grid(switch: SwitchConfig) -> None:
    """Raises ScenarioError."""

    def refuse(key: str, problem: str, found: object, allowed: str) -> ScenarioError:
        return ScenarioError(f"switch {switch.name}: {problem}", key=key, found=str(found), allowed=allowed)

    grid = switch.grid
    if grid is None or not grid.orders:
        allowed = "`grid` with one entry of `orders` or more (RoutedSwitch in switch_nodes/routes/layout.py)"
        raise refuse("grid", "program grid has no plan to follow", "none", allowed)
    if len(switch.jobs) != 1:
        raise refuse("jobs", "program grid serves one job", len(switch.jobs), "1")
    check_job(switch, 0, _DTYPES, MAX_GRID_ELEMENTS)
    if switch.memory < 1:
        raise refuse("memory", "slots", switch.memory, "1 or more")
    if grid.on_collision not in COLLISIONS:
        raise refuse("grid.on_collision", "on_collision", grid.on_collision, ", ".join(COLLISIONS))
    for orders in grid.orders:
        if len(orders.shares) != len(switch.jobs[0].members):
            raise refuse(
                "grid.orders",
                "shares of the plan",
                len(orders.shares),
                f"{len(switch.jobs[0].members)}, one entry for each worker",
            )
        for route in orders.routes:
            if not route.ports or not all(0 <= port < switch.ports for port in route.ports):
                raise refuse(
                    "grid.orders", f"ports of route {route.name}", list(route.ports), f"0 .. {switch.ports - 1}"
                )
