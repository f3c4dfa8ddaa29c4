"""Through ports that are a card in memory, in virtual time."""

from collections import deque

import pytest

from switch_nodes.fpga.golden import compare, reference_outputs
from testbed.lab.cards.ports import play_through
from tests.support.cards import BITS, CardBench, card_config, job_trace
from tests.support.netreduce_harness import small_job

TRACE = job_trace(small_job())
EXPECTED = reference_outputs(card_config(), TRACE)
MS = 1_000_000


class Wires:
    """A PacketIo whose frames go into a card and come back `delay_ns` later; `lose` says of which output nothing
    comes."""

    stride = 2048

    def __init__(self, delay_ns=1000, lose=lambda number: False, noise=()):
        bench = CardBench(3)
        bench.driver.bring_up(BITS, card_config())
        self.card, self.now, self.delay_ns, self.lose = bench.card, 0, delay_ns, lose
        self.back = deque((0, 0, frame) for frame in noise)
        self.count = self.sent = 0

    def attach(self, batch):
        class Rows:
            pass

        rows = Rows()
        rows.batch = batch
        return rows

    def send(self, rows, count, fresh):
        self.sent += count
        for row in range(count):
            self.card.receive_frame(int(rows.batch.ports[row]), bytes(rows.batch.row(row)), self.now)
        for port, frame in self.card.frames_to_send(self.now):
            if not self.lose(self.count):
                self.back.append((self.now + self.delay_ns, port, bytes(frame)))
            self.count += 1
        return 0

    def receive(self, rows, timeout_ns):
        rows.batch.count = 0
        if not self.back or self.back[0][0] > self.now + timeout_ns:
            self.now += timeout_ns
            return 0
        self.now = max(self.now, self.back[0][0])
        _, port, frame = self.back.popleft()
        rows.batch.append(port, frame)
        return 1


def passage(wires, **options):
    return play_through(
        wires, TRACE, EXPECTED, clock=lambda: wires.now, **{"timeout_ns": 100 * MS, "settle_ns": 2 * MS} | options
    )


@pytest.mark.parametrize("delay_ns", [0, 1000, 90 * MS])
def test_all_comes_back_in_its_step(delay_ns):
    found = passage(Wires(delay_ns))
    assert compare(EXPECTED, found.outputs) is None
    assert [output.step for output in found.outputs] == [output.step for output in EXPECTED]
    assert (found.strangers, found.stalled) == (0, 0)


def test_a_frame_that_does_not_come_is_waited_for_and_missing():
    found = passage(Wires(lose=lambda number: number == 4))
    difference = compare(EXPECTED, found.outputs)
    assert (difference.kind, difference.step) == ("is missing", EXPECTED[4].step)
    assert found.stalled == 1


def test_a_silent_card_is_given_up():
    wires = Wires(lose=lambda number: True)
    found = passage(wires)
    assert (found.outputs, found.stalled) == ((), 3)
    assert wires.sent < len(TRACE)


def test_talk_of_others_is_counted_and_left_out():
    found = passage(Wires(noise=[bytes(60), b"\xff" * 60]))
    assert found.strangers == 2
    assert compare(EXPECTED, found.outputs) is None


def test_frames_too_many_at_the_end_are_heard():
    wires = Wires()
    wires.back.append((0, 0, TRACE[0].frame))
    assert compare(EXPECTED, passage(wires).outputs).kind == "should not be there"
