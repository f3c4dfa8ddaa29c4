"""What cannot be in a configuration of a worker of GRID."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.grid_star import grid_workers
from workloads.grid import GridOrders, NodeShare
from workloads.grid.checks import problems_in_grid_worker


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        ((), "orders: none; one or more, the first from the start"),
        ((GridOrders(((NodeShare(0, 1.0),),)),), "orders[0].shares: of 1 workers; of all 3 workers, by rank"),
        (
            (GridOrders(((NodeShare(0, 1.0),), (), (NodeShare(0, 1.0),))),),
            "orders[0].shares[1]: none; one or more",
        ),
        (
            (
                GridOrders(((NodeShare(0, 1.0),),) * 3),
                GridOrders(((NodeShare(0, 1.0),), (NodeShare(0, 0.0),), (NodeShare(0, 1.0),))),
            ),
            "orders[1].shares[1]: shares 0; shares above 0",
        ),
        ((GridOrders(((NodeShare(7, 1.0),),) * 3),), "orders[0].shares[0]: node 7; nodes that have an address: 0, 1"),
    ],
)
def test_plans_of_grid(orders: tuple[GridOrders, ...], expected: str) -> None:
    (config, *_) = grid_workers()
    assert config.collective.size == 3
    assert not list(problems_in_grid_worker(config))
    found = problems_in_grid_worker(replace(config, orders=orders))
    assert [f"{each.key}: {each.found}; {each.allowed}" for each in found] == [expected]
