"""Which schedules must end well, by construction, and why the others need not.

The argument. Let R be the RTO and c the retry budget. Let T be the longest that anything is under way: every packet of
every window, there and back, over the slowest link, with all delays and holds. A queue pair fails when its oldest
packet p made no progress for c timeouts: one retry may go at once (a NAK), each further one takes R. Let all
disturbance be over, and look at the QP of rank A with p the oldest that is not acknowledged.

1. Within R every rank that has something unacknowledged goes back and resends it all: RETRYING, SENDING and RNR_WAIT
   have a running timer. Then either the slot of p is complete and A's copy is answered from it (replay), or a
   contribution lacks.
2. A contribution lacks only of a rank that has not posted it. A rank that posted p and has it acknowledged got its
   result from a complete slot. The other rank has not posted p because it has no credit: a result or an ACK of a
   message before is lost. Message m - N was summed, or A had not posted m. So the retransmission of step 1 replays that
   result to it, within R. Then it posts p, and T later the slot is complete.
3. The result of p is released to A's receiver at once or when the head comes to it. A later one that went first makes a
   gap, whose NAK A may ignore (it is RETRYING): one timeout more.

Over leaves and spines the same holds. If the slot of p is not complete at a spine, each boundary's sender has p
unacknowledged (its receiver could have it only from there). It resends p within R, and its leaf sends the sum of its
rack up again. If it is complete there and not at the leaf of A, the sender of the boundary towards that leaf has it
unacknowledged. What it resends brings the value down. A packet makes four hops, not two.

So A makes progress within 2 R + 3 T (3 R are reserved at least), and progress fills its budget up. It fails only if
disturbance lasts longer than (c - 3) R, or (c - 2) R - 3 T where that is less, with no progress in between. What
disturbs, and for how long:

- faults that take packets away act in windows that end (a pause, a slow link too): from the begin of the first one to
  the end of the last;
- a fault that names attempts takes a packet away once for each direction it names: R for each, however many packets
  (over two levels also once per tier of links, once per spine where packets are sprayed, and its answer: `_firsts`;
  over one plain switch the answers that the second fault and further ones take, too);
- a straggler, a receive that is posted late, an RNR timer: as long as they say.

`disturbance` adds these up, `unsurvivable` holds a scenario to it. Faults that lose nothing (delay, reorder, duplicate,
mark, most forgeries) count with what they hold back, into T. `may_fail` names what may end a queue pair correctly.
"""

from __future__ import annotations

from switch_nodes.kinds import sums
from testbed.faults.forge import DEADLY
from testbed.faults.healing import heals_at
from testbed.faults.kinds import FAULT_KINDS
from testbed.faults.model import (
    Delay,
    Duplicate,
    Fault,
    Forge,
    Kill,
    PacketFault,
    Pause,
    RateChange,
    Reorder,
)
from testbed.hunt.fault_reach import equal_ways, hold_ns, tiers
from testbed.hunt.schedule import Survival
from testbed.plan import Plan
from testbed.scenario.geometry import packet_bytes
from testbed.scenario.model import Scenario
from testbed.scenario.protocols.known import protocol_of
from workloads.rc.go_back_n import INFINITE_RNR_RETRY
from workloads.rc.numbers import rnr_wait_ns
from workloads.rc.recovery import rto_ns
from workloads.rc.transport import RELIABLE
from workloads.wire.envelope import ETHERNET
from workloads.wire.packet import EMPTY_FRAME_BYTES

__all__ = ["LOSES", "RESERVE", "SURVIVAL", "allowance_ns", "disturbance_ns", "may_fail", "travel_ns", "unsurvivable"]

RESERVE = 3
"""timeouts that recovery may take once all is quiet"""
LOSES: tuple[type[PacketFault], ...] = tuple(
    kind.value for kind in FAULT_KINDS.values() if kind.takes_away and issubclass(kind.value, PacketFault)
)
"""faults that take packets away"""
_ETHERNET, _ACK_BYTES = ETHERNET.size, EMPTY_FRAME_BYTES + RELIABLE.part_bytes["AETH"]


def may_fail(scenario: Scenario) -> str | None:
    """Why a reported failure (never a wrong sum) is allowed here. None: everything must complete."""
    transport = scenario.transport
    for fault in scenario.faults:
        if isinstance(fault, Kill):
            return "a node is killed"
        if isinstance(fault, Forge) and DEADLY.get(fault.what, frozenset()).intersection(fault.directions):
            return "a forged frame may end a queue pair"
    if transport.receive_late_ns and transport.rnr_retry != INFINITE_RNR_RETRY:
        return "receives come late, and the RNR budget is finite"
    waits = transport.receive_late_ns or scenario.job.straggle_rank is not None
    if transport.retry_count <= RESERVE and (waits or any(_disturbs(fault) for fault in scenario.faults)):
        return "the retry budget is too small for a loss or a wait"
    if transport.retry_count <= RESERVE and _overtake(scenario):
        return "the retry budget is too small where packets overtake each other"
    return None


def _overtake(scenario: Scenario) -> bool:
    """Whether packets overtake each other without a fault, and each time cost a NAK. That is so if equal ways are
    sprayed over, go-back-N keeps nothing that is early, and switches do not sum."""
    sprays = scenario.topology.multipath == "spray" and len(scenario.topology.switches) > 1
    return sprays and not scenario.transport.speaks_irn and not sums(scenario.switch.program)


def _disturbs(fault: Fault) -> bool:
    if isinstance(fault, Forge):
        return fault.what in ("nak_again", "rnr_again")
    return isinstance(fault, (*LOSES, Pause, RateChange, Reorder, Duplicate, Delay))


