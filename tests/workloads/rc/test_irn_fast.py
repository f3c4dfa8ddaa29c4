"""IRN in C against the reference: the batch verbs, and an endpoint that compiled code holds, each on the same traffic
with the same faults as the per-frame verbs."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from tests.support.irn_sides import (
    BATCHES,
    ENDLESS,
    FRAMES,
    HELD,
    IRN,
    MTU,
    ROOM,
    Side,
    qp_configs,
)
from tests.support.irn_traffic import Traffic, play, traffic
from tests.support.native import needs_native
from tests.support.rc_pair import START_PSNS, pattern
from workloads.config import IRN_HELD, QpConfig
from workloads.errors import InternalError
from workloads.machine import FrameBatch
from workloads.native.build import load_library
from workloads.rc import RcEndpoint, SendRequest, irn_compiled, irn_fast
from workloads.rc.irn_fast import IrnFastPath
from workloads.wire import Bth, ImmDt, Opcode, Packet, Reth, encode_packet, psn_add

needs_c = [needs_native("rc_fast"), needs_native("simulator")]
pytestmark = needs_c


@settings(max_examples=60, deadline=None)
@given(traffic)
def test_compiled_code_does_what_the_reference_does(t: Traffic) -> None:
    play(t)


@pytest.mark.parametrize("recovery", ["irn", IRN_HELD])
@pytest.mark.parametrize("psn", START_PSNS)
def test_messages_go_through_c_with_and_without_loss(psn: int, recovery: str) -> None:
    """Otherwise the differential test would compare the reference with itself."""
    for loss, liars in ((0.0, 0.0), (0.1, 0.0), (0.1, 0.3)):
        done, by_c = play(Traffic(3, 1, 64, loss, psn, False, 40, 1 << 20, True, True, recovery, liars))
        assert done == 12 or liars
        assert by_c > 150


def written(config: QpConfig, psn: int, opcode: Opcode, size: int, reth: Reth, imm: int | None = None) -> bytes:
    """A request to `config`'s peer."""
    bth = Bth(opcode, config.peer_qpn, psn, ack_req=1)
    return encode_packet(
        Packet(config.envelope, bth, pattern(size, psn), reth=reth, imm=None if imm is None else ImmDt(imm))
    )


Op = Opcode
CRAFTED: dict[str, list[tuple[Opcode, int, Reth]]] = {
    "a later packet first": [(Op.WRITE_ONLY, MTU, Reth(MTU, 5, 3 * MTU))],
    "a FIRST in a message": [(Op.WRITE_FIRST, MTU, Reth(0, 5, 4 * MTU)), (Op.WRITE_FIRST, MTU, Reth(MTU, 5, 4 * MTU))],
    "more than was announced": [(Op.WRITE_FIRST, MTU, Reth(0, 5, MTU)), (Op.WRITE_ONLY, MTU, Reth(MTU, 5, 1 << 20)),
                                (Op.WRITE_ONLY, MTU, Reth(MTU, 5, MTU + 1))],
    "an end that leaves bytes out": [(Op.WRITE_FIRST, MTU, Reth(0, 5, 4 * MTU)),
                                     (Op.WRITE_ONLY_IMM, MTU, Reth(MTU, 5, 4 * MTU))],
    "a short one in the middle": [(Op.WRITE_FIRST, MTU, Reth(0, 5, 4 * MTU)),
                                  (Op.WRITE_ONLY, 8, Reth(MTU, 5, 4 * MTU))],
    "a long one": [(Op.WRITE_FIRST, MTU + 4, Reth(0, 5, 4 * MTU))],
    "a key that nobody registered": [(Op.WRITE_FIRST, MTU, Reth(0, 7, 4 * MTU))],
    "behind the end of its memory": [(Op.WRITE_FIRST, MTU, Reth(16 * ROOM - MTU + 1, 5, 4 * MTU))],
    "in front of its memory": [(Op.WRITE_FIRST, MTU, Reth(ENDLESS - 1, 6, 4 * MTU))],
    "across the end of endless memory": [(Op.WRITE_FIRST, MTU, Reth(ENDLESS + 16 * ROOM - 8, 6, 4 * MTU))],
    "at the end of all addresses": [(Op.WRITE_FIRST, MTU, Reth((1 << 64) - MTU, 5, 4 * MTU))],
    "a SEND": [(Op.SEND_MIDDLE, MTU, Reth(0, 5, MTU))],
}  # fmt: skip


