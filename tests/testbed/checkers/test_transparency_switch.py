"""Each rule about what a switch sends, with captures that break it: answers, headers, payloads, what it keeps back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.checkers.rules import Sighting, Violations
from testbed.checkers.rules_switch import SwitchRules
from testbed.history.verdict import Verdict
from testbed.hunt.judge import run_and_judge
from testbed.scenario import parse_scenario
from tests.support.edited_frames import broken, reencoded
from tests.support.judged import (
    MESSAGES,
    Frames,
    Step,
    edited,
    good_capture,
    index_of,
    inserted,
    passing_answer,
    small_plan,
)
from workloads.rc.captured import parse_frame
from workloads.wire import Bth, decode_packet, encode_packet, psn_add, replace_payload

NAK = 0x60


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
    plan = small_plan(program="forward", protocol="shift")
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


def test_a_leaf_that_starts_anew_may_take_another_rack_s_packet_for_a_result(frames):
    """Where its receiver has that; nothing else is allowed, and no leaf that did not start anew."""
    packet, result, other = (parse_frame(frames.data(0, 2, fill)) for fill in (None, 0x7E, 0x7D))
    for anew, stale, allowed in ((True, True, True), (True, False, False), (False, True, False)):
        violations = Violations()
        rules = SwitchRules(
            violations, aggregates=lambda _: True, is_stale=lambda *_, stale=stale: stale, starts_anew=anew
        )
        seen = Sighting({})
        for _ in range(2):
            rules.entered(packet, 1, seen)
        rules.left(result, 2, b"", seen)
        seen.frame = other
        rules.left(other, 3, b"", seen)
        assert violations.counts == ({} if allowed else {8: 1})


def test_a_restarted_leaf_and_late_copies_break_no_rule():
    """The copies come when the leaf knows nothing any more; the spine passes those of another rack as they came."""
    scenario = parse_scenario(
        """
        name: restarted
        topology: {kind: spine_leaf, leaves: 2, spines: 1, hosts_per_leaf: 2, link: {rate: 40Mbps, delay: 5us}}
        transport: {path_mtu: 256, verb: write, timeout: 10, start_psn: 0}
        job: {protocol: netreduce, size: 244B, message_packets: 1, window_messages: 1}
        faults:
        - {name: kill, kind: kill, node: leaf2, from: 1587084ns, until: 5868082ns}
        - {name: copies, kind: duplicate, links: all, direction: up, rate: 100%, delay: 7355472ns}
        """,
        "restarted.yaml",
    )
    failure, _ = run_and_judge(scenario)
    assert failure is None


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
