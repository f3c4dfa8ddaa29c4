"""The checkers of PFC, on real runs and on what is wrong with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from switch_nodes.events import PlaneStatistics
from testbed.captures.capture import MemoryTap
from testbed.checkers.context import CheckContext
from testbed.checkers.pfc import pfc_deadlock, pfc_lossless, pfc_pause_time, skip_pfc
from testbed.checkers.pfc_victims import victims_of
from testbed.faults.model import Pause, Window
from testbed.figures.pfc import pfc_metrics
from testbed.history import make_record
from testbed.history.pfc_events import (
    BufferMeasured,
    FlowsPaused,
    LinkPaused,
    PfcDeadlocked,
    PfcDropped,
    WithoutPfc,
)
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.scenario import load_scenario
from testbed.worlds.simulated.lossless.without import first_loss, lossy
from testbed.worlds.simulated.world import Simulation


def run(name: str, *changes: str) -> CheckContext:
    plan = make_plan(load_scenario(name, changes))
    taps = {
        switch.name: MemoryTap(
            switch.name, [link.name for _, link, _ in sorted(plan.scenario.topology.ports(switch.name))]
        )
        for switch in plan.switches
    }
    records = list[Any]()
    simulation = Simulation(plan, records.append, taps)
    simulation.run()
    records.append(first_loss(Simulation(lossy(plan), lambda record: None), simulation.agenda.now))
    return CheckContext(plan, tuple(records), tuple(taps.values()))


@pytest.fixture(scope="module")
def good() -> CheckContext:
    return run("pfc-victim", "job.size=100kB")


def without(context: CheckContext, *kinds: type) -> CheckContext:
    history = tuple(record for record in context.history if not isinstance(record.event, kinds))
    return replace(context, history=history)


def plus(context: CheckContext, event: Any, node: str = "world") -> CheckContext:
    return replace(context, history=(*context.history, make_record(10**6, node, event)))


def test_a_good_run_passes_on_three_legs(good: CheckContext) -> None:
    assert skip_pfc(good) is None
    found = pfc_lossless(good)
    assert found.verdict is Verdict.PASS
    assert "PFC frames asked for a pause" in found.detail
    assert "without PFC a buffer drops a packet from" in found.detail
    assert pfc_deadlock(good).verdict is Verdict.PASS


def test_a_run_without_pfc_is_not_judged() -> None:
    assert skip_pfc(CheckContext(make_plan(load_scenario("rack", world="simulated")), ())) == ""


def test_a_drop_is_a_finding_with_what_was_missing(good: CheckContext) -> None:
    found = pfc_lossless(plus(good, PfcDropped("h1-leaf1", "up", 3, 1100, 5000, 700), "leaf1"))
    assert (found.verdict, found.detail) == (
        Verdict.FAIL,
        "lossless classes lost 1 packet; up to 700 B of headroom were missing",
    )
    assert found.evidence == ("leaf1 at 1 ms: 1100 B of class 3 from h1-leaf1 up; headroom 5000 B, 700 B missing",)


def test_pfc_that_did_not_engage_or_was_not_needed_is_unknown(good: CheckContext) -> None:
    assert pfc_lossless(without(good, BufferMeasured)).verdict is Verdict.UNKNOWN
    unneeded = pfc_lossless(plus(without(good, WithoutPfc), WithoutPfc(-1, "")))
    assert unneeded.verdict is Verdict.UNKNOWN
    assert unneeded.detail.endswith("without PFC no packet is lost either")
    unknown = pfc_lossless(without(good, WithoutPfc))
    assert (unknown.verdict, unknown.detail.endswith("the run without PFC is not known")) == (Verdict.UNKNOWN, True)


def test_a_circle_fails_and_is_printed(good: CheckContext) -> None:
    found = pfc_deadlock(plus(good, PfcDeadlocked(("a-b up class 3", "b-a up class 3"), 5)))
    assert found.verdict is Verdict.FAIL
    assert found.detail.endswith("a-b up class 3 -> b-a up class 3 -> a-b up class 3")
    alone = pfc_deadlock(plus(good, PfcDeadlocked(("a-b up class 3 (slots of b)",), 1)))
    assert "a paused link waits for packets that must come over itself" in alone.detail


def test_a_frame_that_began_in_a_pause_fails(good: CheckContext) -> None:
    """The pauses of a link are reported longer than they were: frames began behind their real ends."""
    assert pfc_pause_time(good).verdict is Verdict.PASS
    wrong = tuple(
        make_record(record.t, record.node, replace(record.event, until_ns=record.event.until_ns + 10_000_000))
        if isinstance(record.event, LinkPaused) and record.event.link == "h2-leaf1"
        else record
        for record in good.history
    )
    found = pfc_pause_time(replace(good, history=wrong))
    assert found.verdict is Verdict.FAIL
    assert found.evidence[0].startswith("h2-leaf1 up: a frame of class 3 began at ")


def in_real_time(context: CheckContext, late_ns: int, node: str = "leaf1", **scenario: Any) -> CheckContext:
    """As if it were of the emulated world, and one node had been late."""
    changed = replace(context.plan.scenario, world="emulated", dilation=50, **scenario)
    history = tuple(
        make_record(record.t, record.node, replace(record.event, lag_max_ns=late_ns))
        if isinstance(record.event, PlaneStatistics) and record.node == node
        else record
        for record in context.history
    )
    return replace(context, plan=replace(context.plan, scenario=changed), history=history)


def test_a_loss_that_a_late_node_explains_is_unknown(good: CheckContext) -> None:
    """700 B take 56 us at 100 Mbit/s."""
    lossy_run = plus(good, PfcDropped("h1-leaf1", "up", 3, 1100, 5000, 700), "leaf1")
    found = pfc_lossless(in_real_time(lossy_run, 60_000))
    assert found.verdict is Verdict.UNKNOWN
    assert found.detail.endswith("up to 60.0 us late, and more came in that time than was missing")
    assert pfc_lossless(in_real_time(lossy_run, 50_000)).verdict is Verdict.FAIL
    assert pfc_lossless(in_real_time(lossy_run, 60_000, "leaf2")).verdict is Verdict.FAIL
    pause = Pause("stop", "leaf1", Window(1, 2))
    assert pfc_lossless(in_real_time(lossy_run, 60_000, faults=(pause,))).verdict is Verdict.FAIL


def test_losses_without_end_are_no_lateness(good: CheckContext) -> None:
    """The second packet in one pause does not fit as a whole: 700 + 1,100 B take 144 us. In two pauses each counts
    alone."""
    loss = PfcDropped("h3-leaf1", "up", 3, 1100, 5000, 700)
    ends = [record.event.until_ns for record in good.events(LinkPaused) if record.event.link == "h3-leaf1"]
    for times, verdict in (((1, 2), Verdict.FAIL), ((ends[0], ends[1]), Verdict.UNKNOWN)):
        history = (*good.history, *(make_record(at, "leaf1", loss) for at in times))
        assert pfc_lossless(in_real_time(replace(good, history=history), 140_000)).verdict is verdict
    longer = (*good.history, *(make_record(at, "leaf1", loss) for at in (1, 2)))
    assert pfc_lossless(in_real_time(replace(good, history=longer), 150_000)).verdict is Verdict.UNKNOWN


def shifted(context: CheckContext, link: str, by_ns: int) -> CheckContext:
    """Pauses of a link are reported to begin earlier than they did."""
    history = tuple(
        make_record(record.t, record.node, replace(record.event, since_ns=max(0, record.event.since_ns - by_ns)))
        if isinstance(record.event, LinkPaused) and record.event.link == link
        else record
        for record in context.history
    )
    return replace(context, history=history)


def test_frames_may_come_late_in_real_time_by_twice_the_slack_of_a_node(good: CheckContext) -> None:
    """At dilation 50 the slack is 80 us: frames that began 140 us behind a pause pass, those at 400 us do not."""
    little, much = shifted(good, "h3-leaf1", 140_000), shifted(good, "h3-leaf1", 400_000)
    assert pfc_pause_time(little).verdict is Verdict.FAIL
    assert pfc_pause_time(in_real_time(little, 0)).verdict is Verdict.PASS
    assert pfc_pause_time(in_real_time(much, 79_000)).verdict is Verdict.FAIL
    found = pfc_pause_time(in_real_time(much, 81_000))
    assert found.verdict is Verdict.UNKNOWN
    assert found.detail == "the machine let nodes act up to 81.0 us late, so captures are no proof"


def test_pauses_are_named_with_their_share_and_victims(good: CheckContext) -> None:
    found = pfc_pause_time(good)
    assert "1 victim of head-of-line blocking" in found.detail
    assert any(line.startswith("10.77.0.4>10.77.0.7 waited ") for line in found.evidence)
    assert pfc_pause_time(without(good, LinkPaused)).detail == "no link was paused"


def test_who_goes_to_what_is_congested_is_no_victim(good: CheckContext) -> None:
    flows = {flow for flow, *_ in victims_of(good)}
    assert flows == {"10.77.0.4>10.77.0.7"}  # h3 to h6
    waited = {flow for record in good.events(FlowsPaused) for flow in record.event.waited_ns}
    assert "10.77.0.3>10.77.0.5" in waited  # h2 to h4


def test_figures_add_up(good: CheckContext) -> None:
    found = pfc_metrics(good)
    assert found is not None
    pauses = [record.event for record in good.events(LinkPaused)]
    assert sum(link["pauses"] for link in found["links"].values()) == len(pauses)
    total = sum(pause.until_ns - pause.since_ns for pause in pauses) / 1e9
    assert sum(link["paused_s"] for link in found["links"].values()) == pytest.approx(total)
    for link in found["links"].values():
        assert sum(link["by_root"].values()) == pytest.approx(link["paused_s"])
        assert 0 < link["share"] < 1
    assert found["victim_flows"] == len({victim["flow"] for victim in found["victims"]}) == 1
    assert all(each["most_used"] <= each["bytes"] for each in found["headroom"].values())
