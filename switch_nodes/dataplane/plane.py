"""The loop that drives one Machine on some interfaces, in emulated time."""

from __future__ import annotations

import gc
import itertools
import resource
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from switch_nodes.dataplane.arrivals import ArrivingFrames
from switch_nodes.dataplane.filtering import PortFilters
from switch_nodes.dataplane.lag import LagHistogram
from switch_nodes.dataplane.native_io import NativeIo, native_library
from switch_nodes.dataplane.options import PlaneControl, PlaneTiming, PortStages
from switch_nodes.dataplane.packet_io import PacketIo, Rows, SendOutcome
from switch_nodes.dataplane.python_io import PythonIo
from switch_nodes.dataplane.sockets import open_ports
from switch_nodes.dataplane.stands import Standstills
from switch_nodes.dataplane.waits import read_waits
from switch_nodes.events import PlaneStatistics
from workloads.livelock import TurnWatch
from workloads.machine import BatchMachine, FrameBatch, Machine

__all__ = ["DataPlane", "open_io"]

_ROWS = 256
_ROUNDS = 4  # batches to send before we look for received frames again
_TICK_NS = 100_000_000
"""time from one message of a node's controller to the next, in real time"""
_UNTIL_POLL_NS = 50_000_000  # `until` has no file descriptor that could wake us
_DENSE_FRAMES = 4  # handled in one wake-up: more will come before long, so it pays to wait for company
_FIRST_GUESS_BYTES = 1500
_LEAST_PAUSE_NS = 60_000  # real time, the kernel's timer slack: a shorter sleep would be no shorter
_REASONS: Mapping[int, str] = {SendOutcome.QUEUE: "queue", SendOutcome.LINK: "link", SendOutcome.MISFIT: "misfit"}


def open_io(
    interfaces: Sequence[str],
    *,
    backpressure: bool,
    control: socket.socket | None = None,
    rate_bps: int | None = None,
    spin_ns: int = 0,
) -> PacketIo:
    """Sockets on `interfaces` of this network namespace, driven from C where it can be built. Raises as `open_port`."""
    sockets = open_ports(interfaces, backpressure=backpressure, rate_bps=rate_bps)
    library = native_library()
    if library is None:
        return PythonIo(sockets, backpressure=backpressure, control=control)
    return NativeIo(library, sockets, backpressure=backpressure, control=control, spin_ns=spin_ns)


