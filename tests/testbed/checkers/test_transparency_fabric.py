"""Transparency where packets cross several switches: h1 and h2 hang on leaf1, h3 on leaf2, spine1 is between them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from testbed.captures.capture import PcapngTap
from testbed.checkers.context import CheckContext
from testbed.checkers.rules import Sighting, Violations
from testbed.checkers.rules_hosts import ConnectionRules
from testbed.checkers.transparency import transparency
from testbed.faults.model import Duplicate, Loss
from testbed.history.verdict import CheckResult, Verdict
from testbed.hunt.judge import run_and_judge
from testbed.plan import Plan, make_plan
from testbed.scenario import load_scenario
from testbed.scenario.model import Job, Transport
from tests.support.flow_path import flow_path
from tests.support.judged import Frames, good_capture, good_history, small_plan
from tests.support.records import held
from topologies import Direction, LinkShape, spine_leaf
from workloads.machine import FrameBatch
from workloads.rc.captured import RoceFrame
from workloads.wire import PSN_MODULUS, decode_packet, encode_packet, replace_payload

NAK = 0x60


@dataclass(frozen=True)
class Trip:
    """A frame from host to host."""

    source: int
    frame: bytes
    tag: tuple[str, int, int]
    switches: int = 9
    """it is lost behind that many"""


def plan_of(spines: int) -> Plan:
    plain = small_plan(Loss("rain", rate=0.1), protocol="shift", program="forward")
    return make_plan(replace(plain.scenario, topology=spine_leaf([2, 1], spines, LinkShape())))


@pytest.fixture
def plan() -> Plan:
    return plan_of(1)


@pytest.fixture
def frames(plan: Plan) -> Frames:
    return Frames(plan)


@pytest.fixture
def trips(plan: Plan) -> list[Trip]:
    """The whole job."""
    return [Trip(step.port, step.frame, step.tag) for step in good_capture(plan) if not step.outgoing]


def where(trips: list[Trip], kind: str, rank: int, offset: int) -> int:
    return next(number for number, trip in enumerate(trips) if trip.tag == (kind, rank, offset))


def captured(plan: Plan, trips: Iterable[Trip], folder: Path, broken: dict[str, dict[bytes, bytes]]) -> list[Path]:
    """What each switch records. `broken`: frames that a switch turns into others."""
    topology = plan.scenario.topology
    links = {s.name: [link.name for _, link, _ in sorted(topology.ports(s.name))] for s in topology.switches}
    taps = {name: PcapngTap(folder / f"{name}.pcapng", names) for name, names in links.items()}
    now = 0
    for trip in trips:
        envelope = decode_packet(trip.frame).envelope
        path = [link for link, _ in flow_path(plan, topology.hosts[trip.source].name, envelope)]
        frame = trip.frame
        for entry, leave in list(itertools.pairwise(path))[: trip.switches]:
            switch = next(name for name, names in links.items() if entry in names and leave in names)
            for link, outgoing in ((entry, False), (leave, True)):
                if outgoing:
                    frame = broken.get(switch, {}).get(frame, frame)
                now += 1000
                batch = FrameBatch.of(1, 2048)
                batch.append(links[switch].index(link), frame)
                taps[switch].record(batch, 0, 1, now, outgoing)
    for tap in taps.values():
        tap.close()
    return [tap.path for tap in taps.values()]


@pytest.fixture
def judge(plan: Plan, tmp_path: Path):
    def judge(trips: Iterable[Trip], broken: dict[str, dict[bytes, bytes]] | None = None) -> CheckResult:
        paths = captured(plan, trips, tmp_path, broken or {})
        return transparency(CheckContext(plan, good_history(plan), tuple(paths)))

    return judge


def rules(result: CheckResult) -> set[int]:
    assert result.verdict is Verdict.FAIL, result
    return {int(text.split(" ")[1]) for text in result.evidence}


def test_a_run_without_trouble(judge, trips: list[Trip]) -> None:
    result = judge(trips)
    assert result.verdict is Verdict.PASS, result
    # 11 packets and 5 answers on each connection; h1 -> h2 crosses one switch, the two others three each.
    assert "77 data packets left" in result.detail
    assert "35 answers left" in result.detail


def test_a_spine_that_sees_answers_only_judges_no_host(tmp_path: Path) -> None:
    plan = plan_of(3)
    there = flow_path(plan, "h2", plan.workers[1].to_successor.envelope)
    back = flow_path(plan, "h3", plan.workers[2].from_predecessor.envelope)
    assert there[1][0] != back[2][0], "another seed, please"
    trips = [Trip(step.port, step.frame, step.tag) for step in good_capture(plan) if not step.outgoing]
    paths = captured(plan, trips, tmp_path, {})
    assert transparency(CheckContext(plan, good_history(plan), tuple(paths))).verdict is Verdict.PASS


def test_the_receivers_switch_follows_psns_around_their_wrap() -> None:
    """Packets far apart: what is behind the newest must not pass for what is ahead of it."""
    violations = Violations()
    rules = ConnectionRules(violations, first_psn=7, path_mtu=256, window_packets=9, in_order=True, sees_sender=False)
    for number in range(8):
        data, nak = RoceFrame(), RoceFrame()
        data.psn = (7 + number * (PSN_MODULUS // 4)) % PSN_MODULUS
        nak.psn, nak.syndrome, nak.msn = (6 + number * (PSN_MODULUS // 4)) % PSN_MODULUS, NAK, 0
        rules.left(data)
        rules.answered(nak, Sighting({}))
    # There are holes, but something behind each of these PSNs has always left.
    assert set(violations.counts) == {4}


@pytest.mark.parametrize("switches", [0, 1, 2])
def test_loss_anywhere_on_the_way_and_its_repair(judge, plan, frames, trips, switches: int) -> None:
    """Packet 2 of h2 -> h3 is lost, h3 asks for it, h2 sends it again."""
    at = where(trips, "data", 1, 2)
    lost = [*trips[:at], replace(trips[at], switches=switches), *trips[at + 1 :]]
    behind = where(lost, "data", 1, 3)
    nak = Trip(2, frames.answer(1, 2, NAK, 1), ("nak", 1, 2))
    repaired = [*lost[: behind + 1], nak, trips[at], *lost[behind + 1 :]]
    acks = [number for number, trip in enumerate(repaired) if trip.tag[0] == "ack" and number < behind]
    assert not [repaired[number] for number in acks if repaired[number].tag[1:] == (1, 2)]
    assert judge(repaired).verdict is Verdict.PASS


@pytest.mark.parametrize("switches", [0, 1, 2])
def test_an_ack_of_what_never_arrived(judge, trips: list[Trip], switches: int) -> None:
    """Lost behind the sender's leaf, it has left there: only the receiver's leaf can tell."""
    at = where(trips, "data", 1, 2)
    result = judge([*trips[:at], replace(trips[at], switches=switches), *trips[at + 1 :]])
    assert rules(result) == ({2, 4} if switches == 0 else {4})
    assert all("entering leaf2 on " in text for text in result.evidence if text.startswith("rule 4"))


def test_a_nak_without_a_gap_at_the_receiver(judge, frames, trips: list[Trip]) -> None:
    """Behind packet 4 something had left the sender's leaf, but nothing had reached h3."""
    at = where(trips, "data", 1, 5)
    ahead = [*trips[:at], replace(trips[at], switches=1), Trip(2, frames.answer(1, 4, NAK, 2), ("nak", 1, 4))]
    result = judge([*ahead, trips[where(trips, "data", 1, 4)], *trips[at:]])
    assert rules(result) == {5}
    assert "entering leaf2 on " in result.detail


