"""All of a timeline as lanes, messages of switches too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from testbed.report.timeline.model import Lane, MessageLife, Span, Timeline

__all__ = ["JOB", "lanes_of"]

JOB = "job"
"""the node of lanes that are of no node"""


def lanes_of(timeline: Timeline, spans_of: Callable[[MessageLife], Iterable[Span]]) -> Iterator[Lane]:
    """`spans_of`: a message in a switch. The spans of a lane may overlap."""
    if timeline.iterations:
        yield Lane("iterations", JOB, spans=timeline.iterations)
    yield Lane(timeline.faults.name, JOB, marks=timeline.faults.marks, spans=timeline.faults.spans)
    yield from timeline.qps
    for switch in timeline.switches:
        lives = [span for life in timeline.messages if life.node == switch for span in spans_of(life)]
        marks = timeline.switch_marks.get(switch, [])
        if lives or marks:
            yield Lane("messages", switch, marks=marks, spans=lives)
    yield from timeline.slots
