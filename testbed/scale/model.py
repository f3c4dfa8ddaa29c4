"""A model of a protocol on a rack, and what it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from testbed.scale.outcome import ScaleOutcome
from testbed.scale.trains import TrainFraming

__all__ = ["RackLink", "RackModel", "RackPoint"]


@dataclass(frozen=True, slots=True)
class RackLink:
    """Between a host and its switch, the same both ways."""

    rate_bps: float
    delay_ns: float = 0.0


@dataclass(frozen=True, slots=True)
class RackPoint:
    hosts: int
    size_bytes: int
    rate_bps: float
    delay_ns: float = 0.0
    """delay of one link; a message crosses two"""
    message_packets: int = 170
    window_messages: int = 2
    path_mtu: int = 1024

    @property
    def link(self) -> RackLink:
        return RackLink(self.rate_bps, self.delay_ns)

    @property
    def links(self) -> list[RackLink]:
        return [self.link] * self.hosts

    @property
    def framing(self) -> TrainFraming:
        return TrainFraming(self.path_mtu)


@dataclass(frozen=True, slots=True)
class RackModel:
    name: str
    """name, as among the algorithms of a sweep"""
    formula: str
    """its closed form (`workloads.costs`)"""
    messages: Callable[[RackPoint], ScaleOutcome]
    """at the level of messages"""
    flows: Callable[[RackPoint], ScaleOutcome]
    """at the level of flows"""
