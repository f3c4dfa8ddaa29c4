"""Frames through datagram sockets, as QEMU has them."""

from __future__ import annotations

import socket

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.dataplane.packet_io import SendOutcome
from switch_nodes.registry import create_program
from testbed.interop.wires import WireIo, Wires
from tests.support.planes import plane_of
from workloads.machine import FrameBatch

FRAMES = [bytes((2, 0, 0, 0, 0, n, 2, 0, 0, 0, 0, 9, 8, 0)) + bytes(50 + 900 * n) for n in range(4)]


class Guest:
    def __init__(self, end, peer):
        self._end, self._peer = end, peer

    def send(self, frame):
        self._end.sendto(frame, self._peer)

    def recv(self):
        return self._end.recv(1 << 16)


@pytest.fixture
def link(tmp_path):
    """(our ends, the guest's ends); those of the guest are not connected, as QEMU's."""
    wires = Wires([tmp_path / f"{n}.sw" for n in range(2)])
    guest = []
    for n in range(2):
        end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        end.bind(str(tmp_path / f"{n}.vm"))
        guest.append(end)
    wires.connect([tmp_path / f"{n}.vm" for n in range(2)])
    yield wires, [Guest(end, str(tmp_path / f"{n}.sw")) for n, end in enumerate(guest)]
    wires.close()
    for end in guest:
        end.close()


def batch_of(port, frames):
    batch = FrameBatch.of(64, 4200)
    for frame in frames:
        batch.append(port, frame)
    return batch


def test_a_frame_is_a_datagram_each_way(link):
    wires, guest = link
    io = WireIo(wires.ports)
    for frame in FRAMES:
        guest[1].send(frame)
    batch = FrameBatch.of(64, 4200)
    rows = io.attach(batch)
    assert io.receive(rows, 0) == 4
    assert [bytes(batch.row(n)) for n in range(4)] == FRAMES
    assert set(batch.ports[:4].tolist()) == {1}
    out = batch_of(0, FRAMES)
    assert io.send(io.attach(out), 4, True) == 0
    assert [guest[0].recv() for _ in FRAMES] == FRAMES
    with pytest.raises(BlockingIOError):
        guest[1].recv()


def test_a_guest_that_is_slow_loses_nothing(link):
    """A unix socket holds few datagrams; what has no room waits, in order."""
    wires, guest = link
    io = WireIo(wires.ports)
    frames = [bytes(14) + bytes((n, 0)) * 20 for n in range(64)]
    rows = io.attach(batch_of(0, frames))
    io.send(rows, 64, True)
    outcomes = [int(outcome) for outcome in rows.outcomes[:64]]
    assert set(outcomes) == {SendOutcome.SENT, SendOutcome.WAITING}
    got = []
    arrived = io.attach(FrameBatch.of(64, 4200))
    for _ in range(100):
        io.receive(arrived, 0)  # learns that there is room again
        while True:
            try:
                got.append(guest[0].recv())
            except BlockingIOError:
                break
        if len(got) == 64:
            break
        io.send(rows, 64, False)
    assert got == frames
    assert io.counters().queue_drops == 0


def test_what_one_case_left_does_not_reach_the_next(link):
    wires, guest = link
    for frame in FRAMES:
        guest[0].send(frame)
    guest[1].send(FRAMES[0])
    assert wires.drain() == 5
    assert wires.drain() == 0


def test_a_case_ends_and_the_wires_stay(link):
    wires, guest = link
    WireIo(wires.ports).close()
    guest[0].send(FRAMES[0])
    assert wires.drain() == 1


def test_only_the_guest_can_send_to_a_port(link, tmp_path):
    stranger = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with pytest.raises(PermissionError):
        stranger.connect(str(tmp_path / "0.sw"))
    stranger.close()


def test_a_switch_serves_wires(link):
    wires, guest = link
    plane = plane_of(
        create_program(SwitchConfig("s1", "forward", 2)),
        [],
        backpressure=True,
        on_event=lambda now, event: None,
        io=WireIo(wires.ports),
    )
    for frame in FRAMES:
        guest[0].send(frame)
    turns = []
    plane.run(0, until=lambda: bool(turns.append(1)) or len(turns) > 3)
    assert [guest[1].recv() for _ in FRAMES] == FRAMES
