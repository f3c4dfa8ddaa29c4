"""Each rule about what hosts send, with a capture that keeps it and captures that break it. The good capture wraps its
PSNs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.checkers.context import CheckContext
from testbed.checkers.registry import checkers, run_checks
from testbed.checkers.transparency import transparency
from testbed.faults.model import Corrupt, Duplicate, Loss, Reorder
from testbed.history.verdict import Verdict
from tests.support.edited_frames import broken, flipped
from tests.support.judged import (
    MESSAGES,
    Step,
    edited,
    good_capture,
    good_history,
    index_of,
    inserted,
    passing_answer,
    small_plan,
    without,
    write_capture,
)
from workloads.wire import ImmDt, decode_packet, encode_packet

NAK = 0x60


def test_good_capture_passes(judge, steps):
    result = judge(steps)
    assert result.verdict is Verdict.PASS, result
    assert "33 data packets left" in result.detail
    assert "15 answers left" in result.detail


def test_plain_switch_passes(judge):
    plan = small_plan(program="forward", protocol="shift")
    assert judge(good_capture(plan), plan).verdict is Verdict.PASS


def test_without_evidence_it_is_unknown(judge, plan, steps):
    assert transparency(CheckContext(plan, [], ())).verdict is Verdict.UNKNOWN
    assert judge([]).verdict is Verdict.UNKNOWN
    assert judge(steps[:3]).verdict is Verdict.UNKNOWN


def test_unreadable_capture_is_unknown(plan, tmp_path):
    path = tmp_path / "s1.pcapng"
    path.write_bytes(b"no capture at all")
    result = transparency(CheckContext(plan, [], (path,)))
    assert result.verdict is Verdict.UNKNOWN
    assert "s1.pcapng" in result.detail


def test_capture_that_a_killed_switch_left_unfinished(judge, plan, steps, tmp_path):
    path = write_capture(plan, steps, tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    context = CheckContext(plan, good_history(plan), (path,))
    assert transparency(context).verdict is Verdict.PASS


def test_without_capture_it_is_skipped():
    plan = small_plan(capture=False)
    checked = run_checks(
        CheckContext(plan, good_history(plan)), [one for one in checkers() if one.name == "transparency"]
    )
    assert not checked.results
    assert checked.skipped[0].reason == "the scenario turns the capture off (capture: false)"


# Rule 1


def test_damaged_frame_leaves(judge, steps):
    detail = broken(judge(edited(steps, index_of(steps, "result", 1, 2), flipped)), 1, also=(4,))
    assert "h2-s1" not in detail
    assert "h3-s1" in detail
    assert "leaving" in detail
    assert "its iCRC is wrong" in detail


def test_what_a_full_queue_took_need_not_be_what_the_switch_sent(judge, steps):
    """A fault behind the switch may have made it."""
    at = index_of(steps, "result", 1, 2)
    torn = replace(steps[at], frame=steps[at].frame[:-1])
    assert judge(inserted(steps, at + 1, replace(torn, lost="queue"))).verdict is Verdict.PASS
    broken(judge(inserted(steps, at + 1, torn)), 1)


def test_host_sends_a_damaged_frame(judge, steps):
    at = index_of(steps, "data", 1, 2)
    broken(judge(inserted(steps, at, Step(False, 1, flipped(steps[at].frame), ("bad", 1, 2)))), 1)


def test_fault_damages_a_frame_on_its_way_in(judge):
    plan = small_plan(Corrupt("corrupt-1", links=("h2-s1",)))
    steps = good_capture(plan)
    at = index_of(steps, "data", 1, 2)
    damaged = Step(False, 1, flipped(steps[at].frame), ("bad", 1, 2))
    assert judge(inserted(steps, at, damaged), plan).verdict is Verdict.PASS
    # An aggregating switch must not pass it on, a plain one does not look.
    onwards = replace(damaged, outgoing=True, port=2)
    broken(judge(inserted(steps, at, damaged, onwards), plan), 1)
    plain = small_plan(Corrupt("corrupt-1", links=("h2-s1",)), program="forward", protocol="shift")
    steps = good_capture(plain)
    assert judge(inserted(steps, at, damaged, onwards), plain).verdict is Verdict.PASS
    broken(judge(inserted(steps, at, onwards), plain), 1)


def test_damaged_answer_is_forwarded_as_it_came(judge):
    """What is only forwarded need not be looked into; but the damage must not be the switch's."""
    plan = small_plan(Corrupt("corrupt-1", links=("h2-s1",)))
    steps = good_capture(plan)
    at = index_of(steps, "ack", 0, 3)
    damaged = Step(False, 1, flipped(steps[at].frame), ("bad", 0, 3))
    onwards = replace(damaged, outgoing=True, port=0)
    assert judge(inserted(steps, at, damaged, onwards), plan).verdict is Verdict.PASS
    broken(judge(inserted(steps, at, damaged, replace(onwards, frame=flipped(damaged.frame, -7))), plan), 1)
    # one whose lengths or opcode are damaged, too
    for byte, value in ((42, 0xC2), (39, 0)):
        frame = steps[at].frame[:byte] + bytes([value]) + steps[at].frame[byte + 1 :]
        torn = [replace(damaged, frame=frame), replace(onwards, frame=frame)]
        assert judge(inserted(steps, at, *torn), plan).verdict is Verdict.PASS
        broken(judge(inserted(steps, at, torn[1]), plan), 1)
        broken(judge(inserted(steps, at, *torn)), 1)


