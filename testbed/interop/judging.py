"""From what a case left to one line of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from testbed.captures.pcapng import Interface, read_capture
from testbed.checkers import CheckContext, run_checks, strikes
from testbed.history.verdict import CheckResult, Verdict, merge_results
from testbed.interop.casehost import CaseRun
from testbed.interop.scapy_check import scapy_agrees
from workloads.rc.captured import FrameRole, MalformedFrame, parse_frame

__all__ = ["CaseOutcome", "Traffic", "judge_case", "traffic_of"]

_MEANINGLESS = ("no_crash", "no_leftovers")
"""one guest serves many cases; the command checks its end"""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Request packets that hosts sent towards the switch."""

    data_packets: int
    retransmissions: int
    """packets of these whose PSN had been sent on that connection before"""


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    case: str
    verdict: Verdict
    """verdict of the case: a control that failed as it must is a pass"""
    detail: str
    checks: tuple[CheckResult, ...]
    strikes: int
    traffic: Traffic | None
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "verdict": str(self.verdict),
            "detail": self.detail,
            "strikes": self.strikes,
            "data_packets": self.traffic.data_packets if self.traffic else None,
            "retransmissions": self.traffic.retransmissions if self.traffic else None,
            "seconds": round(self.seconds, 3),
            "checks": [
                {"name": check.name, "verdict": str(check.verdict), "detail": check.detail} for check in self.checks
            ],
        }


def judge_case(run: CaseRun) -> CaseOutcome:
    if run.plan is None:
        return _judge_commands(run)
    context = CheckContext(run.plan, run.history, run.captures)
    struck, traffic = sum(strikes(context).values()), traffic_of(run)
    checks = tuple(check for check in run_checks(context).results if check.name not in _MEANINGLESS)
    opinion = scapy_agrees(run.captures)
    if opinion is not None:
        checks += (opinion,)
    if run.error and not run.history:
        verdict, detail = Verdict.FAIL, run.error
    elif run.case.must_fail:
        verdict, detail = _judge_control(run.case.must_fail, checks)
        if opinion is not None and opinion.verdict is not Verdict.PASS and verdict is Verdict.PASS:
            verdict, detail = opinion.verdict, f"{opinion.name}: {opinion.detail}"
    else:
        verdict = merge_results(checks)
        worst = next((check for check in checks if check.verdict is verdict), None)
        detail = "" if verdict is Verdict.PASS or worst is None else f"{worst.name}: {worst.detail}"
    if run.error and verdict is not Verdict.PASS and run.error != detail:
        detail = f"{detail} (the workers' side: {run.error})"
    return CaseOutcome(run.case.id, verdict, detail, checks, struck, traffic, run.seconds)


def _judge_control(must_fail: str, checks: tuple[CheckResult, ...]) -> tuple[Verdict, str]:
    found = next((check for check in checks if check.name == must_fail), None)
    if found is not None and found.verdict is Verdict.FAIL:
        return Verdict.PASS, f"fails as it must: {must_fail}: {found.detail}"
    said = "did not apply" if found is None else f"said {found.verdict}: {found.detail}"
    return Verdict.FAIL, f"a negative control that did not fail: {must_fail} {said}"


def _judge_commands(run: CaseRun) -> CaseOutcome:
    statuses, outputs = run.facts.get("statuses", []), run.facts.get("outputs", [])
    good = not run.error and bool(statuses) and all(status == 0 for status in statuses)
    last = " / ".join(line.strip() for text in outputs for line in text.strip().splitlines()[-2:])
    detail = "" if good else f"{run.error or f'exit {statuses}'}: {last}"
    verdict = Verdict.PASS if good else Verdict.FAIL
    return CaseOutcome(run.case.id, verdict, detail, (), 0, None, run.seconds)


def traffic_of(run: CaseRun) -> Traffic | None:
    """Counted in the capture, since a device does not report what it sent again. None without a capture."""
    if run.plan is None or not run.captures:
        return None
    ours = {connection.requests for connection in run.plan.connections}
    seen: set[tuple[tuple[bytes, bytes, int], int]] = set()
    total = 0
    for path in run.captures:
        interfaces: list[Interface] = []
        for captured in read_capture(path, interfaces):
            if captured.outgoing:
                continue
            try:
                frame = parse_frame(captured.frame)
            except MalformedFrame:
                continue
            if frame is not None and frame.role is FrameRole.DATA and frame.connection in ours:
                total += 1
                seen.add((frame.connection, frame.psn))
    return Traffic(total, total - len(seen))
