"""Until when a schedule of a datagram protocol must have ended well, by construction.

These protocols have no retry budget: a packet whose result does not come is sent again for ever. So nothing ends a job but
a node that is killed, and every schedule in which all trouble ends must complete; the question is until when.

The argument. Let w be the longest that a packet waits until it is sent again, T the longest that anything is under way: every
packet of every window, there and back, over the slowest link, with all delays and holds. Let all trouble be over at time Q:
windows of faults have ended, nobody straggles.

1. Take one index of one job, and the lowest block p of that index whose sum some worker lacks. All workers have the sums of
   the blocks before it, so each has p outstanding, has had it summed, or gets to it by step 2.
2. Within w each of them sends p again, and within T it is there: p is summed, and each worker gets the sum, at once or as the
   answer to its repetition. So p ends within w + T, and every index goes on for itself: K blocks in windows of W take
   ceil(K / W) such rounds. A gradient starts when the one before it is complete, or a straggler's pause later.
3. A fault that names attempts takes a packet away once for each direction, however late: a round more for each, in each round.
   A queue of q frames may drop what a window makes of it but for q + 1: a window of W comes through in ceil(W / (q + 1)) rounds.

w is 16 RTO at most, and 64 times that for a packet that was sent more than a hundred times (`workloads/switchml/window.py`),
which takes it a hundred RTO. When trouble and two rounds take less, no wait is ever doubled.

`must_end_ns` adds this up. A drawn schedule has it as its time limit, so that what hangs is told soon.
"""

from __future__ import annotations

from collections.abc import Iterable

from testbed.faults.healing import heals_at
from testbed.faults.model import (
    Burst,
    Delay,
    Drop,
    Duplicate,
    Fault,
    Kill,
    LinkDown,
    Loss,
    PacketFault,
    Pause,
    RateChange,
    Reorder,
)
from testbed.hunt.protocols import protocol_of
from testbed.plan import Plan
from testbed.scenario.model import Scenario
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

__all__ = ["LOSES", "excused", "may_fail", "must_end_ns", "rounds", "travel_ns", "unsurvivable", "window_of"]

LOSES = (Loss, Burst, Drop, LinkDown)
"""faults that take datagrams away"""
_MOST_WAITS = 16
_MOST_DOUBLINGS = 64
_UNDOUBLED = 100
"""RTO in which no wait is doubled"""
_LAST_DIGEST_NS = 100_000_000
"""between the last result and the end of a worker"""
_SECOND = 1_000_000_000


def may_fail(scenario: Scenario) -> str | None:
    """Why some job need not end well; None: all must."""
    return "a node is killed" if any(isinstance(fault, Kill) for fault in scenario.faults) else None


def excused(plan: Plan) -> frozenset[str]:
    """Workers that need not finish: those of the jobs that a killed node has to do with. Jobs beside them must not notice."""
    killed = {fault.node for fault in plan.scenario.faults if isinstance(fault, Kill)}
    switches = {switch.name for switch in plan.switches}
    if killed & switches:
        return frozenset(worker.name for worker in plan.workers)
    return frozenset(
        worker.name for group in plan.groups.values() if killed & {each.name for each in group} for worker in group
    )


def window_of(scenario: Scenario) -> int:
    """W: packets of a worker that may be outstanding."""
    job, protocol = scenario.job, protocol_of(scenario)
    assert protocol is not None, "it has datagrams"
    slots = scenario.switch.memory // (protocol.values_per_index * job.copies)
    return max(1, min(job.window_packets, slots, _blocks(scenario)))


def _blocks(scenario: Scenario) -> int:
    """Of a gradient."""
    return max(1, -(-scenario.job.size_bytes // scenario.transport.path_mtu))


def rounds(scenario: Scenario) -> int:
    """Blocks that follow each other in one index, over all iterations. Exponents of floats take a window more."""
    window, blocks = window_of(scenario), _blocks(scenario)
    packets = max(blocks, window) + window if scenario.job.dtype == "float32" else blocks
    return scenario.job.iterations * -(-packets // window)


def travel_ns(scenario: Scenario) -> int:
    """T."""
    topology, faults = scenario.topology, scenario.faults
    slowest = min(link.shape.rate_bps for link in topology.links)
    slowest = min([slowest, *(fault.rate_bps for fault in faults if isinstance(fault, RateChange))])
    frame = scenario.transport.path_mtu + AGGREGATION_OVERHEAD_BYTES
    serial = 2 * window_of(scenario) * frame * 8 * _SECOND // slowest
    for fault in faults:
        if isinstance(fault, Duplicate):  # of a packet, and of the answer to each copy
            serial = round(serial * (1 + fault.rate) ** len(fault.directions))
    line = 4 * max(link.shape.delay_ns + link.shape.jitter_ns for link in topology.links)
    return serial + line + 4 * sum(map(_hold_ns, faults))


def _hold_ns(fault: Fault) -> int:
    if isinstance(fault, Delay):
        return fault.delay_ns + fault.jitter_ns
    return fault.delay_ns if isinstance(fault, Reorder) else 0


def _attempts(faults: Iterable[Fault]) -> int:
    """Rounds that each round may take more."""
    return sum(
        len(fault.directions)
        for fault in faults
        if isinstance(fault, PacketFault) and isinstance(fault, LOSES) and fault.match.attempt is not None
    )


def must_end_ns(scenario: Scenario) -> int | None:
    """When every job that may end well has ended; None: some trouble has no end."""
    trouble = 0
    for fault in scenario.faults:
        named = isinstance(fault, PacketFault) and fault.match.attempt is not None
        if isinstance(fault, (*LOSES, Pause, RateChange)) and not named:
            end = heals_at(fault)
            if end is None:
                return None
            trouble = max(trouble, end)
        elif isinstance(fault, Kill):
            trouble = max(trouble, fault.window.stop_ns or fault.window.start_ns)
    job, rto, travel = scenario.job, scenario.transport.rto_ns, travel_ns(scenario)
    window, queue = window_of(scenario), min(link.shape.queue_packets for link in scenario.topology.links)
    turns = (1 + _attempts(scenario.faults)) * -(-window // (queue + 1))
    wait = _MOST_WAITS * rto
    if trouble + job.straggle_ns + 2 * turns * (wait + travel) > _UNDOUBLED * rto:
        wait *= _MOST_DOUBLINGS
    calm = rounds(scenario) * turns * (wait + travel)
    return trouble + (job.iterations + 1) * job.straggle_ns + calm + travel + _LAST_DIGEST_NS


def unsurvivable(scenario: Scenario) -> str | None:
    """Why the argument above does not hold for a scenario; None: it does."""
    end = must_end_ns(scenario)
    if end is None:
        return "a fault that takes packets away has no end"
    if end > scenario.time_limit_ns:
        return f"it may take {end} ns; its time limit is {scenario.time_limit_ns} ns"
    return None
