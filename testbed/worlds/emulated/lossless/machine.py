"""One node of a lossless network as a Machine in real time: the same host or switch that the simulated world has, on an
agenda of its own, with the wires that leave it.

A queue of the kernel would hide from PFC what waits in it. So frames wait here, in the queues of these wires, and each
leaves when its last bit would have left the port, at the rate of the link. The kernel's queue behind it only carries
on. Rules:

1. What was due by now is done at the time when it was due, before anything that came now. Then the rate of a link holds
   although the process wakes up late.
2. It is done at most `slack_ns` ago. A process that stood still for longer has lost that time, as a NIC without power.
   It does not send later what it could have sent.
3. A PFC frame comes before what the process is late with. It waited in the socket meanwhile, and what rule 1 makes
   good would pass it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from switch_nodes.events import PlaneStatistics, SwitchSampled
from switch_nodes.lossless.pauses import PauseState
from switch_nodes.program import slots_of
from testbed.worlds.simulated.agenda import Actor, Agenda
from testbed.worlds.simulated.lossless.host import LosslessHost
from testbed.worlds.simulated.lossless.switch import LosslessSwitch
from testbed.worlds.simulated.lossless.wire import LosslessWire
from workloads.machine import Buffer, Event
from workloads.wire.pfc import decode_pfc, is_mac_control

__all__ = ["LosslessMachine"]

_NODE = 0
_ARRIVALS = 1 << 16
"""actor numbers: of the node, and of its ports for what comes in; those of filters and wires are in between"""


class LosslessMachine:
    """Has five verbs, and `node` inside. `asked`: what the neighbour at each port was asked for, as it hears it."""

    def __init__(self, agenda: Agenda, slack_ns: int) -> None:
        self.agenda, self._slack_ns = agenda, slack_ns
        self.node: LosslessHost | LosslessSwitch | None = None
        self.asked: dict[int, PauseState] = {}
        self._outbox: deque[tuple[int, bytes]] = deque()
        self._events: deque[Event] = deque()

    def hold(self, node: LosslessHost | LosslessSwitch, asked: Mapping[int, PauseState]) -> None:
        """`node` has all its wires. It starts at time 0."""
        self.node, self.asked = node, dict(asked)
        self._arrivals = _Arrivals(node)
        for port, wire in node.wires.items():
            assert isinstance(wire, LosslessWire)
            wire.deliver = partial(self._leave, port)
        self.agenda.at(0, _NODE, lambda started: started.start(), node)

    def tell(self, node: str, event: Event) -> None:
        """What the node has to report. The data plane counts for itself."""
        if not isinstance(event, PlaneStatistics):
            self._events.append(event)

    def receive_frame(self, port: int, frame: Buffer, now: int) -> None:
        data = bytes(frame)
        at, due = now, self.agenda.next_time()
        if due is not None and due < now and is_mac_control(data):
            at = max(self.agenda.now, due - 1, now - self._slack_ns)
        self.agenda.appoint(at, _ARRIVALS + port, self._arrivals, port, data)

    def frames_to_send(self, now: int) -> Iterator[tuple[int, bytes]]:
        self._catch_up(now)
        while self._outbox:
            yield self._outbox.popleft()

    def get_timer(self) -> int | None:
        return self.agenda.next_time()

    def handle_timer(self, now: int) -> None:
        self._catch_up(now)

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def sample(self) -> Event | None:
        """What a switch holds. None: there is nothing to report."""
        assert self.node is not None
        wires = self.node.wires.values()
        marks = {f"{wire.link} {wire.direction}": wire.marks for wire in wires if wire.marks}
        slots = slots_of(self.node.machine)
        return SwitchSampled(slots, marks) if marks or slots is not None else None

    def finish(self, now: int) -> None:
        self._catch_up(now)
        assert self.node is not None
        self.node.finish()

    def _catch_up(self, now: int) -> None:
        agenda = self.agenda
        agenda.floor = max(agenda.floor, now - self._slack_ns)
        agenda.run(now, _always)
        agenda.now = max(agenda.now, now)

    def _leave(self, port: int, frame: bytes) -> None:
        if is_mac_control(frame) and port in self.asked:
            times = decode_pfc(frame)
            if times is not None:
                self.asked[port].hear(times, self.agenda.now)
        self._outbox.append((port, frame))


class _Arrivals(Actor):
    """Frames that came in, for the node."""

    def __init__(self, node: LosslessHost | LosslessSwitch) -> None:
        self._node = node

    def act(self, what: int, argument: Any) -> None:
        self._node.arrive(what, argument)


def _always() -> bool:
    return True
