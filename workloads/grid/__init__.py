"""The worker side of GRID: gradients that are sent to chosen switches at planned rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.grid.config import Destination, GridConfig, GridOrders, NodeShare
    from workloads.grid.node_shares import ShareTable
    from workloads.grid.worker import GridWorker, create_worker

__all__ = ["Destination", "GridConfig", "GridOrders", "GridWorker", "NodeShare", "ShareTable", "create_worker"]

__getattr__ = lazily(
    __name__,
    {
        "Destination": ".config",
        "GridConfig": ".config",
        "GridOrders": ".config",
        "GridWorker": ".worker",
        "NodeShare": ".config",
        "ShareTable": ".node_shares",
        "create_worker": ".worker",
    },
)
