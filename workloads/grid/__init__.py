"""The worker side of GRID: gradients that are sent to chosen switches at planned rates."""

from workloads.grid.config import Destination, GridConfig, GridOrders
from workloads.grid.lanes import Lane, LaneTable
from workloads.grid.worker import GridWorker

__all__ = ["Destination", "GridConfig", "GridOrders", "GridWorker", "Lane", "LaneTable"]
