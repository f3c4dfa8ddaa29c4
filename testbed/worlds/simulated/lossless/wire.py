"""One direction of a link whose sender obeys PFC: a queue for each layer class, frames of MAC control in front of all,
and no frame of a paused class begins."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from switch_nodes.forwarding.weighted import DeficitRound
from switch_nodes.lossless.pauses import Interval, PauseState
from switch_nodes.lossless.watchdog import Watchdog
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.lossless.charge import Charge
from testbed.worlds.simulated.lossless.rows import ClassRows, QueuedFrame
from testbed.worlds.simulated.wire import Station, Wire
from topologies import LinkShape
from workloads.machine import Buffer
from workloads.wire.ecn import mark_ce
from workloads.wire.pfc import PFC_CLASSES
from workloads.wire.places import DST_IP, ETHERTYPE_AT, IP_AT, IS_IPV4, SRC_IP_AT

__all__ = ["LosslessWire"]

_BITS_NS = 8 * 1_000_000_000
_END, _ARRIVE, _TICK, _POLL = 0, 1, 2, 3
"""appointments: a frame ends, a frame arrives after the delay, a pause may be over, the watchdog looks"""
_HELD = 16
"""frames of a paused class that a NIC takes from its host to reach those of other classes (decided here)"""
_IPV4, _TYPE_AT, _IP_AT, _SRC_AT, _DST_AT, _DST_END = IS_IPV4, ETHERTYPE_AT, IP_AT, SRC_IP_AT, DST_IP.start, DST_IP.stop


class LosslessWire(Wire):
    """A `Wire` that `obey` makes lossless. Lossless classes have no limit here: the switch's buffer has. Unlike a plain
    wire it also delays frames, where no filter of a switch at its end does."""

    def __init__(self, agenda: Agenda, actor: int, shape: LinkShape) -> None:
        Wire.__init__(self, agenda, actor, shape)
        self.pauses = PauseState(shape.rate_bps, 0)
        self.watchdog: Watchdog | None = None
        self.delay_ns = 0
        """from the last bit sent to the arrival, unless a filter at the other end delays frames"""
        self.flight_ns = shape.delay_ns
        """the same with the filter"""
        self.offered: Charge | None = None
        """charge of the frame that the next `send` brings"""
        self.on_pause_end: Callable[[LosslessWire, Interval], None] = _nothing
        self.on_watchdog: Callable[[LosslessWire, int, bool, int], None] = _nothing
        """(wire, class, whether it begins to act, frames that it dropped in this action)"""
        self.watchdog_dropped = [0] * PFC_CLASSES
        """frames in the whole run, by class"""
        self.control_frames = 0
        self.held_up = [0] * PFC_CLASSES
        """how often a frame could have begun, but for a pause"""
        self.flows: dict[tuple[bytes, bytes], int] = {}
        """ns that frames stood still here because of pauses, by (source, destination) of IPv4"""
        self._lossless: frozenset[int] = frozenset()
        order = None if shape.weights is None else DeficitRound(shape.weights, self._longest)
        self._rows = ClassRows(by_priority=shape.priority == "layers", order=order)
        self._control: deque[bytes] = deque()
        self._charge: Charge | None = None
        self._puller: Station | None = None
        self._station: Station | None = None
        self._station_port = 0
        self._dropped_by_watchdog = [0] * PFC_CLASSES
        self._is_polled = False
        self._before_pull = [0] * PFC_CLASSES

    def obey(self, classes: tuple[int, ...], lossless: frozenset[int], response_ns: int) -> None:
        """`classes`: PFC class by layer class. `response_ns`: from a PFC frame to the pause."""
        self._rows.classes, self._lossless = classes, lossless
        self.pauses = PauseState(self.rate_bps, response_ns)

    @property
    def waiting(self) -> int:
        return len(self._rows)

    def charges(self) -> list[tuple[int, Charge]]:
        """(PFC class, charge) of what waits, or is on the wire now (class of those: -1)."""
        found = [(-1, self._charge)] if self._charge is not None else []
        return [*found, *self._rows.charges()]

    def is_paused(self, pfc_class: int) -> bool:
        """Whether a pause holds now."""
        return self.pauses.paused_since(pfc_class, self._agenda.now) is not None

    def is_still(self, pfc_class: int) -> bool:
        """Whether no frame of the class may begin now, and none is on its way to the other end."""
        since = self.pauses.paused_since(pfc_class, self._agenda.now)
        last = self._longest * _BITS_NS // self.rate_bps + self.flight_ns
        return since is not None and not self.pauses.ignored[pfc_class] and self._agenda.now > since + last

    def class_of(self, frame: Buffer) -> int:
        """PFC class of a frame."""
        found: int = self._rows.classes[self._rows.layer_class(bytes(frame))]
        return found

    def leads_to(self, station: Station, port: int) -> None:
        self._station, self._station_port = station, port

    def fed_by(self, station: Station) -> None:
        self._puller = station

    def send(self, frame: bytes) -> str:
        """As `Wire.send`. `watchdog`: the watchdog drops its class."""
        charge, self.offered = self.offered, None
        if len(frame) > self._longest:
            self.drops += 1
            return "misfit"
        layer_class = self._rows.layer_class(frame)
        pfc_class, waiting = self._rows.classes[layer_class], self._rows.waiting_in(layer_class)
        if self.watchdog is not None and self.watchdog.drops(pfc_class):
            self._count_dropped(pfc_class, 1)
            return "watchdog"
        if pfc_class not in self._lossless and waiting >= self._limit:
            self.drops += 1
            return "queue"
        if not self._serves_classes:
            waiting = len(self._rows)
        if waiting >= self._marks_from and self._is_chosen(waiting) and (marked := mark_ce(frame)) is not None:
            frame = bytes(marked)
            self.marks += 1
        if charge is not None:
            charge.keep()
        self._put(layer_class, frame, charge)
        self.kick()
        return ""

    def send_control(self, frame: bytes) -> None:
        """A frame of MAC control: it leaves after the frame in service, before all others, also from a paused port."""
        self._control.append(frame)
        self.kick()

    def hear(self, times: Mapping[int, int]) -> None:
        """The other end asks the sender of this wire to pause classes, or to go on: quanta by class. Lossy classes do
        not obey."""
        now = self._agenda.now
        times = {pfc_class: quanta for pfc_class, quanta in times.items() if pfc_class in self._lossless}
        self.pauses.hear(times, now)
        for pfc_class, quanta in times.items():
            if quanta:
                self._agenda.appoint(self.pauses.ends_at(pfc_class), self._actor, self, _TICK, None)
        if self.watchdog is not None and not self._is_polled:
            self._is_polled = True
            self._agenda.appoint(now + self.watchdog.knobs.poll_ns, self._actor, self, _POLL, None)
        self._look(now)

    def kick(self) -> None:
        if not self._busy:
            self._begin_next()

    def act(self, what: int, argument: Any) -> None:
        if what == _END:
            self._ended(argument)
        elif what == _ARRIVE:
            self._arrive(argument)
        elif what == _TICK:
            self.pauses.tick(self._agenda.now)
            self._look(self._agenda.now)
        else:
            self._poll()

    def finish(self) -> None:
        """The run is over: report the pause that holds."""
        self.pauses.finish(self._agenda.now)
        self._report()

    def _waiting_in(self, layer_class: int) -> int:
        return self._rows.waiting_in(layer_class)

    def _put(self, layer_class: int, frame: bytes, charge: Charge | None) -> None:
        paused_ns = self.pauses.paused_ns(self._rows.classes[layer_class], self._agenda.now)
        self._rows.put(layer_class, frame, charge, paused_ns)

    def _look(self, now: int) -> None:
        self._report()
        self.kick()

    def _report(self) -> None:
        for interval in self.pauses.ended():
            self.on_pause_end(self, interval)

    def _begin_next(self) -> None:
        if self._control:
            self._begin_control(self._control.popleft())
            return
        if not self.pauses.is_quiet:
            for pfc_class in self._rows.held(self.pauses, self._agenda.now):
                self.held_up[pfc_class] += 1
        found = self._choose()
        if found is None and self._puller is not None:
            found = self._pull(self._puller)
        if found is None:
            return
        self._charge = found.charge
        Wire._begin(self, found.frame)

    def _choose(self) -> QueuedFrame | None:
        """The next of the frames that wait, and may begin."""
        now = self._agenda.now
        taken = self._rows.take(self.pauses, now)
        if taken is None:
            return None
        layer_class, found = taken
        paused_ns = self.pauses.paused_ns(self._rows.classes[layer_class], now)
        self._note_wait(found.frame, paused_ns - found.paused_ns)
        return found

    def _pull(self, puller: Station) -> QueuedFrame | None:
        """The next frame of a host that may begin. Frames of paused classes wait in the NIC, a few of each."""
        now = self._agenda.now
        while self._may_pull(now):
            frame = puller.pull()
            if frame is None:
                return None
            layer_class = self._rows.layer_class(frame)
            pfc_class = self._rows.classes[layer_class]
            if self.pauses.may_begin(pfc_class, now):
                total = self.pauses.paused_ns(pfc_class, now)
                self._note_wait(frame, total - self._before_pull[pfc_class])
                self._before_pull[pfc_class] = total
                return QueuedFrame(0, frame, None, 0)
            self._put(layer_class, frame, None)
        return None

    def _may_pull(self, now: int) -> bool:
        """Whether a frame of the host could begin, and none that is held stands in its way."""
        if self.pauses.is_quiet:
            return True
        is_open = False
        for layer_class, pfc_class in enumerate(self._rows.classes):
            if self.pauses.may_begin(pfc_class, now):
                is_open = True
            elif self._rows.waiting_in(layer_class) >= _HELD:
                return False
        return is_open

    def _note_wait(self, frame: bytes, waited: int) -> None:
        if waited > 0 and frame[_TYPE_AT:_IP_AT] == _IPV4:
            flow = frame[_SRC_AT:_DST_AT], frame[_DST_AT:_DST_END]
            self.flows[flow] = self.flows.get(flow, 0) + waited

    def _begin_control(self, frame: bytes) -> None:
        """As `_begin`, but it counts neither among the frames nor among the bytes of the link."""
        self._busy = True
        self.control_frames += 1
        bits = len(frame) * _BITS_NS + self._remainder
        duration = bits // self.rate_bps
        self._remainder = bits - duration * self.rate_bps
        self._agenda.appoint(self._agenda.now + duration, self._actor, self, _END, frame)

    def _ended(self, frame: bytes) -> None:
        self._busy = False
        charge, self._charge = self._charge, None
        if charge is not None:
            charge.drop()
        self.kick()
        if self.delay_ns:
            self._agenda.appoint(self._agenda.now + self.delay_ns, self._actor, self, _ARRIVE, frame)
        else:
            self._arrive(frame)

    def _arrive(self, frame: bytes) -> None:
        if self._station is None:
            self.deliver(frame)
        else:
            self._station.arrive(self._station_port, frame)

    def _poll(self) -> None:
        """The watchdog looks, as long as a pause may come back."""
        watchdog, now = self.watchdog, self._agenda.now
        assert watchdog is not None
        for pfc_class, begins in watchdog.poll(now):
            if begins:
                self._dropped_by_watchdog[pfc_class] = 0
                if watchdog.drops(pfc_class):
                    self._count_dropped(pfc_class, self._rows.flush(pfc_class))
            self.on_watchdog(self, pfc_class, begins, self._dropped_by_watchdog[pfc_class])
        self._is_polled = self.pauses.is_any(now) or watchdog.is_any()
        if self._is_polled:
            self._agenda.appoint(now + watchdog.knobs.poll_ns, self._actor, self, _POLL, None)
        self._look(now)

    def _count_dropped(self, pfc_class: int, frames: int) -> None:
        self._dropped_by_watchdog[pfc_class] += frames
        self.watchdog_dropped[pfc_class] += frames


def _nothing(*_: object) -> None:
    """The default of the hooks."""