def travel_ns(scenario: Scenario) -> int:
    """T: an upper bound on how long a window of all hosts is under way, there and back, when nothing is lost."""
    topology = scenario.topology
    hops = _hops(scenario)
    packets = hops * _under_way(scenario)
    slowest = min(link.shape.rate_bps for link in topology.links)
    slowest = min([slowest, *(fault.rate_bps for fault in scenario.faults if isinstance(fault, RateChange))])
    frame = packet_bytes(scenario.transport)[0] + _ETHERNET
    serial = packets * (frame + _ACK_BYTES) * 8 * 1_000_000_000 // slowest
    serial = round(serial * _copies(scenario))
    line = 2 * hops * max(link.shape.delay_ns + link.shape.jitter_ns for link in topology.links)
    held = 2 * hops * sum(hold_ns(fault) for fault in scenario.faults)
    return serial + line + held


def _under_way(scenario: Scenario) -> int:
    """Packets at once on one link: a window of messages, which switches sum; or the gradients of all ranks."""
    job = scenario.job
    window = protocol_of(job.protocol).message_window(job.window_messages, job.message_packets)
    if window is not None:
        return window
    return len(scenario.ranks) * (job.size_bytes // scenario.transport.path_mtu + 1)


def _copies(scenario: Scenario) -> float:
    """How many frames one frame may become on its way there and its answer back.

    Every copy of a boundary packet is sent up again, and answered. What is doubled at each hop is doubled again at the
    next, and so are forged frames (in a rack the reserve bears that).
    """
    if len(scenario.topology.switches) == 1:
        return 1.0
    copies = 1.0
    for fault in scenario.faults:
        if isinstance(fault, Duplicate) and fault.match.message is None:
            copies *= (1 + fault.rate) ** (2 * _hops(scenario))
        if isinstance(fault, Forge) and fault.match.message is None:
            copies *= (1 + fault.rate) ** (2 * len(fault.directions) * tiers(scenario, fault))
    return copies


def _hops(scenario: Scenario) -> int:
    """Links on the longest way of a packet: two in a rack; over spines two more."""
    return 2 if len(scenario.topology.switches) == 1 else 4


def _firsts(scenario: Scenario, fault: PacketFault, *, further: bool) -> int:
    """How often a fault that names attempts may take one packet or its answer away, one timeout after the other. It may
    do so in each direction. Over a fabric it may do so at host links and between switches, and to the answer as well as
    the packet. In a rack the reserve bears that, but not of `further` faults where nothing is summed: there a receiver
    answers each copy, and each answer may be lost. Where packets are sprayed, each copy may take a link that saw none
    before."""
    answers = 2 if fault.match.opcodes is None else 1
    if len(scenario.topology.switches) == 1:
        return len(fault.directions) * (answers if further and not sums(scenario.switch.program) else 1)
    places = tiers(scenario, fault) + (equal_ways(scenario, fault) - 1 if scenario.topology.multipath == "spray" else 0)
    return len(fault.directions) * places * answers


def disturbance_ns(scenario: Scenario) -> int | None:
    """How long faults and delays may hold progress up. None: without end."""
    rto = rto_ns(scenario.transport.chosen_timeout_code) or 0
    begins: list[int] = []
    ends: list[int] = []
    extra, further = 0, False
    for fault in scenario.faults:
        if isinstance(fault, Forge) and fault.what in ("nak_again", "rnr_again"):
            extra += rto
        attempts = isinstance(fault, PacketFault) and fault.match.attempt is not None
        if isinstance(fault, LOSES) and attempts:
            extra += rto * _firsts(scenario, fault, further=further)
            further = True
        elif isinstance(fault, LOSES) or isinstance(fault, Pause | RateChange):  # noqa: SIM101
            end = heals_at(fault)
            if end is None:
                return None
            begins.append(fault.window.start_ns)
            ends.append(end)
    transport, job = scenario.transport, scenario.job
    if transport.receive_late_ns:
        extra += transport.receive_late_ns + rnr_wait_ns(transport.rnr_timer_code)
    if job.straggle_rank is not None:
        extra += job.straggle_ns
    return max(ends, default=0) - min(begins, default=0) + extra


def allowance_ns(scenario: Scenario) -> int:
    """How long progress may be held up in a schedule that still ends well."""
    transport = scenario.transport
    rto, retries = rto_ns(transport.chosen_timeout_code) or 0, transport.retry_count
    return max(0, min((retries - RESERVE) * rto, (retries - RESERVE + 1) * rto - 3 * travel_ns(scenario)))


def unsurvivable(scenario: Scenario) -> str | None:
    """Why the argument above does not hold for a scenario; None: it does."""
    rto = rto_ns(scenario.transport.chosen_timeout_code)
    if rto is None:
        return "no timeout is set, so a lost packet may wait for ever"
    travel = travel_ns(scenario)
    if travel > rto:
        return f"a window takes up to {travel} ns there and back, more than the RTO of {rto} ns"
    disturbed, allowed = disturbance_ns(scenario), allowance_ns(scenario)
    if disturbed is None:
        return "a fault that takes packets away has no end"
    if disturbed > allowed:
        return f"faults may hold up progress for {disturbed} ns; the retries outlast {allowed} ns"
    return None


def _everybody(plan: Plan) -> frozenset[str]:
    return frozenset(worker.name for worker in plan.workers)


SURVIVAL = Survival(may_fail, unsurvivable, _everybody)
