from __future__ import annotations

import io

import pytest

from testbed.plan import make_plan
from testbed.report.progress import Progress
from testbed.scenario import parse_scenario
from tests.support.judged import small_plan
from tests.support.records import a_record, event_with
from tests.support.results import failing_context, lossy_context


def lines_of(context):
    stream = io.StringIO()
    progress = Progress(context.plan, stream)
    for record in sorted(context.history, key=lambda record: record.t):
        progress(record)
    progress.close()
    return stream.getvalue().splitlines()


def test_lines_of_a_passing_run(tmp_path):
    assert lines_of(lossy_context(tmp_path)) == [
        "   0.0 s  4 nodes are up, the traffic starts",
        "   0.0 s  loss-1 strikes for the first time, on h1-s1 up",
        "   0.0 s  flap strikes for the first time, on h2-s1 up",
        "   0.0 s  iteration 1 of 2 complete",
        "   0.0 s  iteration 2 of 2 complete",
    ]


def test_trouble_is_told_at_once():
    lines = lines_of(failing_context())
    assert any("h3: queue pair" in line and "failed with RETRY_EXC" in line for line in lines)


def test_sign_of_life_every_five_seconds():
    stream = io.StringIO()
    progress = Progress(small_plan(), stream)
    for second in range(13):
        progress(a_record(second * 10**9, "h1", "MessageReceived", message=second, crc32=0))
    assert stream.getvalue().splitlines() == [
        "   5.0 s  iteration 1 of 2, 6 of 15 results, 0 strikes, 0 retransmissions",
        "  10.0 s  iteration 1 of 2, 11 of 15 results, 0 strikes, 0 retransmissions",
    ]


def test_bar_on_a_terminal(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    context, stream = lossy_context(tmp_path), Terminal()
    progress = Progress(context.plan, stream)
    for record in context.history:
        progress(record)
    progress.close()
    progress.close()
    text = stream.getvalue()
    assert "iteration 2 of 2 complete" in text
    assert "15 of 15 results" in text
    assert "\x1b[" in text


@pytest.mark.parametrize("collective", ["ring", "shift"])
def test_other_collectives(collective):
    plan = small_plan(collective=collective, program="forward")
    stream = io.StringIO()
    progress = Progress(plan, stream)
    for second in (0, 6):
        progress(a_record(second * 10**9, "h1", "MessageReceived", message=second, crc32=0))
    assert ("results" in stream.getvalue()) == (collective == "shift")


def test_an_iteration_is_complete_when_the_jobs_that_have_it_are_through():
    text = (
        "name: two\ntopology: {kind: rack, hosts: 4}\nswitch: {program: switchml}\njob: {collective: switchml}\n"
        "jobs: [{workers: 2}, {workers: 2, iterations: 2}]\n"
    )
    stream = io.StringIO()
    progress = Progress(make_plan(parse_scenario(text, "two.yaml")), stream)
    for iteration, worker in ((0, "h1"), (0, "h3"), (0, "h4"), (1, "h3"), (0, "h2"), (1, "h4")):
        progress(a_record(1, worker, "CollectiveCompleted", iteration=iteration))
    assert stream.getvalue().splitlines() == [
        "   0.0 s  iteration 1 of 2 complete",
        "   0.0 s  iteration 2 of 2 complete",
    ]


def told(*records):
    stream = io.StringIO()
    progress = Progress(small_plan(), stream)
    for record in records:
        progress(event_with(record, t=1_500_000_000))
    return [line for line in stream.getvalue().splitlines() if "iteration" not in line]


def test_a_failure_is_told_once():
    failed = a_record(0, "h2", "QpFailed", qpn=7, status="RETRY_EXC", psn=1, detail="")
    gave_up = a_record(0, "h2", "WorkerFailed", reason="RETRY_EXC", detail="")
    assert told(failed, gave_up) == ["   1.5 s  h2: queue pair 0x7 failed with RETRY_EXC"]
    assert told(gave_up) == ["   1.5 s  h2 gave up: RETRY_EXC"]


def test_the_first_refused_result_is_told():
    refused = a_record(0, "h2", "FrameRejected", reason="bad_result", detail="block 3 in slot 7")
    assert told(refused, refused) == ["   1.5 s  h2 is the first to refuse a result: block 3 in slot 7"]
    assert told(event_with(refused, reason="icrc")) == []
