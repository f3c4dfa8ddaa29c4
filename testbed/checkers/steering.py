"""A commodity switch leads exactly the job's data through its accelerator, once (from its capture)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from switch_nodes.kinds import sums
from testbed.captures.capture import FileCapture
from testbed.checkers.context import Capture, CheckContext
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan.accelerated import DATA_DSCP
from testbed.terminal.numbers import moment
from topologies import Attachment, attachment
from workloads.rc.captured import FrameRole, MalformedFrame, RoceFrame, parse_frame
from workloads.rc.words import packet_text
from workloads.wire.places import TOS_AT

__all__ = ["skip_steering", "steering"]

_SHOWN = 8
_TOS = TOS_AT
"""byte of an IPv4 frame"""

_Key = tuple[tuple[bytes, bytes, int], int]
"""(connection, PSN)"""


def skip_steering(context: CheckContext) -> str | None:
    scenario = context.plan.scenario
    if attachment(scenario.topology) is None:
        return ""
    if not sums(scenario.switch.program):
        return "nothing is aggregated in this run"
    return None if scenario.capture else "the scenario turns the capture off (capture: false)"


def steering(context: CheckContext) -> CheckResult:
    """What leaves the commodity switch towards the accelerator is data of the job that a host sent, no more often than
    it came from there. Data of the job reaches a host only after it came back. Frames with a wrong iCRC are not judged:
    the switch cannot know."""
    found = attachment(context.plan.scenario.topology)
    assert found is not None, "skipped without one"
    for item in context.captures:
        capture = FileCapture(item) if isinstance(item, Path) else item
        try:
            if capture.switch == found.commodity:
                return _Judge(context, found).run(capture)
        except (OSError, ValueError) as error:
            return CheckResult("steering", Verdict.UNKNOWN, f"the capture {capture.name} cannot be read: {error}")
    return CheckResult("steering", Verdict.UNKNOWN, f"there is no capture of {found.commodity}")


class _Judge:
    def __init__(self, context: CheckContext, found: Attachment) -> None:
        self._detour = {link.name for link in found.links}
        self._connections = {connection.requests for connection in context.plan.connections}
        self._edges = {connection[:2] for connection in self._connections}
        self._names = {host.ip: host.name for host in context.plan.scenario.topology.hosts}
        self._came: Counter[_Key] = Counter()
        """from hosts, and not led to the accelerator yet"""
        self._back: Counter[_Key] = Counter()
        """from the accelerator, and not delivered yet"""
        self._wrong: list[str] = []
        self._violations = self._steered = self._returned = 0

    def run(self, capture: Capture) -> CheckResult:
        for interface, captured in capture.read():
            if captured.comment:
                continue
            try:
                frame = parse_frame(captured.frame)
            except MalformedFrame:
                continue
            if frame is None:
                if captured.outgoing and interface in self._detour:
                    self._note(captured.time_ns, "a frame that is no RoCE was led to the accelerator")
                continue
            if frame.icrc_valid:
                self._see(frame, captured.frame, interface in self._detour, captured.outgoing, captured.time_ns)
        if self._violations:
            detail = f"{self._violations} violations; first: {self._wrong[0]}"
            return CheckResult("steering", Verdict.FAIL, detail, tuple(self._wrong))
        if not self._steered:
            return CheckResult("steering", Verdict.UNKNOWN, "no data was led to the accelerator")
        detail = (
            f"{self._steered} data packets were led through the accelerator, {self._returned} came back; nothing else "
            "was"
        )
        return CheckResult("steering", Verdict.PASS, detail)

    def _see(self, frame: RoceFrame, raw: bytes, detour: bool, outgoing: bool, at_ns: int) -> None:
        key = frame.connection, frame.psn
        of_job = frame.role is FrameRole.DATA and frame.connection[:2] in self._edges and raw[_TOS] >> 2 == DATA_DSCP
        if not outgoing:
            (self._back if detour else self._came)[key] += 1
            self._returned += detour
        elif detour:
            self._steered += 1
            if not of_job:
                self._note(at_ns, f"{self._name(frame)} was led to the accelerator and is no data of the job")
            elif not _take(self._came, key):
                self._note(at_ns, f"{self._name(frame)} was led to the accelerator more often than it came from a host")
        elif frame.connection in self._connections and not _take(self._back, key):
            self._note(at_ns, f"{self._name(frame)} went to its host and had not been through the accelerator")

    def _name(self, frame: RoceFrame) -> str:
        source, dest, qpn = frame.connection
        ends = f"{self._names.get(source, source.hex())} -> {self._names.get(dest, dest.hex())}"
        return f"{packet_text(frame.opcode, frame.psn)}, {ends} QP {qpn:#x},"

    def _note(self, at_ns: int, what: str) -> None:
        self._violations += 1
        if len(self._wrong) < _SHOWN:
            self._wrong.append(f"at {moment(at_ns)} {what}")


def _take(counts: Counter[_Key], key: _Key) -> bool:
    """One less; False when there is none."""
    count = counts.get(key, 0)
    if count > 1:
        counts[key] = count - 1
    elif count:
        del counts[key]
    return count > 0
