"""Priority-based flow control did what it is for: lossless classes lost nothing, no links wait for each other in a
circle, and no frame began during a pause."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from testbed.captures.capture import FileCapture
from testbed.checkers.context import CheckContext
from testbed.checkers.lateness import latest_ns
from testbed.checkers.pfc_losses import excuse_of_lateness, explain_losses
from testbed.checkers.pfc_victims import victims_of
from testbed.faults.model import PacketFault, PauseStorm
from testbed.history.events import TimeLimitReached
from testbed.history.pfc_events import (
    BufferMeasured,
    LinkPaused,
    PfcDeadlocked,
    PfcWatchdogActed,
    PfcWatchdogMeasured,
    WithoutPfc,
)
from testbed.history.verdict import CheckResult, Verdict
from testbed.scenario.lossless import SLACK_NS
from testbed.terminal.numbers import moment, nanoseconds
from testbed.terminal.words import amount, violations
from workloads.wire.dscp import layer_class_of, read_dscp
from workloads.wire.pfc import is_mac_control

__all__ = ["pfc_deadlock", "pfc_lossless", "pfc_pause_time", "skip_pfc"]

_SHOWN = 8


def skip_pfc(context: CheckContext) -> str | None:
    """Most runs have no PFC, and nothing need be said of it."""
    return "" if context.plan.scenario.pfc is None else None


def pfc_lossless(context: CheckContext) -> CheckResult:
    """Three legs: PFC engaged, it held, and without it the same run loses a packet. A storm pauses links that have no
    need of it, so that the third leg is not asked for."""
    found = explain_losses(context)
    drops = found.losses
    if drops:
        texts = tuple(
            f"{record.node} at {moment(record.t)}: {event.size} B of class {event.pfc_class} from {event.link} "
            f"{event.direction}; headroom {event.headroom} B, {event.missing} B missing"
            for record in drops[:_SHOWN]
            for event in [record.event]
        )
        most = max(record.event.missing for record in drops)
        detail = f"lossless classes lost {amount(len(drops), 'packet')}; up to {most} B of headroom were missing"
        explained = len(drops) - found.unexplained
        if explained:
            of_them = "" if not found.unexplained else f" ({explained} of them)"
            detail += f"; explained by faults of these links{of_them}: {', '.join(found.faults)}"
        late = excuse_of_lateness(context, drops)
        if late:
            return CheckResult("pfc_lossless", Verdict.UNKNOWN, f"{detail}; {late}", texts)
        return CheckResult("pfc_lossless", Verdict.FAIL, detail, texts)
    sent = sum(record.event.pauses_sent for record in context.events(BufferMeasured))
    storms = any(isinstance(fault, PauseStorm) for fault in context.plan.scenario.faults)
    if not sent and not storms:
        return CheckResult("pfc_lossless", Verdict.UNKNOWN, "PFC never engaged: no buffer reached its threshold")
    held = f"lossless classes lost nothing; {amount(sent, 'PFC frame')} asked for a pause"
    dropped = sum(record.event.dropped for record in context.events(PfcWatchdogMeasured))
    if dropped:
        held += f"; watchdogs dropped {amount(dropped, 'frame')}"
    for twin in (record.event for record in context.events(WithoutPfc)):
        if twin.dropped_ns >= 0:
            held += f"; without PFC a buffer drops a packet from {twin.link} at {moment(twin.dropped_ns)}"
            return CheckResult("pfc_lossless", Verdict.PASS, held)
        if not storms:
            return CheckResult("pfc_lossless", Verdict.UNKNOWN, f"{held}; without PFC no packet is lost either")
    if storms:
        return CheckResult("pfc_lossless", Verdict.PASS, held)
    return CheckResult("pfc_lossless", Verdict.UNKNOWN, f"{held}; the run without PFC is not known")


def pfc_deadlock(context: CheckContext) -> CheckResult:
    """FAIL with the circle, as links and classes in the order in which they wait."""
    found = context.events(PfcDeadlocked)
    if not found:
        return CheckResult("pfc_deadlock", Verdict.PASS, "no paused links waited for each other in a circle")
    event, since = found[0].event, f"since {moment(found[0].t)} at the latest"
    if len(event.cycle) > 1:
        detail = f"{len(event.cycle)} paused links wait for each other {since}: "
        detail += " -> ".join((*event.cycle, event.cycle[0]))
    else:
        detail = f"a paused link waits for packets that must come over itself {since}: {event.cycle[0]}"
    return CheckResult("pfc_deadlock", Verdict.FAIL, detail, event.cycle)


def pfc_pause_time(context: CheckContext) -> CheckResult:
    """FAIL where a captured frame began during a pause of its class. Otherwise the share of time that each link was
    paused, and the victims of head-of-line blocking."""
    try:
        wrong = _began_in_pauses(context)
    except (OSError, ValueError) as error:
        return CheckResult("pfc_pause_time", Verdict.UNKNOWN, f"a capture cannot be read: {error}")
    if wrong:
        late_ns = latest_ns(context, *(node.name for node in context.plan.scenario.topology.nodes))
        if late_ns > _slack_ns(context):
            late = f"the machine let nodes act up to {nanoseconds(late_ns)} late, so captures are no proof"
            return CheckResult("pfc_pause_time", Verdict.UNKNOWN, late, tuple(wrong[:_SHOWN]))
        return CheckResult("pfc_pause_time", Verdict.FAIL, violations(wrong), tuple(wrong[:_SHOWN]))
    paused = defaultdict[str, int](int)
    for event in (record.event for record in context.events(LinkPaused)):
        paused[f"{event.link} {event.direction}"] += event.until_ns - event.since_ns
    if not paused:
        return CheckResult("pfc_pause_time", Verdict.PASS, "no link was paused")
    end = max((record.t for record in context.history), default=0) or 1
    longest = max(paused, key=lambda place: (paused[place], place))
    detail = f"no frame began during a pause; {amount(len(paused), 'link direction')} paused, {longest} for "
    detail += f"{100 * paused[longest] / end:.1f} % of the run"
    shares = tuple(f"{place}: paused {moment(ns)}, {100 * ns / end:.1f} %" for place, ns in sorted(paused.items()))
    victims = tuple(
        f"{flow} waited {moment(waited)} on {link}, behind {root}, which is not on its path"
        for flow, link, root, waited in victims_of(context)
    )
    if victims:
        detail += f"; {amount(len(victims), 'victim')} of head-of-line blocking"
    if context.events(TimeLimitReached):
        detail += "; the run reached its time limit"
    return CheckResult("pfc_pause_time", Verdict.PASS, detail, (*victims[:_SHOWN], *shares[:_SHOWN]))


def _slack_ns(context: CheckContext) -> int:
    """How late a node may be in the emulated world, by its rules. 0 in virtual time."""
    scenario = context.plan.scenario
    return SLACK_NS // (scenario.dilation or 1) if scenario.world == "emulated" else 0


def _began_in_pauses(context: CheckContext) -> list[str]:
    """Of links that end at a switch, where captures show when a frame came: it began earlier by delay and duration. In
    the emulated world sender and receiver may both be late."""
    late_ns = 2 * _slack_ns(context)
    scenario, pauses = context.plan.scenario, defaultdict[tuple[str, int], list[LinkPaused]](list)
    ends = dict[str, tuple[str, str]]()
    for link in scenario.topology.links:
        ends[link.name] = link.a, link.b
    held = {name for fault in scenario.faults if isinstance(fault, PacketFault) for name in fault.links}
    for event in (record.event for record in context.events(LinkPaused)):
        if event.link not in held and not _is_ignored(context, event):
            pauses[event.link, event.pfc_class].append(event)
    assert scenario.pfc is not None
    wrong = []
    for place in context.captures:
        capture = FileCapture(place) if isinstance(place, Path) else place
        for name, found in capture.read():
            if found.outgoing or found.comment or is_mac_control(found.frame):
                continue
            pfc_class = scenario.pfc.classes[layer_class_of(read_dscp(found.frame))]
            if (name, pfc_class) not in pauses:
                continue
            link, up = scenario.topology.link(name), ends[name][1] == capture.switch
            began = found.time_ns - link.shape.delay_ns - 8 * len(found.frame) * 10**9 // link.shape.rate_bps
            for pause in pauses[name, pfc_class]:
                if (pause.direction == "up") == up and pause.since_ns + 1 + late_ns < began < pause.until_ns - 1:
                    wrong.append(f"{name} {pause.direction}: a frame of class {pfc_class} began at {moment(began)}")
    return wrong


def _is_ignored(context: CheckContext, pause: LinkPaused) -> bool:
    """Whether a watchdog let the class pass in spite of PFC."""
    return any(
        (record.event.link, record.event.direction, record.event.pfc_class)
        == (pause.link, pause.direction, pause.pfc_class)
        and record.event.action != "alert"
        for record in context.events(PfcWatchdogActed)
    )
