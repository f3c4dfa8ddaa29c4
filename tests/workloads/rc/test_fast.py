"""The batch verbs against the per-frame ones, on the same traffic with the same faults; and the parts in C alone."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.native import needs_native
from tests.support.rc_pair import START_PSNS, arriving, pair_configs, pattern, several_configs
from workloads.config import QpConfig
from workloads.machine import FrameBatch
from workloads.native.build import load_library
from workloads.rc import RcEndpoint, ReceiveRequest, SendCompleted, SendRequest, fast
from workloads.wire import Aeth, Bth, ImmDt, Opcode, Packet, Reth, encode_packet, psn_add

MTU = 256
ROOM = 24 * MTU
needs_c = needs_native("rc_fast")


def test_the_fast_path_is_there_where_the_library_is() -> None:
    end = RcEndpoint()
    assert (end._fast is None) == (load_library("rc_fast") is None)


class Side:
    """One endpoint, driven by frames or by batches."""

    def __init__(self, configs: list[QpConfig], *, batches: bool, rows: int) -> None:
        self.end, self.batches, self.rows = RcEndpoint(), batches, rows
        self.memory = bytearray(b"\xee" * (ROOM * 16))
        self.rooms: list[bytearray] = []
        self.end.register_memory(5, 0, memoryview(self.memory))
        for config in configs:
            self.end.add_qp(config)
        self.batch = FrameBatch.of(rows, 1500)
        self.told: list[Any] = []

    def post_receive(self, qpn: int) -> None:
        self.rooms.append(bytearray(b"\xee" * ROOM))
        self.end.post_receive(qpn, ReceiveRequest(len(self.rooms), memoryview(self.rooms[-1])))

    def send(self, now: int) -> list[bytes]:
        if not self.batches:
            frames = []
            for _, frame in self.end.frames_to_send(now):
                frames.append(bytes(frame))
                if len(frames) == self.rows:
                    break
            return frames
        self.batch.count = 0
        self.end.fill_batch(self.batch, now)
        return [bytes(self.batch.row(i)) for i in range(self.batch.count)]

    def receive(self, frames: list[bytes], now: int) -> None:
        if self.batches:
            batch = FrameBatch.of(max(1, len(frames)), 1500)
            for frame in frames:
                batch.append(0, frame)
            self.end.receive_batch(batch, now)
            batch.frames[:] = 0x55  # what was kept must have been copied
        else:
            for frame in frames:
                self.end.receive_frame(0, frame, now)

    def state(self) -> Any:
        while (event := self.end.next_event()) is not None:
            self.told.append(event)
        while (completion := self.end.next_completion()) is not None:
            self.told.append(completion)
        inside = [
            (*(getattr(q.requester.recovery, name) for name in ("state", "una", "nxt", "max_nxt", "deadline")),
             q.responder.state, q.responder.expected, q.responder.msn, list(q.responder.answers))
            for q in self.end._order
        ]  # fmt: skip
        return inside, self.told, self.end.statistics(), self.end.get_timer(), bytes(self.memory), self.rooms


def qp_configs(count: int, psn: int, v6: bool, **overrides: Any) -> tuple[list[QpConfig], list[QpConfig]]:
    return several_configs(count, psn, v6, retry7_infinite=True, timeout_code=6, rnr_timer_code=1, **overrides)


@dataclass(frozen=True)
class Traffic:
    seed: int
    qps: int
    rows: int
    loss: float
    psn: int
    v6: bool
    ack_every: int
    ack_request_every: int
    window: int


traffic = st.builds(
    Traffic,
    seed=st.integers(0, 2**32),
    qps=st.integers(1, 3),
    rows=st.sampled_from([1, 2, 7, 64, 300]),
    loss=st.sampled_from([0.0, 0.01, 0.1]),
    psn=st.sampled_from(START_PSNS),
    v6=st.booleans(),
    ack_every=st.integers(0, 20),
    ack_request_every=st.integers(0, 70),
    window=st.sampled_from([1, 2, 5, 40, 1 << 20]),
)


def ack_of_unsent(side: Side, peers: list[QpConfig], draw: random.Random) -> bytes:
    """For `side`, about a PSN that is just not sent yet."""
    config = draw.choice(peers)
    psn = psn_add(side.end._qps[config.peer_qpn].requester.recovery.max_nxt, draw.randrange(2))
    return encode_packet(Packet(config.envelope, Bth(Opcode.ACKNOWLEDGE, config.peer_qpn, psn), aeth=Aeth(0x1F, 0)))


def play(t: Traffic) -> int:
    """Both kinds of endpoints in lockstep; returns how many messages completed."""
    settings_ = {"ack_every": t.ack_every, "ack_request_every": t.ack_request_every, "window_packets": t.window}
    configs = qp_configs(t.qps, t.psn, t.v6, **settings_)
    sides = [[Side(c, batches=batches, rows=t.rows) for batches in (False, True)] for c in configs]
    draw = random.Random(t.seed)
    now, posted = 0, 0
    for round_ in range(400):
        if round_ < 12:
            for kinds, own in zip(sides, configs, strict=True):
                for config in own:
                    size = draw.choice(
                        [0, 1, MTU, 3 * MTU + 1, 2 * MTU + 4, draw.randrange(ROOM), draw.randrange(ROOM) & ~3]
                    )
                    data, cut = pattern(size, posted), draw.randrange(40)
                    va = draw.randrange(15) * ROOM if draw.random() < 0.6 else None
                    imm = posted if draw.random() < 0.7 else None
                    request = SendRequest(posted, (data[:cut], memoryview(data)[cut:]), imm, va, 5)
                    posted += 1
                    for side in kinds:
                        side.end.post_send(config.qpn, request, now)
        for kinds, own in zip(sides, configs, strict=True):
            for config in own:
                if draw.random() < 0.7:
                    for side in kinds:
                        side.post_receive(config.qpn)
        for me, other in ((0, 1), (1, 0)):
            reference, fast_ = (side.send(now) for side in sides[me])
            assert fast_ == reference
            arrived = arriving(reference, t.loss, draw)
            if t.loss and draw.random() < 0.3:
                arrived.insert(draw.randrange(len(arrived) + 1), ack_of_unsent(sides[other][0], configs[me], draw))
            for side in sides[other]:
                side.receive(arrived, now)
            assert sides[other][0].state() == sides[other][1].state()
        now += 20_000
        for kinds in sides:
            for side in kinds:
                side.end.handle_timer(now)
        timers = [d for kinds in sides if (d := kinds[0].end.get_timer()) is not None]
        if not timers and round_ >= 12:
            break
    return sum(isinstance(told, SendCompleted) and told.status == "SUCCESS" for told in sides[0][1].told)


@needs_c
@settings(max_examples=30, deadline=None)
@given(traffic)
def test_batches_emit_and_accept_what_frames_do(t: Traffic) -> None:
    play(t)


ANNOUNCED = Reth(0, 5, 4 * MTU)


def crafted(config: QpConfig, psn: int, *requests: tuple[Opcode, int], reth: Reth = ANNOUNCED) -> list[bytes]:
    """Requests to `config`'s peer, each with that many bytes; a WRITE_FIRST announces four packets at address 0."""
    return [
        encode_packet(
            Packet(
                config.envelope,
                Bth(opcode, config.peer_qpn, psn_add(psn, i)),
                pattern(size, i),
                reth=reth if opcode is Opcode.WRITE_FIRST else None,
                imm=ImmDt(i) if opcode is Opcode.WRITE_LAST_IMM else None,
            )
        )
        for i, (opcode, size) in enumerate(requests)
    ]


