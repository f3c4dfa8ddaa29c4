"""What a rank of a trace reports."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event, unless_default

__all__ = ["TraceNodeEnded"]


@dataclass(frozen=True, slots=True)
class TraceNodeEnded(Event):
    """A node of a trace is over: computing, a send whose bytes are acknowledged, a receive whose message is there, or a
    collective whose result is there. Computing that takes no time is not reported."""

    iteration: int
    number: int
    """id of the node in the file"""
    name: str
    kind: str
    """compute, send, recv, barrier, or a collective operation"""
    step: int
    """place among the steps of the rank"""
    took_ns: int
    """time since it started: since all was over that it waits for"""
    bytes: int = unless_default(0)
    """bytes of the vector that it communicates, in whole elements"""
    communication: int = unless_default(-1)
    """place among the communications of the rank: of a receive the message that it took"""