@pytest.mark.parametrize("psn", START_PSNS)
@pytest.mark.parametrize("kind", [BATCHES, HELD])
@pytest.mark.parametrize("recovery", ["irn", IRN_HELD])
@pytest.mark.parametrize("name", CRAFTED)
def test_wrong_requests_end_alike(name: str, recovery: str, kind: str, psn: int) -> None:
    """In order, and with the first one last, so that what is wrong was kept."""
    (a,), (b,) = qp_configs(1, psn, recovery=recovery)
    frames = []
    for i, (opcode, size, reth) in enumerate(CRAFTED[name]):
        imm = 9 if opcode is Op.WRITE_ONLY_IMM else None
        if opcode is Op.SEND_MIDDLE:
            bth = Bth(opcode, a.peer_qpn, psn_add(psn, i))
            frames.append(encode_packet(Packet(a.envelope, bth, pattern(size, i))))
        else:
            frames.append(written(a, psn_add(psn, i), opcode, size, reth, imm))
    for order in (frames, frames[1:] + frames[:1]):
        sides = [Side([b], FRAMES), Side([b], kind)]
        for side in sides:
            side.post_receive(b.qpn)
            side.receive(order, 0)
        assert sides[0].state() == sides[1].state()
        assert sides[0].end._order[0].responder.failed


@pytest.mark.parametrize("kind", [BATCHES, HELD])
@pytest.mark.parametrize("receives", range(4))
def test_one_packet_that_completes_several_messages(receives: int, kind: str) -> None:
    """Three messages wait behind a gap; those without a receive are not taken."""
    (a,), (b,) = qp_configs(1, 0xFFFFFE)
    frames = [written(a, psn_add(0xFFFFFE, n), Op.WRITE_ONLY_IMM, 40, Reth(n * MTU, 5, 40), 70 + n) for n in (1, 2, 0)]
    sides = [Side([b], FRAMES), Side([b], kind)]
    for side in sides:
        for _ in range(receives):
            side.post_receive(b.qpn)
        side.receive(frames, 0)
    assert sides[0].state() == sides[1].state()
    assert sides[1].end._order[0].responder.msn == receives


def test_more_completions_than_the_log_holds() -> None:
    (a,), (b,) = qp_configs(1, 0)
    frames = [written(a, n, Op.WRITE_ONLY_IMM, 4, Reth(4 * n, 5, 4), n) for n in [*range(1, 150), 0]]
    sides = [Side([b], kind) for kind in (FRAMES, BATCHES, HELD)]
    for side in sides:
        for _ in range(150):
            side.post_receive(b.qpn)
        side.receive(frames, 0)
    states = [side.state() for side in sides]
    assert states[0] == states[1] == states[2]
    assert sides[1].end._order[0].responder.msn == 150


@pytest.mark.parametrize("recovery", ["irn", IRN_HELD])
def test_packets_beyond_the_bitmap_are_the_references(recovery: str) -> None:
    """They are kept there, and compiled code does without the endpoint until the gap is gone."""
    (a,), (b,) = qp_configs(1, 0, recovery=recovery)
    far = [
        written(a, n, Op.WRITE_ONLY, 256, Reth(256 * (n % 8), 5, 1 << 30)) for n in (8191, 8192, 9000, 65_535, 65_536)
    ]
    sides = [Side([b], kind) for kind in (FRAMES, BATCHES, HELD)]
    for side in sides:
        side.receive(far, 0)
        side.receive(far[::-1], 0)
    states = [side.state() for side in sides]
    assert states[0] == states[1] == states[2]
    assert sides[0].end._order[0].responder.arrivals.bitmap.bit_length() == 65_536


def test_what_is_compiled_and_what_is_not() -> None:
    """A larger cap than the bitmaps, steps that are told, another recovery beside it: the reference's."""

    def fast_path(*configs: QpConfig) -> Any:
        end = RcEndpoint()
        for config in configs:
            end.add_qp(config)
        return end._fast

    (a, other), _ = qp_configs(2, 0)
    assert isinstance(fast_path(a, other), IrnFastPath)
    for reason in (
        {"irn": replace(IRN, cap_packets=8193)},
        {"trace": True},
        {"trimming": True},
        {"recovery": "gbn"},
        {"recovery": "irn-rack"},
    ):
        assert fast_path(a, replace(other, **reason)) is None
        assert fast_path(replace(a, recovery=IRN_HELD), replace(other, **{"recovery": IRN_HELD} | reason)) is None
    assert isinstance(fast_path(a, replace(other, recovery=IRN_HELD)), IrnFastPath)
    assert isinstance(fast_path(a, replace(other, irn=replace(IRN, cap_packets=8192))), IrnFastPath)