def test_a_nak_that_nobody_heeds(judge, frames, trips: list[Trip]) -> None:
    at = where(trips, "data", 1, 2)
    lost = [*trips[:at], replace(trips[at], switches=2), *trips[at + 1 :]]
    behind = where(lost, "data", 1, 3)
    cut = [trip for trip in lost[behind + 1 :] if trip.tag[1] != 1]
    result = judge([*lost[: behind + 1], Trip(2, frames.answer(1, 2, NAK, 1), ("nak", 1, 2)), *cut])
    assert rules(result) == {5}
    assert "was not sent again" in result.detail


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_sender_that_repeats_a_packet_with_another_payload(judge, trips: list[Trip], rank: int) -> None:
    at = where(trips, "data", rank, 2)
    other = replace(trips[at], frame=replace_payload(trips[at].frame, bytes(256)))
    assert rules(judge([*trips[: at + 1], other, *trips[at + 1 :]])) == {2}


@pytest.mark.parametrize("switch", ["leaf1", "spine1", "leaf2"])
def test_every_switch_must_leave_packets_as_they_are(judge, trips: list[Trip], switch: str) -> None:
    frame = trips[where(trips, "data", 1, 2)].frame
    packet = decode_packet(frame)
    other = encode_packet(replace(packet, bth=replace(packet.bth, dest_qpn=77)))
    result = judge(trips, {switch: {frame: other}})
    assert 7 in rules(result)
    assert f"leaving {switch} on " in next(text for text in result.evidence if text.startswith("rule 7"))


def test_a_spine_that_makes_an_answer_of_its_own(judge, frames, trips: list[Trip]) -> None:
    frame = trips[where(trips, "ack", 1, 3)].frame
    assert 6 in rules(judge(trips, {"spine1": {frame: frames.answer(1, 3, msn=9)}}))


def test_a_capture_of_no_switch(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "s9.pcapng"
    PcapngTap(path, []).close()
    result = transparency(CheckContext(plan, good_history(plan), (path,)))
    assert (result.verdict, result.detail) == (
        Verdict.UNKNOWN,
        "the capture s9.pcapng cannot be read: the network has no switch s9",
    )


@pytest.mark.parametrize("link", ["h2-leaf1", "leaf1-spine1", "leaf2-spine1"])
def test_late_copies_of_boundary_packets_pass_raw_where_the_sums_of_later_ones_came_by(link):
    """The receiver hangs on another leaf: that it has the result shows in the sums that its packets entered."""
    shape = LinkShape(rate_bps=100_000_000)
    base = load_scenario("spine-leaf", world="simulated")
    later = Duplicate("later", (link,), (Direction.UP,), delay_ns=500_000)
    scenario = replace(
        base, topology=spine_leaf([2, 1, 2], 1, shape), link=shape, faults=(later,), capture=True, name="late copies",
        job=Job(size_bytes=1000, message_packets=1, window_messages=1), transport=Transport(path_mtu=256),
    )  # fmt: skip
    failure, history = run_and_judge(scenario)
    assert failure is None
    assert any(held(record, "reason") == "stale_forwarded" for record in history)
