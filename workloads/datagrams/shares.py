"""How a worker's packets are shared out among the nodes of a plan. Values only."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SERVER", "NodeShare"]

SERVER = 0
"""node id of the parameter server; switches count from 1"""


@dataclass(frozen=True, slots=True)
class NodeShare:
    node: int
    """id of the switch that aggregates, or SERVER"""
    share: float
    """share of the worker's packets; a worker's shares are taken relative to their sum"""
