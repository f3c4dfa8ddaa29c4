from __future__ import annotations

import random
from collections import Counter

import pytest

from switch_nodes.forwarding.equal_cost import choose_port, flow_hash, salt_of, spray_port, sprayed_counts

MACS = bytes.fromhex("02494e410002 02494e410001".replace(" ", ""))


def ipv4(source: int, destination: int, protocol: int = 17, sport: int = 0xC001, dport: int = 4791, *, tos: int = 0,
         ttl: int = 64, fragment: int = 0, options: bytes = b"", payload: bytes = b"x" * 20) -> bytes:  # fmt: skip
    head = bytes((0x45 + len(options) // 4, tos)) + b"\0\x40\0\0" + fragment.to_bytes(2, "big") + bytes((ttl, protocol))
    ends = source.to_bytes(4, "big") + destination.to_bytes(4, "big")
    ports = sport.to_bytes(2, "big") + dport.to_bytes(2, "big")
    return MACS + b"\x08\0" + head + b"\0\0" + ends + options + ports + payload


def ipv6(source: int, destination: int, sport: int) -> bytes:
    ends = source.to_bytes(16, "big") + destination.to_bytes(16, "big")
    return MACS + b"\x86\xdd\x60\0\0\0\0\x20\x11\x40" + ends + sport.to_bytes(2, "big") + b"\x12\xb7" + bytes(16)


def test_what_changes_within_a_flow_does_not_change_its_hash() -> None:
    flow = flow_hash(ipv4(1, 2), 7)
    assert flow_hash(ipv4(1, 2, tos=3, ttl=1, payload=b"other"), 7) == flow
    assert flow_hash(ipv4(1, 2, options=bytes(8)), 7) == flow
    assert flow_hash(memoryview(bytearray(ipv4(1, 2))), 7) == flow


def test_what_tells_flows_apart_changes_it() -> None:
    frames = [ipv4(1, 2), ipv4(2, 1), ipv4(1, 3), ipv4(1, 2, 6), ipv4(1, 2, sport=9), ipv4(1, 2, dport=9),
        ipv6(1, 2, 9),
              ipv6(1, 2, 8), ipv6(1, 3, 9), MACS + b"\x08\6" + bytes(28),
              MACS[::-1] + b"\x08\6" + bytes(28)]  # fmt: skip
    assert len({flow_hash(frame, 7) for frame in frames}) == len(frames)
    assert len({flow_hash(frames[0], salt) for salt in range(50)}) == 50


def test_fragments_of_a_packet_stay_together() -> None:
    """Only the first one has ports."""
    first, later = ipv4(1, 2, fragment=0x2000), ipv4(1, 2, fragment=0x0007, sport=0xDEAD, dport=0xBEEF)
    assert flow_hash(first, 7) == flow_hash(later, 7)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_flows_spread_over_all_ports(count: int) -> None:
    draw = random.Random(count)
    taken = Counter(
        choose_port(range(count), ipv4(draw.randrange(1, 64), draw.randrange(1, 64), sport=draw.randrange(1 << 16)), 3)
        for _ in range(2000)
    )
    assert all(abs(taken[port] - 2000 / count) < 150 for port in range(count))


def test_the_next_tier_chooses_anew() -> None:
    """Of the flows that one switch sends one way, the next switch must not send all the same way."""
    frames = [ipv4(1, 2, sport=sport) for sport in range(0xC000, 0xC800)]
    here, there = salt_of("edge1"), salt_of("agg1")
    second = Counter(choose_port((0, 1), frame, there) for frame in frames if choose_port((0, 1), frame, here) == 0)
    assert min(second.values()) > 400


@pytest.mark.parametrize("size", range(14, 60))
def test_cut_frames_have_a_hash(size: int) -> None:
    for frame in (ipv4(1, 2, options=bytes(40)), ipv6(1, 2, 3)):
        assert choose_port((5, 6), frame[:size], 1) in (5, 6)


def test_salts_follow_names() -> None:
    assert salt_of("leaf1") == salt_of("leaf1") != salt_of("leaf2")


@pytest.mark.parametrize("count", [2, 3, 4])
def test_spraying_spreads_the_frames_of_one_flow_evenly(count: int) -> None:
    counts = sprayed_counts()
    taken = Counter(spray_port(range(count), ipv4(1, 2), 3, counts) for _ in range(2000))
    assert all(abs(taken[port] - 2000 / count) < 110 for port in range(count))  # 5 sigma


def test_the_nth_frame_of_a_flow_goes_the_same_way_whatever_comes_between() -> None:
    frame, other = ipv4(1, 2), ipv4(3, 4)
    assert flow_hash(frame, 5) % 256 != flow_hash(other, 5) % 256
    alone, between = sprayed_counts(), sprayed_counts()
    expected = [spray_port(range(4), frame, 5, alone) for _ in range(50)]
    found = []
    for _ in range(50):
        spray_port(range(4), other, 5, between)
        found.append(spray_port(range(4), frame, 5, between))
    assert found == expected


def test_another_seed_sprays_otherwise() -> None:
    """And one flow's choice, which knows no seed, stays."""
    ways = [
        tuple(spray_port((0, 1), ipv4(1, 2), salt_of("leaf1", seed), counts) for _ in range(64))
        for seed in range(1, 9)
        for counts in [sprayed_counts()]
    ]
    assert len(set(ways)) == len(ways)
    assert salt_of("leaf1") == salt_of("leaf1", 0) < 1 << 32
    assert salt_of("leaf1", (1 << 64) - 1) < 1 << 64


def test_counts_start_anew_behind_2_to_the_32() -> None:
    counts = sprayed_counts()
    counts[:] = 0xFFFFFFFF
    spray_port((0, 1), ipv4(1, 2), 7, counts)
    assert sorted(set(counts.tolist())) == [0, 0xFFFFFFFF]
