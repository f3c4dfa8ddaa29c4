"""The checker of congestion control, and the figures about it, on a real run and on what is wrong with it."""

from dataclasses import replace

import pytest

from testbed.checkers.congestion import congestion, skip_congestion
from testbed.checkers.context import CheckContext
from testbed.figures.congestion import background_metrics, congestion_metrics, marks_of, rate_timeline
from testbed.history import sort_history
from testbed.history.verdict import Verdict
from testbed.plan import make_plan
from testbed.scenario.model import BackgroundFlow
from testbed.worlds.simulated import simulate
from tests.support.records import a_record, event_with
from tests.support.simulation import rack_plan
from topologies import LinkShape, rack
from workloads.events import CnpSent, CollectiveCompleted


@pytest.fixture(scope="module")
def good():
    plan = rack_plan(
        4, topology=rack(4, LinkShape(ecn_threshold_packets=5)), transport={"congestion_control": "dcqcn"},
        job={"size_bytes": 400_000, "message_packets": 16, "hosts": ("h1", "h2", "h3")},
    )  # fmt: skip
    flow = BackgroundFlow("noise", "udp", "h4", "h2", 70_000_000, ecn=True)
    plan = make_plan(replace(plan.scenario, background=(flow,)))
    return CheckContext(plan, tuple(simulate(plan)))


def changed(context, event, count=10**9, **fields):
    """The first `count` records of that event with other fields."""
    left, history = [count], []
    for record in context.history:
        hit = record.name == event and left[0] > 0
        left[0] -= hit
        history.append(event_with(record, **fields) if hit else record)
    return CheckContext(context.plan, tuple(history))


def without(context, *events):
    return CheckContext(context.plan, tuple(r for r in context.history if r.name not in events))


def test_a_good_run_passes_with_its_figures(good):
    result = congestion(good)
    assert result.verdict is Verdict.PASS, result.detail
    figures = congestion_metrics(good)
    assert figures["ce_marks"] == marks_of(good) > figures["cnps_sent"] == figures["cnps_received"] > 0
    assert f"{figures['ce_marks']} packets marked, {figures['cnps_sent']} CNPs sent" in result.detail
    rates = figures["rates"]
    assert rates["h1"]["min_bps"] == 25_000_000 or rates["h1"]["min_bps"] <= 50_000_000
    assert rates["h1"]["min_bps"] < rates["h1"]["mean_bps"] < rates["h1"]["line_bps"] == 10**8
    assert rates["h3"] == {"time_scale": 400, "line_bps": 10**8, "min_bps": 10**8, "mean_bps": 10**8}


def test_runs_without_control_are_not_judged_and_say_nothing():
    plain = CheckContext(rack_plan(2), ())
    assert skip_congestion(plain) == ""
    assert congestion_metrics(plain) is None
    assert background_metrics(plain) is None
    with pytest.raises(ValueError, match="h1 is no worker with congestion control"):
        rate_timeline(plain, "h1")


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (("ShapingMeasured", "CnpSent", "RateChanged", "CongestionStatistics"), "nothing marked a packet"),
        (("CnpSent", "RateChanged", "CongestionStatistics"), "packets were marked, and no CNP was sent"),
        (("RateChanged", "CongestionStatistics"), "CNPs were sent, and no rate was cut"),
    ],
)
def test_a_run_that_did_not_exercise_it_is_unknown(good, events, why):
    result = congestion(without(good, *events))
    assert result.verdict is Verdict.UNKNOWN
    assert result.detail.startswith("congestion control was not exercised")
    assert why in result.detail


@pytest.mark.parametrize(
    ("event", "fields", "text"),
    [
        ("CnpSent", {"t": 5}, "h2 sent two CNPs within 0 s, the interval is 20.0 ms"),
        ("ShapingMeasured", {"marks": 0}, "CNPs were sent, and nothing marked a packet"),
        ("CongestionStatistics", {"cnps_received": 50}, "CNPs were received and"),
        ("RateChanged", {"rate_bps": 10**8 + 1}, "is outside 1.00 Mbit/s to 100 Mbit/s"),
        ("RateChanged", {"rate_bps": 999_999}, "is outside 1.00 Mbit/s to 100 Mbit/s"),
        ("RateChanged", {"rate_bps": 10**8, "cause": "cnp"}, "is no lower than before"),
        ("RateChanged", {"alpha": 1.1}, "alpha is 1.1"),
    ],
)
def test_what_breaks_a_rule_fails(good, event, fields, text):
    result = congestion(changed(good, event, **fields))
    assert result.verdict is Verdict.FAIL
    assert any(text in line for line in result.evidence), result.evidence


@pytest.mark.parametrize(("gap_ns", "too_early"), [(1, True), (19_999_999, True), (20_000_000, False)])
def test_two_cnps_of_a_queue_pair_are_an_interval_apart(good, gap_ns, too_early):
    first = good.events(CnpSent)[0]
    others = [record for record in good.history if not isinstance(record.event, CnpSent)]
    history = sort_history([*others, first, replace(first, t=first.t + gap_ns)])
    evidence = congestion(CheckContext(good.plan, history)).evidence
    assert any("sent two CNPs within" in line for line in evidence) is too_early


def test_the_mean_is_over_time_until_the_job_was_complete(good):
    end = max(record.event.completed_ns for record in good.events(CollectiveCompleted))
    timeline = rate_timeline(good, "h1")
    total = 0
    for (at, rate), (until, _) in zip(timeline, [*timeline[1:], (end, 0)], strict=True):
        total += rate * max(0, min(until, end) - min(at, end))
    assert congestion_metrics(good)["rates"]["h1"]["mean_bps"] == pytest.approx(total / end)


def test_goodput_of_a_udp_flow(good):
    (flow,) = background_metrics(good)
    assert flow["offered_bps"] == pytest.approx(70_000_000 * 1000 / 1042)
    assert flow["goodput_bps"] == pytest.approx(flow["offered_bps"], rel=0.02)
    assert (flow["name"], flow["kind"], flow["from"], flow["to"], flow["retransmits"]) == (
        "noise",
        "udp",
        "h4",
        "h2",
        None,
    )
    assert flow["marked_packets"] > 0
    assert 0 <= flow["missing_packets"] < 20
    (silent,) = background_metrics(without(good, "FlowReceived"))
    assert (silent["goodput_bps"], silent["trouble"]) == (None, "its receiver reported nothing")


def test_goodput_of_a_tcp_flow(good):
    flow = BackgroundFlow("bulk", "tcp", "h4", "h2", 20_000_000)
    plan = make_plan(replace(good.plan.scenario, background=(flow,)))
    told = a_record(9, "world", "TcpFlowMeasured", flow="bulk", bytes=1_000_000, bytes_sent=1_200_000, retransmits=7,
        started_ns=0, duration_ns=10**9, trouble="")  # fmt: skip
    (entry,) = background_metrics(CheckContext(plan, (told,)))
    assert (entry["goodput_bps"], entry["offered_bps"], entry["retransmits"]) == (8_000_000, 20_000_000, 7)
    (idle,) = background_metrics(CheckContext(plan, ()))
    assert (idle["goodput_bps"], idle["trouble"]) == (None, "it never began")
