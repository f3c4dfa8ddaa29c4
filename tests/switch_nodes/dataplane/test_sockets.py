"""Real sockets on veth pairs, driven from C and from Python."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from switch_nodes.dataplane import DataPlane, native_io, open_io
from switch_nodes.dataplane.native_io import NativeIo, native_library
from switch_nodes.dataplane.packet_io import PacketIo
from switch_nodes.dataplane.python_io import PythonIo
from switch_nodes.dataplane.sockets import frame_cost, open_port, open_ports, queue_frames_for, row_stride
from switch_nodes.events import PlaneStatistics
from switch_nodes.filters import Delivery
from tests.support.machines import BatchForwarder, Forwarder
from tests.support.namespace import Namespace, own_namespace
from tests.support.planes import ListTap, RuleFilter
from workloads.machine import FrameBatch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs uid 0")

_BROADCAST = b"\xff" * 6
_FOREIGN = bytes.fromhex("0200000000fe")
_PATIENCE_S = 5


def frame(number: int, size: int = 100, target: bytes = _BROADCAST) -> bytes:
    head = target + bytes.fromhex("020000000001") + b"\x88\xb5" + number.to_bytes(4, "big")
    return head + bytes((number + i) & 0xFF for i in range(size - len(head)))


def number_of(data: bytes) -> int:
    return int.from_bytes(data[14:18], "big")


@pytest.fixture
def space() -> Iterator[Namespace]:
    with own_namespace() as namespace:
        yield namespace


Opener = Callable[..., PacketIo]


@pytest.fixture(params=["native", "python"])
def opener(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens an I/O on interfaces; closed afterwards."""
    opened: list[PacketIo] = []

    def open_it(interfaces: Sequence[str], *, backpressure: bool, **options: Any) -> PacketIo:
        sockets = open_ports(interfaces, backpressure=backpressure, rate_bps=options.pop("rate_bps", None))
        if request.param == "python":
            opened.append(PythonIo(sockets, backpressure=backpressure, **options))
        else:
            library = native_library()
            if library is None:
                pytest.skip("no C compiler")
            opened.append(NativeIo(library, sockets, backpressure=backpressure, **options))
        return opened[-1]

    yield open_it
    for io in opened:
        io.close()


def raw(interface: str) -> socket.socket:
    """The far end: an ordinary raw socket of the test."""
    return open_port(interface, backpressure=False).socket


def take(end: socket.socket, count: int) -> list[bytes]:
    """`count` frames, or what came until patience was over."""
    frames: list[bytes] = []
    end.settimeout(_PATIENCE_S)
    while len(frames) < count:
        try:
            frames.append(end.recv(65536))
        except TimeoutError:
            break
    return frames


class Running:
    """A plane in a thread, until the block ends."""

    def __init__(self, machine: Forwarder, io: PacketIo, stop: socket.socket, **options: Any) -> None:
        self.plane = DataPlane(
            machine,
            [],
            io=io,
            on_event=lambda *_: None,
            on_control=lambda: False,
            **({"backpressure": False} | options),
        )
        self.stop, self.result = stop, PlaneStatistics(*[0] * 15)
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        self.result = self.plane.run(time.monotonic_ns())

    def __enter__(self) -> Running:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.send(b"stop")
        self.thread.join(_PATIENCE_S)
        assert not self.thread.is_alive()


@pytest.fixture
def control() -> Iterator[tuple[socket.socket, socket.socket]]:
    a, b = socket.socketpair()
    with a, b:
        yield a, b


Pair = tuple[socket.socket, socket.socket]


@pytest.mark.root
@pytest.mark.parametrize("kind", [Forwarder, BatchForwarder])
def test_frames_cross_unchanged(space: Namespace, opener: Opener, control: Pair, kind: type[Forwarder]) -> None:
    space.veth("a0", "a1", mtu=9000)
    space.veth("b0", "b1", mtu=9000)
    sizes = [14, 60, 61, 1082, 1514, 4150, 9014]
    frames = [frame(n, max(sizes[n % len(sizes)], 18)) for n in range(200)]
    with raw("a1") as left, raw("b1") as right:
        io = opener(["a0", "b0"], backpressure=False, control=control[1])
        with Running(kind({0: (1,), 1: (0,)}), io, control[0]) as running:
            for item in frames:
                left.send(item)
            assert take(right, len(frames)) == frames
            right.send(frames[0])
            assert take(left, 1) == frames[:1]
    result = running.result
    assert (result.frames_in, result.frames_out) == (201, 201)
    assert result.bytes_in == result.bytes_out == sum(map(len, frames)) + len(frames[0])
    assert (result.socket_drops, result.queue_drops, result.link_drops, result.misfits) == (0, 0, 0, 0)
    assert result.batches <= result.wakeups <= result.frames_in + 10


