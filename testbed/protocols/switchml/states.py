"""How the states of SwitchML are visited."""

from __future__ import annotations

from typing import Any

from switch_nodes.switchml.pool import Pool
from switch_nodes.switchml.service import PoolService
from testbed.states.contract import Explored, SmallSize
from workloads.datagrams.slot_window import SlotWindow
from workloads.switchml.worker import SwitchMlWorker

__all__ = ["EXPLORED"]

_BLOCK_BYTES = 1024


def _keys(size: SmallSize) -> dict[str, object]:
    return {
        "topology.hosts": size.workers, "switch.memory": 2 * size.slots, "job.dtype": "int32",
        "job.size": size.blocks * _BLOCK_BYTES, "job.window_packets": size.slots,
    }  # fmt: skip


def _left(window: Any) -> list[bool]:
    """Whether the packet of each index has left. How often matters after 100 times, for the length of waits."""
    return [tries > 0 for tries in window._tries]


def _armed(window: Any) -> list[int | None]:
    """Deadlines of packets that wait for a result. Others are not used."""
    return [
        deadline if packet >= 0 and tries else None
        for deadline, packet, tries in zip(window._deadline, window._outstanding, window._tries, strict=True)
    ]


EXPLORED = Explored(
    scenario="switchml",
    keys=_keys,
    statistics={
        Pool: ("opened",),
        PoolService: (
            "_now",
            "_data_in",
            "_results_out",
            "_replayed",
            "_partials_out",
            "_sums_in",
            "_contribution",
        ),
        SwitchMlWorker: ("_found",),
    },
    instead={(SlotWindow, "_tries"): _left, (SlotWindow, "_deadline"): _armed},
)
