"""The data plane: AF_PACKET sockets, batches, timers, filters and taps around one Machine."""

from switch_nodes.dataplane.arrivals import ModelledWire
from switch_nodes.dataplane.clock import EmulatedClock
from switch_nodes.dataplane.marking import EgressMarking, ModelledQueue
from switch_nodes.dataplane.options import PlaneControl, PlaneTiming, PortStages
from switch_nodes.dataplane.pacing import AHEAD_NS, Pacer, moderation_ns
from switch_nodes.dataplane.plane import DataPlane, open_io
from switch_nodes.tap import Tap

__all__ = [
    "AHEAD_NS",
    "DataPlane",
    "EgressMarking",
    "EmulatedClock",
    "ModelledQueue",
    "ModelledWire",
    "Pacer",
    "PlaneControl",
    "PlaneTiming",
    "PortStages",
    "Tap",
    "moderation_ns",
    "open_io",
]
