"""The C screen against the reference: the same frames in, the same frames, times and events out."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.faults.events import FaultStruck
from testbed.faults.link_filter import LinkFilter
from testbed.faults.matching import ConnectionTable
from testbed.faults.model import (
    Burst,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    EcnMark,
    LinkDown,
    Loss,
    Match,
    PacketFault,
    Reorder,
    Window,
)
from testbed.faults.native import CRule, load_filter
from testbed.faults.way import LinkWay
from tests.support.native import needs_native
from tests.support.roce_frames import CONNECTIONS, FIRST_PSN, answer, arp, datagram, link_filter, request
from topologies import Direction
from workloads.datagrams.transport import DATAGRAMS
from workloads.machine import Buffer, FrameBatch
from workloads.native.layout import check_structure
from workloads.transports import SentAs
from workloads.transports.kind import udp_port_of

needs_filter = needs_native("fault_filter")

LINK = ("h1-s1",)
RATES = st.sampled_from([0.0, 0.05, 0.5, 1.0])
WINDOWS = st.sampled_from([Window(), Window(0, 300), Window(100, 400), Window(500)])
MATCHES = st.builds(
    Match,
    opcodes=st.none() | st.sampled_from([frozenset({1}), frozenset({0x11}), frozenset({0, 7, 0x11})]),
    syndrome=st.sampled_from([None, None, 0x60]),
    psn_offset=st.none() | st.integers(0, 9),
    message=st.sampled_from([None, None, 0, 1]),
    packet=st.sampled_from([None, None, 0, -1, 3]),
    attempt=st.none() | st.integers(1, 3),
    source_rank=st.none() | st.integers(0, 1),
) | st.sampled_from(
    [Match(), Match(attempt=1), Match(attempt=2), Match(kind="data"), Match(kind="ack"), Match(sequence=1, attempt=2)]
)


def some(kind: type[PacketFault], **fields: st.SearchStrategy[object]) -> st.SearchStrategy[PacketFault]:
    return st.builds(kind, name=st.just("f"), links=st.just(LINK), window=WINDOWS, match=MATCHES, rate=RATES, **fields)


FAULTS = st.one_of(
    some(Loss),
    some(Drop),
    some(Burst, recover=RATES, loss_bad=RATES, loss_good=RATES),
    some(Corrupt, repair_icrc=st.booleans()),
    some(Duplicate, delay_ns=st.integers(0, 50)),
    some(Reorder, delay_ns=st.integers(1, 50)),
    some(Delay, delay_ns=st.integers(0, 50), jitter_ns=st.integers(0, 50)),
    some(EcnMark),
    st.builds(
        LinkDown, name=st.just("f"), links=st.just(LINK), window=st.just(Window(100, 150)), count=st.integers(1, 3),
        period_ns=st.just(200),
    ),
)  # fmt: skip
FRAMES = st.one_of(
    st.builds(lambda n, op: request(FIRST_PSN + n, opcode=op), st.integers(0, 9), st.sampled_from([0, 1, 2])),
    st.builds(lambda n, rank: request(n, connection=rank), st.integers(500, 505), st.integers(0, 1)),
    st.builds(lambda n, s: answer(FIRST_PSN + n, syndrome=s), st.integers(0, 5), st.sampled_from([0x1F, 0x60])),
    st.builds(lambda n: request(n, ipv6=True), st.integers(0, 3)),
    st.builds(arp, st.integers(0, 3)),
    st.builds(datagram, st.integers(0, 3)),
    st.builds(lambda n: datagram(n, port=4790), st.integers(0, 1)),
    st.just(b"short"),
    st.just(request(1)[:58]),
)


def by_batches(filter_: LinkFilter, batches: list[list[bytes]]) -> list[tuple[int, int, bytes]]:
    """As a data plane does it: screen a batch, then admit, in order, what did not pass."""
    out: list[tuple[int, int, bytes]] = []
    batch = FrameBatch.of(64, 256)
    for number, frames in enumerate(batches):
        now, batch.count = number * 100, 0
        for frame in frames:
            batch.append(0, frame)
        for row, passes in enumerate(filter_.screen(batch, 0, now)):
            if passes:
                out.append((row, now, frames[row]))
            else:
                out += ((row, item.at, item.frame) for item in filter_.admit(batch.row(row), now))
    return out


def one_by_one(filter_: LinkFilter, batches: list[list[bytes]]) -> list[tuple[int, int, bytes]]:
    return [
        (row, item.at, item.frame)
        for number, frames in enumerate(batches)
        for row, frame in enumerate(frames)
        for item in filter_.admit(frame, number * 100)
    ]


@needs_filter
@settings(max_examples=120, deadline=None)
@given(
    st.lists(FAULTS, max_size=4),
    st.lists(st.lists(FRAMES, min_size=1, max_size=12), max_size=6),
    st.integers(0, 5),
    st.sampled_from([(0, 0), (0, 0), (0, 0), (30, 10)]),
)
def test_screen_and_admit_decide_the_same(
    faults: list[PacketFault], batches: list[list[bytes]], seed: int, late: tuple[int, int]
) -> None:
    named = [replace(fault, name=f"f{number}") for number, fault in enumerate(faults)]
    fast, slow = (
        link_filter(*named, seed=seed, native=native, delay_ns=late[0], jitter_ns=late[1]) for native in (True, False)
    )
    assert by_batches(fast, batches) == one_by_one(slow, batches)
    while True:
        event = fast.next_event()
        assert event == slow.next_event()
        if event is None:
            break


class Elsewhere(type(DATAGRAMS)):
    """Datagrams of a format of its own, by which a repetition is known by its bytes."""

    udp_port = 4790

    def identify(self, frame: Buffer) -> SentAs | None:
        if udp_port_of(frame) != self.udp_port or len(frame) < 54:
            return None
        return SentAs("a>b", "data", int.from_bytes(frame[50:54], "big"))


class Counted(Elsewhere):
    """The same, where a repetition has other bytes: the last one says which it is."""

    resends_alike = False

    def identify(self, frame: Buffer) -> SentAs | None:
        found = super().identify(frame)
        return found and found._replace(attempt=frame[-1])


@needs_filter
def test_a_hit_is_told_with_the_attempts_before_the_fault_began() -> None:
    cut = LinkDown("f", LINK, window=Window(100, 150), count=1, period_ns=200)
    filter_ = link_filter(cut, native=True, transports=(Counted(),))
    assert by_batches(filter_, [[datagram(1, port=4790)], [datagram(1, port=4790)]]) == [(0, 0, datagram(1, port=4790))]
    assert [event.occurrence for event in (filter_.next_event(),) if isinstance(event, FaultStruck)] == [2]


@needs_filter
@settings(max_examples=60, deadline=None)
@given(
    st.lists(FAULTS, max_size=3),
    st.lists(st.lists(FRAMES, min_size=1, max_size=12), max_size=6),
    st.integers(0, 5),
    st.sampled_from([Elsewhere(), Counted()]),
)
def test_datagrams_of_a_foreign_format_are_decided_alike(
    faults: list[PacketFault], batches: list[list[bytes]], seed: int, transport: Elsewhere
) -> None:
    named = [replace(fault, name=f"f{number}") for number, fault in enumerate(faults)]
    fast, slow = (link_filter(*named, seed=seed, native=native, transports=(transport,)) for native in (True, False))
    assert by_batches(fast, batches) == one_by_one(slow, batches)
    while True:
        event = fast.next_event()
        assert event == slow.next_event()
        if event is None:
            break


@pytest.mark.parametrize("native", [False, pytest.param(True, marks=needs_filter)])
def test_the_header_says_which_attempt_it_is(native: bool) -> None:
    """Though no frame comes twice."""
    fault = Drop("d", LINK, match=Match(kind="data", sequence=4, attempt=2))
    filter_ = link_filter(fault, native=native, transports=(Counted(),))
    frames = [datagram(3, port=4790)[:-1] + bytes((attempt,)) for attempt in (1, 2, 3)]
    assert [row for row, _, _ in by_batches(filter_, [frames])] == [0, 2]
    event = filter_.next_event()
    assert isinstance(event, FaultStruck)
    assert (event.occurrence, event.packet.partition(" #")[0]) == (2, "data a>b packet 4, attempt 2")


@needs_filter
def test_screen_passes_what_no_fault_touches() -> None:
    """The fast path is one: at 10 % loss nine frames of ten never see Python."""
    filter_ = link_filter(Loss("l", LINK, rate=0.1), native=True)
    batch = FrameBatch.of(2000, 256)
    for psn in range(2000):
        batch.append(0, request(psn))
    passes = filter_.screen(batch, 0, 0)
    assert passes.dtype == np.bool_
    assert abs(int(passes.sum()) - 1800) < 5 * np.sqrt(2000 * 0.09)
    assert all(not filter_.admit(batch.row(int(row)), 0) for row in np.flatnonzero(~passes))


@needs_filter
def test_screen_from_a_start_row_leaves_the_rows_before_alone() -> None:
    filter_ = link_filter(Drop("d", LINK, match=Match(attempt=2)), native=True)
    batch = FrameBatch.of(4, 256)
    for psn in (1, 2, 2):
        batch.append(0, request(psn))
    assert filter_.screen(batch, 1, 0).tolist() == [True, False]
    assert filter_.admit(request(2), 0) == ()
    assert filter_.admit(request(1), 0) != ()


@needs_filter
def test_the_table_of_occurrences_grows() -> None:
    """20,000 identities twice: each drops its second occurrence."""
    filter_ = link_filter(Drop("d", LINK, match=Match(attempt=2)), native=True)
    batch = FrameBatch.of(20_000, 128)
    frame = np.frombuffer(request(0), np.uint8)
    batch.frames[:, : len(frame)] = frame
    batch.lengths[:] = len(frame)
    batch.count = 20_000
    psns = np.arange(20_000)
    batch.frames[:, 51], batch.frames[:, 52], batch.frames[:, 53] = psns >> 16, psns >> 8 & 255, psns & 255
    assert filter_.screen(batch, 0, 0).all()
    assert not filter_.screen(batch, 0, 0).any()


def test_without_the_c_core_everything_goes_to_admit() -> None:
    filter_ = link_filter(Loss("l", LINK, rate=0.1), native=False)
    batch = FrameBatch.of(4, 256)
    batch.append(0, request(1))
    batch.append(0, request(2))
    assert filter_.screen(batch, 1, 0).tolist() == [False]


@needs_filter
def test_the_rule_struct_is_mirrored() -> None:
    lib = load_filter()
    assert lib is not None
    check_structure(lib, "ina_rule", CRule)
    assert ctypes.sizeof(CRule) == 136


@needs_filter
def test_many_connections_are_told_apart() -> None:
    """800 connections: only the packets of the rank that is meant are kept back."""
    base = CONNECTIONS[0]
    table = ConnectionTable(
        replace(base, rank=n, requests=(*base.requests[:2], n), answers=(*base.answers[:2], 1000 + n))
        for n in range(800)
    )
    filter_ = LinkFilter(
        LinkWay(1, "l", Direction.UP, table),
        [Drop("d", LINK, match=Match(source_rank=77, psn_offset=5))],
    )
    batch = FrameBatch.of(800, 256)
    frame = bytearray(request(FIRST_PSN + 5))
    for n in range(800):
        frame[47:50] = n.to_bytes(3, "big")
        batch.append(0, frame)
    assert np.flatnonzero(~filter_.screen(batch, 0, 0)).tolist() == [77]


def long_traffic() -> list[list[bytes]]:
    """12 batches of every sort of frame, most of them more than once."""
    random = Random(8)
    pool = [request(FIRST_PSN + n, opcode=n % 3) for n in range(60)]
    pool += [request(500 + n, connection=1) for n in range(40)]
    pool += [answer(FIRST_PSN + n, syndrome=syndrome) for n in range(20) for syndrome in (0x1F, 0x60)]
    pool += [request(n, ipv6=True) for n in range(10)] + [arp(n) for n in range(10)] + [b"short"]
    return [random.choices(pool, k=60) for _ in range(12)]


@needs_filter
@pytest.mark.parametrize(
    "fault",
    [
        Loss("f", LINK, rate=0.3),
        Loss("f", LINK, rate=0.5, window=Window(300, 700)),
        Burst("f", LINK, rate=0.1, recover=0.3),
        Burst("f", LINK, rate=0.1, recover=0.3, loss_bad=0.0, loss_good=0.5),
        Burst("f", LINK, rate=0.7, recover=0.9, match=Match(attempt=2)),
        Drop("f", LINK, match=Match(opcodes=frozenset({0, 2}))),
        Drop("f", LINK, match=Match(syndrome=0x60)),
        Drop("f", LINK, match=Match(psn_offset=20)),
        Drop("f", LINK, match=Match(attempt=2)),
        Drop("f", LINK, match=Match(source_rank=0)),
        Drop("f", LINK, match=Match(source_rank=1, opcodes=frozenset({1}))),
        Drop("f", LINK, match=Match(message=1, packet=-1)),
        Corrupt("f", LINK, rate=0.3),
        Duplicate("f", LINK, rate=0.3),
        Reorder("f", LINK, rate=0.3, delay_ns=150),
        Delay("f", LINK, rate=0.3, delay_ns=150, window=Window(0, 500)),
        EcnMark("f", LINK, rate=0.3),
        LinkDown("f", LINK, window=Window(100, 150), count=3, period_ns=300),
    ],
    ids=lambda fault: f"{type(fault).__name__}",
)
def test_each_kind_and_condition_through_the_screen(fault: PacketFault) -> None:
    fast, slow = (link_filter(fault, seed=2, native=native) for native in (True, False))
    batches = long_traffic()
    assert by_batches(fast, batches) == one_by_one(slow, batches)
    told = 0
    while (event := fast.next_event()) is not None:
        assert event == slow.next_event()
        told += 1
    assert slow.next_event() is None
    assert told > 0


@needs_filter
@pytest.mark.parametrize("shared", [False, True], ids=["by batches", "by link"])
def test_three_hundred_faults_of_one_direction_strike_all(shared: bool) -> None:
    """Each fault drops one PSN of its own, so the one that is left out is seen by the packet that passes."""
    faults = [Drop(f"f{n}", LINK, match=Match(psn_offset=n)) for n in range(300)]
    fast, slow = (link_filter(*faults, seed=2, native=native) for native in (True, False))
    batches = [[request(FIRST_PSN + psn) for psn in range(begin, begin + 50)] for begin in range(0, 350, 50)]
    if shared:
        address = fast.share()
        assert address is not None, "compiled code asks this link itself"
        passed = passed_by_link(address, [frame for frames in batches for frame in frames])
        assert passed == [False] * 300 + [True] * 50
    else:
        assert by_batches(fast, batches) == one_by_one(slow, batches)
        told = 0
        while (event := fast.next_event()) is not None:
            assert event == slow.next_event()
            told += 1
        assert told == 300


def passed_by_link(link: int, frames: list[bytes]) -> list[bool]:
    """What `ina_link_pass` says of each frame at time 0."""
    lib = load_filter()
    assert lib is not None
    ask, at = lib.ina_link_pass, ctypes.c_int64()
    ask.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p)
    return [bool(ask(link, frame, len(frame), 0, ctypes.byref(at))) for frame in frames]


def passing(fault: PacketFault, now: int = 0) -> float:
    """Share of the frames that the screen lets through."""
    batch = FrameBatch.of(1000, 256)
    for frames in long_traffic():
        for frame in frames:
            batch.append(0, frame)
    return float(link_filter(fault, native=True).screen(batch, 0, now).mean())


@needs_filter
def test_the_screen_is_no_coarser_than_it_must_be() -> None:
    """Each condition is asked in C: where it excludes a frame, Python is not asked."""
    everything = len([frame for frames in long_traffic() for frame in frames])
    naks = sum(len(frame) == 62 and frame[54] == 0x60 for frames in long_traffic() for frame in frames)
    assert 0 < naks < everything / 4
    assert passing(Drop("f", LINK, match=Match(syndrome=0x60))) == 1 - naks / everything
    assert passing(Loss("f", LINK, match=Match(opcodes=frozenset({0x0B})))) == 1
    assert passing(Corrupt("f", LINK, match=Match(attempt=99))) == 1
    assert passing(LinkDown("f", LINK, window=Window(0, 10), count=2, period_ns=100), 205) == 1
    assert passing(LinkDown("f", LINK, window=Window(0, 10), count=2, period_ns=100), 105) == 0


@needs_filter
def test_behind_a_delayed_frame_the_screen_lets_nothing_through() -> None:
    filter_ = link_filter(Delay("d", LINK, delay_ns=1000, window=Window(0, 50)), native=True)
    batch = FrameBatch.of(2, 256)
    batch.append(0, request(1))
    assert filter_.screen(batch, 0, 10).tolist() == [False]
    assert [item.at for item in filter_.admit(request(1), 10)] == [1010]
    assert filter_.screen(batch, 0, 900).tolist() == [False]
    assert [item.at for item in filter_.admit(request(1), 900)] == [1010]
    assert filter_.screen(batch, 0, 1010).tolist() == [True]


@needs_filter
def test_a_frame_waits_for_its_elder_twin() -> None:
    """Two batches are screened before the first one's frame is admitted: it was first, so it is the first
    occurrence."""
    filter_ = link_filter(Drop("d", LINK, match=Match(attempt=1), window=Window(0, 100)), native=True)
    batch = FrameBatch.of(2, 256)
    batch.append(0, request(1))
    assert filter_.screen(batch, 0, 50).tolist() == [False]
    assert filter_.screen(batch, 0, 200).tolist() == [False]
    assert filter_.admit(request(1), 50) == ()
    assert filter_.admit(request(1), 200) != ()
    assert filter_.screen(batch, 0, 200).tolist() == [True]
