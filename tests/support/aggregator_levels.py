"""What switches of two levels must do, case by case: those of racks, and the one that has the server and collects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from switch_nodes.aggregators.arrival import AggregatorArrival
from switch_nodes.aggregators.core import AggregatorProgram
from switch_nodes.aggregators.judge import SlotJudge
from switch_nodes.aggregators.served import ServedJob
from switch_nodes.config import SwitchConfig
from switch_nodes.jobs import AggregatorKnobs
from tests.support.aggregator_bench import ACK, EARLY, MakeProgram, Programs, Sent
from tests.support.aggregator_cases import only
from tests.support.aggregator_mutants import AggregatesWhatIsMarked, Mutant
from tests.support.aggregator_network import FIRST_JOB, Layout, Network
from tests.support.switchml_bench import SERVICE_IP
from workloads.datagrams.blocks import ContributionIgnored
from workloads.wire.aggregation import DatagramFlag, DatagramKind
from workloads.wire.ecn import mark_ce

__all__ = ["LEVEL_CASES", "LEVEL_MUTANTS"]

RESEND, COLLISION, EVICTED = int(DatagramFlag.RESEND), int(DatagramFlag.COLLISION), int(DatagramFlag.EVICTED)
ECN, EDGE = int(DatagramFlag.ECN), int(DatagramFlag.EDGE)
JOB, SERVER = FIRST_JOB, 4
"""of one job of four workers, two in each rack, hosts 0 .. 3; its server is host 4"""
OWN, APART = 0, 2
"""where the server is: in rack 0, or in a rack without workers"""


def network(make: MakeProgram, server_rack: int = OWN, knobs: AggregatorKnobs = ACK) -> Network:
    return Network(make, [Layout((2, 2), server_rack)], knobs=knobs)


def deaf(make: MakeProgram, server_rack: int = OWN, knobs: AggregatorKnobs = ACK) -> Network:
    """Its server does nothing by itself."""
    net = network(make, server_rack, knobs)
    net.answering = False
    return net


def send(net: Network, *ranks: int, job: int = JOB) -> None:
    """The first block, or the next; all arrives."""
    for rank in ranks:
        assert net.start(job, rank)
        net.drain()


def left(net: Network, switch: str) -> list[Sent]:
    """Since last asked."""
    found = [sent for name, sent in net.left if name == switch]
    net.left.clear()
    return found


def at_server(net: Network, server: int = SERVER) -> list[Sent]:
    """Since last asked."""
    found = [sent for host, sent in net.arrived if host == server]
    net.arrived.clear()
    return found


def racks_first(programs: Programs) -> None:
    """A rack's sum is one packet; the server gets one for all."""
    for make in programs:
        for server_rack in (OWN, APART):
            net = deaf(make, server_rack)
            send(net, 2)
            assert left(net, "leaf1") == []
            send(net, 3)
            up = only(left(net, "leaf1"))
            assert (up.kind, up.bitmap, up.header.bitmap1, up.flags) == (DatagramKind.DATA, 0b1100, 0b10, EDGE)
            assert at_server(net) == []
            send(net, 0)
            assert at_server(net) == []
            send(net, 1)
            sent = only(at_server(net))
            assert (sent.bitmap, sent.header.bitmap1, sent.flags) == (0b1111, 0b11, 0)


def results_free_on_their_way_down(programs: Programs) -> None:
    """One frame for a rack, which its switch gives to each worker; both levels are free."""
    for make in programs:
        net = deaf(make)
        send(net, 0, 1, 2, 3)
        assert (net.occupied("leaf0"), net.occupied("leaf1")) == (1, 1)
        net.left.clear()
        j = net.jobs[JOB]
        j.done[0] = j.total(0, 0b1111)
        net.server_sends(j, DatagramKind.RESULT, 0, j.table[0][0])
        net.drain()
        assert [s.dst_ip == SERVICE_IP for name, s in net.left if name == "leaf0"] == [False, False, True]
        assert len([s for name, s in net.left if name == "leaf1"]) == 2
        assert all(set(results) == {0} for results in j.results)
        assert (net.occupied("leaf0"), net.occupied("leaf1")) == (0, 0)


