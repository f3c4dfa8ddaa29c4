"""Until when a schedule of a datagram protocol must have ended well, by construction.

These protocols have no retry budget: a packet whose result does not come is sent again for ever. So only two things end
a job: a node that is gone for good, or a sum that leaves int32 where that is reported. Every other schedule must
complete once all trouble has ended.

A worker that restarts is gone: the others went on without it. So is a switch of SwitchML, where a sum that some workers
lack may have been nowhere but in its memory. A restart of a server, or of a switch in a job with a server, is
different. Every sum that some worker lacks can be made again, or another worker has kept it. The question is until
when.

The argument. Let w be the longest that a packet waits until it is sent again. Let T be the longest that anything is
under way: every packet of every window, over every link of its way, with all delays and holds. Let all trouble be over:
windows of faults have ended, no worker straggles. Look at one job and the lowest block p whose sum some worker lacks.
All have the sums before it (of its index, or of its window), so those that lack it have p outstanding.

SwitchML: within w each sends p again, T later p is summed, and each gets the sum, at once or as the answer to its
repetition. One wait, over two tiers too: a leaf that lacks the root's sum sends its own again with each repetition.

ATP: no node has the sum unless the server is done with p, and answers. Within w each sends p as a RESEND, which never
opens a slot: those of p are flushed, at each level, and stay empty. The server may refuse what was flushed, since it
holds some of it already; w later the same workers send their parts alone. One level takes two waits, two levels take
three. Where all n switches of a way may add (`Hunt.every_tier`), it takes n + 1.

ESA: as ATP while no worker has the sum. A switch may have given it to some while the server has no copy. Then the
server opens p for those that ask. It asks the switch 16 RTO later at most, and the workers with the next reminder; one
that has the sum gives it. Two waits, and two of the server's, which w covers. A server of ATP that restarts asks the
workers in the same way.

A repair: within w each donor that lacks the acknowledgement of p sends it again. A switch whose slot has moved on, or
that knows that the newcomer has p, acknowledges it. Else no donor below it has an acknowledgement, the one of the
lowest rank neither, and that one's repetition makes the switch send its sum again. One wait.

DLCP: within w all that left before is acknowledged or late, and the next round begins with p, if its receiver still
wants it. A round may have begun just before. Where switches add, a sum that they send on may hold a sender whose packet
is there already. The others in it then send p alone a wait later, which passes them. Three waits. An iteration has two
vectors, one up and one down.

So p ends within c w + T, c the number of waits. Blocks in one window go on in parallel, so that K blocks take ceil(K /
W) such rounds; K of them where AIMD may shrink the window to one. Then:

- A fault that names attempts takes a packet away once for each direction, however late, and on each tier of links: a
  round more for each, in each round. Several kinds of frames may go one way for a block, and their bytes differ
  (`Hunt.frames_each_way`; four, where there is a server): a round more for each kind.
- Where T is longer than the RTO and no worker backs off, what is under way is sent again, and queues fill. Then T is
  what full queues take.
- A queue of q frames may drop all of what comes at once but q + 1, so that n packets come through in ceil(n / (q + 1))
  rounds.

Where there is a server (`Hunt.backs_off`), all waits are doubled as long as nothing comes back, four times at most: w
is 256 RTO. Else w is 16 RTO while a packet was not sent a hundred times. Then it doubles, after two hundred times
again. So a packet that is outstanding for t waits 16 RTO + t / 100 at most (`workloads/datagrams/retransmission.py`),
and never more than 64 times 16 RTO. A packet is outstanding for the trouble and two rounds, its own and the one before.

`must_end_ns` adds this up. A drawn schedule has it as its time limit, so that a hang is reported soon.
"""

from __future__ import annotations

from collections.abc import Iterable

from switch_nodes.kinds import sums
from testbed.faults.healing import heals_at
from testbed.faults.kinds import FAULT_KINDS
from testbed.faults.model import (
    Duplicate,
    Fault,
    Kill,
    PacketFault,
    Pause,
    RateChange,
)
from testbed.hunt.contract import Hunted, whole_protocol
from testbed.hunt.fault_reach import hold_ns, tiers
from testbed.hunt.protocols import hunted_in
from testbed.hunt.schedule import Survival
from testbed.plan import Plan
from testbed.scenario.model import Job, Scenario
from topologies.routing import tiers as heights
from workloads.config import HostConfig
from workloads.datagrams.training import longest_digest_delay_ns
from workloads.wire.aggregation import AGGREGATION_OVERHEAD_BYTES

__all__ = [
    "LOSES",
    "SURVIVAL",
    "all_must_finish",
    "blocks_of",
    "copies_of",
    "excused",
    "may_fail",
    "must_end_ns",
    "rounds",
    "travel_ns",
    "unsurvivable",
    "window_of",
]

