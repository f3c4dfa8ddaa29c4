"""Unreliable connections as captured at the switch that ends them (from captures, with a reader of their own).

1. Every packet is well-formed and its iCRC is valid; what a fault damaged may come in, never leave.
2. It belongs to a connection of the plan. Those between two hosts are reliable ones, and not judged here.
3. What the switch sends on a connection has consecutive PSNs, from the first one of the plan.
4. What it sends are whole messages: ONLY, or FIRST MIDDLE* LAST, of full packets but for the last, as long as RETH
  says.
5. No host uses a PSN twice: a repetition is a message of its own.

Source: IBTA vol. 1, 9.8; the rules of reliable connections are in `testbed.checkers.rules`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from testbed.captures.capture import FileCapture
from testbed.checkers.context import CheckContext
from testbed.checkers.rules import Sighting, Violations
from testbed.faults.connections import Flow
from testbed.faults.model import Corrupt, Duplicate, Kill, Reorder
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.words import times
from workloads.rc.captured import MalformedFrame, RoceFrame, parse_frame
from workloads.uc.transport import UNRELIABLE

__all__ = ["skip_unreliable", "unreliable"]

RULES = {
    1: "every packet is well-formed and its iCRC is valid",
    2: "every packet belongs to a connection of the plan",
    3: "what the switch sends on a connection has consecutive PSNs",
    4: "the switch sends whole messages",
    5: "no host uses a PSN twice",
}


def skip_unreliable(context: CheckContext) -> str | None:
    if not _workers(context):
        return ""
    return None if context.plan.scenario.capture else "the scenario turns the capture off (capture: false)"


def unreliable(context: CheckContext) -> CheckResult:
    """One pass over each capture."""
    if not context.captures:
        return CheckResult("unreliable", Verdict.UNKNOWN, "the run left no capture")
    violations, seen = Violations(rules=RULES), _Seen()
    for found in context.captures:
        capture = FileCapture(found) if isinstance(found, Path) else found
        try:
            judge = _Judge(context, violations, seen)
            for interface, captured in capture.read():
                judge.take(interface, captured.frame, captured.outgoing, captured.time_ns, lost=bool(captured.comment))
        except (OSError, ValueError) as error:
            return CheckResult("unreliable", Verdict.UNKNOWN, f"the capture {capture.name} cannot be read: {error}")
    if violations.total:
        rules = ", ".join(f"rule {rule} {times(count)}" for rule, count in sorted(violations.counts.items()))
        detail = f"violations: {rules}; first: {violations.texts[0]}"
        return CheckResult("unreliable", Verdict.FAIL, detail, tuple(violations.texts))
    if not seen.left:
        return CheckResult("unreliable", Verdict.UNKNOWN, "no packet of an unreliable connection left a switch")
    detail = (
        f"{seen.came} packets came, {seen.left} left in {seen.messages} messages, with valid iCRCs and without a gap "
        "in the "
        "switch's PSNs"
    )
    return CheckResult("unreliable", Verdict.PASS, detail, tuple(f"rule {n}: {text}" for n, text in RULES.items()))


class _Seen:
    came = left = messages = 0


class _Judge:
    """One capture."""

    def __init__(self, context: CheckContext, violations: Violations, seen: _Seen) -> None:
        scenario = context.plan.scenario
        self._violations, self._seen = violations, seen
        self._where = Sighting({host.ip: host.name for host in scenario.topology.hosts})
        faults, hosts = scenario.faults, {worker.name for worker in context.plan.workers}
        self._damage = any(isinstance(fault, Corrupt) for fault in faults)
        lives = [fault.node for fault in faults if isinstance(fault, Kill) and fault.window.stop_ns is not None]
        self._switch_starts_anew = bool(set(lives) - hosts)
        mixed = any(isinstance(fault, Duplicate | Reorder) for fault in faults)
        self._judges_hosts = not mixed and not set(lives) & hosts
        mtus = {worker.envelope.src_ip: worker.uc.path_mtu for worker in _workers(context) if worker.uc is not None}
        self._to_switch: dict[Flow, set[int]] = {}
        """PSNs that came; not in order, since what a fault took away is captured ahead of what came with it"""
        self._to_hosts: dict[Flow, _Line] = {}
        self._hosts = frozenset(mtus)
        """addresses; what one of them sends to another one is reliable, and the switch only forwards it"""
        for connection in context.plan.connections:
            if connection.requests[1] in self._hosts:
                continue
            self._to_switch[connection.requests] = set()
            self._to_hosts[connection.answers] = _Line(connection.first_psn, mtus[connection.requests[0]])

    def take(self, interface: str, raw: bytes, outgoing: bool, time_ns: int, *, lost: bool) -> None:
        where = self._where
        where.number += 1
        where.interface, where.outgoing, where.time_ns, where.frame = interface, outgoing, time_ns, None
        try:
            frame = where.frame = parse_frame(raw)
        except MalformedFrame as error:
            if outgoing or not self._damage:
                self._violations.add(1, where, str(error))
            return
        if frame is None or (outgoing and lost):  # the frame itself was recorded when it left
            return
        if {frame.connection[0], frame.connection[1]} <= self._hosts:
            return
        if not frame.icrc_valid:
            if outgoing or not self._damage:
                self._violations.add(1, where, "its iCRC is wrong")
        elif frame.connection not in (self._to_hosts if outgoing else self._to_switch):
            self._violations.add(2, where, f"queue pair {frame.connection[2]:#x}")
        elif outgoing:
            self._left(self._to_hosts[frame.connection], frame)
        else:
            self._came(frame)

    def _came(self, frame: RoceFrame) -> None:
        self._seen.came += 1
        before = self._to_switch[frame.connection]
        if frame.psn in before and self._judges_hosts:
            self._violations.add(5, self._where, f"PSN {frame.psn:#08x} again")
        before.add(frame.psn)

    def _left(self, line: _Line, frame: RoceFrame) -> None:
        self._seen.left += 1
        if frame.psn != line.expected:
            if not (self._switch_starts_anew and frame.psn == line.first):
                self._violations.add(3, self._where, f"PSN {frame.psn:#08x}, expected {line.expected:#08x}")
            line.missing = None
        line.expected = UNRELIABLE.after(frame.psn, 1)
        info, size = UNRELIABLE.message_parts[frame.opcode], frame.payload_bytes
        if info.starts != (line.missing is None):
            self._violations.add(4, self._where, f"{UNRELIABLE.kind_name(frame.opcode)} at this place of a message")
        missing = frame.reth_length if info.starts else line.missing or 0
        if size != (missing if info.ends else line.path_mtu) or size > line.path_mtu or size > missing:
            self._violations.add(4, self._where, f"{size} bytes, {missing} are missing")
        line.missing = None if info.ends else missing - size
        self._seen.messages += info.ends


class _Line:
    """What the switch has sent on one connection."""

    def __init__(self, first: int, path_mtu: int) -> None:
        self.first = self.expected = first
        self.path_mtu = path_mtu
        self.missing: int | None = None
        """bytes of the message that has begun; None: between messages"""


def _workers(context: CheckContext) -> list[Any]:
    """Those over unreliable connections."""
    return [worker for worker in context.plan.workers if getattr(worker, "uc", None) is not None]
