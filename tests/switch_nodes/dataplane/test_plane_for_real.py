"""The data plane on real interfaces: what crosses, what waits, what is lost."""

from __future__ import annotations

import os
import time

import pytest

from switch_nodes.filters import Delivery
from tests.support.machines import BatchForwarder, Forwarder
from tests.support.namespace import Namespace
from tests.support.planes import ListTap, RuleFilter, plane_of
from tests.support.wired import TIMEOUT_S, Opener, Pair, Running, frame, number_of, raw, take

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs uid 0")


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
            deadline = time.monotonic() + TIMEOUT_S
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
    plane = plane_of(
        Forwarder({}),
        [],
        io=io,
        backpressure=False,
        on_event=lambda *_: None,
        on_control=lambda: control[1].recv(100) != b"",
    )
    control[0].close()
    plane.run(0)