def test_lengths_that_contradict_each_other(judge, steps):
    at = index_of(steps, "result", 0, 2)
    broken(judge(edited(steps, at, lambda frame: frame[:39] + bytes([frame[39] ^ 1]) + frame[40:])), 1, also=(4,))
    broken(judge(edited(steps, at, lambda frame: frame[:-1])), 1, also=(4,))


def test_wrong_ip_checksum(judge, steps):
    at = index_of(steps, "result", 0, 2)
    broken(judge(edited(steps, at, lambda frame: frame[:22] + bytes([frame[22] - 1]) + frame[23:])), 1, also=(4,))


# Rule 2


def test_retransmission_is_identical(judge, steps, frames):
    at = index_of(steps, "data", 0, 3) + 1
    again = Step(False, 0, frames.data(0, 2, ack_req=1), ("again", 0, 2))
    assert judge(inserted(steps, at, again)).verdict is Verdict.PASS


@pytest.mark.parametrize("what", ["payload", "opcode", "immediate"])
def test_retransmission_differs(judge, steps, frames, what):
    frame = frames.data(0, 3)
    packet = decode_packet(frame)
    if what == "payload":
        frame = frames.data(0, 3, 0x55)
    elif what == "opcode":
        frame = encode_packet(replace(packet, bth=replace(packet.bth, opcode=8), imm=None))
    else:
        frame = encode_packet(replace(packet, imm=ImmDt(99)))
    at = index_of(steps, "data", 0, 3) + 1
    broken(judge(inserted(steps, at, Step(False, 0, frame, ("again", 0, 3)))), 2)


def test_psn_is_left_out(judge, steps):
    """The sender never sends packet 2, nobody misses it."""
    detail = broken(judge([step for step in steps if step.tag not in (("data", 0, 2), ("result", 0, 2))]), 2)
    assert "PSN 0 was never seen to be sent" in detail


def test_packet_that_a_fault_took_counts_as_sent(judge, steps, frames):
    plan = small_plan(Loss("loss-1", links=("h1-s1",)))
    at = index_of(steps, "data", 0, 2)
    lost = Step(False, 0, frames.data(0, 2), ("lost", 0, 2), lost="filter")
    assert judge(inserted(steps, at, lost), plan).verdict is Verdict.PASS
    # but not as entered: nothing may leave for it
    broken(judge([*steps[:at], lost, *steps[at + 1 :]], plan), 7)


# Rule 3


@pytest.mark.parametrize(
    ("offset", "change", "found"),
    [
        (2, {"opcode": 6, "reth": True}, "begins a message while another is open"),
        (4, {"opcode": 7, "reth": None}, "continues a message that did not begin"),
        (2, {"shorter": 4}, "has 252 bytes of payload; allowed: 256"),
        (1, {"length": 700}, "ends a message of 768 bytes, its RETH said 700"),
        (2, {"opcode": 1}, "continues a message that did not begin"),
    ],
)
def test_grammar(judge, steps, offset, change, found):
    def change_frame(frame):
        packet = decode_packet(frame)
        if "shorter" in change:
            return encode_packet(replace(packet, payload=bytes(packet.payload)[: -change["shorter"]]))
        if "length" in change:
            return encode_packet(replace(packet, reth=replace(packet.reth, length=change["length"])))
        bth = replace(packet.bth, opcode=change["opcode"])
        reth = packet.reth
        if "reth" in change:
            sample = decode_packet(steps[index_of(steps, "data", 0, 1)].frame).reth
            reth = sample if change["reth"] else None
        return encode_packet(replace(packet, bth=bth, reth=reth))

    at = index_of(steps, "data", 0, offset)
    frame = change_frame(steps[at].frame)
    wrong = edited(steps, at, lambda _: frame)
    result = judge(edited(wrong, index_of(wrong, "result", 0, offset), lambda _: frame))
    assert result.verdict is Verdict.FAIL
    assert {text.split(" ")[1] for text in result.evidence} == {"3"}
    assert found in " ".join(result.evidence)


# Rule 4


def test_ack_for_what_has_not_left(judge, steps, frames):
    at = index_of(steps, "result", 0, 3)
    early = passing_answer(0, 3, frames.answer(0, 3, msn=2), ("early", 0, 3))
    assert "PSN 1 has not left towards the receiver" in broken(judge(inserted(steps, at, *early)), 4)