Op = Opcode
CRAFTED: dict[str, list[tuple[Opcode, int]]] = {
    "the last packet of a WRITE is a MIDDLE": [(Op.WRITE_FIRST, MTU), *[(Op.WRITE_MIDDLE, MTU)] * 3],
    "more than the receive holds": [(Op.SEND_FIRST, MTU), *[(Op.SEND_MIDDLE, MTU)] * 30],
    "a MIDDLE of another kind": [(Op.SEND_FIRST, MTU), (Op.SEND_MIDDLE, MTU), (Op.WRITE_MIDDLE, MTU)],
    "a MIDDLE that is too short": [(Op.SEND_FIRST, MTU), (Op.SEND_MIDDLE, MTU), (Op.SEND_MIDDLE, MTU - 4)],
    "a MIDDLE with a pad": [(Op.SEND_FIRST, MTU), (Op.SEND_MIDDLE, MTU), (Op.SEND_MIDDLE, MTU - 3)],
    "a FIRST in a message": [(Op.WRITE_FIRST, MTU), (Op.WRITE_MIDDLE, MTU), (Op.WRITE_FIRST, MTU)],
    "a LAST that leaves bytes out": [(Op.WRITE_FIRST, MTU), (Op.WRITE_MIDDLE, MTU), (Op.WRITE_LAST, MTU)],
    "a LAST that is too long": [(Op.WRITE_FIRST, MTU), *[(Op.WRITE_MIDDLE, MTU)] * 2, (Op.WRITE_LAST, MTU + 4)],
    "a LAST of three packets": [(Op.WRITE_FIRST, MTU), (Op.WRITE_LAST, 3 * MTU)],
    "a LAST of nothing": [(Op.WRITE_FIRST, MTU), *[(Op.WRITE_MIDDLE, MTU)] * 2, (Op.WRITE_LAST, 0)],
    "a LAST between messages": [(Op.WRITE_LAST, MTU)],
    "MIDDLEs between messages": [(Op.SEND_MIDDLE, MTU)] * 3,
}


