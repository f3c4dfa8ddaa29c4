"""How the states of NetReduce are visited."""

from __future__ import annotations

from typing import Any

from switch_nodes.forwarding.macs import MacTable
from switch_nodes.netreduce.ring import Cursor, Ring
from testbed.states.contract import Explored, SmallSize
from workloads.collectives.ina_header import INA_HEADER_BYTES
from workloads.collectives.netreduce import NetReduceCollective
from workloads.rc.explored import PINNED, STATISTICS

__all__ = ["EXPLORED"]

_BLOCK_BYTES = 1024 - INA_HEADER_BYTES
"""of a message that fills one packet"""


def _keys(size: SmallSize) -> dict[str, object]:
    """A block is a message of one packet, and `slots` of them are under way. A hello comes first."""
    return {
        "topology.hosts": size.workers, "job.dtype": "int32", "job.size": f"{size.blocks * _BLOCK_BYTES}B",
        "job.message_packets": 1, "job.window_messages": size.slots,
    }  # fmt: skip


def _cursor(ring: Any) -> list[int]:
    """Without the figure of most slots in use."""
    return [int(value) for place, value in enumerate(ring.cursor) if place != Cursor.PEAK]


EXPLORED = Explored(
    scenario="rack",
    keys=_keys,
    statistics={
        **STATISTICS,
        NetReduceCollective: ("_completed_at",),
        MacTable: ("verdict",),
    },
    instead={(Ring, "cursor"): _cursor},
    pinned=PINNED,
)
