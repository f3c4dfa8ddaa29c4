"""What share of the slots of switches was in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from switch_nodes.events import SlotsAtEnd, SwitchSampled
from testbed.checkers.context import CheckContext
from testbed.figures.extent import end_of_job
from workloads.datagrams.blocks import MemoryAtEnd

__all__ = ["slot_occupancy"]


def slot_occupancy(context: CheckContext) -> dict[str, Any]:
    """The `slot_occupancy` of the metrics, of the fullest switch. `peak`: of the slots of one job, as `peak_slots`.
    `mean`: of all slots of a switch, over the time from its first sample to the end of the job. None: no switch has
    slots, or nothing was sampled."""
    capacity = dict[str, dict[int, int]]()
    peaks = list[float]()
    for ring in context.events(SlotsAtEnd):
        if ring.event.slots:
            capacity.setdefault(ring.node, {})[ring.event.ring_id] = ring.event.slots
            peaks.append(ring.event.peak_occupied / ring.event.slots)
    for memory in context.events(MemoryAtEnd):
        if memory.event.values:
            # Jobs that share a memory report all of it, from the same first slot.
            capacity.setdefault(memory.node, {})[memory.event.first_slot] = memory.event.values
            peaks.append(memory.event.peak_occupied / memory.event.values)
    looks = dict[str, list[tuple[int, int]]]()
    for sampled in context.events(SwitchSampled):
        if sampled.event.slots_in_use is not None and sampled.t >= 0:
            looks.setdefault(sampled.node, []).append((sampled.t, sampled.event.slots_in_use))
    end = end_of_job(context.history) if looks else 0
    means = [
        mean / sum(capacity[switch].values())
        for switch, found in looks.items()
        if switch in capacity and (mean := _mean(found, end)) is not None
    ]
    return {"mean": max(means, default=None), "peak": max(peaks, default=None)}


def _mean(looks: Sequence[tuple[int, int]], end: int) -> float | None:
    """Over time: what a look found lasts until the next one. None: the first one came after the end."""
    if not looks or looks[0][0] >= end:
        return None
    times = [*(min(at, end) for at, _ in looks), end]
    area = sum(slots * (times[place + 1] - times[place]) for place, (_, slots) in enumerate(looks))
    return area / (end - times[0])