@needs_c
@pytest.mark.parametrize("psn", START_PSNS)
@pytest.mark.parametrize("name", CRAFTED)
def test_wrong_requests_end_alike(name: str, psn: int) -> None:
    (a,), (b,) = qp_configs(1, psn, False)
    sides = [Side([b], batches=batches, rows=64) for batches in (False, True)]
    for side in sides:
        side.post_receive(b.qpn)
        side.receive(crafted(a, psn, *CRAFTED[name]), 0)
    assert sides[0].state() == sides[1].state()
    assert sides[0].end._order[0].responder.state == 4, "ERROR"


@needs_c
@pytest.mark.parametrize(
    "reth",
    [
        Reth(0, 5, MTU),
        Reth(0, 5, 100),
        Reth(0, 6, 4 * MTU),
        Reth(ROOM * 16 - 4 * MTU + 1, 5, 4 * MTU),
        Reth(ROOM * 16 + 1, 5, 4 * MTU),
        Reth((1 << 64) - MTU, 5, 4 * MTU),
        Reth(0, 5, 0xFFFF_FFFF),
    ],
)
def test_writes_that_must_not_begin_end_alike(reth: Reth) -> None:
    (a,), (b,) = qp_configs(1, 0, False)
    sides = [Side([b], batches=batches, rows=64) for batches in (False, True)]
    for side in sides:
        side.receive(crafted(a, 0, (Op.WRITE_FIRST, MTU), (Op.WRITE_MIDDLE, MTU), reth=reth), 0)
    assert sides[0].state() == sides[1].state()
    assert sides[0].end._order[0].responder.state == 4, "ERROR"


@needs_c
@pytest.mark.parametrize("receives", range(3))
def test_immediate_data_without_a_receive_is_refused_alike(receives: int) -> None:
    (a,), (b,) = qp_configs(1, 0, False)
    sides = [Side([b], batches=batches, rows=64) for batches in (False, True)]
    write = [(Op.WRITE_FIRST, MTU), *[(Op.WRITE_MIDDLE, MTU)] * 2, (Op.WRITE_LAST_IMM, MTU)]
    for side in sides:
        for _ in range(receives):
            side.post_receive(b.qpn)
        side.receive(crafted(a, 0, *write, *write), 0)
    assert sides[0].state() == sides[1].state()
    assert sides[0].end._order[0].responder.msn == receives


@needs_c
def test_more_answers_than_one_call_into_c_may_owe() -> None:
    (a,), (b,) = qp_configs(1, 0, False, ack_every=1)
    sides = [Side([b], batches=batches, rows=200) for batches in (False, True)]
    requests = [(Op.WRITE_FIRST, MTU), *[(Op.WRITE_MIDDLE, MTU)] * 149]
    for side in sides:
        side.receive(crafted(a, 0, *requests, reth=Reth(0, 5, 200 * MTU)), 0)
    assert sides[0].state() == sides[1].state()
    assert len(sides[1].end._order[0].responder.answers) == 150


