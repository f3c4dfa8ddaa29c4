from __future__ import annotations

import pytest

from testbed.plan import make_plan
from testbed.plan.time_need import time_need
from testbed.report.progress import Progress
from testbed.scenario import parse_scenario
from testbed.terminal.activity import State, activities
from tests.support.judged import small_plan
from tests.support.records import a_record, event_with
from tests.support.results import failing_context, lossy_context


def lines_of(context):
    lines = []
    progress = Progress(context.plan, lines.append)
    for record in sorted(context.history, key=lambda record: record.t):
        progress(record)
    progress.close()
    return lines


def test_lines_of_a_passing_run(tmp_path):
    assert lines_of(lossy_context(tmp_path)) == [
        " 400.0 us  4 nodes are up, the traffic starts",
        " 3.000 ms  loss-1 hits for the first time, on h1-s1 up",
        " 3.200 ms  flap hits for the first time, on h2-s1 up",
        " 4.000 ms  iteration 1 of 2 complete",
        " 6.600 ms  iteration 2 of 2 complete",
    ]


def test_trouble_is_told_at_once():
    lines = lines_of(failing_context())
    assert any("h3: queue pair" in line and "failed with RETRY_EXC" in line for line in lines)


def test_how_far_a_run_is():
    progress = Progress(small_plan(), print)
    for second in range(6):
        progress(a_record(second * 10**9, "h1", "MessageReceived", message=second, crc32=0))
    text = "iteration 1 of 2, 6 of 15 results, 0 hits, 0 retransmissions"
    assert progress.state() == State(text, 6 / 15)
    progress.close()


def test_the_ticker_shows_a_run_until_it_is_closed(tmp_path):
    context = lossy_context(tmp_path)
    progress = Progress(context.plan, lambda line: None)
    for record in context.history:
        progress(record)
    assert [activity.state().text for activity in activities()] == [progress.state().text]
    assert "15 of 15 results" in progress.state().text
    assert progress.state().done == 1
    progress.close()
    progress.close()
    assert activities() == ()


def test_a_run_that_only_repeats_itself_is_shown_as_such():
    progress = Progress(small_plan(), lambda line: None)
    progress(a_record(200_000_000, "h1", "MessageReceived", message=0, crc32=0))
    progress(a_record(390_000_000, "h1", "Retransmission", qpn=1, cause="timeout", psn=1, packets=1))
    assert "nothing arrived" not in progress.state().text
    progress(a_record(410_000_000, "h1", "Retransmission", qpn=1, cause="timeout", psn=1, packets=1))
    assert progress.state().text.endswith("2 retransmissions, nothing arrived since 200 ms")
    progress(a_record(420_000_000, "h1", "MessageReceived", message=1, crc32=0))
    assert "nothing arrived" not in progress.state().text
    progress.close()


def test_time_says_how_far_a_run_is_where_nothing_else_does_and_only_while_it_can():
    plan = small_plan(protocol="ring", program="forward")
    about_ns = 1e9 * time_need(plan).about_s
    progress = Progress(plan, lambda line: None)
    progress(a_record(round(about_ns / 2), "h1", "MessageReceived", message=0, crc32=0))
    assert progress.state().done == pytest.approx(0.5, abs=0.01)
    progress(a_record(round(about_ns * 3), "h1", "MessageReceived", message=1, crc32=0))
    assert progress.state().done is None
    progress.close()


@pytest.mark.parametrize("protocol", ["ring", "shift"])
def test_other_collectives(protocol):
    plan = small_plan(protocol=protocol, program="forward")
    progress = Progress(plan, lambda line: None)
    for second in (0, 6):
        progress(a_record(second * 10**9, "h1", "MessageReceived", message=second, crc32=0))
    assert ("results" in progress.state().text) == (protocol == "shift")
    progress.close()


def test_an_iteration_is_complete_when_the_jobs_that_have_it_are_through():
    text = (
        "name: two\ntopology: {kind: rack, hosts: 4}\nswitch: {program: switchml}\njob: {protocol: switchml}\n"
        "jobs: [{workers: 2}, {workers: 2, iterations: 2}]\n"
    )
    lines = []
    progress = Progress(make_plan(parse_scenario(text, "two.yaml")), lines.append)
    for iteration, worker in ((0, "h1"), (0, "h3"), (0, "h4"), (1, "h3"), (0, "h2"), (1, "h4")):
        progress(a_record(1, worker, "CollectiveCompleted", iteration=iteration))
    progress.close()
    assert lines == [
        " 1.000 ns  iteration 1 of 2 complete",
        " 1.000 ns  iteration 2 of 2 complete",
    ]


def test_an_iteration_is_complete_when_its_last_result_was_there_and_not_when_it_was_recorded():
    """A worker takes the digest of a result 100 ms later, and records it then."""
    lines = []
    progress = Progress(small_plan(), lines.append)
    for worker, completed_ns in (("h1", 868_911), ("h2", 869_111), ("h3", 868_000)):
        progress(a_record(100_868_911, worker, "CollectiveCompleted", iteration=1, completed_ns=completed_ns))
    progress.close()
    assert lines == [" 869.1 us  iteration 2 of 2 complete"]


def told(*records):
    lines = []
    progress = Progress(small_plan(), lines.append)
    for record in records:
        progress(event_with(record, t=1_500_000_000))
    progress.close()
    return lines


def test_a_failure_is_told_once():
    failed = a_record(0, "h2", "QpFailed", qpn=7, status="RETRY_EXC", psn=1, detail="")
    gave_up = a_record(0, "h2", "WorkerFailed", reason="RETRY_EXC", detail="")
    assert told(failed, gave_up) == ["  1.500 s  h2: queue pair 0x7 failed with RETRY_EXC"]
    assert told(gave_up) == ["  1.500 s  h2 gave up: RETRY_EXC"]


def test_the_first_refused_result_is_told():
    refused = a_record(0, "h2", "FrameRejected", reason="bad_result", detail="block 3 in slot 7")
    assert told(refused, refused) == ["  1.500 s  h2 is the first to refuse a result: block 3 in slot 7"]
    assert told(event_with(refused, reason="icrc")) == []
