"""The fault vocabulary as values. A fault says where (link, direction), which packets, when, and what happens."""

from __future__ import annotations

from testbed.faults.base import Fault, LinkFault, Match, NodeFault, PacketFault, Window
from testbed.faults.kinds import record_of
from testbed.faults.kinds.burst import Burst
from testbed.faults.kinds.corrupt import Corrupt
from testbed.faults.kinds.delay import Delay
from testbed.faults.kinds.drop import Drop
from testbed.faults.kinds.duplicate import Duplicate
from testbed.faults.kinds.ecn_mark import EcnMark
from testbed.faults.kinds.forge import Forge
from testbed.faults.kinds.kill import Kill
from testbed.faults.kinds.link_down import LinkDown
from testbed.faults.kinds.loss import Loss
from testbed.faults.kinds.pause import Pause
from testbed.faults.kinds.pause_storm import PauseStorm
from testbed.faults.kinds.rate_change import RateChange
from testbed.faults.kinds.reorder import Reorder

__all__ = [
    "Burst",
    "Corrupt",
    "Delay",
    "Drop",
    "Duplicate",
    "EcnMark",
    "Fault",
    "Forge",
    "Kill",
    "LinkDown",
    "LinkFault",
    "Loss",
    "Match",
    "NodeFault",
    "PacketFault",
    "Pause",
    "PauseStorm",
    "RateChange",
    "Reorder",
    "Window",
    "is_silent",
]


def is_silent(fault: Fault) -> bool:
    """Whether its rates are 0: it is expected to hit nothing."""
    return record_of(fault).is_silent(fault)
