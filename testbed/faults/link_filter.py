"""All packet faults of one direction of one link, and the link's own delay: the FrameFilter of a switch port.

`admit` is the reference for every hit. `screen` asks the C core which frames no fault can touch; it may send a frame to
`admit` for nothing, never the other way round. `testbed.faults.gate` asks C for the same, and for plain losses of
datagrams, which are most hits of a lossy run. All count occurrences in one table.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from switch_nodes.filters import Delivery
from testbed.faults.acts import act_of, copy_bits
from testbed.faults.base import Match, PacketFault
from testbed.faults.copies import Copy, Seen, jittered
from testbed.faults.decide import Purpose, draw, stream_key
from testbed.faults.events import FaultHealed, FaultStruck
from testbed.faults.healing import heals_at, is_active, windows_of
from testbed.faults.identity import NOT_ROCE, Identity, IdentityReader, datagram_text, flow_text, sent_text
from testbed.faults.kind import Act, FaultKind
from testbed.faults.kinds import kind_of, record_of
from testbed.faults.late import LateFrames
from testbed.faults.matching import matches
from testbed.faults.native import FOREVER, CLink, NativeScreen, c_rules, knows_attempts, load_filter
from testbed.faults.way import LinkWay
from workloads.machine import Buffer, Event, FrameBatch
from workloads.transports import SentAs, TransportKind

__all__ = ["LinkFilter"]

_ANY = Match()
_LINK_ITSELF = ""
"""name of the stream that a link's own jitter draws from; no fault has an empty name"""


@dataclass(frozen=True, slots=True)
class _Rule:
    fault: PacketFault
    stream: int
    act: Act
    kind: FaultKind
    struck: tuple[str, str, str, str, str]
    """first fields of a FaultStruck of it"""
    takes_all: bool
    """no condition"""
    copy_bit: int
    """marks the copies that this fault makes"""