@needs_c
@pytest.mark.parametrize("psn", START_PSNS)
def test_a_queue_pair_that_failed_in_the_middle_of_a_message_takes_no_more(psn: int) -> None:
    (a,), (b,) = qp_configs(1, psn, False, retry_count=0)
    sides = [Side([b], batches=batches, rows=64) for batches in (False, True)]
    frames = crafted(a, psn, (Op.WRITE_FIRST, MTU), (Op.WRITE_MIDDLE, MTU), (Op.WRITE_MIDDLE, MTU))
    for side in sides:
        side.end.post_send(b.qpn, SendRequest(1, (b"x",)), 0)
        side.send(0)
        side.receive(frames[:2], 0)
        side.end.handle_timer(10**9)  # the other half gives up
        side.receive(frames[2:], 10**9)
    assert sides[0].state() == sides[1].state()
    assert sides[1].memory[2 * MTU :] == b"\xee" * (len(sides[1].memory) - 2 * MTU)


@needs_c
@pytest.mark.parametrize(("va", "imm"), [(None, None), (64, None), (64, 9)])
@pytest.mark.parametrize("psn", START_PSNS)
def test_bulk_goes_through_c(psn: int, va: int | None, imm: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the differential test would compare the reference with itself. Only FIRST and LAST of a SEND go through
    the reference."""
    taken = {"emit": 0, "accept": 0}
    emit, accept = fast.FastPath.emit, fast.FastPath.accept

    def counting_emit(self: fast.FastPath, *args: Any) -> int:
        count = emit(self, *args)
        taken["emit"] += count
        return count

    def counting_accept(self: fast.FastPath, batch: FrameBatch, row: int, now: int) -> int:
        after = accept(self, batch, row, now)
        taken["accept"] += after - row
        return after

    monkeypatch.setattr(fast.FastPath, "emit", counting_emit)
    monkeypatch.setattr(fast.FastPath, "accept", counting_accept)
    a, b = pair_configs(psn=psn)
    sides = Side([a], batches=True, rows=50), Side([b], batches=True, rows=50)
    data = pattern(1000 * MTU)
    room = bytearray(1000 * MTU)
    if va is None:
        sides[1].end.post_receive(b.qpn, ReceiveRequest(1, memoryview(room)))
    else:
        sides[1].end.register_memory(6, va, memoryview(room))
    if imm is not None:
        sides[1].end.post_receive(b.qpn, ReceiveRequest(1))
    sides[0].end.post_send(a.qpn, SendRequest(1, (data[:16], memoryview(data)[16:]), imm, va, 6), 0)
    while sides[0].end.outstanding_packets(a.qpn):
        sides[1].receive(sides[0].send(0), 0)
        sides[0].receive(sides[1].send(0), 0)
    assert room == data
    acks = sides[0].end.statistics()[0].acks_received
    assert acks >= 1000 // 16
    assert taken == {"emit": 1000, "accept": (998 if va is None else 1000) + acks}


def test_without_the_library_everything_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INA_NATIVE", "0")
    assert RcEndpoint()._fast is None
    assert play(Traffic(3, 2, 64, 0.01, 0xFFFFFC, False, 16, 64, 1 << 20)) == 24


@needs_c
def test_sixteen_megabytes_are_not_copied() -> None:
    (a,), (b,) = qp_configs(1, 0, False)
    sender, receiver, batch = RcEndpoint(), RcEndpoint(), FrameBatch.of(64, 1500)
    sender.add_qp(a)
    receiver.add_qp(b)
    data, room = bytes(16 << 20), bytearray(16 << 20)
    receiver.register_memory(5, 0, memoryview(room))
    back = FrameBatch.of(64, 1500)
    tracemalloc.start()
    for number in range(16):
        start = number << 20
        segments = (data[start : start + 16], memoryview(data)[start + 16 : start + (1 << 20)])
        sender.post_send(a.qpn, SendRequest(number, segments, None, start, 5), 0)
    while sender.outstanding_packets(a.qpn):
        batch.count = back.count = 0
        sender.fill_batch(batch, 0)
        receiver.receive_batch(batch, 0)
        receiver.fill_batch(back, 0)
        sender.receive_batch(back, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert room == data
    assert peak < 1 << 20
