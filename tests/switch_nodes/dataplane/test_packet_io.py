"""Both ways to do packet I/O, on real interfaces."""

from __future__ import annotations

import os
import socket
import threading
import time

import pytest

from switch_nodes.dataplane.native_io import NativeIo, native_library
from switch_nodes.dataplane.python_io import PythonIo
from switch_nodes.dataplane.sockets import open_port, open_ports
from tests.support.namespace import Namespace
from tests.support.native import require_native
from tests.support.wired import FOREIGN, TIMEOUT_S, Opener, frame, number_of, raw, take
from workloads.machine import FrameBatch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs uid 0")


@pytest.mark.root
def test_frames_for_another_mac_are_seen_and_own_ones_are_not(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    with raw("a1") as far:
        io = opener(["a0"], backpressure=False)
        rows = io.attach(FrameBatch.of(8, io.stride))
        rows.batch.append(0, frame(1))
        assert io.send(rows, 1, True) == 0
        assert take(far, 1) == [frame(1)]
        far.send(frame(2, target=FOREIGN))
        assert io.receive(rows, 10**9) == 1
        assert bytes(rows.batch.row(0)) == frame(2, target=FOREIGN)
        assert io.receive(rows, 0) == 0


@pytest.mark.root
def test_what_others_send_from_this_interface_is_not_seen(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    io = opener(["a0"], backpressure=False)
    rows = io.attach(FrameBatch.of(8, io.stride))
    with raw("a0") as other, raw("a1") as far:
        other.send(frame(1))
        far.send(frame(2))
        assert io.receive(rows, 10**9) == 1
        assert bytes(rows.batch.row(0)) == frame(2)


@pytest.mark.root
def test_a_busy_port_does_not_starve_another(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    space.veth("b0", "b1")
    with raw("a1") as left, raw("b1") as right:
        io = opener(["a0", "b0"], backpressure=False)
        rows = io.attach(FrameBatch.of(10, io.stride))
        for n in range(20):
            left.send(frame(n))
            right.send(frame(n))
        order = []
        for _ in range(4):
            assert io.receive(rows, 10**9) == 10
            order.append(set(rows.batch.ports.tolist()))
        assert order == [{0}, {1}, {0}, {1}]


@pytest.mark.root
def test_only_frames_of_the_own_interface(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    space.veth("b0", "b1")
    with raw("a1") as left, raw("b1") as right:
        io = opener(["a0"], backpressure=False)
        rows = io.attach(FrameBatch.of(8, io.stride))
        right.send(frame(1))
        left.send(frame(2))
        assert io.receive(rows, 10**9) == 1
        assert number_of(bytes(rows.batch.row(0))) == 2


@pytest.mark.root
def test_a_timeout_ends_the_sleep_in_time(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    io = opener(["a0"], backpressure=False)
    rows = io.attach(FrameBatch.of(8, io.stride))
    began = time.monotonic_ns()
    assert io.receive(rows, 3_000_000) == 0
    assert time.monotonic_ns() - began >= 3_000_000
    assert not io.control_ready


@pytest.mark.root
@pytest.mark.parametrize("spin_ns", [1_000_000, 50_000_000])
def test_polling_through_the_end_of_a_sleep(space: Namespace, spin_ns: int) -> None:
    """It ends no earlier than the timeout, and a frame still ends it."""
    require_native("packet_io")
    library = native_library()
    assert library is not None
    space.veth("a0", "a1")
    io = NativeIo(library, open_ports(["a0"], backpressure=False), backpressure=False, spin_ns=spin_ns)
    rows = io.attach(FrameBatch.of(8, io.stride))
    with raw("a1") as far:
        began, cpu = time.monotonic_ns(), time.process_time_ns()
        assert io.receive(rows, 20_000_000) == 0
        assert time.monotonic_ns() - began >= 20_000_000
        assert time.process_time_ns() > cpu
        timer = threading.Timer(0.01, far.send, [frame(1)])
        timer.start()
        assert io.receive(rows, TIMEOUT_S * 10**9 if spin_ns == 1_000_000 else 10**9) == 1
        timer.join()
        assert io.receive(rows, 0) == 0
    io.close()


@pytest.mark.root
def test_a_batch_takes_from_every_port_and_leaves_the_rest(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    space.veth("b0", "b1")
    with raw("a1") as left, raw("b1") as right:
        io = opener(["a0", "b0"], backpressure=False)
        rows = io.attach(FrameBatch.of(100, io.stride))
        for n in range(80):
            left.send(frame(n))
            right.send(frame(n))
        seen: dict[int, list[int]] = {0: [], 1: []}
        sizes = []
        while sum(sizes) < 160:
            sizes.append(io.receive(rows, 10**9))
            assert sizes[-1] > 0
            for row in range(sizes[-1]):
                seen[int(rows.batch.ports[row])].append(number_of(bytes(rows.batch.row(row))))
        assert seen == {0: list(range(80)), 1: list(range(80))}
        assert sizes[0] == 100


@pytest.mark.root
def test_a_frame_longer_than_a_row_is_counted_and_left_out(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    with raw("a1") as far:
        io = opener(["a0"], backpressure=False)
        rows = io.attach(FrameBatch.of(8, 128))
        for item in (frame(1), frame(2, 129), frame(3, 128)):
            far.send(item)
        assert io.receive(rows, 10**9) == 2
        assert [bytes(rows.batch.row(row)) for row in range(2)] == [frame(1), frame(3, 128)]
        assert io.counters().misfits == 1


@pytest.mark.root
@pytest.mark.parametrize("backpressure", [False, True])
def test_frames_that_cannot_leave(space: Namespace, opener: Opener, backpressure: bool) -> None:
    """Too long, too short, link down: none of them blocks the ones behind."""
    space.veth("a0", "a1")
    with raw("a1") as far:
        io = opener(["a0"], backpressure=backpressure)
        rows = io.attach(FrameBatch.of(8, 2048))
        for item in (frame(1), frame(2, 1600), b"short", frame(3)):
            rows.batch.append(0, item)
        assert io.send(rows, 4, True) == 0
        assert take(far, 2) == [frame(1), frame(3)]
        assert rows.outcomes[:4].tolist() == [1, 4, 4, 1]
        assert io.refused == 2
        space.link_state("a0", "down")
        assert io.send(rows, 1, True) == 0
        assert rows.outcomes[0] == 3
        assert (io.counters().link_drops, io.counters().misfits) == (1, 2)
        io.receive(rows, 0)
        space.link_state("a0", "up")
        rows.batch.count = 0
        rows.batch.append(0, frame(4))
        far.send(frame(5))
        assert io.send(rows, 1, True) == 0
        while take(far, 1) != [frame(4)]:
            pass


@pytest.mark.root
def test_a_port_that_is_none_is_refused(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    io = opener(["a0"], backpressure=False)
    rows = io.attach(FrameBatch.of(8, io.stride))
    rows.batch.append(1, frame(1))
    with pytest.raises(ValueError, match=r"port outside 0\.\.0"):
        io.send(rows, 1, True)


@pytest.mark.root
def test_frames_faster_than_we_take_them_are_counted(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    port = open_port("a0", backpressure=False)
    port.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 5000)
    io = PythonIo([port], backpressure=False)
    with raw("a1") as far:
        for n in range(50):
            far.send(frame(n, 1000))
    rows = io.attach(FrameBatch.of(64, io.stride))
    got = io.receive(rows, 0)
    counters = io.counters()
    assert counters.frames_in == got
    assert counters.socket_drops == 50 - got > 0
    io.close()


@pytest.mark.root
def test_closed_sockets_are_refused(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    io = opener(["a0"], backpressure=False)
    rows = io.attach(FrameBatch.of(8, io.stride))
    io.close()
    io.close()
    with pytest.raises((OSError, ValueError)):
        io.receive(rows, 0)
