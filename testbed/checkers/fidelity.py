"""Whether the machine had enough CPU time. When it had not, correctness is judged all the same, performance figures are
not."""

from __future__ import annotations

from switch_nodes.events import PlaneStatistics
from testbed.checkers.context import CheckContext
from testbed.checkers.lateness import LAG_SAMPLES, shortest_timer_ns, stood_between
from testbed.checkers.twins import TOLERANCE, Figures, Twin, deviation, judge_twin
from testbed.faults.model import LinkDown, Pause, RateChange
from testbed.history import Record
from testbed.history.events import MachineMeasured, NodeStarted, ShapingMeasured, TrafficStarted
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan.paths import overbooked
from testbed.scenario.own_program import is_own_program
from testbed.terminal.numbers import nanoseconds
from topologies import DIRECTIONS, Direction
from workloads.events import CollectiveCompleted, WorkerFinished

__all__ = [
    "BUSY_LIMIT",
    "CPU_LIMIT",
    "LAG_LIMIT_NS",
    "SHAPING_SLACK",
    "STARVED_LIMIT",
    "STOLEN_LIMIT",
    "WAIT_LIMIT_NS",
    "judge_fidelity",
]

CPU_LIMIT = 0.9
"""share of one CPU that a node's process may use on average: above, it was the bottleneck rather than the link"""
LAG_LIMIT_NS = 5_000_000
"""from a deadline to its handling, 99th percentile: a fraction of the shortest RTO that scenarios use"""
WAIT_LIMIT_NS = 2_500_000
"""from being ready to run to running, on average over a node's turns: beyond that the run measures how the machine
shares its CPUs among the nodes. Of many nodes each has few deadlines, but many turns"""
STARVED_LIMIT = 0.05
"""of the time that a host had something to send, in which its link may be idle"""
STOLEN_LIMIT = 0.05
"""of the processors' time, that a hypervisor may give to others"""
BUSY_LIMIT = 0.95
"""of the processors' time, that all processes of this machine may take"""
SHAPING_SLACK = 0.03
"""a shaped direction may carry that much more than its rate, beyond one burst"""
_BURST_BYTES = 128 * 1024
_WORTH_TELLING = 0.05
"""of a run, spent waiting for a CPU"""


def judge_fidelity(context: CheckContext, own: Figures | None = None, twin: Twin | None = None) -> CheckResult:
    """Never FAIL: PASS or UNKNOWN, one reason per line of the evidence. Virtual time needs no CPU time.

    `own`: the figures of this run. The last argument: those of the reference run.
    """
    planes = context.events(PlaneStatistics)
    virtual = any(record.event.backend == "virtual" for record in context.events(NodeStarted))
    if virtual:
        return CheckResult("fidelity", Verdict.PASS, "virtual time does not depend on the CPU time of the machine")
    if not planes:
        return CheckResult(
            "fidelity", Verdict.UNKNOWN, "no node reported statistics of its data plane", ("no statistics",)
        )
    beside = _beside_twin(own, twin)
    reasons = [*beside]
    if beside or twin is None or twin.left_out:
        # Where the reference run agrees, a busy machine has done no harm.
        reasons += _machine(context)
        reasons += _stood_still(context, planes)
    faults = context.plan.scenario.faults
    changed = {link for fault in faults if isinstance(fault, RateChange) for link in fault.links}
    for record in planes:
        reasons += _plane(record)
        reasons += _starved(context, record, changed)
        reasons += _lost_frames(context, record)
    if beside:
        reasons += _longest_wait(planes)
    # Where the scenario sends more than a link takes, a queue that overflows is no sign of a slow machine.
    tight = overbooked(context.plan)
    links = context.plan.scenario.topology.links
    squeezed = {
        link.a if way is Direction.UP else link.b for link in links for way in DIRECTIONS if (link.name, way) in tight
    }
    if not changed:
        reasons += [
            f"{record.node}: its egress queues refused {record.event.queue_drops} frames, and no fault asked for that"
            for record in planes
            if record.event.queue_drops and record.node not in squeezed
        ]
    for measured in (record.event for record in context.events(ShapingMeasured)):
        where = f"{measured.link} {measured.direction}"
        if measured.link in changed:
            continue
        allowed = measured.rate_bps * measured.busy_ns / 8e9
        if measured.bytes > allowed * (1 + SHAPING_SLACK) + _BURST_BYTES:
            excess = measured.bytes / allowed - 1 if allowed else float("inf")
            reasons.append(f"{where}: the shaper let {excess:.0%} more through than its rate allows")
        if measured.drops and (measured.link, measured.direction) not in tight:
            reasons.append(f"{where}: the shaper's queue dropped {measured.drops} frames, and no fault asked for that")
        if measured.trimmed and (measured.link, measured.direction) not in tight:
            reasons.append(f"{where}: its full queue trimmed {measured.trimmed} packets, and no fault asked for that")
    if reasons:
        return CheckResult(
            "fidelity", Verdict.UNKNOWN, "the machine had too little CPU time: " + reasons[0], tuple(reasons)
        )
    busiest = max(planes, key=lambda record: float(record.event.cpu_ns / max(1, record.event.wall_ns)))
    lag_ns = max((record.event.lag_p99_ns for record in planes if record.event.deadlines >= LAG_SAMPLES), default=0)
    detail = (
        f"{len(planes)} nodes had enough CPU time: no frame dropped by a socket or queue, lag at most "
        f"{nanoseconds(lag_ns)} (99th percentile). Busiest node: "
        f"{busiest.node} at {busiest.event.cpu_ns / max(1, busiest.event.wall_ns):.0%} of a CPU"
    )
    return CheckResult("fidelity", Verdict.PASS, detail + _compared(own, twin))


