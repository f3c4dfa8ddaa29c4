"""Verdict of a peer test."""

from __future__ import annotations

from collections import Counter

from testbed.captures.pcapng import read_capture
from testbed.faults.events import FaultStruck
from testbed.history.verdict import CheckResult, Verdict, merge_results
from testbed.interop.guest.peer_side import PeerMessage, expected_memory
from testbed.interop.judging import CaseOutcome, Traffic
from testbed.interop.peercases import RXE, SOFT, PeerCase
from testbed.interop.peerhost import PeerRun, content_seed
from testbed.interop.scapy_check import scapy_agrees
from workloads.rc import SUCCESS
from workloads.rc.captured import FrameRole, MalformedFrame, parse_frame
from workloads.rc.transport import RELIABLE, AnswerKind

__all__ = ["judge_peer", "seen_frames"]

_WORDS = {AnswerKind.ACK: "ack", AnswerKind.UNKNOWN: "ack", AnswerKind.WAIT: "rnr"}

_OTHER = {RXE: SOFT, SOFT: RXE}


def judge_peer(run: PeerRun) -> CaseOutcome:
    """Pass: every message ended as it must, and the receivers' memory holds what it must and nothing else. Each fault
    had a hit, and the recovery that the case is about was seen on the wire."""
    seen = seen_frames(run)
    checks = []
    if run.error:
        checks.append(CheckResult("ran", Verdict.FAIL, run.error))
    elif run.reports:
        for end, messages in ((RXE, run.case.rxe_sends), (SOFT, run.case.soft_sends)):
            if messages:
                checks += [_sends(run, end, messages), _memory(run, end, messages)]
                if run.case.status == SUCCESS:
                    checks.append(_receives(run, end, messages))
        checks += [_recovery(run.case, seen), _icrc(seen)]
    struck = Counter(record.event.fault for record in run.records if isinstance(record.event, FaultStruck))
    checks.append(_faults(run.case, struck))
    opinion = scapy_agrees([run.capture] if run.capture is not None else [])
    if opinion is not None:
        checks.append(opinion)
    verdict = merge_results(checks)
    worst = next((check for check in checks if check.verdict is verdict), None)
    detail = "" if verdict is Verdict.PASS or worst is None else f"{worst.name}: {worst.detail}"
    traffic = Traffic(sum(seen[end, "data"] for end in _OTHER), sum(seen[end, "again"] for end in _OTHER))
    return CaseOutcome(run.case.id, verdict, detail, tuple(checks), struck.total(), traffic, run.seconds)


def seen_frames(run: PeerRun) -> Counter[tuple[str, str]]:
    """What each end sent, from the capture: data, again (a PSN a second time), ack, nak (any but RNR), rnr, wrong_icrc.
    The capture lies before the faults on the way to the device, and behind them on the way from it."""
    seen: Counter[tuple[str, str]] = Counter()
    known: set[tuple[object, int]] = set()
    if run.capture is None or not run.capture.exists():
        return seen
    for captured in read_capture(run.capture):
        end = SOFT if captured.outgoing else RXE
        try:
            frame = parse_frame(captured.frame)
        except MalformedFrame:
            seen[end, "malformed"] += 1
            continue
        if frame is None:
            continue
        seen[end, "wrong_icrc"] += not frame.icrc_valid
        if frame.role is FrameRole.DATA:
            seen[end, "data"] += 1
            seen[end, "again"] += (frame.connection, frame.psn) in known
            known.add((frame.connection, frame.psn))
        elif frame.role is FrameRole.ANSWER:
            seen[end, _WORDS.get(RELIABLE.answer_kind(frame.syndrome), "nak")] += 1
    return seen


def _sends(run: PeerRun, end: str, messages: tuple[PeerMessage, ...]) -> CheckResult:
    statuses, wanted = run.reports[end]["sent"], run.case.status
    if end == SOFT and run.case.soft_status:
        wanted = run.case.soft_status
    good = sum(1 for status in statuses if status == SUCCESS)
    name = f"{end} sends"
    if wanted == SUCCESS:
        verdict = Verdict.PASS if statuses == [SUCCESS] * len(messages) else Verdict.FAIL
        return CheckResult(name, verdict, f"{good} of {len(messages)} succeeded: {_failures(run, end) or statuses}")
    first = next((status for status in statuses if status != SUCCESS), "no failure")
    verdict = Verdict.PASS if first == wanted else Verdict.FAIL
    return CheckResult(name, verdict, f"{good} succeeded, then {first}, expected {wanted}; {_failures(run, end)}")


def _failures(run: PeerRun, end: str) -> str:
    return "; ".join(f"{status}: {detail}" for status, detail in run.reports[end]["failures"])


def _memory(run: PeerRun, end: str, messages: tuple[PeerMessage, ...]) -> CheckResult:
    """Of the receiver of what `end` sent."""
    delivered = len(messages) if run.case.delivered is None else run.case.delivered
    wanted, found = (
        expected_memory(messages, content_seed(run.seed, end), delivered),
        run.reports[_OTHER[end]]["memory"],
    )
    verdict = Verdict.PASS if found == wanted else Verdict.FAIL
    return CheckResult(f"memory of {_OTHER[end]}", verdict, f"SHA-256 {found[:16]}, expected {wanted[:16]}")


def _receives(run: PeerRun, end: str, messages: tuple[PeerMessage, ...]) -> CheckResult:
    wanted = [[message.imm, message.size] for message in messages if message.verb == "send" or message.imm is not None]
    found = run.reports[_OTHER[end]]["received"]
    verdict = Verdict.PASS if found == wanted else Verdict.FAIL
    return CheckResult(f"receives of {_OTHER[end]}", verdict, f"(imm, length) {found}, expected {wanted}")


def _recovery(case: PeerCase, seen: Counter[tuple[str, str]]) -> CheckResult:
    lacking = [f"{end} sent no {what}" for end, what in case.must_see if not seen[end, what]]
    return CheckResult("recovery", Verdict.UNKNOWN if lacking else Verdict.PASS, ", ".join(lacking))


def _icrc(seen: Counter[tuple[str, str]]) -> CheckResult:
    """Corruption happens between the capture and the device, or before the capture: our own frames are never wrong."""
    wrong = seen[SOFT, "wrong_icrc"] + seen[SOFT, "malformed"]
    return CheckResult("icrc", Verdict.FAIL if wrong else Verdict.PASS, f"{wrong} frames of {SOFT}")


def _faults(case: PeerCase, struck: Counter[str]) -> CheckResult:
    idle = [fault.name for fault in case.faults if not struck[fault.name]]
    return CheckResult("exercised", Verdict.UNKNOWN if idle else Verdict.PASS, f"never hit: {', '.join(idle)}")