class LinkFilter:
    """FrameFilter for one link direction. Times are ns since the start of the traffic.

    `backend` goes into the events. `native=False` keeps the C core out (the reference run of tests)."""

    def __init__(
        self,
        way: LinkWay,
        faults: Iterable[PacketFault],
        *,
        delay_ns: int = 0,
        jitter_ns: int = 0,
        backend: str = "user",
        native: bool = True,
    ) -> None:
        self.link, self.direction, self.backend = way.link, way.direction, backend
        self._delay_ns, self._jitter_ns, self._table = delay_ns, jitter_ns, way.table
        self._link_stream = stream_key(way.seed, _LINK_ITSELF, way.link, way.direction)
        faults = tuple(faults)
        self._rules = tuple(
            _Rule(
                fault,
                stream_key(way.seed, fault.name, way.link, way.direction),
                act_of(fault),
                record_of(fault),
                (fault.name, kind_of(fault), backend, way.link, str(way.direction)),
                fault.match == _ANY,
                copy_bit,
            )
            for fault, copy_bit in zip(faults, copy_bits(faults), strict=True)
        )
        self._delays = tuple(rule.fault for rule in self._rules if rule.kind.delays)
        self._heal = sorted(
            ((at, number) for number, rule in enumerate(self._rules) if (at := heals_at(rule.fault)) is not None),
            reverse=True,
        )
        self._reader = IdentityReader(way.transports)
        self._asks_headers = any(
            rule.fault.match.kind is not None or rule.fault.match.sequence is not None for rule in self._rules
        )
        self._attempts: dict[tuple[str, str, int], int] = {}
        """of packets whose bytes change when they are sent again: how often each came"""
        self._events: deque[Event] = deque()
        self._horizon = -(1 << 63)
        """no frame in order leaves before it"""
        # The event of a hit has its attempt, and frames that pass are attempts, too.
        lib = load_filter() if native and knows_attempts(way.transports) else None
        self._native = lib and NativeScreen(lib, c_rules(faults, way), way.table)
        self._occurrences: dict[int, int] = {}
        self._shared: CLink | None = None
        self._late = LateFrames(way.link, str(way.direction))

    def share(self) -> int | None:
        """Address of a `struct ina_link` by which compiled code decides on frames (`link.h`). Those that it does not
        decide on are for `admit`, in their turn. None where the C core does not run."""
        if self._native is None:
            return None
        if self._shared is None:
            self._shared = CLink(
                self._native.address,
                self._link_stream,
                self._delay_ns,
                self._jitter_ns,
                self._horizon,
                self._heals_next(),
                0,
            )
        return ctypes.addressof(self._shared)

    def admit(self, frame: Buffer, now: int) -> tuple[Delivery, ...]:
        """As FrameFilter.admit; deliveries in the order of their times."""
        shared = self._shared
        if shared is None:
            return self._admit(frame, now)
        self._horizon = shared.horizon
        self._look_for_overtakers(shared)
        deliveries = self._admit(frame, now)
        shared.horizon, shared.heals_at = self._horizon, self._heals_next()
        if self._late.waiting:
            shared.overtaken_at = -1
        return deliveries

    def lost(self, number: int, key: int, occurrence: int, frame: bytes) -> None:
        """Compiled code decided that a loss takes away a frame that is not RoCE, and has counted it. `number`: of the
        fault among those of the link; `key`: identity of the frame."""
        packet = datagram_text(frame, self._reader.transport_of(frame), key)
        self._events.append(FaultStruck(*self._rules[number].struck, "", NOT_ROCE, 0, occurrence, packet))

    def finish(self, now: int) -> None:
        """The run is over: reports hits that changed nothing."""
        if self._shared is not None:
            self._look_for_overtakers(self._shared)
        self._events += self._late.finish(now)

    def _look_for_overtakers(self, shared: CLink) -> None:
        """What compiled code let pass."""
        if self._late.waiting and shared.overtaken_at >= 0:
            self._late.passed(shared.overtaken_at)

    def _heals_next(self) -> int:
        return self._heal[-1][0] if self._heal else FOREVER

    def _admit(self, frame: Buffer, now: int) -> tuple[Delivery, ...]:
        if self._heal and now >= self._heal[-1][0]:
            self._tell_healed(now)
        identity = self._reader.read(frame)
        occurrence = self._count(identity.key) if now >= 0 else 0  # before the traffic nothing counts
        seen, attempt, sent = Seen(identity, occurrence), occurrence, None
        if identity.transport is not None and (self._asks_headers or not identity.transport.resends_alike):
            sent = identity.transport.identify(frame)
            attempt = self._attempt(identity.transport, sent, occurrence) if now >= 0 else 0
        copies: tuple[Copy, ...] | list[Copy] = (Copy(bytes(frame)),)
        holding: list[PacketFault] = []
        for rule in self._rules:
            fault = rule.fault
            if not is_active(fault, now):
                continue
            if not rule.takes_all and not matches(fault.match, identity, attempt, self._table, sent):
                continue
            passed: list[Copy] = []
            for copy in copies:
                goes_on = rule.act(fault, rule.stream, seen, copy, rule.copy_bit)
                if goes_on is None:
                    passed.append(copy)
                    continue
                self._tell_struck(rule, identity, attempt, frame, sent)
                if rule.kind.makes_copies or rule.kind.is_overtaken:
                    holding.append(fault)
                passed += goes_on
            copies = passed
            if not copies:
                return ()
        deliveries = [self._deliver(copy, seen, now) for copy in copies]
        if len(deliveries) > 1:
            deliveries.sort(key=lambda delivery: delivery.at)
        if holding or self._late.waiting:
            self._note_late(holding, copies, deliveries, now)
        return tuple(deliveries)

    def _note_late(
        self, holding: Sequence[PacketFault], copies: Sequence[Copy], deliveries: Sequence[Delivery], now: int
    ) -> None:
        """`holding`: faults that held some of these copies back; deliveries by time."""
        if self._late.waiting and any(not copy.held_ns for copy in copies):
            self._late.passed(self._horizon)
        for fault in holding:
            if record_of(fault).is_overtaken:
                self._late.reordered(fault, deliveries[-1].at)
            elif deliveries[-1].at > now:
                self._late.copy(fault, deliveries[-1].at, now)

    def screen(self, batch: FrameBatch, start: int, now: int) -> NDArray[np.bool_]:
        """As FrameFilter.screen. Everything goes to `admit` where the C core is absent or frames are being delayed."""
        if self._heal and now >= self._heal[-1][0]:
            self._tell_healed(now)
        if (
            self._native is None
            or now < 0
            or self._delay_ns
            or self._jitter_ns
            or self._horizon > now
            or any(is_active(fault, now) for fault in self._delays)
        ):
            return np.zeros(max(0, batch.count - start), np.bool_)
        untouched = self._native.screen(batch, start, now)
        if self._late.waiting and untouched.any():
            self._late.passed(now)
        return untouched

    def next_event(self) -> Event | None:
        return self._events.popleft() if self._events else None

    def _count(self, key: int) -> int:
        if self._native is not None:
            return self._native.count(key)
        occurrence = self._occurrences.get(key, 0) + 1
        self._occurrences[key] = occurrence
        return occurrence

    def _attempt(self, transport: TransportKind, sent: SentAs | None, occurrence: int) -> int:
        """How often the packet was sent, of another transport than RoCE."""
        if sent is None or transport.resends_alike:
            return occurrence
        if sent.attempt:
            return sent.attempt
        key = sent.flow, sent.kind, sent.sequence
        self._attempts[key] = self._attempts.get(key, 0) + 1
        return self._attempts[key]

    def _deliver(self, copy: Copy, seen: Seen, now: int) -> Delivery:
        late = self._delay_ns
        if self._jitter_ns:
            number = draw(self._link_stream, seen.identity.key, seen.occurrence, copy.number, Purpose.JITTER)
            late = jittered(late, self._jitter_ns, number)
        at = max(now + late + copy.delay_ns, self._horizon)
        if copy.held_ns:
            return Delivery(at + copy.held_ns, copy.frame)
        self._horizon = at
        return Delivery(at, copy.frame)

    def _tell_struck(self, rule: _Rule, who: Identity, attempt: int, frame: Buffer, sent: SentAs | None) -> None:
        packet = datagram_text(frame, who.transport, who.key) if sent is None else sent_text(sent, who.key)
        self._events.append(FaultStruck(*rule.struck, flow_text(who.addresses), who.opcode, who.psn, attempt, packet))

    def _tell_healed(self, now: int) -> None:
        while self._heal and now >= self._heal[-1][0]:
            _, number = self._heal.pop()
            fault = self._rules[number].fault
            self._events.append(FaultHealed(fault.name, self.link, windows_of(fault)))