def test_without_the_library_everything_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INA_NATIVE", "0")
    (a,), (b,) = qp_configs(1, 0)
    sender, receiver = Side([a], FRAMES), Side([b], BATCHES)
    assert receiver.end._fast is None
    receiver.post_receive(b.qpn)
    sender.end.post_send(a.qpn, SendRequest(1, (pattern(5000),), 7, 0, 5), 0)
    while sender.end.outstanding_packets(a.qpn):
        receiver.receive(sender.send(0), 0)
        sender.receive(receiver.send(0), 0)
    assert receiver.memory[:5000] == pattern(5000)


def test_rows_that_are_too_small_are_refused() -> None:
    (a,), _ = qp_configs(1, 0)
    end = RcEndpoint()
    end.add_qp(a)
    end.post_send(a.qpn, SendRequest(1, (bytes(10 * MTU),), 1, 0, 5), 0)
    with pytest.raises(ValueError, match="different structures"):
        end.fill_batch(FrameBatch.of(8, 300), 0)


def test_structs_are_those_of_the_c_part(monkeypatch: pytest.MonkeyPatch) -> None:
    library = load_library("rc_fast")
    assert library is not None
    monkeypatch.setattr(irn_compiled, "PAIR_BYTES", irn_compiled.PAIR_BYTES + 8)
    irn_fast._functions.cache_clear()
    with pytest.raises(InternalError, match="struct irn_pair and its mirror in Python differ: size in bytes"):
        irn_fast._functions(library)


def test_idle_queue_pairs_are_given_and_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host of a sharded parameter server has hundreds; one of them sends at a time."""
    configs, _ = qp_configs(50, 0)
    end = RcEndpoint()
    end.add_qps(configs)
    held = end.hold()
    assert held is not None
    written: list[int] = []
    give_messages = irn_compiled._Pair._give_messages

    def give(pair: irn_compiled._Pair, known: int, count: int) -> None:
        written.append(pair.qp.config.qpn)
        give_messages(pair, known, count)

    monkeypatch.setattr(irn_compiled._Pair, "_give_messages", give)
    for turn in range(5):
        assert held.offer(None)
        held.take_back(turn)
    assert len(written) == 50, "each once, when it was new"
    written.clear()
    end.post_send(configs[7].qpn, SendRequest(1, (b"x" * 10,), imm=5, remote_va=0, rkey=1), 5)
    assert held.offer(None)
    held.take_back(6)
    assert written == [configs[7].qpn]


def test_a_message_is_written_for_compiled_code_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the oldest one is another than compiled code left there."""
    (a,), _ = qp_configs(1, 0)
    end = RcEndpoint()
    end.add_qps([a])
    held = end.hold()
    assert held is not None
    written: list[int] = []

    class Noted(struct.Struct):
        def pack_into(self, buffer: Any, offset: int, *values: Any) -> None:
            written.append(values[0] - a.first_psn)
            super().pack_into(buffer, offset, *values)

    monkeypatch.setattr(irn_compiled, "_MESSAGE", Noted("=qqQ"))
    for turn in range(3):
        end.post_send(a.qpn, SendRequest(turn, (b"x" * 10,), imm=5, remote_va=0, rkey=1), turn)
        assert held.offer(None)
        held.take_back(turn)
    assert written == [0, 1, 2]
    written.clear()
    end.queue_pairs[0].requester.queue.messages.popleft()
    end.post_send(a.qpn, SendRequest(3, (b"x" * 10,), imm=5, remote_va=0, rkey=1), 3)
    assert held.offer(None)
    assert written == [1, 2, 3]


def test_a_receive_that_was_posted_meanwhile_is_known_to_compiled_code() -> None:
    """Else the next message would go through Python."""
    (a,), (b,) = qp_configs(1, 0)
    side = Side([b], HELD)
    assert side._offered()
    side.take_back(0)
    side.post_receive(b.qpn)
    side.receive([written(a, 0, Op.WRITE_ONLY_IMM, 40, Reth(0, 5, 40), 7)], 0)
    assert side.by_c == 1
    side.take_back(0)
    assert side.end._order[0].responder.msn == 1
