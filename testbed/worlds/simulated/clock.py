"""A node's own clock: the time that a Machine sees, and the world's time of what the Machine reports."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from switch_nodes.events import LoadSampled, PlaneStatistics
from switch_nodes.program import SlotWait, bytes_in_slots, slot_waits, slots_of
from testbed.scenario.keys.clocks import TRUE_CLOCKS, Clocks
from testbed.worlds.simulated.finishing import FinishingMachine
from workloads.events import CollectiveCompleted, FlowReceived, GradientComputed
from workloads.machine import Buffer, Event

__all__ = ["INSTANTS", "ClockedMachine", "NodeClock", "draw_clocks"]

_BILLION = 1_000_000_000

INSTANTS: Mapping[type[Event], tuple[str, ...]] = {
    CollectiveCompleted: ("completed_ns",),
    GradientComputed: ("forward_ns", "backward_ns", "ready_ns"),
    FlowReceived: ("first_ns", "last_ns"),
    LoadSampled: ("at_ns",),
    PlaneStatistics: ("stood_until_ns",),
}
"""Fields of a Machine's events that say when something was, by its clock; durations are no such fields."""


@dataclass(frozen=True, slots=True)
class NodeClock:
    """local = offset + t * (1 + drift), rounded down to whole ns. It never goes back."""

    offset_ns: int
    drift_ppb: int
    """above -10^9"""

    def local(self, time: int) -> int:
        """What the clock shows at `time` of the world (both ns)."""
        return self.offset_ns + time * (_BILLION + self.drift_ppb) // _BILLION

    def world(self, local: int) -> int:
        """The first time of the world at which the clock shows `local` or more."""
        return -((self.offset_ns - local) * _BILLION // (_BILLION + self.drift_ppb))


class ClockedMachine:
    """A Machine that lives by `clock`, in a world with a time of its own. Its timers and its events are reported in the
    world's time."""

    def __init__(self, machine: FinishingMachine, clock: NodeClock) -> None:
        self.machine, self._clock = machine, clock

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        self.machine.receive_frame(port, frame, self._clock.local(now))

    def frames_to_send(self, now: int) -> Iterable[tuple[int, Buffer]]:
        return self.machine.frames_to_send(self._clock.local(now))

    def get_timer(self) -> int | None:
        due = self.machine.get_timer()
        return None if due is None else self._clock.world(due)

    def handle_timer(self, now: int) -> None:
        self.machine.handle_timer(self._clock.local(now))

    def next_event(self) -> Event | None:
        event = self.machine.next_event()
        if event is None or type(event) not in INSTANTS:
            return event
        instants: dict[str, Any] = {name: self._clock.world(getattr(event, name)) for name in INSTANTS[type(event)]}
        return replace(event, **instants)

    @property
    def slots_in_use(self) -> int | None:
        """Of a switch."""
        return slots_of(self.machine)

    def bytes_in_slots(self) -> Mapping[int, int]:
        """Of a switch."""
        return bytes_in_slots(self.machine)

    def slot_waits(self) -> Sequence[SlotWait]:
        """Of a switch."""
        return slot_waits(self.machine)

    def finish(self, now: int) -> None:
        self.machine.finish(self._clock.local(now))


def draw_clocks(clocks: Clocks, seed: int, nodes: Iterable[str]) -> dict[str, NodeClock]:
    """A clock per node, each from (seed, node); none at all where all clocks are true."""
    if clocks == TRUE_CLOCKS:
        return {}
    drawn = {}
    for node in nodes:
        draw = random.Random(f"clock {seed} {node}")
        offset = draw.randint(-clocks.offset_ns, clocks.offset_ns)
        drawn[node] = NodeClock(offset, draw.randint(-clocks.drift_ppb, clocks.drift_ppb))
    return drawn
