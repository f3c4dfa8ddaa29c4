"""scapy as a third opinion: which frames it sees, and that every difference shows."""

from __future__ import annotations

import dataclasses

import pytest

from testbed.captures.capture import PcapngTap
from testbed.captures.pcapng import CapturedFrame, read_capture
from testbed.checkers import reference
from testbed.history.verdict import Verdict
from testbed.interop.casehost import CaseRun
from testbed.interop.cases import Case
from testbed.interop.judging import judge_case
from testbed.interop.scapy_check import Opinion, choose_frames, scapy_agrees, scapy_opinion
from tests.support.judged import FakeSource, altered, good_history, small_plan
from workloads.machine import FrameBatch
from workloads.wire import Bth, Envelope, Opcode, Packet, encode_packet

ENVELOPE = Envelope(bytes(6), bytes(6), bytes((10, 77, 0, 2)), bytes((10, 77, 0, 3)), sport=0xC077)


def frame(psn, payload=b"12345678"):
    return encode_packet(Packet(ENVELOPE, Bth(Opcode.WRITE_MIDDLE, 0x77, psn), payload))


def spoil(data):
    return data[:-1] + bytes((data[-1] ^ 1,))


@pytest.fixture
def capture(tmp_path):
    """A capture of these frames."""

    def write(frames):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        path = folder / "s1.pcapng"
        tap = PcapngTap(path, ["h1-s1"])
        for one in frames:
            batch = FrameBatch.of(1, 4200)
            batch.append(0, one)
            tap.record(batch, 0, 1, 0, False)
        tap.close()
        return path

    return write


def test_scapy_reads_what_our_codec_wrote():
    assert scapy_opinion(frame(0xFFFFFC)) == Opinion(int(Opcode.WRITE_MIDDLE), 0xFFFFFC, 0x77, True)
    assert scapy_opinion(spoil(frame(5))) == Opinion(int(Opcode.WRITE_MIDDLE), 5, 0x77, False)
    assert scapy_opinion(b"\xff" * 60) is None


def test_an_agreement_counts_frames_and_wrong_icrcs(capture):
    result = scapy_agrees([capture([frame(1), spoil(frame(2)), b"\xff" * 60])])
    assert (result.verdict, result.detail) == (Verdict.PASS, "agrees on 2 frames, 1 of them with a wrong iCRC")


@pytest.mark.parametrize("change", [{"psn": 9}, {"opcode": 0}, {"dest_qpn": 1}, {"icrc_valid": False}])
def test_every_difference_is_a_failure(capture, change):
    path = capture([frame(1), frame(2)])

    def stubborn(data):
        found = scapy_opinion(data)
        return dataclasses.replace(found, **change) if found.psn == 2 else found

    result = scapy_agrees([path], stubborn)
    assert result.verdict is Verdict.FAIL
    assert result.detail.startswith("frame 2 of s1.pcapng: scapy reads Opinion(")


def test_a_frame_that_scapy_does_not_know_is_a_failure(capture):
    assert scapy_agrees([capture([frame(1)])], lambda data: None).verdict is Verdict.FAIL


def test_without_scapy_or_frames_nothing_is_known(capture, tmp_path):
    def missing(data):
        raise ImportError("No module named 'scapy'")

    result = scapy_agrees([capture([frame(1)])], missing)
    assert result.verdict is Verdict.UNKNOWN
    assert result.detail == "scapy cannot be asked (No module named 'scapy'); pip install scapy==2.8.0"
    assert scapy_agrees([capture([b"\xff" * 60])]).verdict is Verdict.UNKNOWN
    assert scapy_agrees([tmp_path / "none"]) is None


def test_the_first_and_then_the_repeated_are_chosen():
    frames = [frame(psn) for psn in (1, 2, 3, 3, 4, 1, 1)]
    captured = [CapturedFrame(0, 0, False, data, "") for data in frames]
    captured.append(CapturedFrame(0, 0, True, frames[0], ""))  # the same packet at another place is no repetition
    assert [number for number, _, _ in choose_frames(captured, 2, 9)] == [1, 2, 4, 6, 7]
    assert [number for number, _, _ in choose_frames(captured, 2, 1)] == [1, 2, 4]


def test_a_control_that_fails_as_it_must_still_needs_scapys_consent(capture, monkeypatch):
    monkeypatch.setattr(reference, "default_sources", lambda: FakeSource)
    monkeypatch.setattr("testbed.interop.scapy_check.parse_frame", lambda data: None)
    plan = small_plan(capture=False)
    wrong = altered(good_history(plan), "CollectiveCompleted", {"sha256": "0" * 64}, node="h2")
    case = Case("control/test", must_fail="bit_exact")
    outcome = judge_case(CaseRun(case, plan, wrong, (capture([frame(1)]),), "", {}, 1.0))
    assert (outcome.verdict, outcome.detail) == (Verdict.UNKNOWN, "scapy: no RoCE frame was captured")


def test_the_capture_is_read_as_it_was_written(capture):
    assert [one.frame for one in read_capture(capture([frame(1)]))] == [frame(1)]
