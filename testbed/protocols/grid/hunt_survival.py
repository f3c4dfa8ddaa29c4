"""Until when a schedule of GRID must have ended well, by construction.

This is the argument of `survival_datagrams`. It is extended to routes that a plan chose, switches that turn packets
away, workers that keep a pace, and plans that are replaced.

Let all trouble be over: windows of faults have ended, no worker straggles, and the last plan holds. Look at the lowest
block p whose sum some worker lacks. The server sends sums to all, and no worker sends p + W before p is over. So the
workers that lack p have it outstanding. If the server is done with p, it still has the sum.

The server is done with p: each worker that lacks it asks within w, and is answered alone. One wait.

The server is not done: then no node has the sum, and all workers have p outstanding. A packet that leaves as at first
may open a slot. These packets come to an end:

- The first packet of each worker has left.
- A packet that a switch turns away leaves as at first three times at most, each time when its RATE packet comes. From
  then on it leaves as a RESEND.
- A new plan lets each packet leave as at first once, and there is no further plan.

That is over within 4 T. From then on only RESENDs of p are on their way. They open no slot, and no switch turns them
away. Within w each worker sends one. If some switch has a slot of p, it flushes the slot, which stays empty. The server
may refuse what was flushed, since it holds some of it. Within another w the same workers' RESENDs pass alone, each at
most once inside. Two waits, and two more where the server restarted, since it then asks the workers for what it lost
(`survival_datagrams`).

So p ends within c w + 4 T. The other terms are as in `survival_datagrams`:

- Blocks in one window go on together. K of them go one by one where windows shrink.
- A fault that names attempts removes one packet of each kind.
- Short queues take more rounds.

w is 256 RTO. T is the sum of these times:

- The longest way: through every switch to the one that sums, through every switch to the server, and back.
- Every worker's window on each link of this way, and again for each time that a packet may be turned away.
- With a pace, what a window takes at the slowest pace.

Where a plan is replaced, trouble ends when the new plan holds, not when the fault begins. A link or a switch may then
stay away for ever. Where no plan goes around what stays away, nothing must end, and all workers are excused. A switch
that restarts knows nothing, like the other switches after a new plan. A worker that is killed is gone, and its job with
it.
"""

from __future__ import annotations

from collections.abc import Iterable

from testbed.faults.healing import heals_at
from testbed.faults.model import Fault, Kill, LinkDown, Match, PacketFault, Pause, RateChange
from testbed.hunt.fault_reach import hold_ns, tiers
from testbed.hunt.plans import plan_of
from testbed.hunt.schedule import Survival
from testbed.hunt.survival_datagrams import LOSES, blocks_of, copies_of, window_of
from testbed.plan import Plan
from testbed.plan.outages import outages
from testbed.scenario.model import Scenario
from workloads.datagrams.training import longest_digest_delay_ns
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

__all__ = [
    "SURVIVAL",
    "excused", "excused_in", "last_plan_ns", "may_fail", "must_end_ns", "travel_ns", "trouble_ns", "unsurvivable",
]  # fmt: skip

_BACKOFF = 16 * 16
"""RTO: the longest wait of a worker whose repetitions all go to one server"""
_TIMES_AS_AT_FIRST = 4
"""times that a packet leaves before it goes around whatever turns it away"""
_KINDS_OF_FRAMES = 5
"""kinds of frames that carry a block, or news of it: its packet, the same sent again, a sum of several, a result alone,
RATE"""
_SECOND = 1_000_000_000


def may_fail(scenario: Scenario) -> str | None:
    """Why the job need not end well; None: it must."""
    if any(isinstance(fault, Kill) for fault in scenario.faults):
        return "a node is killed"
    if scenario.job.dtype == "int32sat":
        return "a sum may leave int32, which is reported"
    return None if _is_reached(scenario) else "no plan goes around what stays away"


def excused(plan: Plan) -> frozenset[str]:
    """Workers that need not finish: all or none."""
    return excused_in(plan.scenario)


def excused_in(scenario: Scenario) -> frozenset[str]:
    """As `excused`."""
    workers = frozenset(node.name for node in scenario.ranks)
    dead = {fault.node for fault in scenario.faults if isinstance(fault, Kill) and heals_at(fault) is None}
    killed = {fault.node for fault in scenario.faults if isinstance(fault, Kill)}
    if killed & workers or scenario.job.server in dead or scenario.job.dtype == "int32sat":
        return workers
    return frozenset() if _is_reached(scenario) else workers


def _is_reached(scenario: Scenario) -> bool:
    """Whether the last plan knows all that is away at last."""
    away = outages(scenario)
    if not away or not (away[-1].links or away[-1].switches):
        return True
    return plan_of(scenario).routing[-1].because_ns == away[-1].at_ns


def last_plan_ns(scenario: Scenario) -> int:
    """From when on it holds."""
    return plan_of(scenario).routing[-1].from_ns if outages(scenario) else 0


