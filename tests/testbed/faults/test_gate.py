"""The gate of a port against the reference: frames pass or are lost at the same times, with the same events."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.faults.gate import LOST, Gate
from testbed.faults.link_filter import LinkFilter
from testbed.faults.model import Drop, Duplicate, LinkDown, Loss, Match, PacketFault, Window
from tests.support.compiled import needs_compiled
from tests.support.roce_frames import FIRST_PSN, arp, datagram, link_filter, request
from workloads.machine import Event

LINK = ("h1-s1",)
_MATCHES = st.sampled_from([Match(), Match(), Match(attempt=2), Match(kind="data"), Match(opcodes=frozenset({1}))])
_WINDOWS = st.sampled_from([Window(), Window(), Window(0, 300), Window(200)])
FAULTS = st.one_of(
    st.builds(
        Loss, st.just("f"), st.just(LINK), window=_WINDOWS, match=_MATCHES, rate=st.sampled_from([0.0, 0.3, 0.7, 1.0])
    ),
    st.builds(Drop, st.just("f"), st.just(LINK), window=_WINDOWS, match=_MATCHES, rate=st.sampled_from([0.3, 1.0])),
    st.builds(Duplicate, st.just("f"), st.just(LINK), match=_MATCHES, rate=st.just(0.4), delay_ns=st.just(20)),
    st.builds(LinkDown, st.just("f"), st.just(LINK), window=st.just(Window(100, 200))),
)
FRAMES = st.one_of(
    st.builds(datagram, st.integers(0, 5)),
    st.builds(lambda number: datagram(number, port=4790), st.integers(0, 1)),
    st.builds(lambda number: request(FIRST_PSN + number), st.integers(0, 3)),
    st.builds(arp, st.integers(0, 1)),
    st.just(b"short"),
)


def by_gate(filter_: LinkFilter, frames: list[bytes]) -> tuple[list[tuple[int, int, bytes]], int]:
    """What goes on, and how many frames the gate lost without asking the filter."""
    gate, out, lost = Gate(filter_), [], 0
    for number, frame in enumerate(frames):
        at = gate.passes(frame, 50 * number)
        if at >= 0:
            out.append((number, at, frame))
        elif at == LOST:
            gate.tell_lost(frame)
            lost += 1
        else:
            out += [(number, item.at, item.frame) for item in filter_.admit(frame, 50 * number)]
    return out, lost


def events(filter_: LinkFilter) -> list[Event]:
    found = []
    while (event := filter_.next_event()) is not None:
        found.append(event)
    return found


@settings(max_examples=300, deadline=None)
@given(
    st.lists(FAULTS, max_size=3), st.lists(FRAMES, max_size=40), st.integers(0, 5), st.sampled_from([(0, 0), (30, 10)])
)
def test_a_gate_decides_as_the_filter(
    faults: list[PacketFault], frames: list[bytes], seed: int, late: tuple[int, int]
) -> None:
    named = [replace(fault, name=f"f{number}") for number, fault in enumerate(faults)]
    fast, slow = (
        link_filter(*named, seed=seed, native=native, delay_ns=late[0], jitter_ns=late[1]) for native in (True, False)
    )
    expected = [
        (number, item.at, item.frame)
        for number, frame in enumerate(frames)
        for item in slow.admit(frame, 50 * number)
    ]  # fmt: skip
    assert by_gate(fast, frames)[0] == expected
    assert events(fast) == events(slow)


@needs_compiled
def test_plain_losses_of_datagrams_never_reach_python() -> None:
    frames = [datagram(number) for number in range(200)] * 2
    everything, some = (Loss("f", LINK, match=match, rate=0.5) for match in (Match(), Match(attempt=1)))
    assert 150 < by_gate(link_filter(everything, native=True), frames)[1] < 250
    assert by_gate(link_filter(some, native=True), frames)[1] == 0


@needs_compiled
def test_packets_of_connections_are_for_the_filter() -> None:
    """Their hits have an opcode and a PSN, which only the filter reports."""
    frames = [request(FIRST_PSN + number) for number in range(20)]
    assert by_gate(link_filter(Loss("f", LINK), native=True), frames) == ([], 0)
