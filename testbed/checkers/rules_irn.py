"""Rules 2 to 5 and 9 for connections that use IRN: what their packets and answers say is another than under
go-back-N."""

from __future__ import annotations

from testbed.checkers.rules import KEPT_PSNS, Sighting
from testbed.checkers.rules_hosts import ConnectionRules, Sent
from workloads.rc.captured import FrameRole, RoceFrame
from workloads.rc.transport import RELIABLE

__all__ = ["IrnConnectionRules"]

_ACK, _GAP, _CUT = RELIABLE.ack_code, RELIABLE.gap_code, RELIABLE.trimmed_code
_after, _distance = RELIABLE.after, RELIABLE.distance
_KINDS = frozenset(code for code, part in RELIABLE.message_parts.items() if part.is_write and part.starts)
_LAST = frozenset(code for code in _KINDS if RELIABLE.message_parts[code].has_imm)
"""kinds of packets that say themselves where they go; those that end a message"""
_VA_BYTES = 8


class IrnConnectionRules(ConnectionRules):
    """As `ConnectionRules`. Every packet has a RETH with its own address and the length of its message. Every packet
    that reaches the receiver is answered once, with what is expected next and with its own PSN."""

    def _grammar(self, packet: Sent, seen: Sighting) -> None:
        size, mtu, opened = packet.payload_bytes, self._path_mtu, self._message
        if packet.opcode not in _KINDS:
            self._wrong(packet, seen, "is no packet of IRN")
            return
        va, ends = int.from_bytes(packet.extensions[:_VA_BYTES], "big"), packet.opcode in _LAST
        if packet.starts:
            if opened is not None:
                self._wrong(packet, seen, "begins a message while another is open")
            opened = va, packet.reth_length, 0
        elif opened is None:
            self._wrong(packet, seen, "continues a message that did not begin")
            opened = va, packet.reth_length, 0
        begin, announced, before = opened
        if size > mtu or (size < mtu and not ends):
            self._wrong(packet, seen, f"has {size} bytes of payload; allowed: {f'0 to {mtu}' if ends else mtu}")
        if packet.reth_length != announced:
            self._wrong(
                packet, seen, f"announces a message of {packet.reth_length} bytes, its first packet one of {announced}"
            )
        if va != begin + before:
            self._wrong(packet, seen, f"goes to address {va:#x}; its message continues at {begin + before:#x}")
        if ends and before + size != announced:
            self._wrong(packet, seen, f"ends a message of {before + size} bytes, its RETH said {announced}")
        self._message = None if ends else (begin, announced, before + size)

    def left(self, frame: RoceFrame) -> None:
        ConnectionRules.left(self, frame)
        self._await_answer(frame)

    def left_trimmed(self, frame: RoceFrame, *, here: bool) -> None:
        ConnectionRules.left_trimmed(self, frame, here=here)
        if not here:
            self._await_answer(frame)

    def _await_answer(self, frame: RoceFrame) -> None:
        psn = self._clock.absolute(frame.psn)
        self._unanswered[psn] = self._unanswered.get(psn, 0) + 1
        if psn >= self._kept_from:
            self._unanswered.pop(psn - KEPT_PSNS, None)

    def answered(self, frame: RoceFrame, seen: Sighting) -> None:
        if frame.sack is None:
            self._violations.add(4, seen, "no answer of IRN")
            return
        if frame.syndrome not in (_ACK, _GAP, _CUT):
            return
        cumulative = self._clock.absolute(frame.sack[0])
        selective = self._clock.absolute(frame.sack[1])
        is_gap = frame.syndrome == _GAP
        if frame.syndrome == _CUT:
            is_gap = selective > cumulative
            if selective < cumulative:
                self._violations.add(10, seen, f"asks for PSN {_after(selective, 0)}, which it had acknowledged")
            if not self._asks_for_trimmed(selective) and self._sees_trims:
                self._violations.add(10, seen, f"no copy of PSN {_after(selective, 0)} had left trimmed")
        if cumulative > self._next_left:
            self._violations.add(
                4, seen, f"acknowledges up to PSN {_after(cumulative, -1)}, but PSN {_after(self._next_left, 0)} "
                         "has not left "
                "towards the receiver",
            )  # fmt: skip
        if self._in_order:  # a copy that a fault makes behind the switch is answered too
            self._count(selective, seen)
        if is_gap != (selective > cumulative):
            what = "reports a gap" if is_gap else "reports no gap"
            self._violations.add(
                5, seen, f"{what} at PSN {_after(selective, 0)}, with PSN {_after(cumulative, 0)} expected next"
            )
        if self._in_order:
            if cumulative < self._covered:
                self._violations.add(
                    4, seen, f"the receiver had acknowledged up to PSN {_after(self._covered, -1)} before"
                )
            if self._msn is not None and _distance(frame.msn, self._msn) < 0:
                self._violations.add(4, seen, f"MSN {frame.msn} after {self._msn}")
            self._msn = frame.msn
        self._covered = max(self._covered, min(cumulative, self._clock.latest + 1))

    def _count(self, psn: int, seen: Sighting) -> None:
        """An answer about that PSN."""
        left = self._unanswered.get(psn, 0)
        if not left:
            self._violations.add(5, seen, f"answers PSN {_after(psn, 0)} more often than it left towards the receiver")
        elif left == 1:
            del self._unanswered[psn]
        else:
            self._unanswered[psn] = left - 1

    def _asked_for(self, frame: RoceFrame) -> int | None:
        if frame.role is not FrameRole.ANSWER or frame.sack is None:
            return None
        if frame.syndrome == _CUT:
            return self._clock.absolute(frame.sack[1])
        return self._clock.absolute(frame.sack[0]) if frame.syndrome == _GAP else None
