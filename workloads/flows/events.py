"""Facts about RDMA flows."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event

__all__ = ["FlowAcked", "FlowArrived", "FlowBegan", "FlowsLeft"]


@dataclass(frozen=True, slots=True)
class FlowBegan(Event):
    """The sender of a flow posted it to its queue pair."""

    flow: int
    """number of the flow in the job"""
    bytes: int


@dataclass(frozen=True, slots=True)
class FlowArrived(Event):
    """The receiver of a flow has all of its bytes."""

    flow: int
    bytes: int
    sha256: str
    """digest of the receiver's memory"""


@dataclass(frozen=True, slots=True)
class FlowAcked(Event):
    """The sender of a flow knows that all of it arrived."""

    flow: int


@dataclass(frozen=True, slots=True)
class FlowsLeft(Event):
    """A host ended at its time limit, with flows that it had begun and not finished."""

    sending: int
    """flows that it began to send"""
    receiving: int
    """flows that it expects, whether their sender began or not"""
