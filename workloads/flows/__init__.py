"""RDMA flows: each is one WRITE over a connection of its own, from a time on that the plan draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lazily import lazily

if TYPE_CHECKING:
    from workloads.flows.config import FlowEnd, FlowsConfig
    from workloads.flows.host import create_host

__all__ = ["FlowEnd", "FlowsConfig", "create_host"]

__getattr__ = lazily(
    __name__,
    {
        "FlowEnd": ".config",
        "FlowsConfig": ".config",
        "create_host": ".host",
    },
)
