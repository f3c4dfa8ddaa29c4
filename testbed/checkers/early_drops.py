"""Queues that know classes dropped nothing but what they may: the low class early, anything else when they were full.

Switches report every frame that such a queue did not take, with its DSCP and the length of the queue. The worlds count
what the queues of each link lost. Captures hold the frames. All three must agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from testbed.captures.capture import EARLY, FileCapture
from testbed.checkers.context import CheckContext
from testbed.history import Record
from testbed.history.events import QueueDropped, ShapingMeasured
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.numbers import moment
from testbed.terminal.words import amount, violations
from topologies import Link
from workloads.wire.dscp import is_low, read_dscp

__all__ = ["early_drops", "skip_early_drops"]

_NAME = "early_drops"
_SHOWN = 8


def skip_early_drops(context: CheckContext) -> str | None:
    """Most queues know no classes, and nothing need be said of them."""
    return None if any(link.shape.knows_classes for link in context.plan.scenario.topology.links) else ""


def early_drops(context: CheckContext) -> CheckResult:
    """UNKNOWN where a queue lost more than its switch reported: then it is not known whether the queue had room."""
    links = {link.name: link for link in context.plan.scenario.topology.links}
    told, wrong, untold = Counter[tuple[str, str, bool]](), list[str](), list[str]()
    for record in context.events(QueueDropped):
        told[record.event.link, record.event.direction, record.event.early] += 1
        wrong += _problems(record, links[record.event.link])
    for measured in (record.event for record in context.events(ShapingMeasured)):
        if not links[measured.link].shape.knows_classes:
            continue
        where = f"{measured.link} {measured.direction}"
        early, full = (told[measured.link, measured.direction, was_early] for was_early in (True, False))
        if measured.early != early:
            wrong.append(f"{where}: {amount(measured.early, 'frame')} dropped early, and {early} reported")
        if measured.drops != full:
            untold.append(f"{where}: {amount(measured.drops, 'frame')} lost by the queue, and {full} reported")
    try:
        wrong += _unlike_captures(context)
    except (OSError, ValueError) as error:
        untold.append(f"a capture cannot be read: {error}")
    if wrong:
        return CheckResult(_NAME, Verdict.FAIL, violations(wrong), tuple(wrong[:_SHOWN]))
    if untold:
        return CheckResult(_NAME, Verdict.UNKNOWN, untold[0], tuple(untold[:_SHOWN]))
    early, full = (sum(count for (*_, is_early), count in told.items() if is_early is was) for was in (True, False))
    detail = (
        f"{amount(early, 'frame')} of the low class dropped while their queues had room, "
        f"{amount(full, 'frame')} of any class by queues that were full"
    )
    return CheckResult(_NAME, Verdict.PASS, detail)


def _problems(record: Record[QueueDropped], link: Link) -> Iterator[str]:
    event, shape = record.event, link.shape
    who = f"{event.link} {event.direction} at {moment(record.t)}: DSCP {event.dscp}, {event.waiting} waiting"
    if not shape.knows_classes:
        yield f"{who}: it knows no classes"
    elif not event.early:
        if event.waiting < shape.queue_packets:
            yield f"{who}: lost, and the queue had room for {shape.queue_packets}"
    elif shape.drop_low_above_packets is None or event.waiting < shape.drop_low_above_packets:
        yield f"{who}: dropped early below the threshold, {shape.drop_low_above_packets}"
    elif not is_low(event.dscp):
        yield f"{who}: dropped early, and not of the low class"
    elif event.waiting >= shape.queue_packets:
        yield f"{who}: reported as dropped early, and the queue was full"


def _unlike_captures(context: CheckContext) -> Iterator[str]:
    """Check that frames that a capture shows as dropped early are of the low class, and as many as the switch
    reported."""
    told = Counter(
        (record.node, record.event.link, record.event.dscp)
        for record in context.events(QueueDropped)
        if record.event.early
    )
    for place in context.captures:
        capture = FileCapture(place) if isinstance(place, Path) else place
        seen = Counter(
            (capture.switch, interface, read_dscp(frame.frame))
            for interface, frame in capture.read()
            if frame.comment == EARLY
        )
        for switch, link, dscp in sorted(seen):
            if not is_low(dscp):
                yield f"{capture.name}: {switch} dropped a frame with DSCP {dscp} early on {link}"
        for switch, link, dscp in sorted({key for key in told if key[0] == capture.switch} | set(seen)):
            here, there = seen[switch, link, dscp], told[switch, link, dscp]
            if here != there:
                yield f"{capture.name}: {link}, DSCP {dscp}: {here} dropped early in the capture, {there} reported"
