"""The compiled fast path against the reference: the same frames in the same order, the same events, the same arrays."""

from __future__ import annotations

import ctypes
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from switch_nodes.config import SwitchConfig
from switch_nodes.forwarding.frame_queue import MacStruct, QueueStruct, switch_library
from switch_nodes.netreduce import NetReduceProgram, create_netreduce
from switch_nodes.netreduce.fast import FastNetReduceProgram, RingStruct, SwitchStruct
from switch_nodes.netreduce.ring import Ring
from tests.support.batches import fast_netreduce
from tests.support.native import needs_native
from tests.support.netreduce_cases import CASES
from tests.support.netreduce_harness import Bench, Job, Network, scramble
from workloads.config import ArithmeticSpec
from workloads.machine import BatchMachine, Event, FrameBatch
from workloads.native.layout import check_structure
from workloads.wire import Bth, Opcode, Packet, decode_packet, encode_packet, icrc_of

LIBRARY = switch_library()
pytestmark = needs_native("switch_programs")
Stream = list[tuple[int, bytes]]


def fast(config: SwitchConfig) -> FastNetReduceProgram:
    assert LIBRARY is not None
    return FastNetReduceProgram(config, LIBRARY)


def arrays_of(ring: Ring) -> dict[str, np.ndarray]:
    """All state, without what lies in cleared slots and behind the lengths."""
    held = {name: value.copy() for name, value in vars(ring).items() if isinstance(value, np.ndarray)}
    for name in ("header", "header_length", "payload", "value"):
        held[name][ring.bitmap == 0] = 0
    held["value"][ring.done == 0] = 0
    for slot in np.flatnonzero(ring.bitmap):
        held["payload"][slot, :, ring.length[slot] :] = 0
        held["value"][slot, ring.length[slot] :] = 0
        for rank in range(ring.size):
            if not int(ring.bitmap[slot]) >> rank & 1:
                held["payload"][slot, rank] = 0
                held["header_length"][slot, rank] = 0
            held["header"][slot, rank, held["header_length"][slot, rank] :] = 0
    return held


def events_of(program: NetReduceProgram) -> list[Event]:
    return list(iter(program.next_event, None))


def compare(config: SwitchConfig, stream: Stream, seed: int) -> Counter[str]:
    """Feed the stream frame by frame to the reference, and in batches of random sizes to the fast program."""
    draw = random.Random(seed)
    reference, quick = NetReduceProgram(config), fast(config)
    assert isinstance(quick, BatchMachine)
    stride = max(64, max(len(frame) for _, frame in stream))
    expected: Stream = []
    got: Stream = []
    at = 0
    while at < len(stream):
        chunk = stream[at : at + draw.choice((1, 2, 5, 16, 64, 256))]
        at += len(chunk)
        batch, out = FrameBatch.of(len(chunk), stride), FrameBatch.of(draw.choice((1, 3, 64, 300)), stride)
        for port, frame in chunk:
            reference.receive_frame(port, frame, 0)
            batch.append(port, frame)
        quick.receive_batch(batch, 0)
        if draw.random() < 0.8:
            expected += [(port, bytes(frame)) for port, frame in reference.frames_to_send(0)]
            if draw.random() < 0.2:
                got += [(port, bytes(frame)) for port, frame in quick.frames_to_send(0)]
            while True:
                out.count = 0
                quick.fill_batch(out, 0)
                got += [(int(out.ports[row]), bytes(out.row(row))) for row in range(out.count)]
                if not out.count:
                    break
            assert got == expected
        assert events_of(quick) == events_of(reference)
    assert list(reference.frames_to_send(0)) == [(port, bytes(frame)) for port, frame in quick.frames_to_send(0)]
    for ring_id, ring in reference.rings.items():
        mine, theirs = arrays_of(ring), arrays_of(quick.rings[ring_id])
        for name in mine:
            assert np.array_equal(mine[name], theirs[name]), name
    for program in (reference, quick):
        program.finish(0)
    assert events_of(quick) == events_of(reference)
    return Counter(reference.counters)


