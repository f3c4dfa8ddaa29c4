"""`irn-held` in C against the reference, by frames that a test makes up: which maps are answered, what maps are heeded
(`test_irn_fast` has drawn traffic)."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.support.irn_sides import BATCHES, FRAMES, HELD, IRN, MTU, Side, qp_configs
from tests.support.irn_traffic import wrong_map
from tests.support.native import needs_native
from tests.support.rc_pair import START_PSNS
from workloads.config import IRN_HELD, QpConfig
from workloads.rc import SendRequest
from workloads.rc.held_window import REMEMBERED
from workloads.wire import Aeth, Bth, Opcode, Packet, Reth, Sack, decode_packet, encode_packet, psn_add
from workloads.wire.held_map import NO_PSN, HeldMap, decode_held_map

pytestmark = [needs_native("rc_fast"), needs_native("simulator")]
CAP = 8192
GAP, ACK = 0x60, 0


def sides_of(config: QpConfig) -> list[Side]:
    return [Side([config], kind, 300) for kind in (FRAMES, BATCHES, HELD)]


def alike(sides: list[Side]) -> None:
    states = [side.state() for side in sides]
    assert states[0] == states[1] == states[2]


def packet(config: QpConfig, number: int) -> bytes:
    """A later one of an endless message to `config`'s peer."""
    psn = psn_add(config.first_psn, number)
    bth = Bth(Opcode.WRITE_ONLY, config.peer_qpn, psn, ack_req=1)
    return encode_packet(Packet(config.envelope, bth, bytes(MTU), reth=Reth(0, 5, 1 << 30)))


def answer(config: QpConfig, cumulative: int, selective: int, told: bytes = b"", syndrome: int | None = None) -> bytes:
    """To `config`'s peer, about its packets by number."""
    first = config.peer_first_psn
    if syndrome is None:
        syndrome = GAP if selective >= cumulative else ACK
    here, psn = psn_add(first, cumulative), psn_add(first, selective)
    bth = Bth(Opcode.IRN_ANSWER, config.peer_qpn, psn, pad=-len(told) & 3)
    return encode_packet(Packet(config.envelope, bth, told, aeth=Aeth(syndrome, 0), sack=Sack(here, psn)))


def told_of(side: Side) -> list[tuple[int, HeldMap | None]]:
    """(PSN that is answered, map) of the answers that wait."""
    return [(a.psn, decode_held_map(a.payload)) for a in side.end.queue_pairs[0].responder.answers]


class Flow:
    """Three equal senders of a message of `packets` packets, all of which left if the cap lets them."""

    def __init__(self, packets: int, psn: int, cap: int = CAP) -> None:
        irn = replace(IRN, cap_packets=cap)
        (a,), (self.peer,) = qp_configs(1, psn, recovery=IRN_HELD, irn=irn)
        self.psn, self.sides = psn, sides_of(a)
        for side in self.sides:
            side.end.post_send(a.qpn, SendRequest(1, (bytes(packets * MTU),), 1, 0, 5), 0)

    def leaves(self) -> list[int]:
        """Numbers of what all of them send now."""
        found: list[list[bytes]] = []
        for side in self.sides:
            frames: list[bytes] = []
            while some := side.send(0):
                frames += some
                assert len(frames) < 30_000, "it sends for ever"
            found.append(frames)
        assert found[0] == found[1] == found[2]
        packets = [decode_packet(frame) for frame in found[0]]
        return [psn_add(p.bth.psn, -self.psn) for p in packets if p is not None]

    def hear(self, *answers: bytes) -> None:
        for side in self.sides:
            side.receive(list(answers), 0)
        alike(self.sides)

    def map(self, first: int, count: int, bits: int, newest: int) -> bytes:
        return HeldMap(psn_add(self.psn, first), count, bits, psn_add(self.psn, newest)).encode()


@pytest.mark.parametrize("psn", START_PSNS)
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_maps_go_through_gaps_of_all_widths(psn: int, share: float) -> None:
    """Of some thousand packets that share comes, in runs of another order, and twice."""
    (a,), (b,) = qp_configs(1, psn, recovery=IRN_HELD)
    draw = random.Random(f"{psn} {share}")
    came = [number for number in range(1, 3000) if draw.random() < share]
    came += [number + 8000 for number in range(0, 191, 3)]
    if share == 0.9:
        came += [*range(1, 3000), 8191]
    sides = sides_of(b)
    for start in range(0, len(came), 100):
        some = came[start : start + 100]
        if draw.random() < 0.3:
            draw.shuffle(some)
        frames = [packet(a, number) for number in some]
        for side in sides:
            side.receive(frames, 0)
        alike(sides)
        maps = told_of(sides[1])
        assert len(maps) == len(frames)
        assert all(held is not None and held.newest == answered for answered, held in maps)
        sent = [side.send(0) for side in sides]
        assert sent[0] == sent[1] == sent[2]
        assert len(sent[0]) == len(frames)
    assert sides[2].by_c > len(came)


