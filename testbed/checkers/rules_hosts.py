"""Rules 2 to 5, 9 and 10: what the endpoints of a connection do, as a switch between them sees it."""

from __future__ import annotations

from testbed.checkers.rules import KEPT_PSNS, PsnClock, Sighting, Violations
from workloads.rc.captured import FrameRole, RoceFrame
from workloads.rc.transport import RELIABLE

__all__ = ["ConnectionRules", "Sent"]

_ACK, _RNR, _NAK = 0b000, 0b001, 0b011
"""what an answer says: the upper three bits of its syndrome"""
_SEQUENCE_NAK = RELIABLE.gap_code
_after, _distance, _PARTS = RELIABLE.after, RELIABLE.distance, RELIABLE.message_parts


class Sent:
    """A data packet as its sender put it on the wire."""

    __slots__ = ("extensions", "opcode", "payload", "payload_bytes", "reth_length", "starts")

    def __init__(self, frame: RoceFrame, payload: int) -> None:
        """`payload`: its hash."""
        self.opcode, self.extensions, self.payload = frame.opcode, frame.extensions, payload
        self.payload_bytes, self.reth_length = frame.payload_bytes, frame.reth_length
        self.starts = frame.starts


class ConnectionRules:
    """One connection: data one way, answers the other, as the switch sees them that the sender, the receiver or both
    hang on. At the sender's, delivered means on its way to the receiver; the receiver's knows what was delivered, but
    not all that was sent."""

    def __init__(
        self,
        violations: Violations,
        *,
        first_psn: int,
        path_mtu: int,
        window_packets: int,
        in_order: bool,
        sees_sender: bool = True,
        sees_trims: bool = True,
    ) -> None:
        """`in_order`: nothing reorders or repeats answers before they enter the switch. `sees_sender`:
        the sender hangs on this switch, so that all it sends is seen; without it `sent` and `answer_left` say nothing.
        `sees_trims`: no queue behind this switch trims what has left it.
        """
        self._sees_sender, self._sees_trims = sees_sender, sees_trims
        self._violations, self._path_mtu, self._window, self._in_order = violations, path_mtu, window_packets, in_order
        self._clock = PsnClock(first_psn)
        first = self._clock.latest
        self._clock.latest -= 1
        self._sent: dict[int, Sent] = {}
        self._kept_from = first + KEPT_PSNS
        """lowest PSN that makes an old one be forgotten"""
        self._next_sent = first
        """lowest PSN not seen to be sent"""
        self._message: tuple[int, int, int] | None = None
        """(opcode of its FIRST, RETH length or -1, bytes so far) of the message that is open at `_next_sent`"""
        self._left_ahead: set[int] = set()
        self._next_left = first
        """lowest PSN that has not left towards the receiver"""
        self._highest_left = first - 1
        self._covered = first
        """lowest PSN that no answer covers"""
        self._msn: int | None = None
        self._naks: dict[int, int] = {}
        """sequence NAKs of each PSN"""
        self._returns: dict[int, int] = {}
        """how often each PSN left behind a later one, or was refused because no receive was posted. Its receiver may
        find the same gap again after each, even if the answer is lost, and even if its last NAK is still on its way"""
        self._owed: dict[int, str] = {}
        """PSNs that a NAK asked for, on its way to the sender"""
        self._unanswered: dict[int, int] = {}
        """under IRN: how often each PSN left towards the receiver and was not answered"""
        self._whole: dict[int, int] = {}
        """copies of each PSN that left with their payload"""
        self._trimmed: dict[int, int] = {}
        """copies of each PSN that left without it, and were not asked for since"""

    def sent(self, frame: RoceFrame, payload: int, seen: Sighting) -> None:
        """The sender put data on the wire (a fault may have taken it before the switch)."""
        if not self._sees_sender:
            return
        psn = self._clock.absolute(frame.psn)
        if self._owed:
            self._owed.pop(psn, None)
        now = Sent(frame, payload)
        before = self._sent.get(psn)
        if before is not None:
            self._compare(before, now, seen)
            return
        if psn <= self._clock.latest - KEPT_PSNS:
            return
        self._sent[psn] = now
        self._clock.note(psn)
        in_flight = psn + 1 - self._covered
        if in_flight > self._window:
            self._violations.add(9, seen, f"{in_flight} packets in flight, the window is {self._window}")
        ordered: Sent | None = now if psn == self._next_sent else None
        while ordered is not None:
            self._grammar(ordered, seen)
            if self._next_sent >= self._kept_from:
                self._sent.pop(self._next_sent - KEPT_PSNS, None)
            self._next_sent += 1
            ordered = self._sent.get(self._next_sent)

    def _compare(self, before: Sent, now: Sent, seen: Sighting) -> None:
        if before.opcode != now.opcode:
            what = f"opcode {RELIABLE.kind_name(now.opcode)}, before {RELIABLE.kind_name(before.opcode)}"
        elif before.extensions != now.extensions:
            what = "RETH or ImmDt differ"
        elif before.payload != now.payload or before.payload_bytes != now.payload_bytes:
            what = "the payload differs"
        else:
            return
        self._violations.add(2, seen, f"sent again, but {what}")

    def _grammar(self, packet: Sent, seen: Sighting) -> None:
        """The packet at `_next_sent`, in PSN order."""
        info = _PARTS[packet.opcode]
        size, mtu, opened = packet.payload_bytes, self._path_mtu, self._message
        if info.starts:
            if opened is not None:
                self._wrong(packet, seen, "begins a message while another is open")
            opened = (packet.opcode, packet.reth_length, 0)
        elif opened is None or _PARTS[opened[0]].is_write != info.is_write:
            self._wrong(packet, seen, "continues a message that did not begin")
            opened = (packet.opcode, -1, 0)
        least = mtu if not info.ends else 0 if info.starts else 1
        if not least <= size <= mtu:
            allowed = f"{mtu}" if least == mtu else f"{least} to {mtu}"
            self._wrong(packet, seen, f"has {size} bytes of payload; allowed: {allowed}")
        opcode, announced, total = opened[0], opened[1], opened[2] + size
        if info.ends and announced not in (-1, total):
            self._wrong(packet, seen, f"ends a message of {total} bytes, its RETH said {announced}")
        self._message = None if info.ends else (opcode, announced, total)

    def _wrong(self, packet: Sent, seen: Sighting, what: str) -> None:
        where = f"PSN {_after(self._next_sent, 0)}, {RELIABLE.kind_name(packet.opcode)}"
        self._violations.add(3, seen, f"{where} {what}")

    def left(self, frame: RoceFrame) -> None:
        """Data left the switch towards the receiver."""
        psn = self._clock.absolute(frame.psn)
        if not self._sees_sender:
            self._clock.note(psn)
        if psn < self._highest_left:
            self._note_return(psn)
        self._highest_left = max(self._highest_left, psn)
        self._whole[psn] = self._whole.get(psn, 0) + 1
        if psn >= self._kept_from:
            for counted in (self._whole, self._trimmed, self._naks, self._returns):
                counted.pop(psn - KEPT_PSNS, None)
        if psn == self._next_left:
            self._next_left += 1
            while self._left_ahead and self._next_left in self._left_ahead:
                self._left_ahead.discard(self._next_left)
                self._next_left += 1
        elif psn > self._next_left:
            self._left_ahead.add(psn)

    def left_trimmed(self, frame: RoceFrame, *, here: bool) -> None:
        """Headers of data left towards the receiver; `here`: of a copy that was taken for whole before."""
        psn = self._clock.absolute(frame.psn)
        self._trimmed[psn] = self._trimmed.get(psn, 0) + 1
        if not here:
            self._highest_left = max(self._highest_left, psn)
            return
        copies = self._whole[psn] = self._whole.get(psn, 1) - 1
        if copies:
            return
        self._left_ahead.discard(psn)
        if psn < self._next_left:
            self._left_ahead.update(range(psn + 1, self._next_left))
            self._next_left = psn

    def answered(self, frame: RoceFrame, seen: Sighting) -> None:
        """An answer of the receiver entered the switch."""
        psn, syndrome = self._clock.absolute(frame.psn), frame.syndrome
        kind = syndrome >> 5
        if kind not in (_ACK, _RNR, _NAK):
            return
        covers = psn + 1 if kind == _ACK else psn
        if covers > self._next_left:
            what = f"acknowledges up to PSN {_after(covers, -1)}"
            if self._sees_sender and self._next_sent < covers <= self._highest_left + 1:
                hole = _after(self._next_sent, 0)
                self._violations.add(2, seen, f"{what}, but PSN {hole} was never seen to be sent")
            else:
                hole = _after(self._next_left, 0)
                self._violations.add(4, seen, f"{what}, but PSN {hole} has not left towards the receiver")
        if self._in_order:
            if covers < self._covered:
                before = _after(self._covered, -1)
                self._violations.add(4, seen, f"the receiver had acknowledged up to PSN {before} before")
            if self._msn is not None and _distance(frame.msn, self._msn) < 0:
                self._violations.add(4, seen, f"MSN {frame.msn} after {self._msn}")
            self._msn = frame.msn
        self._covered = max(self._covered, min(covers, self._clock.latest + 1))
        if kind == _RNR:
            self._note_return(psn)
        elif syndrome == _SEQUENCE_NAK:
            wrong, before = "", self._naks.get(psn, 0)
            if self._highest_left <= psn:
                wrong = "nothing behind that PSN had left towards the receiver: there is no gap"
            elif self._in_order and before > self._returns.get(psn, 0):
                wrong = "a second NAK for the same gap"
            if wrong and self._sees_trims and not self._asks_for_trimmed(psn):
                self._violations.add(5, seen, wrong)
            self._naks[psn] = before + 1

    def _note_return(self, psn: int) -> None:
        self._returns[psn] = self._returns.get(psn, 0) + 1

    def _asks_for_trimmed(self, psn: int) -> bool:
        """Whether a copy of that PSN had lost its payload, and was not asked for."""
        if not self._in_order:  # a copy that a fault makes behind the switch is asked for too
            return psn in self._trimmed
        copies = self._trimmed.pop(psn, 0)
        if copies > 1:
            self._trimmed[psn] = copies - 1
        return copies > 0

    def answer_left(self, frame: RoceFrame, seen: Sighting) -> None:
        """An answer left the switch towards the sender."""
        psn = self._asked_for(frame)
        if self._sees_sender and psn is not None and psn not in self._owed:
            self._owed[psn] = str(seen)

    def answer_lost(self, frame: RoceFrame) -> None:
        """A fault took an answer that had left."""
        psn = self._asked_for(frame)
        if psn is not None:
            self._owed.pop(psn, None)

    def _asked_for(self, frame: RoceFrame) -> int | None:
        """The PSN that an answer wants again, if any."""
        asks = frame.syndrome == _SEQUENCE_NAK and frame.role is FrameRole.ANSWER
        return self._clock.absolute(frame.psn) if asks else None

    def finish(self) -> None:
        """The run ended without a failure: what a NAK asked for must have come."""
        for psn in sorted(self._trimmed):
            if psn >= self._covered:
                self._violations.add(10, f"PSN {_after(psn, 0)}", "it left trimmed, and its receiver never got it")
        for psn, where in sorted(self._owed.items()):
            if psn >= self._covered:
                self._violations.add(5, where, f"PSN {_after(psn, 0)} was not sent again")