def _plane(record: Record[PlaneStatistics]) -> list[str]:
    """Signs, from one node's data plane, of a machine that is too slow for it."""
    node, wall, reasons = record.node, max(1, record.event.wall_ns), []
    if record.event.socket_drops:
        reasons.append(
            f"{node}: the kernel dropped {record.event.socket_drops} frames that the node was too slow to take"
        )
    if record.event.cpu_ns / wall > CPU_LIMIT:
        reasons.append(f"{node}: its process used {record.event.cpu_ns / wall:.0%} of a CPU")
    if record.event.deadlines >= LAG_SAMPLES and record.event.lag_p99_ns > LAG_LIMIT_NS:
        reasons.append(
            f"{node}: deadlines were handled {nanoseconds(record.event.lag_p99_ns)} late (99th percentile), "
            f"the limit is {nanoseconds(LAG_LIMIT_NS)}"
        )
    if record.event.turns >= LAG_SAMPLES and record.event.waited_ns / record.event.turns > WAIT_LIMIT_NS:
        reasons.append(
            f"{node}: waited {nanoseconds(record.event.waited_ns / record.event.turns)} for a CPU each time, "
            f"the limit is {nanoseconds(WAIT_LIMIT_NS)}"
        )
    return reasons


def _starved(context: CheckContext, record: Record[PlaneStatistics], changed: set[str]) -> list[str]:
    """A host whose link was idle although it had a backlog. Where a fault changes the rate or pauses the host, that is
    meant."""
    node, starved_ns = record.node, record.event.starved_ns
    links = [link for link in context.plan.scenario.topology.links if node in (link.a, link.b)]
    paused = any(isinstance(fault, Pause) and fault.node == node for fault in context.plan.scenario.faults)
    if not starved_ns or paused or changed & {link.name for link in links}:
        return []
    carried_ns = record.event.bytes_out * 8 * 10**9 / sum(link.shape.rate_bps for link in links)
    share = starved_ns / (starved_ns + carried_ns)
    if share <= STARVED_LIMIT:
        return []
    names = ", ".join(link.name for link in links)
    starved = (
        f"{node}: {names} was idle for {nanoseconds(starved_ns)} although frames waited for it, {share:.0%} of the time"
    )
    return [f"{starved} that the host had something to send, the limit is {STARVED_LIMIT:.0%}"]


