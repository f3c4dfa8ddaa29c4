"""How the states of protocols with a parameter server are visited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from switch_nodes.aggregators.steps import SlotService
from testbed.states.contract import Explored, SmallSize
from workloads.atp.pressure import Pressure
from workloads.atp.window import SendWindow
from workloads.atp.worker import AtpWorker
from workloads.server.block import Block
from workloads.server.job import JobServer
from workloads.server.machine import ParameterServer

__all__ = ["explored_with_server"]

_BLOCK_BYTES, _MOST_DOUBLINGS = 1024, 4


def _keys(size: SmallSize) -> dict[str, object]:
    """The last host is the parameter server."""
    return {
        "topology.hosts": size.workers + 1, "switch.memory": size.slots, "job.dtype": "int32",
        "job.size": size.blocks * _BLOCK_BYTES, "job.window_packets": size.slots,
    }  # fmt: skip


def _tries(window: Any) -> list[int]:
    """Whether the packet of each index left not at all, once, or again."""
    return [min(tries, 2) for tries in window._tries]


def _armed(window: Any) -> list[int | None]:
    """Deadlines of outstanding packets, from the oldest."""
    return [
        window._deadline[packet % window.window] if window.is_outstanding(packet) else None
        for packet in range(window.base, window.next)
    ]


def _settled(window: Any) -> list[int]:
    """Which packets from the oldest to the newest have their results."""
    return [window._settled[packet % window.window] for packet in range(window.base, window.next)]


def _timers(job: Any) -> list[tuple[int, int]]:
    """The timers of the server that still count."""
    return sorted(entry for entry in set(job._timers) if job._is_armed(*entry))


def _reminders(block: Any) -> int:
    """How often the server asked, as far as its next wait depends on it."""
    return min(int(block.reminders), _MOST_DOUBLINGS)


def explored_with_server(scenario: str, keys: Mapping[str, object]) -> Explored:
    """`scenario`: name of the built-in scenario. `keys`: further ones, in any size. Priorities may not depend on time,
    which the table of attributes takes for granted."""
    return Explored(
        scenario=scenario,
        keys=lambda size: {**_keys(size), **keys},
        statistics={
            AtpWorker: ("_found",),
            Pressure: ("_started", "_ended", "_communication", "_computation"),
            ParameterServer: ("_found",),
            JobServer: ("_counts", "_kinds", "_time"),
            SlotService: ("_counters", "_now", "_arrival"),
        },
        instead={
            (SendWindow, "_tries"): _tries,
            (SendWindow, "_deadline"): _armed,
            (SendWindow, "_settled"): _settled,
            (JobServer, "_timers"): _timers,
            (Block, "reminders"): _reminders,
        },
    )
