"""Both halves of IRN against the golden trace of its authors' receiver (not in this repository: see `oracles`)."""

from __future__ import annotations

import gzip
import hashlib
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.native import needs_native
from tests.support.rc_pair import BASE_VA, MTU, RKEY, pair_configs
from workloads.config import IrnConfig
from workloads.events import NakSent
from workloads.machine import FrameBatch
from workloads.rc import RcEndpoint, SendRequest
from workloads.rc.inbound import Inbound
from workloads.rc.irn_receiver import IrnReceiver
from workloads.rc.irn_sender import IrnSender
from workloads.rc.irn_window import SenderWindow
from workloads.rc.memory import MemoryRegions
from workloads.rc.outbound import FrameWriter
from workloads.rc.tally import Counters, Outbox
from workloads.wire import Nak, Opcode, Reth, Sack

SHA256 = {
    "recv_input.60k.txt.gz": "5c3a1c662fd43b8bbc38fac2ca76d24610234f647e0a318e5dcf1e9bf66267d1",
    "recv_output.60k.txt.gz": "959754b4849d9d2691ac2c113b3ec9ef4681c20a56a48e3cfe365ccb18c0a239",
}
PACKETS = 2807
"""of a flow"""


@pytest.fixture(scope="module")
def trace(oracles: Path) -> list[tuple[tuple[int, int], tuple[int, ...]]]:
    """((flow, PSN), (nack, next expected PSN, PSN, MSN, completion)) for each packet that came."""
    columns = []
    for name, digest in SHA256.items():
        path = oracles / "irn" / name
        if not path.is_file():
            pytest.skip(f"the golden trace {name} is absent")
        text = gzip.decompress(path.read_bytes())
        assert hashlib.sha256(text).hexdigest() == digest
        columns.append([tuple(map(int, line.split())) for line in text.decode().splitlines()])
    assert len(columns[0]) == len(columns[1]) == 60_000
    return [((flow, psn), answer) for (flow, _, psn), answer in zip(*columns, strict=True)]


class _Flow:
    def __init__(self) -> None:
        regions, self.counters, self.outbox = MemoryRegions(), Counters(), Outbox()
        regions.register(RKEY, BASE_VA, memoryview(bytearray(PACKETS * MTU)))
        self.config = pair_configs(recovery="irn")[1]
        self.receiver = IrnReceiver(self.config, regions, self.counters, self.outbox)

    def gets(self, psn: int) -> tuple[int, ...]:
        """The fields of its answer. No packet of the trace ends a message."""
        reth = Reth(BASE_VA + psn * MTU, RKEY, PACKETS * MTU)
        opcode = Opcode.WRITE_ONLY if psn else Opcode.WRITE_FIRST
        self.receiver.on_request(
            Inbound(b"", self.config.envelope, 0, opcode, 0x22, psn, True, bytes(MTU), reth, None, None)
        )
        answer = self.receiver.answers.popleft()
        assert not self.receiver.answers, "one answer per packet"
        assert answer.sack is not None
        assert answer.psn == answer.sack.selective
        nack = {0: 0, int(Nak.PSN_SEQUENCE): 1}[answer.syndrome]
        return nack, answer.sack.cumulative, answer.sack.selective, answer.msn, len(self.outbox.completions)


def test_the_receiver_answers_every_line_as_the_hardware_does(
    trace: list[tuple[tuple[int, int], tuple[int, ...]]],
) -> None:
    flows: dict[int, _Flow] = defaultdict(_Flow)
    wrong = [
        (line, told, answer)
        for line, ((flow, psn), answer) in enumerate(trace)
        if (told := flows[flow].gets(psn)) != answer
    ]
    assert not wrong
    assert len(flows) == 50
    assert sum(flow.counters.naks_sent for flow in flows.values()) == 36_075
    assert sum(flow.counters.duplicates_received for flow in flows.values()) == 9
    gaps = sum(isinstance(event, NakSent) for flow in flows.values() for event in flow.outbox.events)
    assert 50 < gaps < 36_075, "a gap is told once, not with each answer"


