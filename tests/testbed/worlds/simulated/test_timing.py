"""Two things that only many schedules show: timers that a pulled frame starts, and frames that are due in one
instant."""

from __future__ import annotations

from collections import deque

import pytest

from switch_nodes.filters import Delivery
from testbed.faults.model import Delay, Drop, Match
from testbed.faults.opcodes import OPCODE_GROUPS
from testbed.worlds.simulated import simulate
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.nodes import HostNode, SwitchNode
from testbed.worlds.simulated.wire import Wire
from tests.support.simulation import of, rack_links, rack_plan
from topologies import LinkShape
from workloads.events import WorkerFinished

SHAPE = LinkShape(rate_bps=8_000_000_000)
"""a byte takes a nanosecond"""


class Sender:
    """Starts its timer when a frame leaves."""

    def __init__(self) -> None:
        self.frames = deque([bytes(100), bytes(100)])
        self.due: int | None = None
        self.fired: list[int] = []

    def receive_frame(self, port, frame, now):
        pass

    def frames_to_send(self, now):
        while self.frames:
            frame = self.frames.popleft()
            if not self.frames:
                self.due = now + 1000
            yield 0, frame

    def get_timer(self):
        return self.due

    def handle_timer(self, now):
        self.fired.append(now)
        self.due = None

    def next_event(self):
        return None

    def finish(self, now):
        pass


def test_a_timer_that_starts_when_the_nic_pulls_a_frame_is_kept():
    agenda, machine = Agenda(1), Sender()
    node = HostNode("h1", 0, agenda, lambda: machine, lambda node, event: None)
    node.attach(0, Wire(agenda, 1, SHAPE))
    node.start()
    while agenda.next_time() is not None:
        agenda.step()
    assert machine.fired == [1100]  # the second frame was pulled at 100 ns


class Holding:
    """Holds the first frame back until 50 ns, and no other."""

    def __init__(self) -> None:
        self.first = True

    def admit(self, frame, now):
        at, self.first = (50, False) if self.first else (max(now, 50), False)
        return (Delivery(at, frame),)

    def next_event(self):
        return None


class Listener(Sender):
    def __init__(self) -> None:
        super().__init__()
        self.frames.clear()
        self.heard: list[bytes] = []

    def receive_frame(self, port, frame, now):
        self.heard.append(bytes(frame))


@pytest.mark.parametrize("seed", range(8))
def test_a_frame_does_not_overtake_the_one_that_is_due_in_the_same_instant(seed):
    agenda, machine = Agenda(seed), Listener()
    node = SwitchNode("s1", 0, agenda, lambda: machine, lambda *_: None, {0: Holding()}, {}, None)
    # The second comes in the instant in which the held one is due: which appointment is first is drawn from the seed.
    agenda.at(0, 7, lambda _: node.arrive(0, b"first"))
    agenda.at(50, 9, lambda _: node.arrive(0, b"second"))
    while agenda.next_time() is not None:
        agenda.step()
    assert machine.heard == [b"first", b"second"]


def test_lost_retransmissions_of_a_busy_host_are_sent_again():
    """As the hunt found it: every first attempt of two hosts is lost both ways, and their ACKs keep their links
    busy."""
    job = {"size_bytes": 480, "iterations": 2, "message_packets": 1, "window_messages": 4, "hello": False}
    transport = {"path_mtu": 256, "verb": "send", "timeout_code": 13, "ack_every": 1}
    data = OPCODE_GROUPS["data"][0]
    lost = Drop("drop-1", rack_links(3)[1:], match=Match(data, attempt=1))
    late = Delay("delay-2", rack_links(3), delay_ns=1)
    for seed in range(6):
        plan = rack_plan(3, seed=seed, faults=(lost, late), job=job, transport=transport, link={"rate_bps": 40_000_000})
        assert len(of(simulate(plan), WorkerFinished)) == 3
