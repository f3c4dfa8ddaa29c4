"""Options of a data plane, in three groups."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from switch_nodes.dataplane.arrivals import ModelledWire
from switch_nodes.dataplane.clock import EmulatedClock
from switch_nodes.dataplane.marking import EgressMarking
from switch_nodes.dataplane.pacing import Pacer
from switch_nodes.filters import FrameFilter
from switch_nodes.tap import Tap
from workloads.machine import Event

__all__ = ["PlaneControl", "PlaneTiming", "PortStages"]


@dataclass(frozen=True, slots=True)
class PlaneControl:
    """Receiver of the events, and what ends the loop."""

    on_event: Callable[[int, Event], None]
    """called with the emulated time and the event"""
    check_event: Callable[[Event], None] = lambda event: None
    """raises for an event that the Machine may not report"""
    control: socket.socket | None = None
    """wakes the loop when it is readable"""
    on_control: Callable[[], bool] | None = None
    """called then; False ends the loop"""


@dataclass(frozen=True, slots=True)
class PortStages:
    """What stands between the Machine and the sockets of its ports."""

    ingress: Mapping[int, FrameFilter] = field(default_factory=dict)
    """filters of ports that have any"""
    egress: Mapping[int, FrameFilter] = field(default_factory=dict)
    tap: Tap | None = None
    """its owner closes it"""
    marking: EgressMarking | None = None
    """ports that mark by the length of their queues, trim, or know classes"""
    wires: Mapping[int, ModelledWire] = field(default_factory=dict)
    """of ports whose frames arrive when their last bit does"""


@dataclass(frozen=True, slots=True)
class PlaneTiming:
    """Spans are of the emulated time that `clock` keeps, unless they say otherwise."""

    clock: EmulatedClock = field(default_factory=EmulatedClock)
    rate_bps: int | None = None
    """of a NIC's link, if known; it bounds the queue in the kernel (`queue_frames_for`)"""
    spin_ns: int = 0
    """end of each sleep that is polled instead, in real time: deadlines are met more closely, for more CPU time"""
    pacer: Pacer | None = None
    """holds a NIC to the pace of its link"""
    moderation_ns: int = 0
    """while traffic is dense, the shortest time from one wake-up to the next, as a NIC moderates its interrupts.
    Deadlines are met all the same"""
