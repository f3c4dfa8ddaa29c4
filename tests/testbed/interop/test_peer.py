"""Peer tests with our endpoint at both ends, in virtual time: that the cases are passable, and that each way of failing
shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from testbed.captures.capture import PcapngTap
from testbed.history import make_record
from testbed.history.verdict import Verdict
from testbed.interop.guest.peer_side import PeerMessage, expected_memory, memory_bytes
from testbed.interop.peercases import PEER_CASES, RXE, SOFT, PeerCase
from testbed.interop.peerhost import PeerMachine, PeerRun, case_filters, content_seed, peer_configs
from testbed.interop.peerjudge import judge_peer, seen_frames
from testbed.interop.protocol import QpNames
from workloads.codec import PLAIN
from workloads.machine import FrameBatch

MAC, IP = bytes.fromhex("02494e410001"), bytes((10, 77, 0, 2))
DEVICE = QpNames(0x11, 0x12, 0x55_0000, 0x99)
HOP_NS, STEP_NS, LIMIT_NS = 50_000, 100_000, 6_000_000_000


def run(case: PeerCase, seed: int = 1, spoil=lambda direction, frame: frame) -> PeerRun:
    """Both ends on a wire with the faults of the case. `spoil` may change or lose (None) what nobody should."""
    configs = peer_configs(case, seed, MAC, IP, DEVICE)
    ends = {RXE: PeerMachine(configs[RXE]), SOFT: PeerMachine(configs[SOFT])}
    ingress, egress = case_filters(case, seed, configs)
    filters = {RXE: ingress.get(0), SOFT: egress.get(0)}  # by sender
    wire: list[tuple[int, int, str, bytes]] = []
    records, now, serial, failed_at = [], 0, 0, None
    for machine in ends.values():
        machine.release()
    while now < LIMIT_NS:
        for end, machine in ends.items():
            due = machine.get_timer()
            if due is not None and due <= now:
                machine.handle_timer(now)
            for _, frame in machine.frames_to_send(now):
                frame = spoil(end, bytes(frame))
                if frame is None:
                    continue
                rule = filters[end]
                copies = [(now, frame)] if rule is None else [(d.at, d.frame) for d in rule.admit(frame, now)]
                for at, copy in copies:
                    serial += 1
                    wire.append((at + HOP_NS, serial, end, copy))
        wire.sort()
        while wire and wire[0][0] <= now:
            _, _, sender, frame = wire.pop(0)
            ends[SOFT if sender == RXE else RXE].receive_frame(0, frame, now)
        for machine in ends.values():
            while machine.next_event() is not None:
                pass
        if failed_at is None and any(machine.side.failed for machine in ends.values()):
            failed_at = now
        if all(machine.side.done for machine in ends.values()) or (failed_at and now > failed_at + 500_000_000):
            break
        due = [at for machine in ends.values() if (at := machine.get_timer()) is not None] + [at for at, *_ in wire[:1]]
        now = max(now + STEP_NS, min(due, default=now))
    for rule in filters.values():
        while rule is not None and (event := rule.next_event()) is not None:
            records.append(make_record(now, "link", event))
    reports = {end: {**machine.side.report(), "failures": machine.failures} for end, machine in ends.items()}
    return PeerRun(case, seed, "" if now < LIMIT_NS else "no end", reports, records)


def without_capture(case: PeerCase) -> PeerCase:
    """What must be seen on the wire is read from a capture, which there is none of here."""
    return replace(case, must_see=(), soft_status="")


@pytest.mark.parametrize("case", PEER_CASES, ids=lambda case: case.id)
def test_our_endpoint_passes_every_case_against_itself(case):
    smaller = replace(
        without_capture(case),
        rxe_sends=tuple(replace(m, size=min(m.size, 70_000)) for m in case.rxe_sends),
        soft_sends=tuple(replace(m, size=min(m.size, 70_000)) for m in case.soft_sends),
    )
    outcome = judge_peer(run(smaller))
    assert (outcome.verdict, outcome.detail) == (Verdict.PASS, "")


SIMPLE = PeerCase(
    "peer/simple", (PeerMessage("send", 3000, 7), PeerMessage("write", 100, 8)), (PeerMessage("send", 40),)
)


def test_a_message_that_never_ends_is_a_failure():
    outcome = judge_peer(run(SIMPLE, spoil=lambda end, frame: None if end == RXE else frame))
    assert outcome.verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda run: run.reports[SOFT].update(memory="0" * 64), "memory of soft"),
        (lambda run: run.reports[SOFT]["received"].pop(), "receives of soft"),
        (lambda run: run.reports[SOFT]["received"].__setitem__(0, [9, 3000]), "receives of soft"),
        (lambda run: run.reports[RXE].update(sent=["SUCCESS", "RETRY_EXC"]), "rxe sends"),
        (lambda run: run.reports[SOFT].update(sent=[]), "soft sends"),
    ],
)
def test_each_report_is_judged(change, named):
    good = run(SIMPLE)
    assert judge_peer(good).verdict is Verdict.PASS
    change(good)
    outcome = judge_peer(good)
    assert outcome.verdict is Verdict.FAIL
    assert outcome.detail.startswith(named + ":")


def test_a_case_that_could_not_run_failed():
    outcome = judge_peer(PeerRun(SIMPLE, 1, "rxe0 was not done within 20 s"))
    assert (outcome.verdict, outcome.detail) == (Verdict.FAIL, "ran: rxe0 was not done within 20 s")


def test_another_failure_than_the_expected_one_is_told():
    case = next(case for case in PEER_CASES if case.id == "peer/wrong-key")
    outcome = judge_peer(run(replace(without_capture(case), status="RETRY_EXC")))
    assert outcome.verdict is Verdict.FAIL
    assert "0 succeeded, then REM_ACCESS, expected RETRY_EXC" in outcome.detail


def test_recovery_that_nobody_saw_and_faults_that_never_struck_are_unknown():
    seen_nothing = judge_peer(run(replace(SIMPLE, must_see=((SOFT, "nak"),))))
    assert (seen_nothing.verdict, seen_nothing.detail) == (Verdict.UNKNOWN, "recovery: soft sent no nak")
    faults = next(case for case in PEER_CASES if case.id == "peer/loss-nak").faults
    idle = judge_peer(run(replace(SIMPLE, faults=faults)))  # its message 1 has no packet 3
    assert (idle.verdict, idle.detail) == (Verdict.UNKNOWN, "exercised: never hit: drop")


def test_memory_tells_what_landed_from_what_did_not():
    messages = (PeerMessage("send", 10), PeerMessage("send", 20))
    digests = {expected_memory(messages, 1, delivered) for delivered in range(3)}
    digests.add(expected_memory(messages, 2, 2))
    assert len(digests) == 4
    assert memory_bytes(messages) == 10 + 20 + 3 * 64


def test_both_ends_draw_other_bytes_and_their_configurations_travel():
    configs = peer_configs(SIMPLE, 3, MAC, IP, DEVICE)
    assert content_seed(3, RXE) != content_seed(3, SOFT)
    assert configs[RXE].seed == content_seed(3, RXE)
    for config in configs.values():
        assert PLAIN.decode(type(config), PLAIN.encode(config)) == config
    assert configs[SOFT].send_qp.peer_qpn == DEVICE.recv_qpn
    assert configs[SOFT].peer_base_va == DEVICE.base_va
    assert configs[RXE].send_qp.first_psn == configs[SOFT].receive_qp.peer_first_psn


def test_frames_are_counted_by_end_and_kind(tmp_path):
    """From a capture as a run leaves it."""
    path = tmp_path / "peer.pcapng"
    tap, frames = PcapngTap(path, ["h1-soft"]), []
    faults = next(case for case in PEER_CASES if case.id == "peer/loss-nak")
    run(without_capture(faults), spoil=lambda end, frame: frames.append((end, frame)) or frame)
    batch = FrameBatch.of(1, 4200)
    for end, frame in frames:
        batch.count = 0
        batch.append(0, frame)
        tap.record(batch, 0, 1, 0, end == SOFT)
    batch.count = 0
    batch.append(0, frames[0][1][:-1] + bytes([frames[0][1][-1] ^ 1]))
    tap.record(batch, 0, 1, 0, False)
    tap.close()
    seen = seen_frames(PeerRun(faults, 1, "", capture=path))
    sent = Counter(end for end, _ in frames)
    for end in (RXE, SOFT):
        kinds = ("data", "ack", "nak", "rnr")
        assert sum(seen[end, kind] for kind in kinds) == sent[end] + (end == RXE)
        assert seen[end, "nak"] == 1
        assert 0 < seen[end, "again"] < seen[end, "data"]
    assert (seen[RXE, "wrong_icrc"], seen[SOFT, "wrong_icrc"]) == (1, 0)
