"""What a configuration of a GRID worker must keep beyond what ATP's must."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.atp.checks import mistakes_in_worker
from workloads.datagrams.mistakes import Mistake
from workloads.grid.config import GridConfig, GridOrders
from workloads.grid.lanes import SERVER

__all__ = ["mistakes_in_grid_worker", "mistakes_in_plan"]


def mistakes_in_grid_worker(config: GridConfig) -> Iterator[Mistake]:
    yield from mistakes_in_worker(config)
    yield from mistakes_in_plan(config)


def mistakes_in_plan(config: GridConfig) -> Iterator[Mistake]:
    """Of where gradients go."""
    if not config.orders:
        yield Mistake("orders", "none", "one or more, the first from the start")
    known = {SERVER, *(goal.node for goal in config.destinations)}
    for index, orders in enumerate(config.orders):
        yield from (mistake.within(f"orders[{index}]") for mistake in _mistakes_in_orders(orders, config, known))


def _mistakes_in_orders(orders: GridOrders, config: GridConfig, known: set[int]) -> Iterator[Mistake]:
    size, rank = config.collective.size, config.collective.rank
    if len(orders.lanes) != size:
        yield Mistake("lanes", f"of {len(orders.lanes)} workers", f"of all {size} workers, by rank")
    for number, lanes in enumerate(orders.lanes):
        if not lanes:
            yield Mistake(f"lanes[{number}]", "none", "one lane or more")
        if any(lane.share <= 0 for lane in lanes):
            yield Mistake(
                f"lanes[{number}]", f"shares {', '.join(f'{lane.share:g}' for lane in lanes)}", "shares above 0"
            )
    own = orders.lanes[rank] if rank < len(orders.lanes) else ()
    if unknown := {lane.node for lane in own} - known:
        nodes = ", ".join(map(str, sorted(known)))
        yield Mistake(f"lanes[{rank}]", f"node {min(unknown)}", f"nodes that have an address: {nodes}")