def record(job: Job, seed: int, fault_rate: float, **options: object) -> Stream:
    """What enters the switch in a random schedule of faults."""
    stream: Stream = []

    class Recorder(NetReduceProgram):
        def receive_frame(self, port: int, frame: bytes, now: int) -> None:  # type: ignore[override]
            stream.append((port, bytes(frame)))
            super().receive_frame(port, frame, now)

    network = Network(job, Recorder, **options)
    scramble(network, seed, rounds=2500, fault_rate=fault_rate)
    network.settle()
    return stream


def spoil(job: Job, stream: Stream, seed: int, rate: float = 0.15) -> Stream:
    """The same with oddities: marks, other lengths, pads, wrong ports, other traffic, damage with and without iCRC."""
    draw = random.Random(seed)
    spoilt: Stream = []
    for port, frame in stream:
        spoilt.append((port, frame))
        if draw.random() > rate:
            continue
        packet = decode_packet(frame)
        assert packet is not None
        odd, kind = bytearray(frame), draw.randrange(10)
        if kind == 0:
            odd[draw.randrange(len(odd))] ^= 1 << draw.randrange(8)
        elif kind == 1:
            odd[draw.randrange(14, len(odd))] ^= 1 << draw.randrange(8)
            odd[-4:] = icrc_of(odd[14:-4])
        elif kind == 2:
            odd = odd[: draw.randrange(len(odd))]
        elif kind == 3:
            odd += bytes(draw.randrange(20))
        elif kind == 4 and packet.info.is_request:
            size = draw.choice((0, 4, 6, 9, job.mtu, job.mtu + 4))
            odd = bytearray(encode_packet(replace(packet, payload=draw.randbytes(size))))
        elif kind == 9:
            odd[14 + 20 + 8 + 1] ^= draw.choice((0x10, 0x20, 0x30))  # pad count
            odd[-4:] = icrc_of(odd[14:-4])
        elif kind == 5:
            port = draw.randrange(job.size)
        elif kind == 6:
            odd[0:6] = draw.choice((b"\xff" * 6, b"\x02new__", bytes.fromhex("0180c2000003"), bytes(odd[6:12])))
        elif kind == 7:
            odd[6:12] = draw.choice((b"\x02new__", b"\x02newer", b"\xff" * 6))
        else:
            plain = Packet(packet.envelope, Bth(Opcode.SEND_ONLY, 0x42 + draw.randrange(3), 1), b"plain")
            odd = bytearray(encode_packet(plain))
        spoilt.append((port, bytes(odd)))
    return spoilt


def mark(stream: Stream, seed: int) -> Stream:
    """Some frames with CE, some without ECN; the iCRC does not cover it."""
    draw = random.Random(seed)
    marked: Stream = []
    for port, frame in stream:
        packet = decode_packet(frame)
        assert packet is not None
        tos = draw.choice((2, 2, 2, 3, 0, 1))
        again = encode_packet(replace(packet, envelope=replace(packet.envelope, tos=tos)))
        marked.append((port, again if again[-4:] == frame[-4:] else frame))
    return marked


