"""Whether the machine kept up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from switch_nodes.events import PlaneStatistics
from testbed.checkers.context import CheckContext
from testbed.checkers.fidelity import STARVED_LIMIT, judge_fidelity
from testbed.checkers.twins import Figures, Twin
from testbed.faults.model import LinkDown, Loss, Pause, RateChange
from testbed.history.records import of_kind
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from tests.support.judged import altered, changed, good_context, without
from tests.support.records import a_record, event_with
from topologies import spine_leaf

PASS, UNKNOWN = Verdict.PASS, Verdict.UNKNOWN
LOSS = Loss("loss", ("h1-s1",), rate=0.1)


def test_machine_kept_up(good):
    result = judge_fidelity(good)
    assert result.verdict is PASS
    assert "lag at most 200 us" in result.detail


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"socket_drops": 3}, "h2: the kernel dropped 3 frames"),
        ({"cpu_ns": 950_000_000}, "h2: its process used 95% of a CPU"),
        ({"lag_p99_ns": 7_500_000}, "h2: deadlines were handled 7.50 ms late"),
        ({"queue_drops": 4}, "h2: its egress queues refused 4 frames"),
        ({"waited_ns": 100_000_000}, "h2: waited 3.33 ms for a CPU each time, the limit is 2.50 ms"),
    ],
)
def test_machine_did_not_keep_up(good, change, found):
    result = judge_fidelity(changed(good, altered(good.history, "PlaneStatistics", change, node="h2")))
    assert result.verdict is UNKNOWN
    assert found in result.evidence[0]
    assert found in result.detail


def test_few_turns_say_nothing(good):
    change = {"waited_ns": 100_000_000, "turns": 19}
    assert judge_fidelity(changed(good, altered(good.history, "PlaneStatistics", change, node="h2"))).verdict is PASS


def test_few_deadlines_are_neither_judged_nor_told(good):
    change = {"lag_p99_ns": 113_000_000, "deadlines": 19}
    result = judge_fidelity(changed(good, altered(good.history, "PlaneStatistics", change, node="h2")))
    assert result.verdict is PASS
    assert "lag at most 200 us" in result.detail


@pytest.mark.parametrize(
    "change", [{"waited_ns": 100_000_000, "turns": 20}, {"lag_p99_ns": 113_000_000, "deadlines": 20}]
)
def test_twenty_are_enough_to_judge(good, change):
    assert judge_fidelity(changed(good, altered(good.history, "PlaneStatistics", change, node="h2"))).verdict is UNKNOWN


@pytest.mark.parametrize(("size", "verdict"), [(128 * 1024, PASS), (128 * 1024 + 1, UNKNOWN)])
def test_a_shaper_may_let_one_burst_through(good, size, verdict):
    burst = a_record(1, "world", "ShapingMeasured", link="h1-s1", direction="up", rate_bps=100_000_000, bytes=size,
        busy_ns=0, drops=0)  # fmt: skip
    assert judge_fidelity(changed(good, [*good.history, burst])).verdict is verdict


def test_only_a_rate_change_excuses_queues():
    for fault, verdict in ((RateChange("slow", links=("h1-s1",), rate_bps=10**6), PASS), (LOSS, UNKNOWN)):
        context = good_context(fault)
        history = altered(context.history, "PlaneStatistics", {"queue_drops": 4}, node="s1")
        assert judge_fidelity(changed(context, history)).verdict is verdict


def test_shaping():
    context = good_context()
    shaped = a_record(1, "world", "ShapingMeasured", link="h1-s1", direction="up", rate_bps=100_000_000,
        bytes=12_500_000, busy_ns=1_000_000_000, drops=0)  # fmt: skip

    def judged(plan_context, **change):
        return judge_fidelity(changed(plan_context, [*plan_context.history, event_with(shaped, **change)]))

    assert judged(context).verdict is PASS
    assert judged(context, bytes=100).verdict is PASS
    assert "h1-s1 up: the shaper let 10% more through" in judged(context, bytes=13_750_000).detail
    assert "dropped 5 frames" in judged(context, drops=5).detail
    slowed = good_context(RateChange("slow", links=("h1-s1",), rate_bps=10**6))
    assert judged(slowed, drops=5).verdict is PASS


def test_queue_drops_that_a_rate_change_asked_for():
    slowed = good_context(RateChange("slow", links=("h1-s1",), rate_bps=10**6))
    history = altered(slowed.history, "PlaneStatistics", {"queue_drops": 4}, node="s1")
    assert judge_fidelity(changed(slowed, history)).verdict is PASS


def test_queue_drops_where_the_scenario_sends_more_than_a_link_takes():
    rack_context = good_context(protocol="ring", program="forward")
    shape = rack_context.plan.scenario.link
    slow = replace(shape, rate_bps=shape.rate_bps // 4)
    plan = make_plan(replace(rack_context.plan.scenario, topology=spine_leaf([2, 1], 1, shape, slow)))
    shaped = a_record(1, "world", "ShapingMeasured", rate_bps=25_000_000, bytes=100, drops=5,
        busy_ns=1_000_000_000)  # fmt: skip

    def judged(link, direction):
        history = [*rack_context.history, event_with(shaped, link=link, direction=direction)]
        return judge_fidelity(CheckContext(plan, history)).verdict

    assert judged("leaf1-spine1", "up") is judged("leaf2-spine1", "down") is PASS
    assert judged("h1-leaf1", "up") is judged("h3-leaf2", "down") is UNKNOWN
    for node, verdict in (("leaf1", PASS), ("h1", UNKNOWN)):
        refused = [event_with(record, node=node, queue_drops=4) for record in rack_context.history
                   if isinstance(record.event, PlaneStatistics)][:1]  # fmt: skip
        assert judge_fidelity(CheckContext(plan, [*rack_context.history, *refused])).verdict is verdict


def test_virtual_time_and_silence(good):
    assert judge_fidelity(changed(good, without(good.history, "PlaneStatistics"))).verdict is UNKNOWN
    virtual = altered(without(good.history, "PlaneStatistics"), "NodeStarted", {"backend": "virtual"})
    assert judge_fidelity(changed(good, virtual)).verdict is PASS


MACHINE = a_record(
    1, "world", "MachineMeasured", processors=2, wall_ns=10**9, busy_ns=10**9, stolen_ns=0, pressure_ns=None
)
OWN = Figures({"JCT": 1.0}, 0)
AGREES, DISAGREES = Twin((OWN,)), Twin((Figures({"JCT": 0.5}, 0),))


def _starved(context, share: float, node: str = "h2"):
    """A host whose link was idle for that share of the time that frames waited for it."""
    planes = [record.event for record in of_kind(context.history, PlaneStatistics) if record.node == node]
    carried_ns = planes[0].bytes_out * 80
    change = {"starved_ns": round(carried_ns * share / (1 - share))}
    return changed(context, altered(context.history, "PlaneStatistics", change, node=node))


def test_a_link_that_was_idle_although_frames_waited(good):
    result = judge_fidelity(_starved(good, 0.2))
    assert result.verdict is UNKNOWN
    assert result.evidence[0].startswith("h2: h2-s1 was idle for ")
    assert "20% of the time that the host had something to send, the limit is 5%" in result.evidence[0]
    assert judge_fidelity(_starved(good, 0.04)).verdict is PASS
    assert judge_fidelity(_starved(good, STARVED_LIMIT + 0.01)).verdict is UNKNOWN
    assert judge_fidelity(_starved(good, 0.2), OWN, AGREES).verdict is UNKNOWN


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        (RateChange("slow", links=("h2-s1",), rate_bps=10**6), PASS),
        (Pause("still", node="h2"), PASS),
        (Pause("still", node="h1"), UNKNOWN),
    ],
)
def test_a_link_that_a_fault_kept_idle(fault, verdict):
    assert judge_fidelity(_starved(good_context(fault), 0.2)).verdict is verdict


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"stolen_ns": 300_000_000}, "this machine: the hypervisor took 15% of the processors' time, the limit is 5%"),
        ({"busy_ns": 1_960_000_000}, "this machine: its processors were busy for 98% of the run, "),
        ({"busy_ns": 2_020_000_000}, "this machine: its processors were busy for 100% of the run, "),
        ({"busy_ns": 1_960_000_000, "pressure_ns": 700_000_000}, "; some task waited for one for 70% of the time"),
    ],
)
def test_processors_that_others_had(good, change, found):
    context = changed(good, [*good.history, event_with(MACHINE, **change)])
    assert judge_fidelity(changed(good, [*good.history, MACHINE])).verdict is PASS
    alone = judge_fidelity(context)
    assert alone.verdict is UNKNOWN
    assert found in alone.evidence[0]
    assert judge_fidelity(context, OWN, Twin(left_out="no reference run: TCP")).verdict is UNKNOWN
    # Beside a twin that agrees they did no harm; beside one that does not they are the likely cause.
    assert judge_fidelity(context, OWN, AGREES).verdict is PASS
    assert found in judge_fidelity(context, OWN, DISAGREES).evidence[1]


# The job of the good run lasts from 0.4 to 6.9 ms, so that 5 % of it are 0.325 ms.
STOOD = {"stood_ns": 330_000, "stood_until_ns": 3_000_000}


def _stood(context, node="s1", **change):
    return changed(context, altered(context.history, "PlaneStatistics", {**STOOD, **change}, node=node))


@pytest.mark.parametrize("node", ["s1", "h2"])
def test_a_node_that_stood_still_where_no_reference_run_judges(good, node):
    for twin in (None, Twin(left_out="no reference run: TCP")):
        result = judge_fidelity(_stood(good, node), OWN, twin)
        assert result.verdict is UNKNOWN
        (reason,) = result.evidence
        assert reason.startswith(f"{node}: stood still for 330 us, without a processor or in one long computation; ")
        assert reason.endswith("the limit is 325 us, 5% of the job's time")
    assert judge_fidelity(_stood(good, node), OWN, AGREES).verdict is PASS
    assert any("stood still" in text for text in judge_fidelity(_stood(good, node), OWN, DISAGREES).evidence)


@pytest.mark.parametrize(
    "change",
    [
        {"stood_ns": 320_000},
        {"stood_ns": 5_000_000, "stood_until_ns": 400_000},
        {"stood_ns": 5_000_000, "stood_until_ns": 12_000_000},
    ],
    ids=["shorter", "before the traffic", "after the job"],
)
def test_a_stand_still_that_harms_no_figure(good, change):
    assert judge_fidelity(_stood(good, **change)).verdict is PASS


def test_a_longer_stand_still_after_the_job_hides_none_within_it(good):
    later = (5_000_000, 12_000_000)
    stands = {"stood_ns": later[0], "stood_until_ns": later[1], "stands": (later, (330_000, 3_000_000))}
    assert "s1: stood still for 330 us" in judge_fidelity(_stood(good, **stands)).detail
    assert judge_fidelity(_stood(good, **{**stands, "stands": (later, (320_000, 3_000_000))})).verdict is PASS


def test_a_stand_still_that_a_fault_asked_for():
    for node, verdict in (("h2", PASS), ("h1", UNKNOWN)):
        assert judge_fidelity(_stood(good_context(Pause("still", node=node)), "h2")).verdict is verdict


def test_a_stand_still_longer_than_a_timer_counts_in_a_long_job(good):
    quick = replace(good.plan, workers=tuple(_with_timer(worker, 4) for worker in good.plan.workers))
    context = _stood(replace(good, plan=quick), stood_ns=70_000)
    assert judge_fidelity(context).evidence[0].endswith("the limit is 65.5 us, the shortest retransmission timer")
    assert judge_fidelity(_stood(good, stood_ns=70_000)).verdict is PASS


def _with_timer(worker, code):
    ends = {name: replace(getattr(worker, name), timeout_code=code) for name in ("to_successor", "from_predecessor")}
    return replace(worker, **ends)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"misfits": 2}, "h2: dropped 2 frames that are no Ethernet frames of the link's MTU"),
        ({"link_drops": 3}, "h2: lost 3 frames since an interface was down or gone"),
    ],
)
def test_frames_that_a_node_threw_away(good, change, found):
    history = altered(good.history, "PlaneStatistics", change, node="h2")
    assert judge_fidelity(changed(good, history), OWN, AGREES).evidence == (found,)


def test_frames_for_a_link_that_a_fault_takes_down():
    context = good_context(LinkDown("flap", links=("h2-s1",)))
    history = altered(context.history, "PlaneStatistics", {"link_drops": 3}, node="h2")
    assert judge_fidelity(changed(context, history)).verdict is PASS


def test_a_twin_that_disagrees(good):
    waited = altered(good.history, "PlaneStatistics", {"waited_ns": 10**9}, node="h3")
    result = judge_fidelity(changed(good, waited), OWN, DISAGREES)
    assert result.verdict is UNKNOWN
    assert result.evidence[0] == "JCT: +100.0% from the same run in virtual time, the limit is 5%"
    assert result.evidence[-1].startswith("h3: had to wait for a CPU for ")
    assert result.detail.endswith(result.evidence[0])


@pytest.mark.parametrize(
    ("twin", "found"),
    [
        (AGREES, "; the JCT is +0.0% from that in virtual time"),
        (Twin((OWN, OWN)), "; the JCT is within the range of 2 reference runs in virtual time"),
        (
            Twin((Figures({"JCT": 0.98}, 0),) * 2),
            "; the JCT is +2.0% from the range of 2 reference runs in virtual time",
        ),
        (Twin(left_out="no reference run: TCP"), "; no reference run: TCP"),
    ],
)
def test_a_pass_says_how_far_the_twin_is(good, twin, found):
    result = judge_fidelity(good, OWN, twin)
    assert result.verdict is PASS
    assert result.detail.endswith(found)
