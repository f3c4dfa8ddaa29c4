"""The part of a timeline that a person wants to see."""

from __future__ import annotations

from dataclasses import dataclass, replace

from testbed.reading.problems import closest
from testbed.report.timeline.model import Lane, Timeline
from testbed.report.timeline.scale import show_time
from workloads.errors import ScenarioError

__all__ = ["Selection", "select"]


@dataclass(frozen=True, slots=True)
class Selection:
    """None: all of them."""

    qpn: int | None = None
    host: str | None = None
    slot: int | None = None
    start: int | None = None
    """ns"""
    stop: int | None = None


def select(timeline: Timeline, wanted: Selection) -> Timeline:
    """What of it is wanted. With a slot and neither host nor queue pair, only switches are shown; with a host or
    queue pair and no slot, only those. Raises ScenarioError for what the history does not have."""
    start, stop = _range(timeline, wanted)
    by_host, by_slot = wanted.host is not None or wanted.qpn is not None, wanted.slot is not None
    qps = _queue_pairs(timeline, wanted)
    slots = timeline.slots if wanted.slot is None else _slot(timeline, wanted.slot)
    switches = by_slot or not by_host
    marks = {node: [mark for mark in found if start <= mark.t <= stop] for node, found in timeline.switch_marks.items()}
    return replace(
        timeline,
        start=start,
        stop=stop,
        qps=[_cut(lane, start, stop) for lane in qps] if by_host or not by_slot else [],
        iterations=[span for span in timeline.iterations if span.start <= stop and span.stop >= start],
        faults=_cut(timeline.faults, start, stop),
        messages=[life for life in timeline.messages if life.first <= stop and (life.gone or life.last) >= start]
        if switches and not by_slot
        else [],
        switch_marks=marks if switches and not by_slot else {},
        slots=[_cut(lane, start, stop) for lane in slots] if switches else [],
        notes=list(timeline.notes),
    )


def _range(timeline: Timeline, wanted: Selection) -> tuple[int, int]:
    start = timeline.start if wanted.start is None else wanted.start
    stop = timeline.stop if wanted.stop is None else wanted.stop
    if start > timeline.stop:
        raise ScenarioError(
            "nothing happened so late", file="history", key="--from", found=show_time(start, start),
            allowed=f"before {show_time(timeline.stop, timeline.stop)}, the last event",
        )  # fmt: skip
    if stop <= start and (wanted.start is not None or wanted.stop is not None):
        raise ScenarioError(
            "an empty range",
            file="history",
            key="--to",
            found=show_time(stop, stop),
            allowed=f"more than {show_time(start, start)}",
        )
    return start, max(stop, start + 1)


def _queue_pairs(timeline: Timeline, wanted: Selection) -> list[Lane]:
    lanes = timeline.qps
    if wanted.host is not None:
        if wanted.host not in timeline.hosts:
            raise ScenarioError(
                "no such host",
                file="history",
                key="--host",
                found=repr(wanted.host),
                allowed=", ".join(timeline.hosts) or "none",
                hint=closest(wanted.host, timeline.hosts),
            )
        lanes = [lane for lane in lanes if lane.node == wanted.host]
    if wanted.qpn is not None:
        known = [f"{lane.qpn:#x} ({lane.name})" for lane in lanes if lane.qpn >= 0]
        lanes = [lane for lane in lanes if lane.qpn == wanted.qpn]
        if not lanes:
            raise ScenarioError(
                "no such queue pair",
                file="history",
                key="--qp",
                found=f"{wanted.qpn:#x}",
                allowed=", ".join(known) or "none is named",
            )
    return lanes


def _slot(timeline: Timeline, slot: int) -> list[Lane]:
    if not timeline.traced:
        raise ScenarioError(
            "the history has no slots",
            file="history",
            key="--slot",
            found=str(slot),
            allowed="a run with --set trace=true",
        )
    lanes = [lane for lane in timeline.slots if lane.slot == slot]
    if not lanes:
        numbers = [lane.slot for lane in timeline.slots]
        allowed = f"{min(numbers)} .. {max(numbers)}, those that packets touched" if numbers else "none was touched"
        raise ScenarioError("no such slot", file="history", key="--slot", found=str(slot), allowed=allowed)
    return lanes


def _cut(lane: Lane, start: int, stop: int) -> Lane:
    return replace(
        lane,
        marks=[mark for mark in lane.marks if start <= mark.t <= stop],
        spans=[span for span in lane.spans if span.start <= stop and span.stop >= start],
    )
