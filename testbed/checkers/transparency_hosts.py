"""Transparency without captures at the switch: from what each host's NIC sent and got.

Clocks of hosts differ, so that nothing is said about the order between them. The check uses rules 1, 6, 7 and 8 of
`rules.RULES`, which ask what came out of the network that never went in. Cables may have lost what was sent and never
came.
"""

from __future__ import annotations

from collections.abc import Iterable

from testbed.checkers.context import Capture, CheckContext
from testbed.checkers.rules import RULES, Sighting, Violations
from testbed.checkers.rules_switch import SwitchRules
from testbed.history.events import CaptureCut
from testbed.history.verdict import CheckResult, Verdict
from testbed.terminal.words import amount, times
from workloads.rc.captured import MalformedFrame, parse_frame

__all__ = ["JUDGED", "transparency_at_hosts"]

JUDGED = (1, 6, 7, 8)


def transparency_at_hosts(context: CheckContext, captures: Iterable[Capture]) -> CheckResult:
    """`captures`: one per host, each named after its host. Raises OSError and ValueError for one that cannot be
    read."""
    by_host = {capture.switch: capture for capture in captures}
    lacking = [name for name in context.workers if name not in by_host]
    cut = sorted({record.node for record in context.events(CaptureCut)})
    if lacking or cut:
        what = f"of {', '.join(lacking)} is missing" if lacking else f"of {', '.join(cut)} reached its limit"
        return CheckResult("transparency", Verdict.UNKNOWN, f"the capture at the interface {what}")
    violations = Violations()
    summed = {
        ring.requests(rank)
        for ring in context.rings
        for rank in range(len(ring.members))
        if not ring.phase or ring.carries.is_summed
    }
    # The own payload of a sender is what its receiver gets of a message that it has already; when it had it, only a
    # capture at the switch would know.
    rules = SwitchRules(violations, aggregates=lambda connection: connection in summed, is_stale=lambda *_: True)
    names = {host.ip: host.name for host in context.plan.scenario.topology.hosts}
    frames = sum(_read(capture, names, violations, rules, sent=True) for capture in by_host.values())
    frames += sum(_read(capture, names, violations, rules, sent=False) for capture in by_host.values())
    if violations.total:
        counts = ", ".join(f"rule {rule} {times(count)}" for rule, count in sorted(violations.counts.items()))
        detail = f"violations: {counts}; first: {violations.texts[0]}"
        return CheckResult("transparency", Verdict.FAIL, detail, tuple(violations.texts))
    if not rules.data_passed:
        return CheckResult(
            "transparency", Verdict.UNKNOWN, f"no data packet reached a host in {frames} captured frames"
        )
    detail = (
        f"{amount(frames, 'frame')} at {amount(len(by_host), 'host')}: {amount(rules.data_passed, 'data packet')} "
        "arrived with the headers that a host sent and a valid iCRC; "
        f"{rules.answers_passed} answers arrived, each sent by a host"
    )
    return CheckResult("transparency", Verdict.PASS, detail, tuple(f"rule {n}: {RULES[n]}" for n in JUDGED))


def _read(capture: Capture, names: dict[bytes, str], violations: Violations, rules: SwitchRules, *, sent: bool) -> int:
    """How many frames of this direction there are."""
    seen, count = Sighting(names, capture.switch), 0
    for interface, captured in capture.read():
        seen.number += 1
        if captured.outgoing is not sent:
            continue
        count += 1
        seen.time_ns, seen.outgoing, seen.interface, seen.frame = captured.time_ns, sent, interface, None
        try:
            frame = seen.frame = parse_frame(captured.frame)
        except MalformedFrame as error:
            violations.add(1, seen, str(error))
            continue
        if frame is None:
            continue
        if not sent:
            rules.left(frame, hash(frame.payload), captured.frame, seen)
        elif frame.icrc_valid:
            rules.entered(frame, hash(frame.payload), seen)
        else:
            violations.add(1, seen, "its iCRC is wrong")
    return count
