"""Flow rules as values: what a commodity switch can match and do (the subset of OpenFlow 1.3 that steering needs),
apart from who installs them. No field of RoCE itself is here, as no OpenFlow version can match one."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FLOOD", "FlowMatch", "FlowRule"]

FLOOD = -1
"""output that floods along the spanning tree; always the only output"""


@dataclass(frozen=True, slots=True)
class FlowMatch:
    """None: any. A field of a layer that the frame does not have never matches."""

    in_port: int | None = None
    """0 .. ports-1"""
    eth_dst: bytes | None = None
    """6 bytes"""
    ip_src: bytes | None = None
    """4 bytes"""
    ip_dst: bytes | None = None
    dscp: int | None = None
    """0 .. 63"""
    udp_dst: int | None = None


@dataclass(frozen=True, slots=True)
class FlowRule:
    """The matching rule with the highest priority decides; a frame that no rule matches is dropped."""

    name: str
    """name for people and statistics: host-h3, steer-h1-h2, flood"""
    priority: int
    match: FlowMatch
    outputs: tuple[int, ...]
    """one port; several equal ports, from which each flow takes one (`switch_nodes.forwarding.equal_cost`); (FLOOD,);
    empty: drop"""
    copies: bool = False
    """a copy leaves by each of the outputs"""
