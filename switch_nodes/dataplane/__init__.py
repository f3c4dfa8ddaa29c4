"""The data plane: AF_PACKET sockets, batches, timers, filters and taps around one Machine."""

from switch_nodes.dataplane.marking import EgressMarking, ModelledQueue
from switch_nodes.dataplane.pacing import Pacer, moderation_ns
from switch_nodes.dataplane.plane import DataPlane, open_io
from switch_nodes.tap import Tap

__all__ = ["DataPlane", "EgressMarking", "ModelledQueue", "Pacer", "Tap", "moderation_ns", "open_io"]
