"""RDMA flows: each is one WRITE over a connection of its own, from a time on that the plan draws."""

from workloads.flows.config import FlowEnd, FlowsConfig

__all__ = ["FlowEnd", "FlowsConfig"]
