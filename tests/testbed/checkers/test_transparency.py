"""Each rule with a capture that keeps it and captures that break it. The good capture wraps its PSNs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.checkers.context import CheckContext
from testbed.checkers.registry import checkers, run_checks
from testbed.checkers.transparency import transparency
from testbed.faults.model import Corrupt, Duplicate, Loss, Reorder
from testbed.verdict import Verdict
from tests.support.judged import (
    MESSAGES,
    Frames,
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
from workloads.wire import Bth, ImmDt, decode_packet, encode_packet, psn_add, replace_payload

NAK = 0x60


@pytest.fixture
def plan():
    return small_plan()


@pytest.fixture
def frames(plan):
    return Frames(plan)


@pytest.fixture
def steps(plan):
    return good_capture(plan)


@pytest.fixture
def judge(tmp_path, plan):
    def judge(steps, plan=plan, history=None):
        path = write_capture(plan, steps, tmp_path)
        return transparency(CheckContext(plan, good_history(plan) if history is None else history, (path,)))

    return judge


def broken(result, rule, *, also=()):
    """`also`: rules that the same capture breaks as a consequence."""
    assert result.verdict is Verdict.FAIL, result
    rules = {int(text.split(" ")[1]) for text in result.evidence}
    assert rule in rules, result.evidence
    assert rules <= {rule, *also}, result.evidence
    return result.detail


def reencoded(frame, **changes):
    """The packet with other fields in envelope, BTH or extension headers, and a right iCRC."""
    packet = decode_packet(frame)
    parts = {}
    for name, value in changes.items():
        part = next(p for p in ("envelope", "bth", "reth", "aeth") if hasattr(getattr(packet, p), name))
        parts[part] = replace(parts.get(part, getattr(packet, part)), **{name: value})
    return encode_packet(replace(packet, **parts))


def flipped(frame, at=-9):
    return bytes((*frame[:at], frame[at] ^ 1, *frame[at + 1 :])) if at >= 0 else flipped(frame, len(frame) + at)


def test_good_capture_passes(judge, steps):
    result = judge(steps)
    assert result.verdict is Verdict.PASS, result
    assert "33 data packets left" in result.detail
    assert "15 answers left" in result.detail


def test_plain_switch_passes(judge):
    plan = small_plan(program="forward", collective="shift")
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
    plain = small_plan(Corrupt("corrupt-1", links=("h2-s1",)), program="forward", collective="shift")
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
    for byte, value in ((42, 0xC1), (39, 0)):
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


# Rule 6


@pytest.mark.parametrize("syndrome", [0x1F, NAK, 0x21])
def test_switch_answers_itself(judge, steps, frames, syndrome):
    """The answer that h2 would send leaves towards h1, and never came."""
    at = index_of(steps, "result", 2, 3) + 1
    forged = Step(True, 0, frames.answer(0, 2, syndrome, msn=1), ("forged", 0, 2))
    result = judge(inserted(steps, at, forged))
    assert "no ACKNOWLEDGE with these bytes entered before" in result.detail
    assert {text.split(" ")[1] for text in result.evidence} <= {"6", "5"}
    assert "6" in {text.split(" ")[1] for text in result.evidence}


def test_switch_sends_a_cnp(judge, plan, steps):
    packet = decode_packet(steps[index_of(steps, "ack", 0, 0)].frame)
    cnp = encode_packet(replace(packet, bth=Bth(0x81, packet.bth.dest_qpn, 0, becn=1), aeth=None, payload=bytes(16)))
    broken(judge(inserted(steps, 20, Step(True, 0, cnp, ("cnp", 0, 0)))), 6)
    came = Step(False, 1, cnp, ("cnp", 0, 0))
    assert judge(inserted(steps, 20, came, Step(True, 0, cnp, ("cnp", 0, 0)))).verdict is Verdict.PASS


def test_switch_repeats_an_ack(judge, steps):
    at = index_of(steps, "ack", 0, 3, outgoing=True)
    assert "it left 2 times and entered 1 times" in broken(judge(inserted(steps, at, steps[at])), 6)


@pytest.mark.parametrize("field", ["psn", "dest_qpn", "msn", "syndrome", "sport"])
def test_switch_alters_an_ack(judge, steps, field):
    at = index_of(steps, "ack", 0, 3, outgoing=True)
    value = 0x1E if field == "syndrome" else 5
    broken(judge(edited(steps, at, lambda frame: reencoded(frame, **{field: value}))), 6)


def test_ack_may_be_marked_and_age(judge, steps):
    at = index_of(steps, "ack", 0, 3, outgoing=True)
    assert judge(edited(steps, at, lambda frame: reencoded(frame, tos=3, ttl=63))).verdict is Verdict.PASS


# Rule 7


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("ack_req", 1, "the AckReq changed"),
        ("psn", 0x300, "no packet of this connection and PSN entered before"),
        ("dest_qpn", 5, "no packet of this connection and PSN entered before"),
        ("opcode", 1, "the opcode changed"),
        ("pkey", 1, "the BTH flags and P_Key changed"),
        ("sport", 0xC123, "the UDP header changed"),
        ("ident", 9, "the IP header changed"),
        ("dst_mac", bytes(6), "the Ethernet header changed"),
        ("becn", 1, "the FECN and BECN changed"),
    ],
)
def test_switch_alters_headers_of_data(judge, steps, field, value, found):
    at = index_of(steps, "result", 0, 2)
    result = judge(edited(steps, at, lambda frame: reencoded(frame, **{field: value})))
    assert result.verdict is Verdict.FAIL
    assert found in " ".join(result.evidence)
    assert "7" in {text.split(" ")[1] for text in result.evidence}


def test_switch_alters_reth(judge, steps):
    at = index_of(steps, "result", 0, 1)
    detail = broken(judge(edited(steps, at, lambda frame: reencoded(frame, va=0x2000))), 7)
    assert "extension headers or INA header" in detail


def test_switch_sums_the_ina_header(judge, steps):
    at = index_of(steps, "result", 0, 1)
    broken(judge(edited(steps, at, lambda frame: replace_payload(frame, b"\x01", 6))), 7)


def test_switch_changes_the_length(judge, steps):
    at = index_of(steps, "result", 0, 2)

    def shorter(frame):
        packet = decode_packet(frame)
        return encode_packet(replace(packet, payload=bytes(packet.payload)[:-4]))

    broken(judge(edited(steps, at, shorter)), 7)


def test_result_may_be_marked_and_age(judge, steps):
    at = index_of(steps, "result", 0, 2)
    assert judge(edited(steps, at, lambda frame: reencoded(frame, tos=3, ttl=63))).verdict is Verdict.PASS


def test_replay_uses_the_new_header(judge, steps, frames):
    at = index_of(steps, "result", 2, 2) + 1
    again = Step(False, 0, frames.data(0, 2, ack_req=1), ("again", 0, 2))
    replay = Step(True, 1, frames.data(0, 2, 0x7E, ack_req=1), ("replay", 0, 2))
    assert judge(inserted(steps, at, again, replay)).verdict is Verdict.PASS


def test_replay_to_all(judge, steps, frames):
    """One sender repeats a packet, the switch repeats the result on every connection."""
    at = index_of(steps, "result", 2, 2) + 1
    again = Step(False, 0, frames.data(0, 2), ("again", 0, 2))
    replays = [Step(True, (rank + 1) % 3, frames.data(rank, 2, 0x7E), ("replay", rank, 2)) for rank in range(3)]
    assert judge(inserted(steps, at, again, replays[0])).verdict is Verdict.PASS
    assert "it left 2 times and entered 1 times" in broken(judge(inserted(steps, at, again, *replays)), 7)


def test_plain_switch_must_not_change_a_payload(judge):
    plan = small_plan(program="forward", collective="shift")
    steps, frames = good_capture(plan), Frames(plan)
    at = index_of(steps, "result", 0, 2)
    assert "nothing is aggregated" in broken(judge(edited(steps, at, lambda _: frames.data(0, 2, 0x55)), plan), 7)


# Rule 8


def test_replay_with_another_payload(judge, steps, frames):
    at = index_of(steps, "result", 2, 2) + 1
    again = Step(False, 0, frames.data(0, 2), ("again", 0, 2))
    for fill, found in ((0x7D, "another payload"), (None, "the host's own payload")):
        replay = Step(True, 1, frames.data(0, 2, fill), ("replay", 0, 2))
        assert found in broken(judge(inserted(steps, at, again, replay)), 8)


def test_stale_packet_passes_as_it_came(judge, steps, frames):
    """Once the receiver itself sends message 1 + N, it has message 1: its repetition may pass raw, not before."""
    again = Step(False, 0, frames.data(0, 2), ("again", 0, 2))
    raw = Step(True, 1, frames.data(0, 2), ("raw", 0, 2))
    of_message_3 = index_of(steps, "data", 1, 6)
    assert judge(inserted(steps, of_message_3 + 1, again, raw)).verdict is Verdict.PASS
    broken(judge(inserted(steps, of_message_3, again, raw)), 8)


# Rule 9


def test_in_flight_beyond_the_window(judge, steps):
    """Without the ACKs of messages 1 and 2, the first packet of message 3 is the sixth in flight, the next one over."""
    quiet = [step for step in steps if step.tag[:2] != ("ack", 0) or step.tag[2] in (0, sum(MESSAGES) - 1)]
    assert "7 packets in flight, the window is 6" in broken(judge(quiet), 9)


# Foreign traffic


def test_foreign_connection_passes_unchanged_only(judge, plan, steps, frames):
    def foreign(fill):
        return reencoded(frames.data(0, 2, fill), dest_qpn=0x99, psn=psn_add(5, 0))

    came, left = Step(False, 0, foreign(1), ("x", 0, 0)), Step(True, 1, foreign(1), ("x", 0, 0))
    assert judge(inserted(steps, 9, came, left)).verdict is Verdict.PASS
    broken(judge(inserted(steps, 9, came, replace(left, frame=foreign(2)))), 7)


def test_other_protocols_do_not_matter(judge, steps):
    arp = b"\xff" * 12 + b"\x08\x06" + bytes(46)
    assert judge(inserted(steps, 9, Step(True, 1, arp, ("arp", 0, 0)))).verdict is Verdict.PASS


def test_a_nak_that_the_switch_keeps_to_itself(judge, steps, frames):
    """Nobody else knows of it: the timeout repairs what it asked for."""
    at = index_of(steps, "data", 0, 4, outgoing=False)
    entered, _ = passing_answer(0, 3, frames.answer(0, 3, NAK, msn=2), ("nak", 0, 3))
    detail = broken(judge(inserted(steps, at, entered)), 6, also=(4, 5))
    assert "that NAK entered 1 times and left 0 times" in " ".join(judge(inserted(steps, at, entered)).evidence), detail
