"""Collectives on a rack by name, at the level of messages or of flows."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.scale import rack_flows, schedules
from testbed.scale.messages import rack_path, run_messages
from testbed.scale.netreduce import RackLink, netreduce_on_rack
from testbed.scale.outcome import Outcome
from testbed.scale.trains import Framing
from workloads.errors import InternalError

__all__ = ["RACK_COLLECTIVES", "RackPoint", "flow_level", "message_level"]

RACK_COLLECTIVES = ("netreduce", "ring", "halving_doubling", "tree")


@dataclass(frozen=True, slots=True)
class RackPoint:
    hosts: int
    size_bytes: int
    rate_bps: float
    delay_ns: float = 0.0
    """of one link; a message crosses two"""
    message_packets: int = 170
    window_messages: int = 2
    path_mtu: int = 1024


def message_level(collective: str, point: RackPoint) -> Outcome:
    """Raises ScenarioError when the collective cannot do that number of hosts."""
    links = [RackLink(point.rate_bps, point.delay_ns)] * point.hosts
    framing, cut, mtu = Framing(point.path_mtu), point.message_packets, point.path_mtu
    if collective == "netreduce":
        return netreduce_on_rack(
            links, point.size_bytes, framing=framing, message_packets=cut, window_messages=point.window_messages
        )
    if collective == "ring":
        window = schedules.ring_window(point.hosts, point.size_bytes, cut, mtu, point.window_messages)
        messages = schedules.ring(point.hosts, point.size_bytes, cut, mtu)
        return run_messages(messages, rack_path(links), framing, window_messages=window)
    if collective == "halving_doubling":
        return run_messages(schedules.halving_doubling(point.hosts, point.size_bytes), rack_path(links), framing)
    if collective == "tree":
        return run_messages(schedules.binomial_tree(point.hosts, point.size_bytes), rack_path(links), framing)
    raise InternalError(f"no collective {collective!r} on a rack")


def flow_level(collective: str, point: RackPoint) -> Outcome:
    """Raises ScenarioError when the collective cannot do that number of hosts."""
    link, framing = RackLink(point.rate_bps, point.delay_ns), Framing(point.path_mtu)
    if collective == "netreduce":
        return rack_flows.netreduce_flows(
            point.hosts, point.size_bytes, link, framing, point.message_packets, point.window_messages
        )
    if collective == "ring":
        return rack_flows.ring_flows(
            point.hosts, point.size_bytes, link, framing, point.message_packets, point.window_messages
        )
    if collective == "halving_doubling":
        return rack_flows.halving_doubling_flows(point.hosts, point.size_bytes, link, framing)
    if collective == "tree":
        return rack_flows.binomial_tree_flows(point.hosts, point.size_bytes, link, framing)
    raise InternalError(f"no collective {collective!r} on a rack")
