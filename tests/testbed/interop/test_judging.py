"""From what a case left to its line: faults that did not strike, controls that pass, programs that exit badly."""

from __future__ import annotations

import dataclasses

import pytest

from testbed.captures.capture import PcapngTap
from testbed.checkers import reference
from testbed.faults.model import Drop, Match
from testbed.history.verdict import Verdict
from testbed.interop.casehost import CaseRun
from testbed.interop.cases import COMMAND, Case
from testbed.interop.judging import judge_case, traffic_of
from tests.support.judged import FakeSource, altered, good_history, small_plan
from workloads.machine import FrameBatch
from workloads.wire import Aeth, Bth, Opcode, Packet, encode_packet, psn_add


@pytest.fixture(autouse=True)
def _known_gradients(monkeypatch):
    monkeypatch.setattr(reference, "default_sources", lambda: FakeSource)


def run_of(case=Case("loss/test"), *faults, history=None, error="", **options):  # noqa: B008
    plan = small_plan(*faults, capture=False, **options)
    return CaseRun(case, plan, good_history(plan) if history is None else history, (), error, {}, 1.0)


def spoilt(plan):
    return altered(good_history(plan), "CollectiveCompleted", {"sha256": "0" * 64}, node="h2")


def test_a_good_run_passes():
    outcome = judge_case(run_of())
    assert (outcome.verdict, outcome.detail, outcome.strikes) == (Verdict.PASS, "", 0)
    names = {check.name for check in outcome.checks}
    assert {"bit_exact", "exactly_once", "liveness"} <= names
    assert not names & {"no_crash", "no_leftovers"}  # one guest serves many cases


def test_a_fault_that_did_not_strike_makes_the_case_unknown():
    outcome = judge_case(run_of(Case("loss/test"), Drop("middle", ("h2-s1",), match=Match(message=2))))
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.detail.startswith("faults_exercised: ")
    assert "middle" in outcome.detail


def test_a_wrong_sum_fails():
    outcome = judge_case(run_of(history=spoilt(small_plan(capture=False))))
    assert outcome.verdict is Verdict.FAIL
    assert outcome.detail.startswith("bit_exact: ")


def test_a_control_that_fails_as_it_must_is_a_pass():
    case = Case("control/test", must_fail="bit_exact")
    outcome = judge_case(run_of(case, history=spoilt(small_plan(capture=False))))
    assert outcome.verdict is Verdict.PASS
    assert outcome.detail.startswith("fails as it must: bit_exact: ")


@pytest.mark.parametrize(
    ("must_fail", "told"),
    [
        ("bit_exact", "a negative control that did not fail: bit_exact said pass: "),
        ("nonsense", "a negative control that did not fail: nonsense did not apply"),
    ],
)
def test_a_control_that_passes_is_a_failure(must_fail, told):
    outcome = judge_case(run_of(Case("control/test", must_fail=must_fail)))
    assert outcome.verdict is Verdict.FAIL
    assert outcome.detail.startswith(told)


def test_another_failure_than_the_named_one_does_not_pass_a_control():
    case = Case("control/test", must_fail="exactly_once")
    assert judge_case(run_of(case, history=spoilt(small_plan(capture=False)))).verdict is Verdict.FAIL


def test_a_case_that_could_not_begin_fails_with_the_reason_even_as_a_control():
    for case in (Case("loss/test"), Case("control/test", must_fail="liveness")):
        outcome = judge_case(run_of(case, history=[], error="HostCapabilityError: no rxe1"))
        assert (outcome.verdict, outcome.detail) == (Verdict.FAIL, "HostCapabilityError: no rxe1")


@pytest.mark.parametrize(
    ("error", "facts", "verdict", "detail"),
    [
        ("", {"statuses": [0, 0], "outputs": ["a", "b"]}, Verdict.PASS, ""),
        ("", {"statuses": [0, 1], "outputs": ["one\ntwo\nthree", "no"]}, Verdict.FAIL, "exit [0, 1]: two / three / no"),
        ("", {"statuses": [0, None], "outputs": []}, Verdict.FAIL, "exit [0, None]: "),
        ("", {}, Verdict.FAIL, "exit []: "),
        (
            "the last command did not end",
            {"statuses": [0], "outputs": []},
            Verdict.FAIL,
            "the last command did not end: ",
        ),
    ],
)
def test_programs_must_all_exit_0(error, facts, verdict, detail):
    case = Case("peer/test", kind=COMMAND, commands=(("a",), ("b",)))
    outcome = judge_case(CaseRun(case, None, [], (), error, facts, 0.5))
    assert (outcome.verdict, outcome.detail) == (verdict, detail)


def test_retransmissions_are_counted_in_the_capture(tmp_path):
    """Requests that came in on the ring's own connections; what left, answers and others' traffic are none."""
    plan = small_plan(capture=True)
    qp = plan.workers[0].to_successor

    def request(psn, qpn=qp.peer_qpn):
        return encode_packet(Packet(qp.envelope, Bth(Opcode.WRITE_MIDDLE, qpn, psn), bytes(256)))

    back = dataclasses.replace(qp.envelope, src_ip=qp.envelope.dst_ip, dst_ip=qp.envelope.src_ip)
    answer = encode_packet(Packet(back, Bth(Opcode.ACKNOWLEDGE, qp.qpn, qp.first_psn), aeth=Aeth(0x1F, 1)))
    first, second = request(qp.first_psn), request(psn_add(qp.first_psn, 1))
    incoming = [first, second, first, first, answer, request(qp.first_psn, 0x777777), b"\xff" * 60]
    path = tmp_path / "s1.pcapng"
    tap = PcapngTap(path, ["h1-s1"])
    batch = FrameBatch.of(1, 4200)
    for frames, outgoing in ((incoming, False), ([second], True)):
        for frame in frames:
            batch.count = 0
            batch.append(0, frame)
            tap.record(batch, 0, 1, 0, outgoing)
    tap.close()
    run = dataclasses.replace(run_of(), plan=plan, captures=(path,))
    traffic = traffic_of(run)
    assert (traffic.data_packets, traffic.retransmissions) == (4, 2)
    assert traffic_of(run_of()) is None


def test_the_json_of_an_outcome():
    told = judge_case(run_of()).as_json()
    assert {key: told[key] for key in ("case", "verdict", "detail", "strikes", "data_packets", "seconds")} == {
        "case": "loss/test", "verdict": "pass", "detail": "", "strikes": 0, "data_packets": None, "seconds": 1.0,
    }  # fmt: skip
    assert {"name": "bit_exact", "verdict": "pass"}.items() <= {
        key: value for check in told["checks"] if check["name"] == "bit_exact" for key, value in check.items()
    }.items()
