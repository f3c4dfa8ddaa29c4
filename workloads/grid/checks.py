"""What a configuration of a GRID worker must keep beyond what ATP's must."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.atp.checks import problems_in_worker
from workloads.datagrams.problems import ConfigProblem
from workloads.grid.config import SERVER, GridConfig, GridOrders

__all__ = ["problems_in_grid_worker", "problems_in_plan"]


def problems_in_grid_worker(config: GridConfig) -> Iterator[ConfigProblem]:
    yield from problems_in_worker(config)
    yield from problems_in_plan(config)


def problems_in_plan(config: GridConfig) -> Iterator[ConfigProblem]:
    """Problems of the plan for gradients."""
    if not config.orders:
        yield ConfigProblem("orders", "none", "one or more, the first from the start")
    known = {SERVER, *(goal.node for goal in config.destinations)}
    for index, orders in enumerate(config.orders):
        yield from (problem.within(f"orders[{index}]") for problem in _problems_in_orders(orders, config, known))


def _problems_in_orders(orders: GridOrders, config: GridConfig, known: set[int]) -> Iterator[ConfigProblem]:
    size, rank = config.collective.size, config.collective.rank
    if len(orders.shares) != size:
        yield ConfigProblem("shares", f"of {len(orders.shares)} workers", f"of all {size} workers, by rank")
    for number, shares in enumerate(orders.shares):
        if not shares:
            yield ConfigProblem(f"shares[{number}]", "none", "one or more")
        if any(part.share <= 0 for part in shares):
            yield ConfigProblem(
                f"shares[{number}]", f"shares {', '.join(f'{part.share:g}' for part in shares)}", "shares above 0"
            )
    own = orders.shares[rank] if rank < len(orders.shares) else ()
    if unknown := {part.node for part in own} - known:
        nodes = ", ".join(map(str, sorted(known)))
        yield ConfigProblem(f"shares[{rank}]", f"node {min(unknown)}", f"nodes that have an address: {nodes}")