@needs_native("rc_fast")
def test_the_compiled_receiver_answers_every_line_as_the_hardware_does(
    trace: list[tuple[tuple[int, int], tuple[int, ...]]],
) -> None:
    """Frames in batches; what the reference would take is taken by nobody."""
    lines: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    for (flow, psn), answer in trace:
        lines[flow].append((psn, answer))
    sender, receiver = pair_configs(recovery="irn")
    writer, batch = FrameWriter(sender.envelope, sender.peer_qpn), FrameBatch.of(100, 512)
    for expected in lines.values():
        end = RcEndpoint()
        end.receive_frame = lambda *_: pytest.fail("not by compiled code")  # type: ignore[method-assign]
        end.add_qp(receiver)
        end.register_memory(RKEY, BASE_VA, memoryview(bytearray(PACKETS * MTU)))
        responder = end.queue_pairs[0].responder
        for first in range(0, len(expected), 100):
            some, batch.count = expected[first : first + 100], 0
            for psn, _ in some:
                reth = Reth(BASE_VA + psn * MTU, RKEY, PACKETS * MTU).encode()
                opcode = Opcode.WRITE_ONLY if psn else Opcode.WRITE_FIRST
                batch.append(0, writer.write(opcode, psn, True, reth, bytes(MTU)))
            end.receive_batch(batch, 0)
            told = [
                ({0: 0, int(Nak.PSN_SEQUENCE): 1}[a.syndrome], a.sack.cumulative, a.sack.selective, a.msn, 0)
                for a in responder.answers
                if a.sack is not None
            ]
            assert told == [answer for _, answer in some]
            responder.answers.clear()


@needs_native("rc_fast")
def test_the_compiled_sender_repeats_what_the_reference_repeats(
    trace: list[tuple[tuple[int, int], tuple[int, ...]]],
) -> None:
    """Every answer of the trace to both, packet by packet: each sends everything before it is answered."""
    config, peer = pair_configs(recovery="irn", irn=IrnConfig(cap_packets=PACKETS))
    writer, batch = FrameWriter(peer.envelope, peer.peer_qpn), FrameBatch.of(1, 512)
    flows: dict[int, tuple[RcEndpoint, RcEndpoint]] = {}
    repeated = 0
    for (flow, _), (nack, cumulative, selective, msn, _) in trace:
        if flow not in flows:
            flows[flow] = RcEndpoint(), RcEndpoint()
            for end in flows[flow]:
                end.add_qp(config)
                end.post_send(config.qpn, SendRequest(0, (bytes(PACKETS * MTU),), 0, BASE_VA, RKEY), 0)
        reference, compiled = flows[flow]
        recoveries = [end.queue_pairs[0].requester.recovery for end in (reference, compiled)]
        assert all(isinstance(recovery, IrnSender) for recovery in recoveries)
        ours, theirs = recoveries
        while theirs.window.nxt <= selective:  # type: ignore[attr-defined]
            before, batch.count = theirs.window.nxt, 0  # type: ignore[attr-defined]
            compiled.fill_batch(batch, 0)
            _, frame = next(iter(reference.frames_to_send(0)))
            assert bytes(batch.row(0)) == bytes(frame)
            repeated += theirs.window.nxt == before  # type: ignore[attr-defined]
        aeth = ((0x60 if nack else 0) << 24 | msn).to_bytes(4, "big")
        answer = writer.write(Opcode.IRN_ANSWER, selective, False, aeth + Sack(cumulative, selective).encode(), b"")
        reference.receive_frame(0, answer, 0)
        batch.count = 0
        batch.append(0, answer)
        compiled.receive_batch(batch, 0)
        assert ours.window.state == theirs.window.state  # type: ignore[attr-defined]
    assert repeated > 500


class _Opinion:
    """What a sender may conclude from answers, kept as plain sets of sequence numbers."""

    def __init__(self) -> None:
        self.una = 0
        self.arrived: set[int] = set()

    def heard(self, nack: int, cumulative: int, selective: int) -> None:
        self.una = max(self.una, cumulative)
        if nack:
            self.arrived.add(selective)
        self.arrived = {psn for psn in self.arrived if psn > self.una}


def test_the_sender_believes_every_line_and_repeats_only_holes(
    trace: list[tuple[tuple[int, int], tuple[int, ...]]],
) -> None:
    """Every answer of the trace, to a sender per flow that sent everything before the answer came. What it wants to
    send again is always a packet below one that arrived, and not here; in a recovery each such hole once, in order."""
    windows: dict[int, SenderWindow] = {}
    opinions: dict[int, _Opinion] = defaultdict(_Opinion)
    repeated = 0
    for (flow, _), (nack, cumulative, selective, _, _) in trace:
        window, opinion = windows.setdefault(flow, SenderWindow(0, PACKETS)), opinions[flow]
        while window.nxt <= selective:
            if (sequence := window.upcoming(PACKETS)) == window.nxt:
                window.left(sequence)
                continue
            assert sequence is not None
            holes = set(range(opinion.una, max(opinion.arrived, default=opinion.una))) - opinion.arrived
            assert sequence in holes
            window.left(sequence)
            repeated += 1
        window.heard(bool(nack), cumulative, selective)
        opinion.heard(nack, cumulative, selective)
        assert window.una == opinion.una == max(cumulative, window.una)
        assert {window.una + bit for bit in range(256) if window._arrived >> bit & 1} == opinion.arrived
    assert repeated > 500