LOSES: tuple[type[PacketFault], ...] = tuple(
    kind.value
    for kind in FAULT_KINDS.values()
    if kind.takes_away and kind.drawn is not None and kind.drawn.datagrams and issubclass(kind.value, PacketFault)
)
"""faults that take datagrams away"""
_SATURATING = "int32sat"
_MOST_WAITS, _MOST_DOUBLINGS = 16, 64
_MOST_BACKOFF = 16
"""times: of workers whose repetitions all go to one server"""
_TRIES = 100
"""before a wait is doubled"""
_KINDS_OF_FRAMES = 4
"""kinds of frames that carry a block towards a server or from it: its packet, the same sent again, a sum of several, a
result alone"""
_SECOND = 1_000_000_000


def may_fail(scenario: Scenario) -> str | None:
    """Why some job need not end well; None: all must."""
    if any(isinstance(fault, Kill) for fault in scenario.faults):
        return "a node is killed"
    told = _tells_overflow(scenario.job.protocol)
    if any((told and job.dtype == _SATURATING) or job.fixed_scale is not None for job in scenario.all_jobs):
        return "a sum may leave int32, which is reported"
    return None


def excused(plan: Plan) -> frozenset[str]:
    """Workers that need not finish: those of jobs that need a node which is gone, or whose sums may overflow.

    Other jobs must not notice. (A switch that restarts may take late copies for contributions, and end with those
    inside.)
    """
    killed = _gone(plan.scenario)
    if killed & {switch.name for switch in plan.switches}:
        return frozenset(worker.name for worker in plan.workers)
    orphans = {job.job for server in plan.servers if server.name in killed for job in server.jobs}
    return frozenset(
        worker.name
        for number, group in plan.groups.items()
        if number in orphans or _may_overflow(group[0]) or killed & {each.name for each in group}
        for worker in group
    )


def all_must_finish(scenario: Scenario) -> bool:
    """True only if `excused` names no worker of the scenario's plan. This is known before there is a plan."""
    if any(job.fixed_scale is not None or job.dtype == _SATURATING for job in scenario.all_jobs):
        return False
    return not _gone(scenario)


def _gone(scenario: Scenario) -> set[str]:
    """Nodes whose killing may end jobs."""
    kills = [fault for fault in scenario.faults if isinstance(fault, Kill)]
    replaceable: set[str] = set()
    """others can make their state again"""
    if _protocol(scenario).server:
        replaceable = {node.name for node in scenario.topology.switches} | {job.server for job in scenario.all_jobs}
    return {kill.node for kill in kills if heals_at(kill) is None or kill.node not in replaceable}


def _may_overflow(worker: HostConfig) -> bool:
    fixed = getattr(worker, "fixed_scale", None) is not None
    return fixed or (worker.collective.arithmetic.dtype == _SATURATING and _tells_overflow(worker.collective.kind))


def _tells_overflow(name: str) -> bool:
    hunt = whole_protocol(name).hunt()
    return hunt is None or hunt.tells_overflow


def _protocol(scenario: Scenario) -> Hunted:
    hunted = hunted_in(scenario)
    assert hunted is not None, "it has datagrams"
    return hunted