def _stood_still(context: CheckContext, planes: list[Record[PlaneStatistics]]) -> list[str]:
    """Nodes whose longest stand-still, inside the time of the job, is longer than the time scale of the run. A sender
    timed out meanwhile, or the job may have waited for a good part of its time. A node that a fault pauses is meant to
    stand still."""
    began = min((record.t for record in context.events(TrafficStarted)), default=0)
    ended = max((record.t for record in context.events(CollectiveCompleted, WorkerFinished)), default=None)
    if ended is None:
        return []
    timer_ns = shortest_timer_ns(context.plan)
    limits = [(TOLERANCE * (ended - began), f"{TOLERANCE:.0%} of the job's time")]
    limits += [(float(timer_ns), "the shortest retransmission timer")] if timer_ns else []
    limit_ns, name = min(limits)
    paused = {fault.node for fault in context.plan.scenario.faults if isinstance(fault, Pause)}
    found = [(record.node, stood_between(record, began, ended)) for record in planes if record.node not in paused]
    return [
        f"{node}: stood still for {nanoseconds(stood_ns)}, without a processor or in one long computation; the limit "
        f"is {nanoseconds(limit_ns)}, {name}"
        for node, stood_ns in sorted(found, key=lambda item: -item[1])
        if stood_ns > limit_ns
    ]


def _lost_frames(context: CheckContext, record: Record[PlaneStatistics]) -> list[str]:
    """Frames that a node threw away and that no fault asked for."""
    event, reasons = record.event, []
    if event.misfits and not is_own_program(context.plan.scenario.switch.program):
        reasons.append(f"{record.node}: dropped {event.misfits} frames that are no Ethernet frames of the link's MTU")
    carriers = any(isinstance(fault, LinkDown) for fault in context.plan.scenario.faults)
    if event.link_drops and not carriers:
        reasons.append(f"{record.node}: lost {event.link_drops} frames since an interface was down or gone")
    return reasons


def _longest_wait(planes: list[Record[PlaneStatistics]]) -> list[str]:
    """Which node had most to wait for a processor: the likely cause of figures that are off."""
    worst = max(planes, key=lambda record: record.event.waited_ns)
    share = worst.event.waited_ns / max((record.t for record in planes), default=1)
    if share < _WORTH_TELLING:
        return []
    return [f"{worst.node}: had to wait for a CPU for {share:.0%} of the run, longer than any other node"]


def _machine(context: CheckContext) -> list[str]:
    """What others did to the processors, in words."""
    reasons = []
    for record in context.events(MachineMeasured):
        had_ns = max(1, record.event.wall_ns * record.event.processors)
        if (stolen := record.event.stolen_ns / had_ns) > STOLEN_LIMIT:
            reasons.append(
                f"this machine: the hypervisor took {stolen:.0%} of the processors' time, the limit is "
                f"{STOLEN_LIMIT:.0%}"
            )
        # The kernel counts in ticks of some ms, so that a short run may seem busier than it can be.
        if (busy := min(1.0, record.event.busy_ns / had_ns)) > BUSY_LIMIT:
            own_ns = sum(plane.event.cpu_ns for plane in context.events(PlaneStatistics))
            pressure = (
                ""
                if record.event.pressure_ns is None
                else f"; some task waited for one for {record.event.pressure_ns / max(1, record.event.wall_ns):.0%} of "
                "the time"
            )
            reasons.append(
                f"this machine: its processors were busy for {busy:.0%} of the run, {own_ns / had_ns:.0%} with its "
                f"nodes{pressure}"
            )
    return reasons


def _beside_twin(own: Figures | None, twin: Twin | None) -> list[str]:
    return [] if own is None or twin is None else judge_twin(own, twin)


def _compared(own: Figures | None, twin: Twin | None) -> str:
    """How far the figures are from those of the reference run, in words. Empty: there was no comparison."""
    if own is None or twin is None:
        return ""
    if twin.left_out:
        return f"; {twin.left_out}"
    off = deviation(own, twin)
    if off is None:
        return "; neither it nor its reference run in virtual time completed" if not own.seconds else ""
    if len(twin.runs) > 1:
        return (
            f"; the JCT is {'within the range' if not off else f'{off:+.1%} from the range'} of "
            f"{len(twin.runs)} reference runs in virtual time"
        )
    return f"; the JCT is {off:+.1%} from that in virtual time"
