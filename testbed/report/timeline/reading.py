"""From a history to a timeline: hands each record to the readers, and puts together what they made of it."""

from __future__ import annotations

from collections.abc import Sequence

from switch_nodes.events import SlotStepped
from testbed.history import Record, of_kinds
from testbed.report.timeline.datagrams import DatagramReader, is_over_datagrams
from testbed.report.timeline.model import Lane, Timeline
from testbed.report.timeline.naming import Names, find_names
from testbed.report.timeline.queue_pairs import QpReader
from testbed.report.timeline.switches import SwitchReader
from testbed.report.timeline.traces import is_of_trace, trace_timeline
from workloads.datagrams.blocks import SlotChanged
from workloads.errors import ScenarioError
from workloads.events import MessageAcked, MessagePosted, MessageReceived, PhaseStarted, QpStepped
from workloads.machine import Event

__all__ = ["build_timeline"]

_OF_MESSAGES = frozenset[type[Event]]({MessagePosted, MessageReceived, MessageAcked})
_MOST_OF_MESSAGES = 1_000_000
"""records; each takes a tenth of a millisecond and 500 bytes to draw"""
_STEPS = (QpStepped, SlotStepped, SlotChanged)


def build_timeline(history: Sequence[Record]) -> Timeline:
    """All lanes of a run, from its start to the last thing that a queue pair, a switch or a fault did. Raises
    ScenarioError for a run in phases: its hosts have several pairs of queue pairs, and a lane for each is not drawn
    yet."""
    if is_of_trace(history):
        return trace_timeline(history, find_names(history))
    if of_kinds(history, PhaseStarted):
        raise ScenarioError(
            "a timeline shows one ring",
            found="a run in phases, with a ring for each",
            allowed="a run of one protocol",
        )
    names = find_names(history)
    if is_over_datagrams(history):
        return _of_datagrams(history, names)
    faults = Lane("faults", "world")
    queue_pairs, switches = QpReader(names, faults), SwitchReader(names)
    messages = len(of_kinds(history, *_OF_MESSAGES))
    without = _OF_MESSAGES if messages > _MOST_OF_MESSAGES else frozenset[type[Event]]()
    queue_pairs.read(history, without)
    switches.read(history, without)
    queue_pairs.sort()
    lanes = queue_pairs.lanes
    times = [lane.marks[-1].t for lane in (faults, *lanes) if lane.marks]
    times += [span.stop for lane in lanes for span in lane.spans[-1:]] + [life.last for life in switches.lives()]
    stop = max(times, default=0)
    queue_pairs.close(stop)
    switches.close(stop)
    return Timeline(
        hosts=names.hosts,
        switches=names.switches,
        iterations=queue_pairs.iterations(stop),
        faults=faults,
        qps=lanes,
        messages=switches.lives(),
        switch_marks=switches.marks,
        slots=[switches.slots[key] for key in sorted(switches.slots)],
        start=0,
        stop=stop,
        traced=bool(of_kinds(history, *_STEPS)),
        notes=[f"{messages:,} records of single messages are not drawn: the run has too many"] if without else [],
    )


def _of_datagrams(history: Sequence[Record], names: Names) -> Timeline:
    """A lane for each worker, parameter server and switch."""
    faults = Lane("faults", "world")
    reader = DatagramReader(names, faults, history)
    reader.read(history)
    reader.sort()
    lanes = reader.lanes
    stop = max((lane.marks[-1].t for lane in (faults, *lanes, *reader.slots.values()) if lane.marks), default=0)
    reader.close(stop)
    return Timeline(
        hosts=names.hosts,
        switches=names.switches,
        iterations=[],
        faults=faults,
        qps=lanes,
        messages=[],
        switch_marks={},
        slots=[reader.slots[key] for key in sorted(reader.slots)],
        start=0,
        stop=stop,
        traced=bool(of_kinds(history, *_STEPS)),
        lanes_are="workers, servers and switches",
    )