def blocks_of(scenario: Scenario, job: Job) -> int:
    """Of a gradient."""
    return max(1, -(-job.size_bytes // scenario.transport.path_mtu))


def window_of(scenario: Scenario, job: Job) -> int:
    """W: packets of a worker that may be outstanding."""
    protocol = _protocol(scenario)
    window = min(job.window_packets, blocks_of(scenario, job))
    if not protocol.server and sums(scenario.switch.program):
        window = min(window, scenario.switch.memory // (protocol.values_per_index * len(scenario.all_jobs)))
    return max(1, window)


def rounds(scenario: Scenario, job: Job) -> int:
    """Rounds that follow each other, over all iterations. Exponents of floats take a window more."""
    window, packets = window_of(scenario, job), blocks_of(scenario, job)
    if job.dtype == "float32":
        packets = max(packets, window) + window
    shrinks = _protocol(scenario).server and scenario.transport.aimd
    each = packets if shrinks else -(-packets // window)
    return job.iterations * _protocol(scenario).hunt.vectors * each


def _outstanding(scenario: Scenario) -> int:
    """Packets of all workers that may be on one link at once: of one, where switches send but sums."""
    jobs = scenario.all_jobs
    if not _protocol(scenario).server and sums(scenario.switch.program):
        return max(window_of(scenario, job) for job in jobs)
    return sum(window_of(scenario, job) * (len(job.hosts) or len(scenario.ranks)) for job in jobs)


def _hops(scenario: Scenario) -> int:
    """Links of a packet's way and of its answer's."""
    return 2 * (_switches(scenario) + 1)


def _switches(scenario: Scenario) -> int:
    """On a packet's way, three where nothing says more."""
    alone, height = len(scenario.topology.switches) == 1, max(heights(scenario.topology).values())
    return 1 if alone else max(3, 2 * height - 1)


def travel_ns(scenario: Scenario) -> int:
    """T."""
    topology, faults, hops = scenario.topology, scenario.faults, _hops(scenario)
    serial = hops // 2 * _outstanding(scenario) * _frame_ns(scenario)
    serial = round(serial * copies_of(scenario))
    line = hops * max(link.shape.delay_ns + link.shape.jitter_ns for link in topology.links)
    return serial + line + hops * sum(map(hold_ns, faults))


def _under_way_ns(scenario: Scenario) -> int:
    """T, with what is repeated while it is under way."""
    travel = travel_ns(scenario)
    if travel <= scenario.transport.chosen_rto_ns or _protocol(scenario).backs_off:
        return travel
    most = max(link.shape.queue_packets for link in scenario.topology.links) + 1
    return travel + _hops(scenario) * most * _frame_ns(scenario)


def _frame_ns(scenario: Scenario) -> int:
    """A full one on the slowest link, rounded up."""
    rates = [link.shape.rate_bps for link in scenario.topology.links]
    rates += [fault.rate_bps for fault in scenario.faults if isinstance(fault, RateChange)]
    return -(-(scenario.transport.path_mtu + AGGREGATION_OVERHEAD_BYTES) * 8 * _SECOND // min(rates))


def copies_of(scenario: Scenario) -> float:
    """How many frames one may become on its way and its answer's: a copy is doubled again on each tier of links."""
    copies = 1.0
    for fault in scenario.faults:
        if isinstance(fault, Duplicate):
            copies *= (1 + fault.rate) ** (len(fault.directions) * tiers(scenario, fault))
    return copies


def _attempts(scenario: Scenario) -> int:
    """Rounds that each round may take more."""
    protocol = _protocol(scenario)
    kinds = _KINDS_OF_FRAMES if protocol.server else protocol.hunt.frames_each_way
    return kinds * sum(
        len(fault.directions) * tiers(scenario, fault)
        for fault in scenario.faults
        if isinstance(fault, PacketFault) and isinstance(fault, LOSES) and fault.match.attempt is not None
    )


def _trouble_ns(faults: Iterable[Fault]) -> int | None:
    """When it has ended; None: never."""
    trouble = 0
    for fault in faults:
        named = isinstance(fault, PacketFault) and fault.match.attempt is not None
        if isinstance(fault, (*LOSES, Pause, RateChange)) and not named:
            end = heals_at(fault)
            if end is None:
                return None
            trouble = max(trouble, end)
        elif isinstance(fault, Kill):
            trouble = max(trouble, fault.window.stop_ns or fault.window.start_ns)
    return trouble


def _waits(scenario: Scenario) -> int:
    """c."""
    if not _protocol(scenario).server:
        return _protocol(scenario).hunt.waits
    asks = _protocol(scenario).knobs or any(isinstance(fault, Kill) for fault in scenario.faults)
    levels = 1 + (len(scenario.topology.switches) > 1)
    if _protocol(scenario).hunt.every_tier:
        return 1 + _switches(scenario) + (2 if asks else 0)
    return 4 if asks else 1 + levels


def must_end_ns(scenario: Scenario) -> int | None:
    """When every job that may end well has ended; None: some trouble has no end."""
    trouble, jobs = _trouble_ns(scenario.faults), scenario.all_jobs
    if trouble is None:
        return None
    rto, travel, waits = scenario.transport.chosen_rto_ns, _under_way_ns(scenario), _waits(scenario)
    queue = min(link.shape.queue_packets for link in scenario.topology.links)
    turns = (1 + _attempts(scenario)) * -(-_outstanding(scenario) // (queue + 1))
    late = max(job.straggle_ns for job in jobs)
    wait, most = _MOST_WAITS * rto, _MOST_WAITS * _MOST_DOUBLINGS * rto
    # wait = 16 RTO + (trouble + 2 turns (waits wait + travel)) / 100
    share = _TRIES - 2 * turns * waits
    wait = min(most, (_TRIES * wait + trouble + late + 2 * turns * travel) // share + 1) if share > 0 else most
    if _protocol(scenario).backs_off:
        wait = _MOST_WAITS * _MOST_BACKOFF * rto
    calm = max(rounds(scenario, job) * turns * (waits * wait + travel) + job.arrival_ns for job in jobs)
    iterations = max(job.iterations for job in jobs)
    digest = longest_digest_delay_ns(len(scenario.ranks))
    return trouble + (iterations + 1) * late + calm + travel + digest


def unsurvivable(scenario: Scenario) -> str | None:
    """Why the argument above does not hold for a scenario; None: it does."""
    end = must_end_ns(scenario)
    if end is None:
        return "a fault that takes packets away has no end"
    if end > scenario.time_limit_ns:
        return f"it may take {end} ns; its time limit is {scenario.time_limit_ns} ns"
    return None


SURVIVAL = Survival(may_fail, unsurvivable, excused)
