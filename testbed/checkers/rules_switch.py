"""Rules 1, 6 to 8 and 10: what a switch may do to the packets of connections that are not its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from testbed.checkers.rules import KEPT_PSNS, PsnClock, Sighting, Violations
from workloads.rc.captured import FrameRole, RoceFrame
from workloads.rc.transport import RELIABLE

__all__ = ["SwitchRules"]

Connection = tuple[bytes, bytes, int]


_DATA, _SEQUENCE_NAK = FrameRole.DATA, RELIABLE.gap_code


class _Passage:
    """One PSN of one connection on its way through."""

    __slots__ = ("cut", "cut_here", "cut_left", "entered", "heads", "left", "payloads", "requests", "result")

    def __init__(self) -> None:
        self.entered = self.left = 0
        self.cut = self.cut_here = self.cut_left = 0
        """how often it came trimmed, was trimmed on its way out, left as it had come"""
        self.requests: tuple[bytes, ...] = ()
        """BTH and extension headers, as they entered"""
        self.heads: tuple[bytes, ...] = ()
        """as they entered; a retransmission may have another AckReq"""
        self.payloads: tuple[int, ...] = ()
        """hashes of what entered"""
        self.result: int | None = None
        """hash of the payload that left first"""


class _Flow:
    __slots__ = ("aggregates", "clock", "passages")

    def __init__(self, psn: int, aggregates: bool) -> None:
        self.clock, self.aggregates = PsnClock(psn), aggregates
        self.passages: dict[int, _Passage] = {}


class _Other:
    """What is no data, by its bytes that may not change."""

    __slots__ = ("entered", "left")

    def __init__(self) -> None:
        self.entered = 0
        self.left: dict[str, int] = {}
        """by link"""


class SwitchRules:
    def __init__(
        self,
        violations: Violations,
        *,
        aggregates: Callable[[Connection], bool],
        is_stale: Callable[[Connection, int], bool],
        plain_between: bool = False,
        starts_anew: bool = False,
    ) -> None:
        """`aggregates`: whether results may replace payloads on a connection. `is_stale(connection, psn)`: whether the
        receiver provably has that packet's result, so that the packet may pass as it came. `plain_between`: messages
        without INA header may stand between those that are summed, so that a packet whose message is unknown may pass
        as it came. `starts_anew`: the switch forgets everything during the run, so that a leaf may take for a result
        what passes another switch as it came."""
        self._violations, self._aggregates, self._is_stale = violations, aggregates, is_stale
        self._plain_between, self._starts_anew = plain_between, starts_anew
        self._flows: dict[Connection, _Flow] = {}
        self._others: dict[bytes, _Other] = {}
        self._naks: dict[bytes, str] = {}
        """NAKs that entered, by what may not change, and where"""
        self._maps: dict[bytes, set[tuple[int, int]]] = {}
        """packets and bits of maps that entered, by what may not change"""
        self._cut: dict[tuple[Connection, int], str] = {}
        """what came trimmed, and where first"""
        self._damaged: Counter[bytes] = Counter()
        self.answers_passed = self.data_passed = 0

    def damaged(self, raw: bytes) -> None:
        """A frame with a wrong iCRC, or one that contradicts itself, entered."""
        self._damaged[raw] += 1

    def passes_damaged(self, raw: bytes) -> bool:
        """Whether a damaged frame leaves as it came: what a switch only forwards it need not look into, and the NIC
        behind it throws the frame away."""
        return raw in self._damaged

    def entered(self, frame: RoceFrame, payload: int, seen: Sighting) -> None:
        """`payload`: hash of the payload."""
        if frame.role is not _DATA:
            other = self._others.get(frame.constant)
            if other is None:
                other = self._others[frame.constant] = _Other()
            other.entered += 1
            if frame.held is not None:
                self._maps.setdefault(frame.constant, set()).add(frame.held[1:3])
            if frame.syndrome == _SEQUENCE_NAK and frame.role is FrameRole.ANSWER and frame.constant not in self._naks:
                self._naks[frame.constant] = str(seen)
            return
        passage = self._passage(frame)
        passage.entered += 1
        if frame.head not in passage.heads:
            passage.heads += (frame.head,)
        if payload not in passage.payloads:
            passage.payloads += (payload,)

    def entered_trimmed(self, frame: RoceFrame, seen: Sighting) -> None:
        """The headers of data that a queue before this switch cut."""
        passage = self._passage(frame)
        passage.cut += 1
        self._cut.setdefault((frame.connection, frame.psn), str(seen))

    def _passage(self, frame: RoceFrame) -> _Passage:
        """Of data that enters."""
        flow = self._flows.get(frame.connection)
        if flow is None:
            flow = self._flows[frame.connection] = _Flow(frame.psn, self._aggregates(frame.connection))
        psn = flow.clock.absolute(frame.psn)
        passage = flow.passages.get(psn)
        if passage is None:
            passage = flow.passages[psn] = _Passage()
            flow.passages.pop(psn - KEPT_PSNS, None)
        flow.clock.note(psn)
        if frame.request not in passage.requests:
            passage.requests += (frame.request,)
        return passage

    def left_trimmed(self, frame: RoceFrame, seen: Sighting, *, here: bool) -> None:
        """The headers of data left: as they had come, or what a full queue `here` made of a packet that had left."""
        flow = self._flows.get(frame.connection)
        passage = flow.passages.get(flow.clock.absolute(frame.psn)) if flow else None
        if passage is None:
            self._violations.add(10, seen, "no packet of this connection and PSN entered before")
            return
        if frame.request not in passage.requests:
            self._violations.add(10, seen, "its BTH or extension headers changed")
        if here:
            passage.cut_here += 1
            if passage.cut_here > passage.left:
                self._violations.add(10, seen, f"it was trimmed {passage.cut_here} times and left {passage.left} times")
            return
        passage.cut_left += 1
        if passage.cut_left > passage.cut:
            self._violations.add(10, seen, f"its headers left {passage.cut_left} times and came {passage.cut} times")

    def finish(self) -> None:
        """The run ended without a failure: every NAK that entered went on, and so did what came trimmed."""
        for (connection, psn), where in self._cut.items():
            flow = self._flows[connection]
            passage = flow.passages.get(flow.clock.absolute(psn))
            if passage is not None and passage.cut_left < passage.cut:
                self._violations.add(
                    10, where, f"its headers came {passage.cut} times and left {passage.cut_left} times"
                )
        for constant, where in self._naks.items():
            other = self._others[constant]
            left = sum(other.left.values())
            if left < other.entered:
                self._violations.add(6, where, f"that NAK entered {other.entered} times and left {left} times")

    def left(self, frame: RoceFrame, payload: int, raw: bytes, seen: Sighting) -> None:
        if not frame.icrc_valid:
            if frame.role is _DATA and self._aggregates(frame.connection):
                self._violations.add(1, seen, "its iCRC is wrong, and its connection aggregates")
            elif not self.passes_damaged(raw):
                self._violations.add(1, seen, "its iCRC is wrong")
        elif frame.role is _DATA:
            self._data_left(frame, payload, seen)
        else:
            self._other_left(frame, seen)

    def _other_left(self, frame: RoceFrame, seen: Sighting) -> None:
        self.answers_passed += 1
        known = self._others.get(frame.constant)
        if known is None:
            self._violations.add(6, seen, f"no {RELIABLE.kind_name(frame.opcode)} with these bytes entered before")
            return
        if frame.held is not None:
            self._map_left(frame.constant, *frame.held[1:3], seen)
        left = known.left[seen.interface] = known.left.get(seen.interface, 0) + 1
        if left > known.entered:
            self._violations.add(6, seen, f"it left {left} times and entered {known.entered} times")

    def _map_left(self, constant: bytes, count: int, bits: int, seen: Sighting) -> None:
        """A switch may add bits to a map, and cut it where its message ends."""
        for before, there in self._maps[constant]:
            if count <= before and not there & ((1 << count) - 1) & ~bits:
                return
        self._violations.add(6, seen, f"its map of {count} packets lacks bits, or has packets, that entered otherwise")

    def _data_left(self, frame: RoceFrame, payload: int, seen: Sighting) -> None:
        self.data_passed += 1
        flow = self._flows.get(frame.connection)
        if flow is None:
            self._violations.add(7, seen, "no packet of this connection and PSN entered before")
            return
        psn = flow.clock.absolute(frame.psn)
        passage = flow.passages.get(psn)
        if passage is None:
            if psn > flow.clock.latest - KEPT_PSNS:
                self._violations.add(7, seen, "no packet of this connection and PSN entered before")
            return
        if not passage.heads:
            self._violations.add(7, seen, "it left whole, and came only trimmed")
        elif frame.head not in passage.heads:
            self._violations.add(7, seen, _difference(passage.heads[len(passage.heads) - 1], frame.head))
        passage.left += 1
        if passage.left > passage.entered:
            self._violations.add(7, seen, f"it left {passage.left} times and entered {passage.entered} times")
        if not flow.aggregates:
            if payload not in passage.payloads:
                self._violations.add(7, seen, "its payload changed, and nothing is aggregated on this connection")
        elif self._plain_between and payload in passage.payloads:
            return
        elif passage.result is None:
            passage.result = payload
        elif payload != passage.result and not (
            (payload in passage.payloads or self._starts_anew) and self._is_stale(frame.connection, frame.psn)
        ):
            raw = "the host's own payload" if payload in passage.payloads else "another payload"
            self._violations.add(8, seen, f"{raw} left here, a different one before")


def _difference(entered: bytes, left: bytes) -> str:
    """Which header changed. Ends of the headers in a head (see RoceFrame.head), IPv4 or IPv6."""
    if len(entered) != len(left):
        return f"{len(entered)} bytes of headers entered, {len(left)} left"
    spans = (
        *RELIABLE.parts_of(entered),
        (len(entered) - 1, "extension headers or INA header"),
        (len(entered), "FECN and BECN"),
    )
    first = next(index for index, (a, b) in enumerate(zip(entered, left, strict=True)) if a != b)
    name = next(name for end, name in spans if first < end)
    return f"the {name} changed (byte {first}: {entered[first]:#04x} entered, {left[first]:#04x} left)"
