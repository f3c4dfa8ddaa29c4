"""What the world makes of the reports of single nodes: causes of pauses, circles of links, and storms in vain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from testbed.faults.events import FaultHealed, FaultMissed, FaultStruck
from testbed.history import make_record
from testbed.history.pfc_events import BufferMeasured, LinkPaused, PauseAsked, PauseHeld, PfcDeadlocked, WithoutPfc
from testbed.worlds.emulated.lossless.held import find_deadlock
from testbed.worlds.emulated.lossless.reports import PauseReports
from tests.support.lossless_nodes import LosslessNodes
from tests.support.scripted import Network

pytestmark = pytest.mark.protocols("ring")

SWITCHES = 3


def ring(size: int, more: str = "") -> str:
    """Switches in a ring, each with a host."""
    numbers = range(1, size + 1)
    nodes = [f"{{name: {kind}{n}, role: {role}}}" for kind, role in (("h", "host"), ("s", "switch")) for n in numbers]
    links = [f"{{ends: [h{n}, s{n}]}}" for n in numbers] + [f"{{ends: [s{n}, s{n % size + 1}]}}" for n in numbers]
    text = "topology:\n  kind: custom\n  link: {rate: 1Gbps, mtu: 1486}\n  nodes:\n"
    text += "".join(f"    - {node}\n" for node in nodes) + "  links:\n" + "".join(f"    - {link}\n" for link in links)
    return text + f"switch: {{program: forward}}\npfc: {{model: static, threshold: 9kB, buffer: 1MB}}\n{more}"


def reported(network: LosslessNodes) -> tuple[list[Any], PauseReports]:
    records = list[Any]()
    reports = PauseReports(network.scenario, records.append)
    for at, node, event in network.told:
        reports.hear(make_record(at, node, event))
    reports.finish()
    return records, reports


def test_pauses_get_the_cause_that_the_asking_node_saw_and_follow_paused_links() -> None:
    """h2 sends to h1, which takes nothing: s1 pauses s2, and then s2 pauses h2 because of that."""
    text = ring(SWITCHES, "faults: [{kind: pause_storm, node: h1}]\n")
    network, whole = LosslessNodes(text), Network(text)
    for each in (network, whole):
        each.send("h2", "h1", 100, 1000)
        each.run(3_000_000)
    records, _ = reported(network)
    found = [
        {(e.link, e.direction): (e.since_ns, e.root) for e in events if isinstance(e, LinkPaused)}
        for events in ([record.event for record in records], whole.events(LinkPaused))
    ]
    assert found[0] == found[1]
    assert {place: root for place, (_, root) in found[0].items()} == dict.fromkeys(
        [("h1-s1", "down"), ("s1-s2", "down"), ("h2-s2", "up")], "storm of h1"
    )
    assert not any(isinstance(record.event, PfcDeadlocked) for record in records)


def test_a_circle_that_closes_is_found_from_what_each_switch_reports() -> None:
    """Each host sends to the one two switches further, as in pfc-deadlock."""
    network, whole = LosslessNodes(ring(5)), Network(ring(5))
    for each in (network, whole):
        for number in range(1, 6):
            each.send(f"h{number}", f"h{(number + 1) % 5 + 1}", 300, 1000)
        each.run(10_000_000)
    records, _ = reported(network)
    (found,) = (record for record in records if isinstance(record.event, PfcDeadlocked))
    (expected,) = whole.events(PfcDeadlocked)
    assert found.event.cycle == expected.cycle
    assert 0 < found.t < 2_000_000


@pytest.fixture(scope="module")
def three() -> LosslessNodes:
    """Three switches; what they report, the tests make up."""
    return LosslessNodes(ring(SWITCHES))


def held(link: str, since: int, waits_for: str, size: int = 9_000) -> PauseHeld:
    return PauseHeld(link, "up", 3, since, size, 0, {f"{waits_for} up": size})


def circle(*since: int, size: int = 9_000) -> list[tuple[int, str, PauseHeld]]:
    links = ("s1-s2", "s2-s3", "s3-s1")
    ends = ("s2", "s3", "s1")
    return [
        (1_000 + number, ends[number], held(links[number], since[number], links[(number + 1) % SWITCHES], size))
        for number in range(SWITCHES)
    ]


def test_a_circle_is_found_from_three_reports(three: LosslessNodes) -> None:
    found = find_deadlock(three.scenario, circle(100, 300, 200))
    assert found is not None
    since, event = found
    assert since == 300
    assert event == PfcDeadlocked(("s1-s2 up class 3", "s2-s3 up class 3", "s3-s1 up class 3"), 3)


def test_reports_that_never_held_at_one_time_are_no_circle(three: LosslessNodes) -> None:
    """The first switch stopped at 1,000 ns, and something left another one at 1,001 ns."""
    assert find_deadlock(three.scenario, circle(100, 1_001, 200)) is None
    assert find_deadlock(three.scenario, circle(100, 1_000, 200)) is not None


def test_links_that_may_go_on_are_no_circle(three: LosslessNodes) -> None:
    """5,000 of 9,000 B: more than two frames below the threshold."""
    assert find_deadlock(three.scenario, circle(1, 2, 3, size=5_000)) is None
    assert find_deadlock(three.scenario, circle(1, 2, 3)[:2]) is None


def test_slots_that_wait_for_their_own_link_are_a_circle(three: LosslessNodes) -> None:
    pause = PauseHeld("s1-s2", "up", 3, 5, 9_000, 0, {"slots: s1-s2 up": 9_000})
    found = find_deadlock(three.scenario, [(10, "s2", pause)])
    assert found is not None
    assert found[1] == PfcDeadlocked(("s1-s2 up class 3 (slots of s2)",), 1)


def test_a_run_without_losses_is_compared_and_one_with_losses_is_not(three: LosslessNodes) -> None:
    for dropped, compared in ((0, True), (1, False)):
        records = list[Any]()
        reports = PauseReports(three.scenario, records.append)
        reports.hear(make_record(1, "s1", LinkPaused("s1-s2", "up", 3, 1, 2, "")))
        reports.hear(make_record(2, "s1", BufferMeasured("s1-s2", "up", 3, 10, 0, 1, dropped)))
        reports.compare(three.plan, 1_000)
        assert any(isinstance(record.event, WithoutPfc) for record in records) is compared


def test_a_storm_hits_and_heals_and_one_that_holds_nothing_up_is_missed() -> None:
    text = ring(SWITCHES, "faults: [{kind: pause_storm, node: h1, from: 10us, until: 200us}]\n")
    busy, idle = LosslessNodes(text), LosslessNodes(text)
    busy.send("h2", "h1", 50, 1000)
    for network in (busy, idle):
        network.run(1_000_000)
        assert len(network.events(FaultStruck)) == len(network.events(FaultHealed)) == 1
    assert not busy.events(FaultMissed)
    (missed,) = idle.events(FaultMissed)
    assert missed == replace(missed, fault="pause-storm-1", target="h1", strikes=1)


def test_a_storm_that_the_run_ends_is_looked_at_as_well() -> None:
    network = LosslessNodes(ring(SWITCHES, "faults: [{kind: pause_storm, node: h1, from: 10us}]\n")).run(100_000)
    assert len(network.events(FaultMissed)) == 1
    assert network.events(PauseAsked)