@pytest.mark.root
def test_frames_for_another_mac_are_seen_and_own_ones_are_not(space: Namespace, opener: Opener) -> None:
    space.veth("a0", "a1")
    with raw("a1") as far:
        io = opener(["a0"], backpressure=False)
        rows = io.attach(FrameBatch.of(8, io.stride))
        rows.batch.append(0, frame(1))
        assert io.send(rows, 1, True) == 0
        assert take(far, 1) == [frame(1)]
        far.send(frame(2, target=_FOREIGN))
        assert io.receive(rows, 10**9) == 1
        assert bytes(rows.batch.row(0)) == frame(2, target=_FOREIGN)
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
def test_the_interface_is_promiscuous_while_open(space: Namespace) -> None:
    space.veth("a0", "a1")
    index = space.index("a0")
    port = open_port("a0", backpressure=False)
    assert space.route.get_links(index)[0].get_attr("IFLA_PROMISCUITY") == 1
    port.socket.close()
    assert space.route.get_links(index)[0].get_attr("IFLA_PROMISCUITY") == 0


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
    library = native_library()
    if library is None:
        pytest.skip("no C compiler")
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
        assert io.receive(rows, _PATIENCE_S * 10**9 if spin_ns == 1_000_000 else 10**9) == 1
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
        assert rows.fates[:4].tolist() == [1, 4, 4, 1]
        assert io.refused == 2
        space.link_state("a0", "down")
        assert io.send(rows, 1, True) == 0
        assert rows.fates[0] == 3
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
def test_backpressure_never_loses_a_frame(space: Namespace, opener: Opener, control: Pair) -> None:
    """400 frames through 10 Mb/s, whose queue holds 100: without the small send buffer most would be lost."""
    space.veth("a0", "a1")
    space.shape("a0", 10_000_000, limit=100)
    frames = [frame(n, 1000) for n in range(400)]
    machine = BatchForwarder({})
    machine.queue.extend((0, item) for item in frames)
    with raw("a1") as far:
        io = opener(["a0"], backpressure=True, control=control[1])
        with Running(machine, io, control[0], backpressure=True) as running:
            assert take(far, len(frames)) == frames
    assert (running.result.frames_out, running.result.queue_drops) == (400, 0)
    assert running.result.wakeups < 400


@pytest.mark.root
def test_backpressure_holds_back_also_when_only_the_qdisc_is_full(
    space: Namespace, opener: Opener, control: Pair
) -> None:
    """The qdisc refuses while the socket has room: the frame stays, and is tried again without spinning."""
    space.veth("a0", "a1")
    space.shape("a0", 10_000_000, limit=5)
    frames = [frame(n, 1000) for n in range(100)]
    machine = BatchForwarder({})
    machine.queue.extend((0, item) for item in frames)
    with raw("a1") as far:
        io = opener(["a0"], backpressure=True, control=control[1])
        with Running(machine, io, control[0], backpressure=True) as running:
            assert take(far, len(frames)) == frames
    assert (running.result.frames_out, running.result.queue_drops) == (100, 0)
    assert running.result.wakeups < 200


@pytest.mark.root
def test_without_backpressure_the_tail_is_dropped_and_counted(space: Namespace, opener: Opener, control: Pair) -> None:
    """At one frame per second nothing leaves behind the first burst, however slowly this test runs."""
    space.veth("a0", "a1")
    space.shape("a0", 8_000, limit=20)
    machine, tap = BatchForwarder({}), ListTap()
    machine.queue.extend((0, frame(n, 1000)) for n in range(200))
    with raw("a1") as far:
        io = opener(["a0"], backpressure=False, control=control[1])
        with Running(machine, io, control[0], tap=tap) as running:
            deadline = time.monotonic() + _PATIENCE_S
            while (counters := io.counters()).frames_out + counters.queue_drops < 200 and time.monotonic() < deadline:
                time.sleep(0.001)
        received = [number_of(item) for item in take(far, space.counters("a1")[0])]
    result = running.result
    assert result.queue_drops > 100
    assert result.frames_out + result.queue_drops == 200
    assert received == list(range(len(received)))
    lost = [number_of(data) for _, _, _, data, reason in tap.lost if reason == "queue"]
    assert len(lost) == result.queue_drops
    assert lost == sorted(set(lost) - set(received))


