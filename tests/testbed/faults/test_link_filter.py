"""One link direction: every kind of fault, how they compose, order, windows, events, and which port gets which
filter."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from testbed.faults.connections import Connection
from testbed.faults.decide import below, draw, threshold
from testbed.faults.events import FaultHealed, FaultStruck
from testbed.faults.identity import IdentityReader
from testbed.faults.link_filter import LinkFilter
from testbed.faults.matching import ConnectionTable
from testbed.faults.model import (
    Burst,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    EcnMark,
    LinkDown,
    Loss,
    Match,
    Reorder,
    Window,
)
from testbed.plan.filters import make_filters
from tests.support.roce_frames import FIRST_PSN, answer, arp, link_filter, rack_plan, request
from topologies import Direction, Link, LinkShape, Node, Role, Topology
from workloads.errors import InternalError
from workloads.machine import Event, FrameBatch
from workloads.wire import Opcode, decode_packet, icrc_is_valid

LINK = ("h1-s1",)


def events(filter_: LinkFilter) -> list[Event]:
    found = []
    while (event := filter_.next_event()) is not None:
        found.append(event)
    return found


def passed(filter_: LinkFilter, frame: bytes, now: int = 0) -> list[tuple[int, bytes]]:
    return [(delivery.at, delivery.frame) for delivery in filter_.admit(frame, now)]


def test_without_faults_everything_passes_at_once() -> None:
    assert passed(link_filter(), request(1), 5) == [(5, request(1))]


def test_loss_is_what_the_dice_say() -> None:
    fault = Loss("loss-1", LINK, rate=0.3)
    filter_, reader, lost = link_filter(fault, seed=4), IdentityReader(), 0
    stream = filter_._rules[0].stream
    for psn in range(300):
        key = reader.read(request(psn)).key
        struck = below(draw(stream, key, 1), threshold(0.3))
        assert (passed(filter_, request(psn)) == []) == struck
        lost += struck
    assert len(events(filter_)) == lost > 50


def test_a_retransmission_has_a_fate_of_its_own() -> None:
    filter_ = link_filter(Loss("loss-1", LINK, rate=0.5))
    fates = {bool(passed(filter_, request(9))) for _ in range(40)}
    assert fates == {True, False}


def test_the_same_frames_in_another_order_have_the_same_fates() -> None:
    fault = Loss("loss-1", LINK, rate=0.4)
    frames = [request(psn) for psn in range(100)]
    forwards, backwards = link_filter(fault), link_filter(fault)
    there = {frame: bool(passed(forwards, frame)) for frame in frames}
    assert there == {frame: bool(passed(backwards, frame)) for frame in reversed(frames)}


def test_the_event_tells_it_all() -> None:
    filter_ = link_filter(Drop("drop-1", LINK, match=Match(attempt=2)))
    assert passed(filter_, request(77))
    assert not passed(filter_, request(77))
    assert passed(filter_, request(77))
    assert events(filter_) == [
        FaultStruck("drop-1", "drop", "user", "h1-s1", "up", "10.77.0.2>10.77.0.3:513", Opcode.SEND_MIDDLE, 77, 2)
    ]


def test_a_frame_that_is_not_roce_can_be_lost_too() -> None:
    filter_ = link_filter(Loss("loss-1", LINK, rate=0.5))
    fates = [bool(passed(filter_, arp(n))) for n in range(60)]
    assert {True, False} == set(fates)
    struck = events(filter_)[0]
    assert isinstance(struck, FaultStruck)
    assert (struck.flow, struck.opcode) == ("", -1)


@pytest.mark.parametrize("kind", [Corrupt, EcnMark])
def test_only_roce_is_corrupted_and_marked(kind: type[Corrupt] | type[EcnMark]) -> None:
    filter_ = link_filter(kind("f", LINK))
    assert passed(filter_, arp()) == [(0, arp())]
    assert events(filter_) == []


def test_burst_loses_runs_of_psns_and_a_chain_of_its_own_for_each_occurrence() -> None:
    fault = Burst("burst-1", LINK, rate=0.05, recover=0.25)
    filter_ = link_filter(fault)
    first = [not passed(filter_, request(psn)) for psn in range(600)]
    second = [not passed(filter_, request(psn)) for psn in range(600)]
    assert first != second
    runs = "".join("x" if lost else "." for lost in first)
    assert max(map(len, runs.split("."))) >= 4
    assert 0 < sum(first) < 300


def test_burst_with_losses_in_both_states() -> None:
    always = link_filter(Burst("b", LINK, rate=0.5, recover=0.5, loss_bad=1.0, loss_good=1.0))
    assert [psn for psn in range(50) if passed(always, request(psn))] == []
    never = link_filter(Burst("b", LINK, rate=0.5, recover=0.5, loss_bad=0.0, loss_good=0.0))
    assert [psn for psn in range(50) if not passed(never, request(psn))] == []


@pytest.mark.parametrize("bit", [0, 7, 8, 511, 512])
def test_corrupt_flips_the_bit_and_leaves_a_stale_icrc(bit: int) -> None:
    frame = request(5)
    ((_, damaged),) = passed(link_filter(Corrupt("c", LINK, bit=bit)), frame)
    packet, original = decode_packet(damaged), decode_packet(frame)
    assert packet is not None
    assert original is not None
    number = int.from_bytes(packet.payload, "little") ^ int.from_bytes(original.payload, "little")
    assert number == 1 << bit % 512
    assert not icrc_is_valid(damaged)
    assert damaged[:34] == frame[:34]
    assert damaged[-4:] == frame[-4:]


def test_corrupt_with_a_repaired_icrc_looks_genuine() -> None:
    frame = request(5)
    ((_, damaged),) = passed(link_filter(Corrupt("c", LINK, repair_icrc=True)), frame)
    assert damaged != frame
    assert icrc_is_valid(damaged)


def test_the_hash_chooses_the_bit_from_all_of_the_payload_and_nothing_else() -> None:
    filter_, bits = link_filter(Corrupt("c", LINK)), set()
    for psn in range(600):
        frame = request(psn, payload=bytes(9))
        ((_, damaged),) = passed(filter_, frame)
        difference = int.from_bytes(frame, "little") ^ int.from_bytes(damaged, "little")
        assert difference.bit_count() == 1
        bits.add(difference.bit_length() - 1)
    assert min(bits) == 54 * 8
    assert max(bits) == (54 + 9) * 8 - 1
    assert len(bits) == 72


def test_an_ack_is_corrupted_in_its_transport_header_where_the_icrc_sees_it() -> None:
    filter_, touched = link_filter(Corrupt("c", LINK)), set()
    for psn in range(800):
        frame = answer(psn)
        ((_, damaged),) = passed(filter_, frame)
        (at,) = [i for i, (a, b) in enumerate(zip(frame, damaged, strict=True)) if a != b]
        touched.add(at - 42)
    assert touched == set(range(16)) - {4}


def test_duplicate_and_its_delay() -> None:
    assert passed(link_filter(Duplicate("d", LINK)), request(1), 3) == [(3, request(1))] * 2
    late = link_filter(Duplicate("d", LINK, delay_ns=500))
    assert passed(late, request(1), 3) == [(3, request(1)), (503, request(1))]
    assert passed(late, request(2), 4)[0] == (4, request(2))


def test_each_copy_goes_on_to_the_following_faults_with_dice_of_its_own() -> None:
    faults = Duplicate("d", LINK), Loss("l", LINK, rate=0.5)
    filter_ = link_filter(*faults)
    assert {len(passed(filter_, request(psn))) for psn in range(60)} == {0, 1, 2}
    swapped = link_filter(*reversed(faults))
    assert {len(passed(swapped, request(psn))) for psn in range(60)} == {0, 2}


def test_two_duplicates_make_four() -> None:
    filter_ = link_filter(Duplicate("d", LINK), Duplicate("e", LINK))
    assert len(passed(filter_, request(1))) == 4
    assert [event.fault for event in events(filter_) if isinstance(event, FaultStruck)] == ["d", "e", "e"]


def test_reorder_lets_later_frames_overtake() -> None:
    filter_ = link_filter(Reorder("r", LINK, match=Match(psn_offset=0), delay_ns=1000))
    assert passed(filter_, request(FIRST_PSN), 10) == [(1010, request(FIRST_PSN))]
    assert passed(filter_, request(FIRST_PSN + 1), 20) == [(20, request(FIRST_PSN + 1))]


def test_delay_keeps_the_order_also_behind_it() -> None:
    filter_ = link_filter(Delay("d", LINK, match=Match(psn_offset=0), delay_ns=1000, window=Window(0, 50)))
    assert passed(filter_, request(FIRST_PSN), 10) == [(1010, request(FIRST_PSN))]
    assert passed(filter_, request(FIRST_PSN + 1), 20) == [(1010, request(FIRST_PSN + 1))]
    assert passed(filter_, request(FIRST_PSN), 2000) == [(2000, request(FIRST_PSN))]


def test_link_delay_and_jitter_never_reorder_and_stay_in_bounds() -> None:
    filter_ = link_filter(delay_ns=1000, jitter_ns=900)
    times = [filter_.admit(request(psn), psn * 10)[0].at for psn in range(500)]
    assert times == sorted(times)
    alone = [link_filter(delay_ns=1000, jitter_ns=900).admit(request(psn), 0)[0].at for psn in range(300)]
    assert min(alone) >= 100
    assert max(alone) <= 1900
    assert min(alone) < 300 < 1700 < max(alone)
    assert events(filter_) == []


def test_jitter_larger_than_the_delay_never_goes_back_in_time() -> None:
    assert min(link_filter(jitter_ns=500).admit(request(psn), 7)[0].at for psn in range(50)) == 7


def test_ecn_mark_needs_a_capable_sender_and_keeps_the_checksum() -> None:
    filter_ = link_filter(EcnMark("e", LINK))
    ((_, marked),) = passed(filter_, request(1, tos=2))
    packet = decode_packet(marked)  # raises when the IPv4 checksum is wrong
    assert packet is not None
    assert packet.envelope.tos == 3
    assert icrc_is_valid(marked)
    assert len(events(filter_)) == 1
    for tos in (0, 3):
        assert passed(filter_, request(2, tos=tos)) == [(0, request(2, tos=tos))]
    assert events(filter_) == []


def test_ecn_mark_on_ipv6() -> None:
    ((_, marked),) = passed(link_filter(EcnMark("e", LINK)), request(1, tos=1, ipv6=True))
    packet = decode_packet(marked)
    assert packet is not None
    assert packet.envelope.tos == 3


def test_link_down_flaps() -> None:
    filter_ = link_filter(LinkDown("down", LINK, window=Window(100, 110), count=3, period_ns=50))
    up = [now for now in range(90, 270, 5) if passed(filter_, arp(now), now)]
    down = [now for now in range(90, 270, 5) if now not in up]
    assert down == [100, 105, 150, 155, 200, 205]
    told = events(filter_)
    assert sum(isinstance(event, FaultStruck) for event in told) == 6
    assert told[-1] == FaultHealed("down", "h1-s1", ((100, 110), (150, 160), (200, 210)))


def test_a_window_is_half_open_and_its_end_is_told_once() -> None:
    filter_ = link_filter(Drop("drop-1", LINK, window=Window(10, 20)))
    fates = [bool(passed(filter_, request(now), now)) for now in (-5, 9, 10, 19, 20, 30)]
    assert fates == [True, True, False, False, True, True]
    assert [event for event in events(filter_) if isinstance(event, FaultHealed)] == [
        FaultHealed("drop-1", "h1-s1", ((10, 20),))
    ]


@pytest.mark.parametrize("native", [False, True])
def test_before_the_start_of_the_traffic_nothing_strikes_or_counts(native: bool) -> None:
    filter_ = link_filter(Drop("drop-1", LINK, match=Match(attempt=1)), native=native)
    batch = FrameBatch.of(1, 256)
    batch.append(0, request(1))
    for now in (-2, -1):
        assert not filter_.screen(batch, 0, now).any()
        assert passed(filter_, request(1), now) == [(now, request(1))]
    assert not passed(filter_, request(1), 0)


def test_next_event_of_a_quiet_filter() -> None:
    assert link_filter().next_event() is None


def test_fates_do_not_depend_on_pythons_hash_seed() -> None:
    program = (
        "from tests.support.roce_frames import *\n"
        "from testbed.faults.model import *\n"
        "f = link_filter(Loss('a', ('h1-s1',), rate=.3, match=Match(opcodes=frozenset({1, 17, 7}))), Duplicate('b', "
        "rate=.3))\n"
        "print([len(f.admit(request(n), 0)) for n in range(80)])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path) + ":."},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(outputs) == 1


def test_make_filters_serves_only_ports_with_something_to_do() -> None:
    plan = rack_plan([Loss("l", ("h2-s1",), (Direction.UP,), rate=0.1)], hosts=3)
    ingress, egress = make_filters(plan, "s1")
    assert list(ingress) == [1]
    assert egress == {}
    assert (ingress[1].link, ingress[1].direction, ingress[1].backend) == ("h2-s1", Direction.UP, "user")


def test_make_filters_puts_down_on_egress_and_delay_on_both() -> None:
    ingress, egress = make_filters(rack_plan([Drop("d", ("h1-s1",), (Direction.DOWN,))]), "s1", "virtual")
    assert ingress == {}
    assert list(egress) == [0]
    assert egress[0].backend == "virtual"
    ingress, egress = make_filters(rack_plan(shape=LinkShape(delay_ns=10)), "s1")
    assert list(ingress) == list(egress) == [0, 1]
    assert ingress[0].admit(request(1), 0)[0].at == 10


def test_a_link_between_two_switches_is_served_once() -> None:
    shape = LinkShape()
    nodes = (Node("s1", Role.SWITCH, bytes(6), b""), Node("s2", Role.SWITCH, bytes(6), b""))
    plan = rack_plan([Drop("d", ("s1-s2",))])
    scenario, switch = plan.scenario, plan.switches[0]
    plan = replace(
        plan,
        scenario=replace(scenario, topology=Topology("pair", nodes, (Link("s1-s2", "s1", 0, "s2", 0, shape),))),
        switches=(replace(switch, name="s1"), replace(switch, name="s2")),
    )
    sides = [
        (list(side), [f.direction for f in side.values()]) for name in ("s1", "s2") for side in make_filters(plan, name)
    ]
    assert sides == [([0], [Direction.DOWN]), ([], []), ([0], [Direction.UP]), ([], [])]


def test_a_fault_by_message_needs_a_plan_of_messages() -> None:
    plan = rack_plan([Drop("drop-1", LINK, match=Match(message=2))])
    with pytest.raises(InternalError) as refused:
        make_filters(_with_messages(plan, ()), "s1")
    assert str(refused.value) == "fault drop-1 asks for messages, and the plan of the connections names none"
    assert make_filters(_with_messages(plan, (1, 2)), "s1")[0]


def _with_messages(plan, messages):  # type: ignore[no-untyped-def]
    return replace(plan, connections=tuple(replace(c, message_packets=messages) for c in plan.connections))


def test_source_rank_and_answers() -> None:
    connections = (Connection(3, (b"aaaa", b"bbbb", 1), (b"bbbb", b"aaaa", 2), 0, ()),)
    assert ConnectionTable(connections).connection((b"bbbb", b"aaaa", 2)) is connections[0]
    filter_ = link_filter(Drop("d", LINK, match=Match(source_rank=0)))
    assert [len(passed(filter_, frame)) for frame in (request(1), answer(1), request(1, connection=1), arp())] == [
        0,
        0,
        1,
        1,
    ]