def test_ack_for_what_was_never_sent(judge, steps, frames):
    broken(judge([*steps, *passing_answer(0, 3, frames.answer(0, sum(MESSAGES), msn=5), ("far", 0, 11))]), 4)


def test_ack_takes_back(judge, steps, frames):
    at = index_of(steps, "data", 0, 4)
    back = passing_answer(0, 3, frames.answer(0, 2, msn=2), ("back", 0, 2))
    assert "acknowledged up to PSN 1 before" in broken(judge(inserted(steps, at, *back)), 4)
    disturbed = small_plan(Reorder("reorder-1", links=("h2-s1",)))
    assert judge(inserted(steps, at, *back), disturbed).verdict is Verdict.PASS


def test_repeated_ack(judge, steps, frames):
    at = index_of(steps, "data", 0, 4)
    same = passing_answer(0, 3, frames.answer(0, 3, msn=2), ("same", 0, 3))
    assert judge(inserted(steps, at, *same)).verdict is Verdict.PASS


def test_msn_falls(judge, steps, frames):
    at = index_of(steps, "data", 0, 4)
    fallen = passing_answer(0, 3, frames.answer(0, 3, msn=1), ("msn", 0, 3))
    assert "MSN 1 after 2" in broken(judge(inserted(steps, at, *fallen)), 4)


# Rule 5


def recovery(steps, frames):
    """The result of packet 2 is lost behind the switch; its receiver NAKs, its sender goes back, the switch repeats."""
    at = index_of(steps, "result", 2, 3) + 1
    nak = passing_answer(0, 3, frames.answer(0, 2, NAK, msn=1), ("nak", 0, 2))
    again = []
    for offset in (2, 3):
        again += [
            Step(False, 0, frames.data(0, offset), ("again", 0, offset)),
            Step(True, 1, frames.data(0, offset, 0x7E), ("replay", 0, offset)),
        ]
    lost = Step(True, 1, frames.data(0, 2, 0x7E), ("lost", 0, 2), lost="filter")
    return at, lost, nak, again


def test_nak_and_recovery(judge, steps, frames):
    at, lost, nak, again = recovery(steps, frames)
    assert judge(inserted(steps, at, lost, *nak, *again)).verdict is Verdict.PASS


def test_nak_without_a_gap(judge, steps, frames):
    nak = passing_answer(0, 3, frames.answer(0, 4, NAK, msn=2), ("nak", 0, 4))
    at = index_of(steps, "data", 0, 5)
    detail = broken(judge(inserted(steps, at, *nak)), 5)
    assert "there is no gap" in detail


def test_second_nak_for_a_gap(judge, steps, frames):
    at, lost, nak, again = recovery(steps, frames)
    assert "a second NAK" in broken(judge(inserted(steps, at, lost, *nak, *nak, *again)), 5)
    doubled = small_plan(Duplicate("duplicate-1", links=("h2-s1",)))
    assert judge(inserted(steps, at, lost, *nak, *nak, *again), doubled).verdict is Verdict.PASS


def test_nak_after_rnr_nak_for_the_same_packet(judge, steps, frames):
    """A receiver without a buffer refuses the packet, then misses it in front of those behind."""
    at, lost, nak, again = recovery(steps, frames)
    rnr = passing_answer(0, 3, frames.answer(0, 2, 0x21, msn=1), ("rnr", 0, 2))
    assert judge(inserted(steps, at, lost, *nak, *rnr, *nak, *again)).verdict is Verdict.PASS


def test_nak_that_was_on_its_way_when_its_packet_came_again(judge, steps, frames):
    """A receiver misses a packet; it comes again and is refused, and the RNR NAK is lost before the switch; so it is
    missed once more. The switch sees both NAKs after the packet."""
    at, lost, nak, again = recovery(steps, frames)
    assert judge(inserted(steps, at, lost, *again[:2], *nak, *nak, *again)).verdict is Verdict.PASS
    assert "a second NAK" in broken(judge(inserted(steps, at, lost, *again[:2], *nak, *nak, *nak, *again)), 5)


def test_nak_that_nobody_heeds(judge, plan, steps, frames):
    """The run ends well, and yet what the NAK asked for was never sent."""
    last = sum(MESSAGES) - 1
    steps = [step for step in steps if step.tag != ("ack", 0, last)]
    nak = passing_answer(0, 3, frames.answer(0, last - 1, NAK, msn=4), ("nak", 0, last - 1))
    assert "was not sent again" in broken(judge([*steps, *nak]), 5)
    lost = Step(True, 0, nak[1].frame, ("lost", 0, last - 1), lost="filter")
    assert judge([*steps, *nak, lost]).verdict is Verdict.PASS
    again = Step(False, 0, frames.data(0, last - 1), ("again", 0, last - 1))
    assert judge([*steps, *nak, again]).verdict is Verdict.PASS
    failed = without(good_history(plan), "WorkerFinished", node="h1")
    assert judge([*steps, *nak], history=failed).verdict is Verdict.PASS