@pytest.mark.root
def test_a_delay_is_kept(space: Namespace, opener: Opener, control: Pair) -> None:
    space.veth("a0", "a1")
    space.veth("b0", "b1")
    delay = RuleFilter(lambda data, now: (Delivery(now + 5_000_000, data),))
    machine, tap = BatchForwarder({0: (1,)}), ListTap()
    with raw("a1") as left, raw("b1") as right:
        io = opener(["a0", "b0"], backpressure=False, control=control[1])
        with Running(machine, io, control[0], ingress={0: delay}, tap=tap):
            began = time.monotonic_ns()
            for n in range(50):
                left.send(frame(n))
            assert [number_of(item) for item in take(right, 1)] == [0]
            assert time.monotonic_ns() - began >= 5_000_000
            assert [number_of(item) for item in take(right, 49)] == list(range(1, 50))


@pytest.mark.root
def test_an_idle_plane_sleeps(space: Namespace, opener: Opener, control: Pair) -> None:
    space.veth("a0", "a1")
    io = opener(["a0"], backpressure=True, control=control[1])
    with Running(Forwarder({}), io, control[0], backpressure=True) as running:
        time.sleep(0.2)
    assert running.result.wakeups <= 3


@pytest.mark.root
def test_a_peer_that_goes_away_ends_the_loop(space: Namespace, opener: Opener, control: Pair) -> None:
    space.veth("a0", "a1")
    io = opener(["a0"], backpressure=False, control=control[1])
    plane = DataPlane(
        Forwarder({}),
        [],
        io=io,
        backpressure=False,
        on_event=lambda *_: None,
        on_control=lambda: control[1].recv(100) != b"",
    )
    control[0].close()
    plane.run(0)


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
def test_an_interface_that_does_not_exist_is_named(space: Namespace) -> None:
    with pytest.raises(OSError, match="no interface 'nope' in this network namespace"):
        open_ports(["nope"], backpressure=True)


@pytest.mark.root
@pytest.mark.parametrize("size", [60, 1000, 1082, 1514, 4150, 9014])
def test_what_a_frame_costs_is_estimated_well(space: Namespace, size: int) -> None:
    """Too low an estimate would take frames from the Machine that find no room; too high a one would waste room."""
    space.veth("a0", "a1", mtu=9000)
    space.shape("a0", 8_000, limit=3000)
    port = open_port("a0", backpressure=True)
    io = PythonIo([port], backpressure=True)
    with port.socket:
        sent = 0
        for n in range(3000):
            try:
                port.socket.send(frame(n, size))
                sent += 1
            except BlockingIOError:
                break
        real = port.send_buffer / sent
        assert 0.5 * real <= frame_cost(size) <= 2.2 * real
        assert io.room() == 0


def test_the_mirrored_struct_has_the_size_that_c_gives_it() -> None:
    library = native_library()
    if library is None:
        pytest.skip("no C compiler")
    assert library.packet_io_size() == ctypes.sizeof(native_io._Header)


@pytest.mark.root
@pytest.mark.parametrize(("setting", "kind"), [("0", PythonIo), ("1", NativeIo)])
def test_the_c_core_is_optional(
    space: Namespace, monkeypatch: pytest.MonkeyPatch, setting: str, kind: type[PacketIo]
) -> None:
    monkeypatch.setenv("INA_NATIVE", setting)
    if setting == "1" and native_library() is None:
        pytest.skip("no C compiler")
    space.veth("a0", "a1")
    io = open_io(["a0"], backpressure=True)
    assert isinstance(io, kind)
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


def test_a_queue_of_twelve_milliseconds() -> None:
    assert queue_frames_for(None, 1500) == 160
    assert queue_frames_for(1_000_000, 1500) == 4
    assert queue_frames_for(100_000_000, 1500) == 99
    assert queue_frames_for(10_000_000_000, 1500) == 160


def test_rows_are_whole_cache_lines() -> None:
    assert [row_stride(mtu) for mtu in (1500, 9000, 1522)] == [1536, 9024, 1536]
