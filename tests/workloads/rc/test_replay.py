"""Our endpoint in the place of either side of the captured conversations of the Linux rdma_rxe stack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.pcap import pcap_frames
from workloads.config import QpConfig
from workloads.rc import RcEndpoint, ReceiveCompleted, ReceiveRequest, SendRequest
from workloads.wire import OPCODES, Aeth, Opcode, Packet, decode_packet, psn_add

WRAP_PSN = 0xFFFFFC


def packets_of(path: Path) -> list[tuple[bytes, Packet]]:
    found = [(frame, decode_packet(frame)) for frame in pcap_frames(path)]
    return [(frame, packet) for frame, packet in found if packet is not None]


def is_request(packet: Packet) -> bool:
    return packet.aeth is None


def qp_config(request: Packet, mtu: int, *, side: str, **more: int) -> QpConfig:
    """`side` a: the requester of the capture, b: its responder. Both use the same QPN within a file."""
    envelope, qpn = request.envelope, request.bth.dest_qpn
    if side == "b":
        envelope = replace(
            envelope, src_mac=envelope.dst_mac, dst_mac=envelope.src_mac, src_ip=envelope.dst_ip, dst_ip=envelope.src_ip
        )
    first, peer_first = (WRAP_PSN, 0) if side == "a" else (0, WRAP_PSN)
    settings = {"timeout_code": 14, "ack_every": 1000} | more
    return QpConfig(qpn, qpn, envelope, first, peer_first, path_mtu=mtu, **settings)  # type: ignore[arg-type]


MTU = 1024


def messages_of(requests: list[Packet]) -> dict[int, bytes]:
    """First PSN (counted from the start) -> bytes, of SENDs and WRITEs; a repeated packet counts once."""
    by_psn = {(p.bth.psn - WRAP_PSN) % (1 << 24): p for p in requests if OPCODES[p.bth.opcode].is_request}
    if len(by_psn) != max(by_psn) + 1:
        return _messages_with_holes(by_psn)
    messages: dict[int, bytes] = {}
    current = -1
    for offset in sorted(by_psn):
        if by_psn[offset].info.starts:
            current = offset
        messages[current] = messages.get(current, b"") + bytes(by_psn[offset].payload)
    return messages


def _messages_with_holes(by_psn: dict[int, Packet]) -> dict[int, bytes]:
    """loss_data_send: six SENDs of 20000 B, of which the capture lacks PSNs 63 to 80. They count as zeros."""
    size, packets = 20000, 20
    assert set(range(6 * packets)) - by_psn.keys() == set(range(63, 81))
    messages = {}
    for first in range(0, 6 * packets, packets):
        parts = [
            bytes(by_psn[first + i].payload) if first + i in by_psn else bytes(min(MTU, size - i * MTU))
            for i in range(packets)
        ]
        messages[first] = b"".join(parts)
    return messages


LOSSLESS = {
    "send_m1024": 1024, "send_m256": 256, "send_m4096": 4096, "send_only": 1024, "send_ipv6": 1024, "sendimm": 1024,
    "sendimm_only": 1024, "write_m1024": 1024, "write_ipv6": 1024, "write_only": 1024, "writeimm": 1024,
    "writeimm_only": 1024, "tos": 1024,
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSLESS)
def test_our_responder_answers_as_theirs_did(rxe_captures: Path, name: str) -> None:
    capture = packets_of(rxe_captures / f"{name}.A.pcap")
    requests = [packet for _, packet in capture if is_request(packet)]
    their_answers = [packet for _, packet in capture if not is_request(packet)]
    end = RcEndpoint()
    end.add_qp(qp_config(requests[0], LOSSLESS[name], side="b"))
    qpn = requests[0].bth.dest_qpn
    buffers = [bytearray(20_001) for _ in requests]
    for wr_id, buffer in enumerate(buffers):
        end.post_receive(qpn, ReceiveRequest(wr_id, memoryview(buffer)))
    targets: dict[int, bytearray] = {}
    for packet in requests:
        if packet.reth is not None:
            # WRITEs of one capture may share a key and even a place; each is checked when it is complete
            low = packet.reth.va
            if packet.reth.rkey not in targets:
                targets[packet.reth.rkey] = bytearray(1 << 16)
                end.register_memory(packet.reth.rkey, low - (1 << 15), memoryview(targets[packet.reth.rkey]))
    answers: list[Packet] = []
    for frame, packet in capture:
        if is_request(packet):
            end.receive_frame(0, frame, 0)
            answers += [p for _, f in end.frames_to_send(0) if (p := decode_packet(f)) is not None]
    assert end.next_event() is None
    assert [(a.bth, a.aeth) for a in answers] == [(a.bth, a.aeth) for a in their_answers]
    messages = messages_of(requests)
    got: list[bytes] = []
    while (completion := end.next_completion()) is not None:
        assert isinstance(completion, ReceiveCompleted)
        got.append(bytes(buffers[completion.wr_id][: completion.length]))
    if not targets:
        assert got == list(messages.values())
    else:
        placed = b"".join(bytes(memory) for memory in targets.values())
        assert list(messages.values())[-1] in placed


def serve_requester(capture: list[tuple[bytes, Packet]], mtu: int) -> tuple[list[tuple[int, str]], list[Packet], int]:
    """Post the captured messages to our requester and feed it the captured answers; (completions, what it sent,
    timeouts)."""
    requests = [packet for _, packet in capture if is_request(packet)]
    answers = [(frame, packet) for frame, packet in capture if not is_request(packet)]
    qpn = requests[0].bth.dest_qpn
    end = RcEndpoint()
    end.add_qp(qp_config(requests[0], mtu, side="a", timeout_code=0))
    messages = messages_of(requests)
    by_psn = {p.bth.psn: p for p in requests}
    for number, (offset, data) in enumerate(messages.items()):
        first = by_psn.get(psn_add(WRAP_PSN, offset))
        last = by_psn.get(psn_add(WRAP_PSN, offset + max(1, -(-len(data) // mtu)) - 1))
        imm = last.imm if last else None
        reth = first.reth if first else None
        end.post_send(
            qpn,
            SendRequest(
                number,
                (data,),
                imm.value if imm else None,
                reth.va if reth else None,
                reth.rkey if reth else 0,
            ),
            0,
        )
    sent: list[Packet] = []
    for now, (frame, _) in enumerate(answers):
        sent += [p for _, f in end.frames_to_send(now) if (p := decode_packet(f)) is not None]
        end.receive_frame(0, frame, now)
        if (timer := end.get_timer()) is not None:  # an RNR wait
            end.handle_timer(timer)
    sent += [p for _, f in end.frames_to_send(len(answers)) if (p := decode_packet(f)) is not None]
    statuses = []
    while (completion := end.next_completion()) is not None:
        statuses.append((completion.wr_id, getattr(completion, "status", "")))
    timeouts = end.statistics()[0].timeouts
    # what we put on the wire is what they did, packet for packet, first transmissions only
    ours: dict[int, Packet] = {}
    for packet in sent:
        ours.setdefault(packet.bth.psn, packet)
    assert ours.keys() == {psn_add(WRAP_PSN, o) for o in range(len(ours))}
    for psn, theirs in by_psn.items():
        packet = ours[psn]
        assert packet.bth.opcode == theirs.bth.opcode
        assert (packet.reth, packet.imm, bytes(packet.payload)) == (theirs.reth, theirs.imm, bytes(theirs.payload))
    return statuses, sent, timeouts


@pytest.mark.parametrize("name", LOSSLESS)
def test_our_requester_completes_with_their_answers(rxe_captures: Path, name: str) -> None:
    capture = packets_of(rxe_captures / f"{name}.A.pcap")
    statuses, sent, timeouts = serve_requester(capture, LOSSLESS[name])
    messages = messages_of([p for _, p in capture if is_request(p)])
    assert statuses == [(i, "SUCCESS") for i in range(len(messages))]
    assert len(sent) == sum(is_request(p) for _, p in capture)
    assert timeouts == 0


FAULTY = {"loss_ack_send": 1024, "dup_send": 1024, "loss_data_send": 1024, "reorder_send": 1024, "rnr": 1024}


@pytest.mark.parametrize("name", FAULTY)
def test_our_requester_completes_with_their_answers_under_faults(rxe_captures: Path, name: str) -> None:
    """Lost ACKs, duplicates, gaps, RNR: whatever they answered, the same messages complete."""
    capture = packets_of(rxe_captures / f"{name}.A.pcap")
    statuses, _, _ = serve_requester(capture, FAULTY[name])
    messages = messages_of([p for _, p in capture if is_request(p)])
    assert statuses == [(i, "SUCCESS") for i in range(len(messages))]


SWITCH_CASES = {0x11: 2, 0x12: 2, 0x13: 1, 0x14: 1, 0x15: 2, 0x16: 1, 0x17: 1, 0x18: 1}


def case(folder: Path, side: str, qpn: int) -> list[tuple[bytes, Packet]]:
    return [(f, p) for f, p in packets_of(folder / f"small_host_switch.{side}.pcap") if p.bth.dest_qpn == qpn]


@pytest.mark.parametrize("qpn", SWITCH_CASES)
def test_our_requester_behind_the_small_host_switch(rxe_captures: Path, qpn: int) -> None:
    sent_by_both, forwarded = case(rxe_captures, "in", qpn), case(rxe_captures, "out", qpn)
    requests = [(f, p) for f, p in sent_by_both if is_request(p)]
    answers = [(f, p) for f, p in forwarded if not is_request(p)]
    statuses, _, _ = serve_requester(requests + answers, 1024)
    assert statuses == [(i, "SUCCESS") for i in range(SWITCH_CASES[qpn])]


@pytest.mark.parametrize("qpn", SWITCH_CASES)
def test_our_responder_behind_the_small_host_switch(rxe_captures: Path, qpn: int) -> None:
    """Fed with what the switch forwarded, we answer what they answered: PSNs, syndromes and MSNs."""
    sent_by_both, forwarded = case(rxe_captures, "in", qpn), case(rxe_captures, "out", qpn)
    requests = [(f, p) for f, p in forwarded if is_request(p)]
    theirs = [p for _, p in sent_by_both if not is_request(p)]
    end = RcEndpoint()
    end.add_qp(qp_config(requests[0][1], 1024, side="b"))
    for wr_id in range(4):
        end.post_receive(qpn, ReceiveRequest(wr_id, memoryview(bytearray(6000))))
    for key in {p.reth.rkey: p.reth for _, p in requests if p.reth}.values():
        end.register_memory(key.rkey, key.va - (1 << 15), memoryview(bytearray(1 << 16)))
    answers: list[Packet] = []
    for frame, _ in requests:
        end.receive_frame(0, frame, 0)
        answers += [p for _, f in end.frames_to_send(0) if (p := decode_packet(f)) is not None]

    def told(packets: list[Packet]) -> list[tuple[int, Aeth | None]]:
        return [(p.bth.psn, p.aeth) for p in packets if p.bth.opcode == Opcode.ACKNOWLEDGE]

    assert told(answers) == told(theirs)
    assert end.statistics()[0].icrc_errors == (1 if qpn == 0x17 else 0)


def test_a_read_is_refused_as_an_invalid_request(rxe_captures: Path) -> None:
    frame, request = packets_of(rxe_captures / "read.A.pcap")[0]
    end = RcEndpoint()
    end.add_qp(qp_config(request, 1024, side="b"))
    end.receive_frame(0, frame, 0)
    ((_, answer),) = list(end.frames_to_send(0))
    packet = decode_packet(answer)
    assert packet is not None
    assert packet.aeth == Aeth(0x61, 0)