def whole_jobs_end(programs: Programs) -> None:
    """Also with a rack of one worker, one without the job, and servers in any rack; nothing collides or is sent
    again."""
    for make in programs:
        for layout in (Layout((2, 2)), Layout((2, 2), 2), Layout((3,), 1), Layout((0, 1, 3), 1), Layout((1, 1, 1), 0)):
            for knobs in (ACK, EARLY, replace(EARLY, ps_copy=False)):
                net = Network(make, [layout], knobs=knobs)
                for _ in range(net.blocks):
                    for rank in range(net.jobs[JOB].size):
                        net.start(JOB, rank)
                    net.drain()
                assert all(len(results) == net.blocks for results in net.jobs[JOB].results)
                net.check_end()


def who_collided_is_not_aggregated_above(programs: Programs) -> None:
    """At the switch of a rack two jobs meet; at the other the second one's slot stays empty."""
    for make in programs:
        net = Network(make, [Layout((0, 2)), Layout((0, 2))], memory=1, window=1)
        net.answering = False
        send(net, 0)
        send(net, 0, 1, job=JOB + 1)
        sent = [s for host, s in net.arrived if host == 5]
        assert [(s.bitmap, s.flags) for s in sent] == [(0b01, COLLISION), (0b10, COLLISION)]
        assert net.occupied("leaf0") == 0


def the_evicted_are_not_aggregated_above(programs: Programs) -> None:
    net = Network(programs.esa, [Layout((0, 2)), Layout((0, 2), 0, 9)], memory=1, window=1)
    net.answering = False
    send(net, 0)
    send(net, 0, job=JOB + 1)
    sent = only(at_server(net, 2))
    assert (sent.bitmap, sent.flags) == (0b01, EVICTED)
    assert net.occupied("leaf0") == 0


def resends_flush_both_levels(programs: Programs) -> None:
    for make in programs:
        for knobs in (ACK, EARLY):
            net = deaf(make, OWN, knobs)
            send(net, 0, 2)
            net.jobs[JOB].sent[3] = 1
            net.timeout(JOB, 3, 0)
            net.drain()
            sent = only(at_server(net))
            assert (sent.bitmap, sent.flags & RESEND) == (0b1101, RESEND)
            assert (net.occupied("leaf0"), net.occupied("leaf1")) == (0, 0)
            net.timeout(JOB, 3, 0)
            net.drain()
            assert at_server(net)[0].bitmap == 0b1000


def reminders_reach_all_levels(programs: Programs) -> None:
    """Each switch of the job answers: with what it has, or its name."""
    net = deaf(programs.esa, OWN, EARLY)
    send(net, 0, 2)
    net.remind(JOB, 0)
    net.drain()
    sent = at_server(net)
    assert [(s.kind, s.bitmap, s.flags) for s in sent] == [(DatagramKind.DATA, bitmap, EVICTED) for bitmap in (1, 4)]
    net.remind(JOB, 0)
    net.drain()
    sent = at_server(net)
    assert [(s.kind, s.bitmap, s.header.bitmap1) for s in sent] == [(DatagramKind.REMINDER_EMPTY, 0, b) for b in (0, 2)]


def early_release_at_both_levels(programs: Programs) -> None:
    """A rack's slot is free when its sum is sent, and nobody waits for the server."""
    net = deaf(programs.esa, APART, EARLY)
    send(net, 2, 3)
    assert (net.occupied("leaf1"), net.occupied("leaf2")) == (0, 1)
    send(net, 0, 1)
    assert (net.occupied("leaf0"), net.occupied("leaf2")) == (0, 0)
    assert all(set(results) == {0} for results in net.jobs[JOB].results)
    copy = only(at_server(net))
    assert (copy.kind, copy.bitmap) == (DatagramKind.RESULT, 0b1111)


def marks_climb(programs: Programs) -> None:
    for make in programs:
        net = deaf(make)
        net.start(JOB, 2)
        net.flights[0].frame = mark_ce(net.flights[0].frame) or b""
        net.drain()
        send(net, 3, 0, 1)
        sent = only(at_server(net))
        assert sent.flags == ECN


