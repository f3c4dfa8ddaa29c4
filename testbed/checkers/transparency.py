"""The network is transparent: RC connections stay end to end, although a switch rewrites payloads (from captures)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from switch_nodes.config import LeafLinks, SwitchConfig
from switch_nodes.kinds import sums
from testbed.captures.capture import DROPPED, TRIMMED, FileCapture
from testbed.checkers.context import Capture, CheckContext
from testbed.checkers.messages import MessageLayout, ring_layout
from testbed.checkers.rules import RULES, PsnClock, Sighting, Violations
from testbed.checkers.rules_hosts import ConnectionRules
from testbed.checkers.rules_irn import IrnConnectionRules
from testbed.checkers.rules_switch import Connection, SwitchRules
from testbed.checkers.transparency_hosts import transparency_at_hosts
from testbed.faults.forge import PLAIN
from testbed.faults.model import Corrupt, Duplicate, Forge, Kill, Reorder
from testbed.history.events import RealLimitReached, TimeLimitReached
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan.rings import PlannedRing
from testbed.terminal.words import amount, times
from topologies import Topology, attachment
from workloads.collectives.kinds import ring_kind
from workloads.config import IRN_HELD, WorkerConfig
from workloads.connected import ConnectedConfig
from workloads.events import QpFailed, WorkerFailed
from workloads.rc.captured import FrameRole, MalformedFrame, RoceFrame, parse_frame

__all__ = ["skip_transparency", "transparency"]

_DATA, _ANSWER = FrameRole.DATA, FrameRole.ANSWER


def skip_transparency(context: CheckContext) -> str | None:
    if not context.plan.ring_workers:
        if any(isinstance(worker, ConnectedConfig) for worker in context.plan.workers):
            return "no switch of this run reads the connections: they are not judged one by one"
        return "the workers talk to the switch itself: there are no connections for it to be transparent to"
    return None if context.plan.scenario.capture else "the scenario turns the capture off (capture: false)"


def transparency(context: CheckContext) -> CheckResult:
    """One pass over each capture, in the order in which the switch saw the frames. A frame that a fault took away
    before the switch counts as sent, not as entered. A damaged frame may enter, but no sum may be made of it.

    What a switch may do to packets is judged at every switch; what hosts may do, at the switches that they hang on.
    """
    if not context.captures:
        return CheckResult("transparency", Verdict.UNKNOWN, "the run left no capture")
    captures = [FileCapture(found) if isinstance(found, Path) else found for found in context.captures]
    if {capture.switch for capture in captures} <= set(context.workers):
        try:
            return transparency_at_hosts(context, captures)
        except (OSError, ValueError) as error:
            return CheckResult("transparency", Verdict.UNKNOWN, f"a capture cannot be read: {error}")
    violations, judged = Violations(), [0, 0, 0]
    for capture in captures:
        try:
            judge = _CaptureJudge(context, violations, capture.switch)
            judge.run(capture)
        except (OSError, ValueError) as error:
            return CheckResult("transparency", Verdict.UNKNOWN, f"the capture {capture.name} cannot be read: {error}")
        judged = [a + b for a, b in zip(judged, judge.judged, strict=True)]
    if violations.total:
        rules = ", ".join(f"rule {rule} {times(count)}" for rule, count in sorted(violations.counts.items()))
        detail = f"violations: {rules}; first: {violations.texts[0]}"
        return CheckResult("transparency", Verdict.FAIL, detail, tuple(violations.texts))
    frames, data, answers = judged
    connections = context.plan.connections
    if not frames and connections and not any(connection.message_packets for connection in connections):
        return CheckResult("transparency", Verdict.PASS, "vectors without elements: no packet was sent, and none left")
    if not data:
        return CheckResult("transparency", Verdict.UNKNOWN, f"no data packet left a switch in {frames} captured frames")
    detail = (
        f"{amount(frames, 'frame')}: {amount(data, 'data packet')} left, each with the headers it came with and a "
        "valid iCRC; "
        f"{amount(answers, 'answer')} "
        "left, each sent by a host"
    )
    return CheckResult("transparency", Verdict.PASS, detail, tuple(f"rule {n}: {text}" for n, text in RULES.items()))


class _CaptureJudge:
    """One capture, one switch."""

    def __init__(self, context: CheckContext, violations: Violations, switch: str) -> None:
        """Raises ValueError when there is no such switch."""
        plan, scenario = context.plan, context.plan.scenario
        if switch not in {config.name for config in plan.switches}:
            raise ValueError(f"the network has no switch {switch}")
        several, beside = len(plan.switches) > 1, attachment(scenario.topology)
        commodity = beside is not None and beside.commodity == switch
        self._detour = frozenset(link.name for link in beside.links) if beside and commodity else frozenset[str]()
        """links of a commodity switch to its accelerator: data that is seen there is on its way between the two"""
        here = {host.name for host in scenario.topology.hosts if _hangs_on(scenario.topology, host.name, switch)}
        self._violations, self._place = violations, switch if several else "the switch"
        self._trims = any(link.shape.trims for link in scenario.topology.links)
        self._names = {host.ip: host.name for host in scenario.topology.hosts}
        self._corrupts = any(isinstance(fault, Corrupt | Forge) for fault in scenario.faults)
        self._seats = {
            ring.requests(rank): _Seat(ring, rank, ring_layout(context, ring))
            for ring in context.rings
            for rank in range(len(ring.members))
        }
        self._clocks = {requests: seat.clock for requests, seat in self._seats.items()}
        config = next(config for config in plan.switches if config.name == switch)
        self._summed = _ranks_at(config)
        # Damage that looks genuine, and a host that starts anew, make endpoints look as if they broke rules.
        forged = any(
            isinstance(fault, Forge) or (isinstance(fault, Corrupt) and fault.repair_icrc) for fault in scenario.faults
        )
        edges = {connection[:2] for connection in self._seats}
        plain = not sums(config.program) or commodity
        summed = {connection for connection, seat in self._seats.items() if seat.is_summed}
        anew = {fault.node for fault in scenario.faults if isinstance(fault, Kill) and fault.window.stop_ns is not None}
        is_leaf = any(isinstance(ring.links, LeafLinks) for ring in config.rings)
        self._switch = SwitchRules(
            violations,
            aggregates=lambda connection: not plain and (connection in summed or (forged and connection[:2] in edges)),
            is_stale=self._is_stale,
            plain_between=any(isinstance(fault, Forge) and fault.what in PLAIN for fault in scenario.faults),
            starts_anew=switch in anew and is_leaf,
        )
        self._by_requests: dict[Connection, ConnectionRules] = {}
        self._by_answers: dict[Connection, ConnectionRules] = {}
        if not (forged or anew):
            in_order = not any(isinstance(fault, Reorder | Duplicate) for fault in scenario.faults)
            has_one_way = scenario.topology.multipath == "flow" and scenario.transport.recovery != IRN_HELD
            for requests, seat in self._seats.items():
                worker = seat.ring.members[seat.rank]
                receiver = seat.ring.names[seat.after]
                if not here & {worker.name, receiver}:
                    continue
                kind = IrnConnectionRules if worker.to_successor.speaks_irn else ConnectionRules
                rules = kind(
                    violations,
                    first_psn=worker.to_successor.first_psn,
                    path_mtu=worker.to_successor.path_mtu,
                    window_packets=_window_packets(worker),
                    # Where the network sprays, or maps go by the spine that they tell of, answers keep their order
                    # only to the switch that their host hangs on.
                    in_order=in_order and (has_one_way or receiver in here),
                    sees_sender=worker.name in here,
                    sees_trims=receiver in here or not self._trims,
                )
                self._by_requests[requests] = self._by_answers[seat.ring.answers(seat.rank)] = rules
        ends = QpFailed, WorkerFailed, TimeLimitReached, RealLimitReached
        self._failed = bool(context.events(*ends)) or not context.all_finished
        self.judged = [0, 0, 0]
        """frames, data packets that left, answers that left"""

    def run(self, capture: Capture) -> None:
        seen = Sighting(self._names, self._place)
        for interface, captured in capture.read():
            seen.number += 1
            seen.time_ns, seen.outgoing = captured.time_ns, captured.outgoing
            seen.interface, seen.frame = interface, None
            raw, comment = captured.frame, captured.comment
            try:
                frame = seen.frame = parse_frame(raw)
            except MalformedFrame as error:
                # What is told of a frame that left: it may be one that a fault made behind the switch.
                if not (seen.outgoing and comment):
                    self._malformed(seen.outgoing, raw, str(error), seen)
                continue
            if frame is not None:
                payload = hash(frame.payload)
                if self._trims and frame.trimmed:
                    self._trimmed(frame, seen, comment)
                elif seen.outgoing:
                    self._left(frame, payload, raw, seen, bool(comment))
                else:
                    self._entered(frame, payload, raw, seen, bool(comment))
        if not self._failed:
            self._switch.finish()
            for rules in self._by_requests.values():
                rules.finish()
        self.judged = [seen.number, self._switch.data_passed, self._switch.answers_passed]

    def _malformed(self, outgoing: bool, raw: bytes, problem: str, seen: Sighting) -> None:
        if not outgoing and self._corrupts:
            self._switch.damaged(raw)
        elif not self._switch.passes_damaged(raw):
            self._violations.add(1, seen, problem)

    def _entered(self, frame: RoceFrame, payload: int, raw: bytes, seen: Sighting, lost: bool) -> None:
        if not frame.icrc_valid:
            if not self._corrupts:
                self._violations.add(1, seen, "its iCRC is wrong, and no fault of the scenario damages packets")
            if not lost:
                self._switch.damaged(raw)
            return
        if not lost:
            self._switch.entered(frame, payload, seen)
        if self._detour and seen.interface in self._detour:
            return
        if frame.role is _DATA:
            rules = self._by_requests.get(frame.connection)
            if rules is not None:
                rules.sent(frame, payload, seen)
            clock = None if lost else self._clocks.get(frame.connection)
            if clock is not None:
                clock.note(clock.absolute(frame.psn))
        elif frame.role is _ANSWER and not lost:
            rules = self._by_answers.get(frame.connection)
            if rules is not None:
                rules.answered(frame, seen)

    def _trimmed(self, frame: RoceFrame, seen: Sighting, comment: str) -> None:
        """Headers that a full queue left of data: that of a port here, or one before."""
        rules = self._by_requests.get(frame.connection)
        if comment.startswith(DROPPED):
            return
        if not seen.outgoing:
            self._switch.entered_trimmed(frame, seen)
            return
        here = comment == TRIMMED
        self._switch.left_trimmed(frame, seen, here=here)
        if rules is not None and seen.interface not in self._detour:
            rules.left_trimmed(frame, here=here)

    def _left(self, frame: RoceFrame, payload: int, raw: bytes, seen: Sighting, lost: bool) -> None:
        if lost:
            # The frame itself was recorded when it left; this tells what became of it.
            rules = self._by_answers.get(frame.connection) if frame.role is _ANSWER else None
            if rules is not None:
                rules.answer_lost(frame)
            return
        self._switch.left(frame, payload, raw, seen)
        if not frame.icrc_valid or (self._detour and seen.interface in self._detour):
            return
        if frame.role is _DATA:
            rules = self._by_requests.get(frame.connection)
            if rules is not None:
                rules.left(frame)
        elif frame.role is _ANSWER:
            rules = self._by_answers.get(frame.connection)
            if rules is not None:
                rules.answer_left(frame, seen)

    def _is_stale(self, connection: Connection, psn: int) -> bool:
        """Whether the receiver has sent a packet of a message that is N later on its own connection. Then, by the
        credit window, it has the result of this one (protocol text, section 4b, rule E).

        Where its own packets do not come by, they are in the sums of the next connection around the ring that does. At
        a spine that is the connection of the receiver's rack; at the leaf of a boundary's sender it is the one that
        brings values down.
        """
        seat = self._seats.get(connection)
        if seat is None:  # a forged connection has no receiver
            return True
        summed, size = self._summed.get(seat.ring.ring_id, frozenset()), len(seat.ring.members)
        around = [(seat.rank + step) % size for step in range(1, size + 1)]
        nearest = next((later for later in around if later in summed), around[0])
        receiver = self._seats[seat.ring.requests(nearest)]
        offset, reached = seat.clock.absolute(psn) - seat.first, receiver.clock.latest - receiver.first
        window = seat.ring.collective.window_messages
        return seat.layout.message_at(reached) >= seat.layout.message_at(offset) + window


class _Seat:
    """A connection of the plan: what its sender has sent so far."""

    def __init__(self, ring: PlannedRing, rank: int, layout: MessageLayout) -> None:
        self.ring, self.rank, self.layout = ring, rank, layout
        self.after = (rank + 1) % len(ring.members)
        """rank of the receiver"""
        self.is_summed = not ring.phase or ring.carries.is_summed
        self.clock = PsnClock(ring.members[rank].to_successor.first_psn)
        self.first = self.clock.latest


def _ranks_at(config: SwitchConfig) -> Mapping[int, frozenset[int]]:
    """By ring: senders of the connections whose packets enter sums at a switch, or bring them."""
    return {
        ring.ring_id: frozenset(member.rank for member in ring.members).union(
            [ring.links.predecessor.rank] if isinstance(ring.links, LeafLinks) else []
        )
        for ring in config.rings
    }


def _hangs_on(topology: Topology, host: str, switch: str) -> bool:
    return any(switch in (link.a, link.b) for _, link, _ in topology.ports(host))


def _window_packets(worker: WorkerConfig) -> int:
    """Most packets that a sender may have unacknowledged. N messages with credit by acknowledgements, 2N by the limit
    of the send queue without; a ring all-reduce is held by the queue pair alone."""
    collective, queue_pair = worker.collective, worker.to_successor.window_packets
    if worker.to_successor.speaks_irn:
        queue_pair = min(queue_pair, worker.to_successor.irn.cap_packets)
    if not ring_kind(collective.kind).in_messages:
        return queue_pair
    messages = collective.window_messages * (2 if collective.credit == "received" else 1)
    return min(queue_pair, messages * collective.message_packets)
