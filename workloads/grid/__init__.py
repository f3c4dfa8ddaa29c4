"""The worker side of GRID: gradients that are sent to chosen switches at planned rates."""

from workloads.grid.config import Destination, GridConfig, GridOrders
from workloads.grid.node_shares import NodeShare, ShareTable
from workloads.grid.worker import GridWorker

__all__ = ["Destination", "GridConfig", "GridOrders", "GridWorker", "NodeShare", "ShareTable"]