@pytest.mark.parametrize("psn", START_PSNS)
def test_an_answer_shows_a_map_only_where_something_lacks(psn: int) -> None:
    (a,), (b,) = qp_configs(1, psn, recovery=IRN_HELD)
    first = encode_packet(
        Packet(a.envelope, Bth(Opcode.WRITE_FIRST, a.peer_qpn, psn), bytes(MTU), reth=Reth(0, 5, 1 << 30))
    )
    sides = sides_of(b)
    for side in sides:
        side.receive([packet(a, 3), packet(a, 1), first, packet(a, 1), packet(a, 3), packet(a, 66), packet(a, 67)], 0)
    alike(sides)
    maps = [
        None if held is None else (psn_add(held.first, -psn), held.packets, held.bits) for _, held in told_of(sides[1])
    ]
    assert maps == [(0, 4, 8), (0, 4, 10), None, None, (2, 2, 2), (4, 63, 1 << 62), (2, 64, 2)]


@pytest.mark.parametrize("psn", START_PSNS)
def test_the_newest_is_known_so_far_back_and_no_farther(psn: int) -> None:
    flow = Flow(12_000, psn)
    assert flow.leaves() == list(range(CAP))
    flow.hear(answer(flow.peer, 6000, 5999))
    assert flow.leaves() == list(range(CAP, 12_000))
    flow.hear(answer(flow.peer, 6000, 6100, flow.map(6000, 3, 0, 6100)))
    assert flow.leaves() == [6000, 6001, 6002], "they left after all others now"
    oldest = 6000 - REMEMBERED
    for newest, again in ((oldest - 1, []), (oldest, []), (6100, []), (11_999, []), (12_000, []), (6001, [6000, 6001])):
        flow.hear(answer(flow.peer, 6000, 6100, flow.map(6000, 3, 0, newest)))
        assert flow.leaves() == again
    flow.hear(answer(flow.peer, 6003, 6002), answer(flow.peer, 10_099, 10_098))
    flow.hear(answer(flow.peer, 10_099, 10_100, flow.map(10_101, 2, 0, 6002)))
    assert flow.leaves() == [], "6002 lies too far back"
    flow.hear(answer(flow.peer, 10_099, 10_100, flow.map(10_101, 2, 0, 6003)))
    assert flow.leaves() == [], "6003 is known, and left before them"
    assert all(side.by_c for side in flow.sides[2:])


def test_the_last_copy_of_the_newest_counts_though_it_arrived() -> None:
    flow = Flow(5000, 0)
    assert len(flow.leaves()) == 5000
    flow.hear(answer(flow.peer, 0, 9, flow.map(3, 1, 0, 9)))
    assert flow.leaves() == [3]
    flow.hear(answer(flow.peer, 4, 3), answer(flow.peer, 4, 4099, flow.map(4098, 1, 0, 3)))
    assert flow.leaves() == [4098]
    flow.hear(answer(flow.peer, 4099, 4098), answer(flow.peer, 4099, 4999, flow.map(4100, 1, 0, 3)))
    assert flow.leaves() == [4100], "3 is the last that is remembered"
    flow.hear(answer(flow.peer, 4100, 4099), answer(flow.peer, 4100, 4998, flow.map(4101, 1, 0, 3)))
    assert flow.leaves() == []


