"""Did the machine keep up? When it did not, correctness is judged all the same, performance figures are not."""

from __future__ import annotations

from switch_nodes.events import PlaneStatistics
from testbed.checkers.context import CheckContext
from testbed.checkers.twins import Figures, Twin, deviation, judge_twin
from testbed.faults.model import RateChange
from testbed.history.events import NodeStarted, ShapingMeasured
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan.paths import overbooked
from topologies import DIRECTIONS, Direction

__all__ = ["CPU_LIMIT", "LAG_LIMIT_NS", "LAG_SAMPLES", "SHAPING_SLACK", "WAIT_LIMIT_NS", "judge_fidelity"]

CPU_LIMIT = 0.9
"""share of one CPU that a node's process may use on average: above, it was the bottleneck rather than the link"""
LAG_LIMIT_NS = 5_000_000
"""from a deadline to its handling, 99th percentile: a fraction of the shortest RTO that scenarios use"""
LAG_SAMPLES = 20
"""deadlines below which a percentile would be one accident"""
WAIT_LIMIT_NS = 2_500_000
"""from being ready to run to running, on average over a node's turns: beyond that the run measures how the machine shares its
CPUs among the nodes. Of many nodes each has few deadlines, but many turns"""
SHAPING_SLACK = 0.03
"""a shaped direction may carry that much more than its rate, beyond one burst"""
_BURST_BYTES = 128 * 1024


def judge_fidelity(context: CheckContext, own: Figures | None = None, twin: Twin | None = None) -> CheckResult:
    """Never FAIL: PASS or UNKNOWN, one reason per line of the evidence. Virtual time has nothing to keep up with. `own`: the
    figures of this run; `twin`: those of the same plan in virtual time."""
    planes = context.events(PlaneStatistics)
    virtual = any(record.event.backend == "virtual" for record in context.events(NodeStarted))
    if virtual:
        return CheckResult("fidelity", Verdict.PASS, "virtual time: no machine to keep up with")
    if not planes:
        return CheckResult("fidelity", Verdict.UNKNOWN, "no node told how its data plane fared", ("no statistics",))
    reasons = _beside_twin(own, twin)
    for record in planes:
        node, wall = record.node, max(1, record.event.wall_ns)
        if record.event.socket_drops:
            reasons.append(
                f"{node}: the kernel dropped {record.event.socket_drops} frames that the node was too slow to take"
            )
        if record.event.cpu_ns / wall > CPU_LIMIT:
            reasons.append(f"{node}: its process used {record.event.cpu_ns / wall:.0%} of a CPU")
        if record.event.deadlines >= LAG_SAMPLES and record.event.lag_p99_ns > LAG_LIMIT_NS:
            reasons.append(
                f"{node}: deadlines were handled {record.event.lag_p99_ns / 1e6:.1f} ms late (99th percentile), "
                f"the limit is {LAG_LIMIT_NS / 1e6:g} ms"
            )
        if record.event.turns >= LAG_SAMPLES and record.event.waited_ns / record.event.turns > WAIT_LIMIT_NS:
            reasons.append(
                f"{node}: waited {record.event.waited_ns / record.event.turns / 1e6:.1f} ms for a CPU each time, "
                f"the limit is {WAIT_LIMIT_NS / 1e6:g} ms"
            )
    changed = {link for fault in context.plan.scenario.faults if isinstance(fault, RateChange) for link in fault.links}
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
    if reasons:
        return CheckResult("fidelity", Verdict.UNKNOWN, "the machine did not keep up: " + reasons[0], tuple(reasons))
    busiest = max(planes, key=lambda record: float(record.event.cpu_ns / max(1, record.event.wall_ns)))
    lag_ns = max((record.event.lag_p99_ns for record in planes if record.event.deadlines >= LAG_SAMPLES), default=0)
    detail = (
        f"{len(planes)} nodes kept up: no frame dropped by a socket or queue, lag at most "
        f"{lag_ns / 1e6:.2f} ms (99th percentile), busiest node "
        f"{busiest.node} at {busiest.event.cpu_ns / max(1, busiest.event.wall_ns):.0%} of a CPU"
    )
    return CheckResult("fidelity", Verdict.PASS, detail + _compared(own, twin))


def _beside_twin(own: Figures | None, twin: Twin | None) -> list[str]:
    return [] if own is None or twin is None else judge_twin(own, twin)


def _compared(own: Figures | None, twin: Twin | None) -> str:
    """How far the figures are from the twin's, in words; empty: nobody compared them."""
    if own is None or twin is None:
        return ""
    if twin.left_out:
        return f"; {twin.left_out}"
    off = deviation(own, twin)
    if off is None:
        return "; neither it nor its twin in virtual time completed" if not own.seconds else ""
    if len(twin.runs) > 1:
        return f"; the JCT is {'within the range' if not off else f'{off:+.1%} from the range'} of {len(twin.runs)} twins in virtual time"
    return f"; the JCT is {off:+.1%} from that in virtual time"
