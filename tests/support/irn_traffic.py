"""Traffic between endpoints with IRN, drawn from a seed: the same for the reference, by batches, and held by compiled
code."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from tests.support.irn_sides import BATCHES, ENDLESS, FRAMES, HELD, IRN, MTU, ROOM, Side, qp_configs
from tests.support.rc_pair import START_PSNS, arriving, pattern
from workloads.config import IRN_HELD, QpConfig
from workloads.rc import SendCompleted, SendRequest
from workloads.wire import Aeth, Bth, Opcode, Packet, Sack, decode_packet, encode_packet, psn_add, replace_payload
from workloads.wire.held_map import HELD_MAP_BYTES, NO_PSN, HeldMap, decode_held_map

__all__ = ["Traffic", "play", "traffic", "wrong_map"]


@dataclass(frozen=True)
class Traffic:
    seed: int
    qps: int
    rows: int
    loss: float
    psn: int
    v6: bool
    cap: int
    window: int
    in_order: bool
    patient: bool
    recovery: str
    liars: float
    """wrong answers and wrong maps, one in so many, where frames are lost"""


traffic = st.builds(
    Traffic,
    seed=st.integers(0, 2**32),
    qps=st.integers(1, 3),
    rows=st.sampled_from([1, 2, 7, 64, 300]),
    loss=st.sampled_from([0.0, 0.01, 0.1]),
    psn=st.sampled_from(START_PSNS),
    v6=st.booleans(),
    cap=st.sampled_from([1, 2, 5, 40, 200, 8192]),
    window=st.sampled_from([3, 1 << 20]),
    in_order=st.booleans(),
    patient=st.booleans(),
    recovery=st.sampled_from(["irn", IRN_HELD, IRN_HELD]),
    liars=st.sampled_from([0.0, 0.05, 0.3]),
)


def wrong_map(oldest: int, draw: random.Random) -> bytes:
    """Of packets around the oldest unacknowledged one, or none at all."""
    first, newest = (psn_add(oldest, draw.randrange(-70, 70)) for _ in range(2))
    count = draw.choice([1, 2, 63, 64, draw.randrange(1, 65)])
    bits = draw.getrandbits(64) & draw.getrandbits(64) & (1 << count) - 1
    held = HeldMap(first, count, bits, NO_PSN if draw.random() < 0.1 else newest)
    octets = bytearray(held.encode())
    if draw.random() < 0.2:
        octets[draw.randrange(HELD_MAP_BYTES)] ^= 1 << draw.randrange(8)
    return bytes(octets) + bytes(draw.choice([0] * 8 + [1, 4, 8]))


def as_switches_leave_it(frame: bytes, liars: float, draw: random.Random) -> bytes:
    """An answer with a map that a switch cut, adds bits to, and names another newest in; or that is wrong now."""
    packet = decode_packet(frame)
    held = None if packet is None else decode_held_map(packet.payload)
    if held is None or draw.random() < 0.5:
        return frame
    if draw.random() < liars:
        return replace_payload(frame, wrong_map(held.first, draw)[:HELD_MAP_BYTES])
    count = held.packets if draw.random() < 0.7 else draw.randrange(1, held.packets + 1)
    bits = (held.bits | draw.getrandbits(64) & draw.getrandbits(64)) & (1 << count) - 1
    newest = psn_add(held.newest, draw.randrange(-3, 8))
    return replace_payload(frame, HeldMap(held.first, count, bits, newest).encode())


def wrong_answer(side: Side, peers: list[QpConfig], draw: random.Random) -> bytes:
    """For `side`: about a PSN that is just not sent yet, one that contradicts itself, a refusal, a reserved value; with
    a wrong map in any of them."""
    config = draw.choice(peers)
    window = side.end._qps[config.peer_qpn].requester.recovery.window
    psn, cumulative = (psn_add(window.nxt, draw.randrange(-2, 2)) for _ in range(2))
    if draw.random() < 0.6:
        psn = psn_add(window.una, draw.randrange(0, 40))
        cumulative = psn_add(psn, draw.choice([1, 0, 0, -1, -5]))
    told = wrong_map(window.una, draw) if draw.random() < 0.7 else b""
    syndrome = draw.choice([0, 0, 0x60, 0x60, 0x60, 0x65] + [0x61] * (draw.random() < 0.02))
    return encode_packet(
        Packet(
            config.envelope,
            Bth(Opcode.IRN_ANSWER, config.peer_qpn, psn, pad=-len(told) & 3),
            told,
            aeth=Aeth(syndrome, 0),
            sack=Sack(cumulative, psn),
        )
    )


def play(t: Traffic) -> tuple[int, int]:
    """All kinds of endpoints in lockstep; returns how many messages completed, and frames that C took or gave."""
    irn = replace(IRN, cap_packets=t.cap, in_order=t.in_order)
    configs = qp_configs(
        t.qps, t.psn, t.v6, recovery=t.recovery, irn=irn, window_packets=t.window, retry7_infinite=t.patient
    )
    kinds = (FRAMES, BATCHES) if t.v6 else (FRAMES, BATCHES, HELD)
    sides = [[Side(own, kind, t.rows) for kind in kinds] for own in configs]
    draw = random.Random(t.seed)
    now, posted = 0, 0
    for round_ in range(400):
        if round_ < 12:
            for both, own in zip(sides, configs, strict=True):
                for config in own:
                    size = draw.choice(
                        [0, 1, MTU, 3 * MTU + 1, 2 * MTU + 4, draw.randrange(ROOM), draw.randrange(ROOM) & ~3]
                    )
                    data, cut = pattern(size, posted), draw.randrange(40)
                    va, rkey = draw.choice([(0, 5), (ENDLESS, 6), (ENDLESS + 2000 * ROOM * 16, 6)])
                    va += draw.randrange(15) * ROOM
                    segments = (data[:cut], memoryview(data)[cut:])
                    posted += 1
                    for side in both:
                        side.take_back(now)
                        side.end.post_send(config.qpn, SendRequest(posted, segments, posted, va, rkey), now)
        for both, own in zip(sides, configs, strict=True):
            for config in own:
                if draw.random() < 0.7:
                    for side in both:
                        side.take_back(now)
                        side.post_receive(config.qpn)
        for me, other in ((0, 1), (1, 0)):
            reference, *others = (side.send(now) for side in sides[me])
            for sent in others:
                assert sent == reference
            arrived = [as_switches_leave_it(frame, t.liars, draw) for frame in reference] if t.loss else reference
            arrived = arriving(arrived, t.loss, draw)
            if t.loss and draw.random() < t.liars:
                arrived.insert(draw.randrange(len(arrived) + 1), wrong_answer(sides[other][0], configs[me], draw))
            for side in sides[other]:
                side.receive(arrived, now)
            if draw.random() < 0.5:  # else what is held stays so
                states = [side.state(now) for side in sides[other]]
                assert all(state == states[0] for state in states)
        now += 20_000
        for both in sides:
            for side in both:
                side.take_back(now)
                side.end.handle_timer(now)
            states = [side.state(now) for side in both]
            assert all(state == states[0] for state in states)
        waits = any(both[0].end.get_timer() for both in sides)
        if (
            round_ >= 12
            and not waits
            and not any(qp.requester.can_send for both in sides for qp in both[0].end.queue_pairs)
        ):
            break
    done = sum(isinstance(told, SendCompleted) and told.status == "SUCCESS" for told in sides[0][1].told)
    return done, sum(both[-1].by_c for both in sides)
