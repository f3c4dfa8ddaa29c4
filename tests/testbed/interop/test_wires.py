from __future__ import annotations

import contextlib
import socket
import time

import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.dataplane import DataPlane
from switch_nodes.registry import create_program
from testbed.interop.wires import MTU, WireIo, Wires

MACS = (b"\2\0\0\0\0\1", b"\2\0\0\0\0\2")
FRAMES = 100
"""ten times what a unix socket queues (net.unix.max_dgram_qlen, 10 by default)"""


@pytest.fixture
def guest(tmp_path):
    """Our ends, and the ends that QEMU would have."""
    wires = Wires([tmp_path / f"{n}.sw" for n in range(2)])
    ends = []
    for number in range(2):
        end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        end.bind(str(tmp_path / f"{number}.vm"))
        ends.append(end)
    wires.connect([tmp_path / f"{n}.vm" for n in range(2)])
    yield wires, ends, [tmp_path / f"{n}.sw" for n in range(2)]
    wires.close()
    for end in ends:
        end.close()


def test_a_switch_on_wires_loses_nothing_to_a_slow_reader(guest):
    wires, ends, paths = guest
    sent, got, turns, deadline = 0, [], 0, time.monotonic() + 30

    def over() -> bool:
        nonlocal sent, turns
        turns += 1
        while sent < FRAMES:
            frame = MACS[1] + MACS[0] + b"\x88\xb5" + sent.to_bytes(4, "big") + bytes(MTU - 4)
            try:
                ends[0].sendto(frame, str(paths[0]))
            except BlockingIOError:
                break
            sent += 1
        if turns % 3 == 0:  # the reader is slow
            with contextlib.suppress(BlockingIOError):
                for _ in range(20):
                    got.append(int.from_bytes(ends[1].recv(1 << 16)[14:18], "big"))
        return len(got) == FRAMES or time.monotonic() > deadline

    program = create_program(SwitchConfig("s1", "forward", 2, macs=((MACS[0], 0), (MACS[1], 1))))
    plane = DataPlane(
        program, [], backpressure=True, on_event=lambda now, event: None, io=WireIo(wires.ports), moderation_ns=0
    )
    statistics = plane.run(time.monotonic_ns(), until=over)
    assert got == list(range(FRAMES))
    assert (statistics.frames_in, statistics.frames_out) == (FRAMES, FRAMES)
    assert statistics.queue_drops == statistics.socket_drops == 0
    plane.close()
    ends[0].sendto(b"the wires outlive a data plane", str(paths[0]))
    assert wires.drain() == 1


def test_what_waits_can_be_thrown_away(guest):
    wires, ends, paths = guest
    for number, path in enumerate(paths):
        for _ in range(3):
            ends[number].sendto(b"late frame of the case before", str(path))
    assert wires.drain() == 6
    assert wires.drain() == 0