def other_racks_come_through_their_switch(programs: Programs) -> None:
    """A single worker of another rack passes on to the server, and a part of a rack is no rack."""
    for make in programs:
        net = deaf(make)
        net.start(JOB, 2)
        flight = net.flights.pop()
        sent = only(net.give("leaf0", 3, flight.frame))
        assert (sent.bitmap, net.occupied("leaf0")) == (0b0100, 0)
        assert net.give("leaf0", 0, flight.frame) == []
        for bitmap, flags in ((0b0100, EDGE), (0b0110, 0), (0b0010, 0), (0b0011, EDGE)):
            net._send(net.jobs[JOB], 2, 0, flags, bitmap0=bitmap)
            assert net.give("leaf0", 3, net.flights.pop().frame) == []
        told = [event.reason for _, event in net.events if isinstance(event, ContributionIgnored)]
        assert told == ["wrong_port", "malformed", "malformed", "malformed", "malformed"]


def results_come_from_above(programs: Programs) -> None:
    """A rack's own worker is no server."""
    for make in programs:
        net = deaf(make, OWN, EARLY)
        send(net, 2)
        j = net.jobs[JOB]
        j.done[0] = j.total(0, 0b1111)
        net.server_sends(j, DatagramKind.RESULT, 0, j.table[0][0])
        assert net.give("leaf1", 0, net.flights.pop().frame) == []
        assert net.occupied("leaf1") == 1


LEVEL_CASES: dict[str, Callable[[Programs], None]] = {
    case.__name__: case
    for case in (
        racks_first, results_free_on_their_way_down, whole_jobs_end, who_collided_is_not_aggregated_above,
        the_evicted_are_not_aggregated_above, resends_flush_both_levels, reminders_reach_all_levels,
        early_release_at_both_levels, marks_climb, other_racks_come_through_their_switch, results_come_from_above,
    )
}  # fmt: skip


class NoEdge(AggregatorProgram):
    """A rack's sum does not say that it is one."""

    def _send_slot(self, a: AggregatorArrival, slot: object, reason: str) -> None:
        before, a.served.collects = a.served.collects, True
        super()._send_slot(a, slot, reason)  # type: ignore[arg-type]
        a.served.collects = before


class RackNeedsTheJob(AggregatorProgram):
    """The switch of a rack waits for all workers of the job."""

    def __init__(self, config: SwitchConfig, *more: AggregatorKnobs) -> None:
        super().__init__(config, *more)
        for served in self.served.values():
            served.target = served.everyone


class NoOtherRacks(AggregatorProgram):
    """What is for all goes to the workers at its own ports."""

    def __init__(self, config: SwitchConfig, *more: AggregatorKnobs) -> None:
        super().__init__(config, *more)
        for served in self.served.values():
            served.heads = ()


class ResultsByWorker(AggregatorProgram):
    """Each worker of another rack gets a frame of its own, past its switch."""

    def __init__(self, config: SwitchConfig, *more: AggregatorKnobs) -> None:
        super().__init__(config, *more)
        for served in self.served.values():
            if served.collects:
                served.here, served.heads = served.config.members, ()


class AggregatesAnybody(SlotJudge):
    """Single workers of another rack are added here."""

    def belongs_here(self, a: AggregatorArrival) -> bool:
        return True


class AggregatesAnything(AggregatesWhatIsMarked):
    """So are those that collided or were evicted at their rack's switch."""

    def belongs_here(self, a: AggregatorArrival) -> bool:
        return True


class RackAnswersItself(AggregatorProgram):
    """The switch of a rack makes results of its rack's sum."""

    def release(self, a: AggregatorArrival) -> None:
        before, a.served.collects = a.served.collects, True
        super().release(a)
        a.served.collects = before


class NamelessRacks(ServedJob):
    def racks_in(self, bitmap: int) -> int:
        return 0


class NoRacksInside(AggregatorProgram):
    """bitmap1 stays empty."""

    def __init__(self, config: SwitchConfig, *more: AggregatorKnobs) -> None:
        super().__init__(config, *more)
        self.served.update({number: NamelessRacks(served.config) for number, served in self.served.items()})


LEVEL_MUTANTS: dict[Mutant, str] = {
    NoEdge: "racks_first",
    RackNeedsTheJob: "racks_first",
    NoOtherRacks: "results_free_on_their_way_down",
    ResultsByWorker: "results_free_on_their_way_down",
    AggregatesAnybody: "other_racks_come_through_their_switch",
    AggregatesAnything: "who_collided_is_not_aggregated_above",
    RackAnswersItself: "early_release_at_both_levels",
    NoRacksInside: "racks_first",
}