def trouble_ns(scenario: Scenario) -> int | None:
    """When it has ended; None: never."""
    if not _is_reached(scenario):
        return None
    trouble = last_plan_ns(scenario)
    switches = {node.name for node in scenario.topology.switches}
    for fault in scenario.faults:
        if not _takes_away(fault):
            continue
        end = heals_at(fault)
        if end is None and not _is_planned_around(fault, switches):
            return None
        trouble = max(trouble, end or 0)
    return trouble


def _takes_away(fault: Fault) -> bool:
    """Until it ends. Those that name attempts take a packet away whenever it comes."""
    named = isinstance(fault, PacketFault) and fault.match.attempt is not None
    return isinstance(fault, (*LOSES, Pause, RateChange, Kill)) and not named


def _is_planned_around(fault: Fault, switches: Iterable[str]) -> bool:
    if isinstance(fault, LinkDown):
        return fault.rate == 1 and fault.match == Match()
    return isinstance(fault, Kill) and fault.node in switches


def must_end_ns(scenario: Scenario) -> int | None:
    """When the job has ended unless it may fail; None: some trouble has no end."""
    trouble = trouble_ns(scenario)
    if trouble is None:
        return None
    job = scenario.job
    queue = min(link.shape.queue_packets for link in scenario.topology.links)
    turns = (1 + _attempts(scenario)) * -(-_outstanding(scenario) // (queue + 1))
    anew = any(isinstance(fault, Kill) for fault in scenario.faults)
    waits, travel = 4 if anew else 2, travel_ns(scenario)
    calm = (
        _rounds(scenario) * turns * (waits * _BACKOFF * scenario.transport.chosen_rto_ns + _TIMES_AS_AT_FIRST * travel)
    )
    digest = longest_digest_delay_ns(len(scenario.ranks))
    return trouble + (job.iterations + 1) * job.straggle_ns + calm + travel + digest + job.arrival_ns


def unsurvivable(scenario: Scenario) -> str | None:
    """Why the argument above does not hold for a scenario; None: it does."""
    end = must_end_ns(scenario)
    if end is None:
        return "a fault that takes packets away has no end"
    if end > scenario.time_limit_ns:
        return f"it may take {end} ns; its time limit is {scenario.time_limit_ns} ns"
    return None


def travel_ns(scenario: Scenario) -> int:
    """T."""
    topology, faults = scenario.topology, scenario.faults
    hops = 3 * len(topology.switches) + 1
    frame = _frame_ns(scenario)
    serial = round(hops * _TIMES_AS_AT_FIRST * _outstanding(scenario) * frame * copies_of(scenario))
    line = hops * max(link.shape.delay_ns + link.shape.jitter_ns for link in topology.links)
    return serial + line + hops * sum(map(hold_ns, faults)) + _pace_ns(scenario)


def _pace_ns(scenario: Scenario) -> int:
    """That a window takes to leave."""
    if scenario.routing is None or scenario.routing.mode != "paced":
        return 0
    every = [getattr(worker, "orders", ()) for worker in plan_of(scenario).workers]
    paces = [orders.rate_bps for each in every for orders in each if orders.rate_bps]
    bits = (window_of(scenario, scenario.job) + 1) * _frame_bits(scenario)
    return round(bits * _SECOND / min(paces)) if paces else 0


def _rounds(scenario: Scenario) -> int:
    """Over all iterations. Windows without a pace may shrink to one packet; exponents of floats go ahead by a
    window."""
    job, window, packets = scenario.job, window_of(scenario, scenario.job), blocks_of(scenario, scenario.job)
    if job.dtype == "float32":
        packets = max(packets, window) + window
    paced = scenario.routing is not None and scenario.routing.mode == "paced"
    return job.iterations * (-(-packets // window) if paced else packets)


def _outstanding(scenario: Scenario) -> int:
    """Packets of all workers."""
    return window_of(scenario, scenario.job) * (len(scenario.job.hosts) or len(scenario.ranks))


def _frame_bits(scenario: Scenario) -> int:
    return (scenario.transport.path_mtu + AGGREGATION_OVERHEAD_BYTES) * 8


def _frame_ns(scenario: Scenario) -> int:
    """A full one on the slowest link, rounded up."""
    rates = [link.shape.rate_bps for link in scenario.topology.links]
    rates += [fault.rate_bps for fault in scenario.faults if isinstance(fault, RateChange)]
    return -(-_frame_bits(scenario) * _SECOND // min(rates))


def _attempts(scenario: Scenario) -> int:
    """Rounds that each round may take more."""
    return _KINDS_OF_FRAMES * sum(
        len(fault.directions) * tiers(scenario, fault)
        for fault in scenario.faults
        if isinstance(fault, PacketFault) and isinstance(fault, LOSES) and fault.match.attempt is not None
    )


SURVIVAL = Survival(may_fail, unsurvivable, excused)
