"""What a configuration of a GRID worker must keep beyond what ATP's must."""

from __future__ import annotations

from collections.abc import Iterator

from workloads.atp.checks import mistakes_in_worker
from workloads.datagrams.mistakes import Mistake
from workloads.grid.config import GridConfig, GridOrders
from workloads.grid.node_shares import SERVER

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
    if len(orders.shares) != size:
        yield Mistake("shares", f"of {len(orders.shares)} workers", f"of all {size} workers, by rank")
    for number, shares in enumerate(orders.shares):
        if not shares:
            yield Mistake(f"shares[{number}]", "none", "one or more")
        if any(part.share <= 0 for part in shares):
            yield Mistake(
                f"shares[{number}]", f"shares {', '.join(f'{part.share:g}' for part in shares)}", "shares above 0"
            )
    own = orders.shares[rank] if rank < len(orders.shares) else ()
    if unknown := {part.node for part in own} - known:
        nodes = ", ".join(map(str, sorted(known)))
        yield Mistake(f"shares[{rank}]", f"node {min(unknown)}", f"nodes that have an address: {nodes}")
