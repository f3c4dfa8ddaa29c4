"""Golden summaries: what a newcomer reads."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from testbed.report.terminal import plain_summary, print_summary
from tests.support.records import held
from tests.support.results import failing_context, lossy_context, result_of

GOLDEN = Path(__file__).parent / "golden"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def colors(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "140")


def test_passing_run(tmp_path, monkeypatch):
    result = result_of(lossy_context(tmp_path), monkeypatch)
    assert plain_summary(result) == (GOLDEN / "passing.txt").read_text()


@pytest.mark.parametrize(
    ("recoveries", "explained"),
    [(["gbn"], True), (["irn"], False), (["gbn", "irn"], False), (["gbn", "timers"], False)],
)
def test_go_back_n_is_blamed_where_nothing_else_repairs_losses(tmp_path, monkeypatch, recoveries, explained):
    result = result_of(lossy_context(tmp_path), monkeypatch) | {"recoveries": recoveries}
    result["metrics"]["lost"]["data"] = 10
    result["metrics"]["retransmissions"] |= {"packets": 500, "of_packets_sent": 1000, "by_cause": {"nak": 9}}
    text = plain_summary(result)
    assert ("go-back-N resends" in text) == explained
    assert ("senders went back: 9 after a NAK" in text) == explained
    assert ("sent again: 9 after a NAK" in text) == (not explained)


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("nack", "sent again: 3 after a NACK"),
        ("rate", "sent again: 3 after a switch had no capacity"),
        ("replanned", "sent again: 3 after a new plan"),
    ],
)
def test_what_made_a_worker_send_again_is_in_words(tmp_path, monkeypatch, cause, words):
    result = result_of(lossy_context(tmp_path), monkeypatch) | {"recoveries": ["timers"]}
    result["metrics"]["retransmissions"] |= {"packets": 3, "of_packets_sent": 100, "by_cause": {cause: 3}}
    assert f"{words}; 3 of 100 packets were sent again" in " ".join(plain_summary(result).split())


@pytest.mark.parametrize(
    ("share", "auto", "recoveries", "way"),
    [
        (0.2, False, ["gbn"], None),
        (None, False, ["gbn"], None),
        (0.21, False, ["gbn"], "set transport.timeout: auto or transport.recovery: irn"),
        (0.21, True, ["gbn"], "set transport.recovery: irn"),
        (0.21, True, ["irn"], "a longer job or fewer losses make their share smaller"),
    ],
)
def test_timers_that_took_much_are_told_with_a_way_out(tmp_path, monkeypatch, share, auto, recoveries, way):
    result = result_of(lossy_context(tmp_path), monkeypatch) | {"recoveries": recoveries}
    result["metrics"]["jct"] = {"timers": share, "timers_s": 0.5}
    result["timers"] = [
        {"worst_round_trip_ns": 11_700_000, "each": {"timeout": {"ns": 1, "shown": "15 (134 ms)", "auto": auto}}}
    ]
    text = " ".join(plain_summary(result).split())
    assert ("timers took" in text) == (way is not None)
    if way is not None:
        assert "timers took at most 21% of that (500 ms): hosts waited for timeout 15 (134 ms)" in text
        assert f"the worst queueing round trip is 11.7 ms; {way}" in text


@pytest.mark.parametrize(("exact", "line"), [(0.2, None), (0.3, "timers took 30% of that (300 ms): hosts waited for")])
def test_the_critical_path_says_how_much_timers_took(tmp_path, monkeypatch, exact, line):
    """Of one host that waits while another is slower, the bound is high and the exact share is not."""
    result = result_of(lossy_context(tmp_path), monkeypatch) | {"recoveries": ["irn"]}
    result["metrics"]["jct_s"] = 1.0
    result["metrics"]["jct"] = {"timers": 0.5, "timers_s": 0.5, "parts": {"timers": exact}}
    result["timers"] = [{"worst_round_trip_ns": 1, "each": {"timeout": {"ns": 1, "shown": "1", "auto": True}}}]
    text = " ".join(plain_summary(result).split())
    assert ("timers took" in text) == (line is not None)
    assert line is None or line in text


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({}, "code that ran: not recorded, so speeds may be those of the Python reference"),
        (
            {"code": "h1: native; h2: python (no cc)"},
            "code that ran: h1: native; h2: python (no cc); about 20 times slower in virtual time, with the same sums",
        ),
        ({"code": "native", "host_version": "h1: 12ab; h2: 34cd"}, "hosts ran different versions: h1: 12ab; h2: 34cd"),
        ({"code": "native", "host_version": "12ab"}, None),
    ],
)  # fmt: skip
def test_code_that_may_be_slower_is_told(tmp_path, monkeypatch, environment, line):
    result = result_of(lossy_context(tmp_path), monkeypatch)
    result["environment"] = environment
    told = [text.strip() for text in plain_summary(result).splitlines() if {"ran", "ran:"} & set(text.split())]
    assert told == ([] if line is None else [line])


def test_failing_run(monkeypatch):
    result = result_of(failing_context(), monkeypatch)
    text = plain_summary(result)
    assert text == (GOLDEN / "failing.txt").read_text()
    assert "replay: tb run small --seed 3" in text


def test_idle_fault(tmp_path, monkeypatch):
    context = lossy_context(tmp_path)
    context.history[:] = [record for record in context.history if held(record, "fault") != "flap"]
    text = plain_summary(result_of(context, monkeypatch))
    assert text == (GOLDEN / "unknown.txt").read_text()


@pytest.mark.parametrize(
    ("backend", "strikes", "text"),
    [
        ("user", 2, "hit 2 times (h1-s1 2x)"),
        ("ebpf", 2, "hit 2 times by eBPF in the kernel (h1-s1 2x)"),
        ("netem", 0, "applied by netem in the kernel, which reports no hits"),
    ],
)
def test_what_the_kernel_did_is_said(tmp_path, monkeypatch, backend, strikes, text):
    result = result_of(lossy_context(tmp_path), monkeypatch)
    result["faults"] = [
        {"name": "torn", "kind": "loss", "strikes": strikes, "backend": backend,
         "targets": {"h1-s1": strikes} if strikes else {}},
    ]  # fmt: skip
    assert f"  torn  {text}\n" in plain_summary(result)


@pytest.mark.parametrize("width", [60, 200])
def test_width(monkeypatch, width):
    text = plain_summary(result_of(failing_context(), monkeypatch), width)
    assert max(len(line) for line in text.splitlines()) <= max(width, 70)


def test_colour_changes_nothing_but_colour(monkeypatch):
    result = result_of(failing_context(), monkeypatch)
    stream = Terminal()
    print_summary(result, stream)
    colored = stream.getvalue()
    assert "\x1b[" in colored
    bare = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in bare.splitlines()] == plain_summary(result).splitlines()


@pytest.mark.parametrize("how", ["flag", "variable", "dumb", "pipe"])
def test_no_colour(monkeypatch, how):
    result = result_of(failing_context(), monkeypatch)
    stream = io.StringIO() if how == "pipe" else Terminal()
    if how == "variable":
        monkeypatch.setenv("NO_COLOR", "1")
    if how == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    print_summary(result, stream, no_color=how == "flag")
    assert stream.getvalue() == plain_summary(result)


def test_a_run_says_its_loss_rate_and_what_going_back_means(tmp_path):
    from testbed.runs.run import run_scenario
    from testbed.scenario import load_scenario

    scenario = load_scenario("rack-lossy", ["job.size=400kB"], world="simulated")
    document = run_scenario(scenario, tmp_path / "run").document
    text = " ".join(plain_summary(document, 100).split())
    again, lost = document["metrics"]["retransmissions"], sum(document["metrics"]["lost"].values())
    assert "loss 1 % of packets: hit" in text
    assert (
        f"{lost} lost packets had {again['packets'] / again['of_packets_sent']:.0%} of all packets sent again" in text
    )
    assert f"{again['packets'] / lost:.1f} for each lost one" in text
    assert "Every link loses packets by chance, both ways. Contributions, results" in text
    assert "both ways. Contributions, results" in plain_summary(document, 100).splitlines()[1], (
        "what the file broke into lines is one paragraph"
    )


def test_a_silent_fault_is_no_trouble(tmp_path):
    from testbed.runs.run import run_scenario
    from testbed.scenario import load_scenario

    scenario = load_scenario("rack-lossy", ["job.size=100kB", "faults.loss.rate=0"], world="simulated")
    document = run_scenario(scenario, tmp_path / "run").document
    assert document["verdict"] == "pass"
    assert "  loss  never hit, as its rate of 0 says" in plain_summary(document).splitlines()