@pytest.mark.parametrize("options", [{}, {"release": "asap"}, {"gate": "epsn"}], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_random_traffic(seed: int, options: dict[str, object]) -> None:
    draw = random.Random(seed)
    job = Job(
        size=draw.choice((2, 3, 4)), lengths=(1, *(draw.choice((1, 3, 6, 6, 6)) for _ in range(7))), message_packets=6,
        window=draw.choice((1, 2, 3)), seed=seed, verb=draw.choice(("write", "send")),
        tail_bytes=draw.choice((None, 8)),
    )  # fmt: skip
    stream = mark(record(job, seed, draw.choice((0.0, 0.05, 0.2)), **options), seed)
    counters = compare(job.config(**options), stream, seed)
    assert counters["results_out"] >= job.size * len(job.places())
    compare(job.config(**options), spoil(job, stream, seed), seed)


def misname(job: Job, stream: Stream, seed: int) -> Stream:
    """The same with packets whose RETH tells of another place or another length."""
    draw = random.Random(seed)
    named: Stream = []
    for port, frame in stream:
        named.append((port, frame))
        packet = decode_packet(frame)
        if packet is None or packet.reth is None or draw.random() > 0.2:
            continue
        va = packet.reth.va + draw.choice((-1, 1, 4, job.mtu, -job.mtu, 6 * job.mtu, -(1 << 36), 1 << 40))
        length = draw.choice(
            (0, 3, job.mtu, packet.reth.length - 4, packet.reth.length + 4, 7 * job.mtu, (1 << 32) - 1)
        )
        changes = draw.choice(({"va": va % (1 << 64)}, {"length": max(0, length)}))
        named.append((port, encode_packet(replace(packet, reth=replace(packet.reth, **changes)))))
    return named


@pytest.mark.parametrize("seed", range(6))
def test_random_traffic_of_irn_hosts(seed: int) -> None:
    draw = random.Random(seed)
    job = Job(
        size=draw.choice((2, 3, 4)), lengths=(1, *(draw.choice((1, 3, 6, 6, 6)) for _ in range(7))), message_packets=6,
        window=draw.choice((1, 2, 3)), seed=seed, tail_bytes=draw.choice((None, 8)), irn=True,
    )  # fmt: skip
    stream = mark(record(job, seed, draw.choice((0.0, 0.05, 0.2))), seed)
    counters = compare(job.config(), stream, seed)
    assert counters["results_out"] >= job.size * len(job.places())
    compare(job.config(), spoil(job, stream, seed), seed)
    compare(job.config(), misname(job, stream, seed), seed)


def test_frames_of_irn_hosts_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(size=4, lengths=(1, 6, 6, 6), message_packets=6, irn=True)
    stream = [(job.port(rank), job.frame(rank, *place)) for place in job.places() for rank in range(4)]
    program, asked = fast(job.config()), Counter[str]()
    slow = NetReduceProgram.receive_frame

    def ask(self: NetReduceProgram, port: int, frame: bytes, now: int) -> None:
        asked["frames"] += 1
        slow(self, port, frame, now)

    monkeypatch.setattr(NetReduceProgram, "receive_frame", ask)
    batch = FrameBatch.of(len(stream), 2000)
    for port, frame in stream:
        batch.append(port, frame)
    program.receive_batch(batch, 0)
    assert asked["frames"] == 4, "the hellos, which make the connections known"


@pytest.mark.parametrize("op", ["sum", "max", "xor"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int32sat"])
def test_arithmetic(op: str, dtype: str) -> None:
    """Every bit pattern, so that NaN, infinities, subnormals and both zeros are among the elements."""
    draw = np.random.default_rng(1)
    special = np.array(
        [0, 1 << 31, 1, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF], np.uint32
    )

    class Bits(Job):
        def elements(self, rank: int, message: int, offset: int) -> bytes:
            size = len(super().elements(rank, message, offset)) // 4
            rng = np.random.default_rng((rank, message, offset))
            words = rng.integers(0, 1 << 32, size, np.uint32)
            words[rng.random(size) < 0.5] = rng.choice(special, 1)
            words[:9] = rng.permutation(special)[: len(words[:9])]
            return words.tobytes()

    job = Bits(size=int(draw.integers(2, 6)), lengths=(1, 4, 4), arithmetic=ArithmeticSpec(op, dtype))
    stream = [(job.port(rank), job.frame(rank, *place)) for place in job.places() for rank in range(job.size)]
    counters = compare(job.config(), stream, 0)
    assert counters["results_out"] == len(stream)


def test_full_size_messages_with_losses() -> None:
    """L = 170, N = 2, 1024 bytes: a window with a hole near its begin, filled at last."""
    job = Job(size=4, lengths=(1, 170, 170, 40), message_packets=170, mtu=1024)
    order = [(rank, *place) for place in job.places()[:342] for rank in range(4)]
    lost = [(2, 1, 5), (1, 1, 9), (3, 2, 0), (0, 2, 169)]
    again = [(rank, m, off) for who in ((0, 3), (1, 2)) for rank, m, off in order if (m, off) >= (1, 5) and rank in who]
    again = [item for item in again if item not in lost[1:]]
    rest = [(rank, *place) for place in job.places() for rank in range(4) if place >= (2, 0)]
    sequence = [item for item in order if item not in lost] + again + lost + rest
    counters = compare(job.config(), [(rank, job.frame(rank, m, off)) for rank, m, off in sequence], 3)
    assert counters["replayed"] > 100
    assert counters["duplicate"] > 100


def test_two_rings() -> None:
    one = Job(lengths=(1, 4, 4, 4))
    two = Job(lengths=(1, 2, 2, 2), message_packets=2, ring_id=9, base_qpn=0x200, window=1, seed=5)
    draw = random.Random(4)
    streams = [record(one, 1, 0.1), record(two, 2, 0.1)]
    mixed: Stream = []
    while any(streams):
        mixed.append(draw.choice([stream for stream in streams if stream]).pop(0))
    compare(replace(one.config(), rings=(one.ring(), two.ring())), mixed, 1)


@pytest.mark.parametrize("ipv6", [False, True])
def test_address_families(ipv6: bool) -> None:
    job = Job(lengths=(1, 4, 4), ipv6=ipv6)
    compare(job.config(), record(job, 1, 0.1), 1)


@pytest.mark.parametrize("name", CASES)
def test_cases_by_batch_verbs(name: str) -> None:
    """The directed cases of the reference, on the fast path."""
    CASES[name](fast_netreduce)


def test_the_fast_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a lossless run only the hellos, which make the connections known, reach Python."""
    seen: list[int] = []
    receive = NetReduceProgram.receive_frame

    def spy(self: NetReduceProgram, port: int, frame: bytes, now: int) -> None:
        seen.append(frame[42])
        receive(self, port, frame, now)

    monkeypatch.setattr(NetReduceProgram, "receive_frame", spy)
    network = Network(Job(lengths=(1, 4, 4, 4)), fast_netreduce)
    network.settle()
    network.check_end()
    assert Counter(seen) == {Opcode.WRITE_ONLY_IMM: 3}


def test_results_find_room_however_small_the_queue() -> None:
    job = Job(lengths=(1, 4, 4))
    bench = Bench(job, fast_netreduce)
    bench.program.inner._queue._allocate(64, 1)  # type: ignore[attr-defined]
    bench.run_through(3)
    answer = job.answer(0, 1, 1)
    bench.program.inner._queue._allocate(8, 1)  # type: ignore[attr-defined]
    assert bench.feed(answer, job.port(1)) == [(job.port(0), answer)]


def test_the_log_may_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """More duplicates in one batch than the log of the compiled loop has rows."""
    monkeypatch.setattr("switch_nodes.netreduce.fast._LOG_ROWS", 3)
    job = Job(lengths=(1, 4))
    frames = [(rank, job.frame(rank, *place)) for place in job.places() for rank in range(3) if place != (1, 3)]
    compare(job.config(), [*frames, *frames * 4, *[(rank, job.frame(rank, 1, 3)) for rank in range(2)] * 4], 2)


def test_a_frame_longer_than_a_row() -> None:
    job = Job()
    program = fast(job.config())
    for rank in range(3):
        program.receive_frame(rank, job.frame(rank, 0, 0), 0)
    with pytest.raises(ValueError, match="longer than a row of 32 bytes"):
        program.fill_batch(FrameBatch.of(4, 32), 0)


def test_structures_are_those_of_the_library() -> None:
    assert LIBRARY is not None
    pairs: dict[str, type[ctypes.Structure]] = {
        "frame_queue": QueueStruct,
        "mac_table": MacStruct,
        "netreduce_ring": RingStruct,
        "netreduce_switch": SwitchStruct,
    }
    for name, mirror in pairs.items():
        check_structure(LIBRARY, name, mirror)


def test_which_program_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(create_netreduce(Job().config())) is FastNetReduceProgram
    monkeypatch.setenv("INA_NATIVE", "0")
    plain = create_netreduce(Job().config())
    assert type(plain) is NetReduceProgram
    assert not isinstance(plain, BatchMachine)