@pytest.mark.parametrize("psn", [*START_PSNS, (1 << 24) - 100])
def test_maps_that_are_wrong_or_out_of_reach_say_nothing(psn: int) -> None:
    flow = Flow(200, psn)
    assert len(flow.leaves()) == 200
    flow.hear(answer(flow.peer, 20, 19), answer(flow.peer, 20, 30))
    good = flow.map(20, 12, 1 << 10 | 1 << 11, 40)
    too_many = bytes([64]) + good[1:]
    beyond = HeldMap(psn_add(psn, 20), 2, 0b100, psn_add(psn, 40)).encode()
    nothing_new = HeldMap(psn_add(psn, 20), 2, 0, NO_PSN).encode()
    no_psn = good[:4] + bytes([1]) + good[5:]
    for wrong in (too_many, beyond, nothing_new, no_psn, good[:15], good + b"\0", good + bytes(4)):
        flow.hear(answer(flow.peer, 20, 30, wrong))
        assert flow.leaves() == []
    flow.hear(answer(flow.peer, 20, 30, flow.map(0, 20, 0, 40)), answer(flow.peer, 20, 30, flow.map(200, 64, 0, 40)))
    assert flow.leaves() == []
    flow.hear(answer(flow.peer, 20, 30, flow.map(10, 64, 0, 25)))
    assert flow.leaves() == [*range(20, 26)], "no lower, and nothing that left later"
    flow.hear(answer(flow.peer, 20, 30, flow.map(26, 64, 1 << 63, 199)))
    assert flow.leaves() == [*range(26, 30), *range(31, 89)]


@pytest.mark.parametrize("psn", START_PSNS)
def test_a_map_is_heeded_in_any_answer_that_is_believed(psn: int) -> None:
    """Also one without a gap; and, by the reference, in one that is not believed."""
    flow = Flow(50, psn)
    assert len(flow.leaves()) == 50
    flow.hear(answer(flow.peer, 5, 4, flow.map(6, 2, 0, 20)))
    assert flow.leaves() == [6, 7]
    flow.hear(answer(flow.peer, 5, 60, flow.map(8, 2, 0, 20)), answer(flow.peer, 5, 8, flow.map(10, 1, 0, 20), 0x65))
    assert flow.leaves() == [8, 9, 10]


def test_the_oldest_leaves_first_and_what_arrived_not_at_all() -> None:
    flow = Flow(300, 0)
    assert len(flow.leaves()) == 300
    flow.hear(answer(flow.peer, 0, 299, flow.map(130, 64, 1, 299)), answer(flow.peer, 0, 298, flow.map(3, 2, 0, 299)))
    flow.hear(answer(flow.peer, 0, 131), answer(flow.peer, 0, 193), answer(flow.peer, 4, 4))
    assert flow.leaves() == [*range(132, 193)]


def test_the_oldest_may_have_come_and_been_dropped() -> None:
    """As the end of a message without a receive is: a timer has it sent again, and once alone."""
    flow = Flow(20, 0)
    assert len(flow.leaves()) == 20
    flow.hear(answer(flow.peer, 0, 3), answer(flow.peer, 3, 2), answer(flow.peer, 3, 3, flow.map(3, 1, 0, 19)))
    assert flow.leaves() == []
    for side in flow.sides:
        side.take_back(10**9)
        side.end.handle_timer(10**6)
    alike(flow.sides)
    assert flow.leaves() == [3]
    flow.hear(answer(flow.peer, 3, 5, flow.map(3, 1, 0, 19)))
    assert flow.leaves() == []
    flow.hear(answer(flow.peer, 3, 3), answer(flow.peer, 4, 3))
    assert flow.leaves() == []


@pytest.mark.parametrize("cap", [1, 2, 64, 65, 1000, CAP])
@pytest.mark.parametrize("psn", START_PSNS)
def test_drawn_maps(psn: int, cap: int) -> None:
    """Answers that are believed, with maps all over the window; timers between them."""
    draw = random.Random(f"{psn} {cap}")
    flow, una, nxt = Flow(20_000, psn, cap), 0, 0
    now = 0
    for _ in range(60):
        left = flow.leaves()
        nxt = max(nxt, *(number + 1 for number in left)) if left else nxt
        answers = []
        for _ in range(draw.randrange(1, 20)):
            una += draw.choice([0, 0, 0, 1, draw.randrange(nxt - una + 1)]) if una < nxt else 0
            selective = draw.randrange(una, nxt) if una < nxt and draw.random() < 0.7 else una - 1
            around = draw.randrange(una, nxt + 1)
            told = wrong_map(psn_add(psn, around), draw)
            if draw.random() < 0.5:
                told = flow.map(
                    draw.randrange(una, nxt + 1), 64, draw.getrandbits(64), draw.randrange(una - 50, nxt + 1)
                )
            answers.append(answer(flow.peer, una, selective, told if draw.random() < 0.9 else b""))
        flow.hear(*answers)
        if draw.random() < 0.2:
            now += 10**6
            for side in flow.sides:
                side.take_back(now)
                side.end.handle_timer(now)
            alike(flow.sides)
