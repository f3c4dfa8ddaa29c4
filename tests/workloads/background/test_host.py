from collections import deque

from tests.workloads.background.test_udp import CONFIG, MS
from workloads.background import TenantHost, UdpSink, UdpSource, with_flows
from workloads.events import FlowReceived, FlowSent, WorkerFinished
from workloads.machine import BatchMachine, FrameBatch


class Worker:
    """A Machine with frames to send and a timer."""

    def __init__(self, frames=(), timer=None):
        self.frames, self.timer, self.heard, self.woken = deque(frames), timer, [], []
        self.events = deque([WorkerFinished(1)])

    def receive_frame(self, port, frame, now):
        self.heard.append(bytes(frame))

    def frames_to_send(self, now):
        while self.frames:
            yield 0, self.frames.popleft()

    def get_timer(self):
        return self.timer

    def handle_timer(self, now):
        self.woken.append(now)

    def next_event(self):
        return self.events.popleft() if self.events else None

    def finish(self, now): ...


def test_a_host_without_flows_is_its_worker():
    worker = Worker()
    assert with_flows(worker, (), ()) is worker
    assert isinstance(with_flows(None, (), ()), TenantHost)


def test_datagrams_that_are_due_leave_first_and_what_is_not_taken_stays():
    host = TenantHost(Worker([b"w1", b"w2"]), [UdpSource(CONFIG)], [])
    frames = host.frames_to_send(2 * MS)
    assert len(next(frames)[1]) == CONFIG.frame_bytes
    sizes = [len(frame) for _, frame in host.frames_to_send(2 * MS)]
    assert sizes == [CONFIG.frame_bytes, CONFIG.frame_bytes, 2, 2]


def test_batches_hold_the_same():
    host = TenantHost(Worker([b"w1", b"w2"]), [UdpSource(CONFIG)], [])
    assert isinstance(host, BatchMachine)
    batch = FrameBatch.of(4, 1100)
    host.fill_batch(batch, 2 * MS)
    assert batch.lengths[: batch.count].tolist() == [CONFIG.frame_bytes] * 3 + [2]
    batch.count = 0
    host.fill_batch(batch, 2 * MS)
    assert batch.lengths[: batch.count].tolist() == [2]


def test_the_worker_hears_what_is_not_of_a_flow():
    (datagram,) = [frame for _, frame in TenantHost(None, [UdpSource(CONFIG)], []).frames_to_send(0)]
    worker, sink = Worker(), UdpSink(CONFIG)
    host = TenantHost(worker, [], [sink])
    host.receive_frame(0, datagram, 1)
    host.receive_frame(0, b"x" * 60, 2)
    assert (worker.heard, sink.packets) == ([b"x" * 60], 1)
    batch = FrameBatch.of(4, 1100)
    batch.append(0, datagram)
    batch.append(0, b"y" * 60)
    host.receive_batch(batch, 3)
    assert (worker.heard[-1], sink.packets) == (b"y" * 60, 2)


def test_timers_are_those_of_both_and_each_is_woken_for_its_own():
    worker = Worker(timer=5 * MS)
    host = TenantHost(worker, [UdpSource(CONFIG)], [])
    assert host.get_timer() == 0
    host.handle_timer(0)
    assert worker.woken == []
    assert len(list(host.frames_to_send(0))) == 1
    assert host.get_timer() == MS
    host.handle_timer(5 * MS)
    assert worker.woken == [5 * MS]


def test_the_end_is_told_behind_what_the_worker_tells():
    host = TenantHost(Worker(), [UdpSource(CONFIG)], [UdpSink(CONFIG)])
    host.finish(MS)
    events = []
    while (event := host.next_event()) is not None:
        events.append(event)
    assert events == [WorkerFinished(1), FlowSent("noise", 0, 0, 0), FlowReceived("noise", 0, 0, 0, 0, 0)]