class DataPlane:
    """Runs `machine` with port i on `interfaces[i]`.

    With `backpressure` (a NIC) the loop takes frames from the Machine only when the socket has room, and drops none
    here. Without it (a switch port), a full queue drops its tail. `io` replaces the sockets (tests). `name`: of the
    node, for Livelock.

    The sockets are open and receiving once this is made. Raises HostCapabilityError without the right to open them,
    OSError when an interface does not exist here.
    """

    def __init__(
        self,
        machine: Machine,
        interfaces: Sequence[str],
        director: PlaneControl,
        *,
        backpressure: bool,
        stages: PortStages | None = None,
        timing: PlaneTiming | None = None,
        io: PacketIo | None = None,
        name: str = "here",
    ) -> None:
        stages, timing = stages or PortStages(), timing or PlaneTiming()
        self._machine = machine
        self._fast = machine if isinstance(machine, BatchMachine) else None
        self._tap, self._on_event, self._on_control = stages.tap, director.on_event, director.on_control
        self._clock = timing.clock
        self._check_event = director.check_event
        self._backpressure, self._pacer, self._moderation_ns = backpressure, timing.pacer, timing.moderation_ns
        self._marking, self._arriving = stages.marking, ArrivingFrames(stages.wires)
        self._typical_bytes = _FIRST_GUESS_BYTES
        self._go_on_at: int | None = None  # when the pace lets more out, if there may be more
        control = director.control
        self._io = io or open_io(
            interfaces, backpressure=backpressure, control=control, rate_bps=timing.rate_bps, spin_ns=timing.spin_ns
        )
        self._ingress = PortFilters(stages.ingress, outgoing=False, tap=stages.tap)
        self._egress = PortFilters(stages.egress, outgoing=True, tap=stages.tap)
        self._received, self._sent, self._late = (self._new_rows() for _ in range(3))
        self._misfits = 0
        self._stands = Standstills(None if control is None else self._clock.emulated(_TICK_NS))
        self._arrived_late = FrameBatch.of(_ROWS, self._io.stride)
        self._sent_lengths = self._sent.batch.lengths.data
        self._filtered = bool(stages.ingress or stages.egress)  # without filters nothing is ever delayed
        self._waiting: tuple[Rows, int] | None = None  # what backpressure has kept here: rows, how many of them
        self._wakeups = self._batches = self._largest = self._handled = 0
        self._lag, self._turns = LagHistogram(), TurnWatch(name, is_host=backpressure)
        self._timer_seen: tuple[int | None, int] = (None, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets. The tap is its owner's."""
        self._io.close()

    def run(self, origin_ns: int, *, until: Callable[[], bool] | None = None) -> PlaneStatistics:
        """Drive the Machine until `on_control` returns False or `until` returns True. `now` is the emulated time since
        `origin_ns` (CLOCK_MONOTONIC). `until` is asked after every wake-up, and every 50 ms when idle. Frames on the
        way through a filter are then lost. The statistics of this run are the last event and the result."""
        gc.freeze()  # a full collection would walk all modules, which takes tens of milliseconds
        clock = self._clock
        began, cpu, waits = clock.read(), time.process_time_ns(), read_waits()
        timeout, going = 0, True
        slept_from: int | None = None
        try:
            while going:
                count = self._io.receive(self._received, timeout if timeout < 0 else clock.real(timeout))
                now = clock.since(origin_ns)
                if slept_from is not None:
                    self._stands.note(now, slept_from, timeout)
                slept_from = now
                self._wakeups += 1
                self._handled = count
                if self._filtered and len(self._ingress.delayed):
                    self._take_late(now)
                if count and self._arriving:
                    self._arriving.take(self._received.batch, now)
                    count = 0
                while len(self._arriving) and (due := self._arriving.next_due) is not None and due <= now:
                    self._arriving.pop_due(now, self._received.batch, _ROWS, self._lag)
                    self._take(self._received.batch.count, now)
                if count:
                    self._take(count, now)
                if self._io.control_ready and self._on_control is not None:
                    going = self._on_control()
                self._serve_timer(now)
                more = self._send(now)
                self._tell(now)
                self._turns.ended(self._machine.get_timer(), now, self._handled)
                if until is not None and until():
                    break
                timeout = 0 if more else self._timeout(origin_ns, until is not None)
                if timeout and self._handled >= _DENSE_FRAMES:
                    timeout = self._moderate(origin_ns, now, timeout)
        finally:
            gc.unfreeze()
        if self._filtered:
            self._finish_filters(clock.since(origin_ns))
        waited_ns, turns = (after - before for after, before in zip(read_waits(), waits, strict=True))
        waited_ns = clock.emulated(waited_ns)
        statistics = self._statistics(clock.read() - began, time.process_time_ns() - cpu, waited_ns, turns)
        for event in self._marking.events() if self._marking is not None else ():
            self._on_event(clock.since(origin_ns), event)
        self._on_event(clock.since(origin_ns), statistics)
        return statistics

    def _moderate(self, origin_ns: int, woke: int, timeout: int) -> int:
        """Sleep out the rest of the moderation, at most `timeout` (negative: no limit); what is left of the timeout."""
        pause = woke + self._moderation_ns - self._clock.since(origin_ns)
        if 0 <= timeout < pause:
            pause = timeout
        if self._clock.real(pause) < _LEAST_PAUSE_NS:
            return timeout
        self._clock.sleep(pause)
        return timeout if timeout < 0 else max(timeout - pause, 0)

    def _take(self, count: int, now: int) -> None:
        """Received rows to the Machine."""
        self._batches += 1
        if count > self._largest:
            self._largest = count
        batch = self._received.batch
        if self._filtered and self._ingress:
            self._ingress.apply(batch, now)
        self._deliver(batch, now)

    def _take_late(self, now: int) -> None:
        self._ingress.delayed.pop_due(now, self._arrived_late, _ROWS, self._lag)
        self._deliver(self._arrived_late, now)

    def _deliver(self, batch: FrameBatch, now: int) -> None:
        count = batch.count
        if not count:
            return
        if self._tap is not None:
            self._tap.record(batch, 0, count, now, False)
        if self._fast is not None:
            self._fast.receive_batch(batch, now)
            return
        receive = self._machine.receive_frame
        for row, port in enumerate(batch.ports[:count].tolist()):
            receive(port, batch.row(row), now)

    def _serve_timer(self, now: int) -> None:
        timer = self._machine.get_timer()
        if timer is None or timer > now:
            return
        # A deadline that was already over when the Machine set it is late only since we could know of it; one that we
        # do not know yet was set in this turn.
        known, since = self._timer_seen
        self._lag.record(now - max(timer, since) if timer == known else 0)
        if self._received.batch.count:
            # What a deadline asks for may take a while, as a hash does: answers to what came leave before it.
            self._send(now)
        self._machine.handle_timer(now)

    def _send(self, now: int) -> bool:
        """Frames of the Machine to the sockets; whether there may be more that could leave at once."""
        if self._waiting is not None and not self._flush(*self._waiting, fresh=False, now=now):
            return False
        delayed, filtered, pacer = self._egress.delayed, self._filtered, self._pacer
        self._go_on_at = None
        if filtered and len(delayed):
            late = self._late
            delayed.pop_due(now, late.batch, _ROWS, self._lag)
            if late.batch.count and not self._flush(late, late.batch.count, fresh=True, now=now):
                return False
        for _ in range(_ROUNDS):
            limit = _ROWS
            if self._backpressure and (room := self._io.room()) < limit:
                limit = room
            if limit == 0:
                return False
            paced = False
            if pacer is not None:
                pace = pacer.frames(now, self._typical_bytes)
                paced = pace <= limit
                if paced:
                    limit = pace
                if limit == 0:
                    self._go_on_at = pacer.go_on_at
                    return False
            batch = self._fill(limit, now)
            taken = batch.count
            if not taken:
                if pacer is not None:
                    pacer.spend(now, 0, more=False)
                return False
            self._handled += taken
            if pacer is not None:
                sent_bytes = sum(self._sent_lengths[:taken])
                self._typical_bytes = sent_bytes // taken
                pacer.spend(now, sent_bytes, more=taken == limit)
            if self._tap is not None:
                self._tap.record(batch, 0, taken, now, True)
            if filtered and self._egress:
                self._egress.apply(batch, now)
            if not self._flush(self._sent, batch.count, fresh=True, now=now):
                return False
            if filtered and (due := delayed.next_due) is not None and due <= now:
                return True  # put off only to keep the order: they go before anything new
            if taken < limit:
                return False
            if paced and pacer is not None:
                self._go_on_at = pacer.go_on_at
                return False
        return True

    def _fill(self, limit: int, now: int) -> FrameBatch:
        """At most `limit` frames from the Machine."""
        batch = self._sent.batch
        batch.capacity, batch.count = limit, 0
        if self._fast is not None:
            self._fast.fill_batch(batch, now)
        else:
            for port, frame in itertools.islice(self._machine.frames_to_send(now), limit):
                if len(frame) <= batch.stride:
                    batch.append(port, frame)
                else:  # longer than any link takes: lost as one that is too long for its own
                    self._misfits += 1
                    if self._tap is not None:
                        self._tap.dropped(port, frame, now, True, "misfit")
        return batch

    def _flush(self, rows: Rows, count: int, *, fresh: bool, now: int) -> bool:
        """Whether all rows have left or are lost."""
        if fresh and self._marking is not None:
            self._marking.apply(rows.batch, now, self._tap)
            count = rows.batch.count
        waiting = self._io.send(rows, count, fresh) if count else 0
        if self._io.refused and self._tap is not None:
            for row, outcome in enumerate(rows.outcomes[:count].tolist()):
                reason = _REASONS.get(outcome)
                if reason is not None:
                    self._tap.dropped(int(rows.batch.ports[row]), rows.batch.row(row), now, True, reason)
        self._waiting = (rows, count) if waiting else None
        return not waiting

    def _timeout(self, origin_ns: int, polled: bool) -> int:
        """How long to sleep, in ns; -1 without limit."""
        now = self._clock.since(origin_ns)
        due = self._machine.get_timer()
        if due != self._timer_seen[0]:
            self._timer_seen = (due, now)
        if self._filtered:
            for delayed in (self._ingress.delayed, self._egress.delayed):
                head = delayed.next_due
                # A frame that waits for room is woken by room, not by time.
                if head is None or (delayed is self._egress.delayed and self._waiting is not None):
                    continue
                if due is None or head < due:
                    due = head
        arriving = self._arriving.next_due
        if arriving is not None and (due is None or arriving < due):
            due = arriving
        if self._go_on_at is not None and (due is None or self._go_on_at < due):
            due = self._go_on_at
        if polled and (due is None or due > now + _UNTIL_POLL_NS):
            due = now + _UNTIL_POLL_NS
        return -1 if due is None else max(due - now, 0)

    def _tell(self, now: int) -> None:
        for event in self._turns.events(self._machine):
            self._check_event(event)
            self._on_event(now, event)
        if self._filtered:
            self._tell_strikes(now)

    def _finish_filters(self, now: int) -> None:
        for filters in (self._ingress, self._egress):
            filters.finish(now)
        self._tell_strikes(now)

    def _tell_strikes(self, now: int) -> None:
        for filters in (self._ingress, self._egress):
            for event in filters.events():
                self._on_event(now, event)

    def _statistics(self, wall_ns: int, cpu_ns: int, waited_ns: int, turns: int) -> PlaneStatistics:
        counters, stands = self._io.counters(), self._stands.longest
        longest_ns, until_ns = stands[0] if stands else (0, 0)
        return PlaneStatistics(
            frames_in=counters.frames_in,
            frames_out=counters.frames_out,
            bytes_in=counters.bytes_in,
            bytes_out=counters.bytes_out,
            socket_drops=counters.socket_drops,
            queue_drops=counters.queue_drops + (0 if self._marking is None else self._marking.refused),
            cpu_ns=cpu_ns,
            wall_ns=wall_ns,
            wakeups=self._wakeups,
            lag_p99_ns=self._lag.percentile_ns(99),
            lag_max_ns=self._lag.max_ns,
            deadlines=self._lag.count,
            batches=self._batches,
            largest_batch=self._largest,
            peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            link_drops=counters.link_drops,
            misfits=counters.misfits + self._misfits,
            waited_ns=waited_ns,
            turns=turns,
            stood_ns=longest_ns,
            stood_until_ns=until_ns,
            stands=stands,
            starved_ns=0 if self._pacer is None else self._pacer.starved_ns,
        )

    def _new_rows(self) -> Rows:
        return self._io.attach(FrameBatch.of(_ROWS, self._io.stride))
