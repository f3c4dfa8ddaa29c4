"""Random fault schedules in virtual time: every message exactly once and in order, in bounded time, and the same run
for the same seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.rc_pair import MTU, START_PSNS, RcPair, Sent, pattern
from workloads.events import QpFailed
from workloads.rc import ReceiveRequest


@dataclass(frozen=True)
class Schedule:
    seed: int
    loss: float
    duplicate: float
    reorder: float
    corrupt: float
    messages: tuple[tuple[str, int], ...]
    """(verb, bytes)"""
    late_receives: bool
    overrides: tuple[tuple[str, Any], ...]


messages = st.lists(
    st.tuples(st.sampled_from(["send", "send_imm", "write", "write_imm"]), st.integers(0, 12 * MTU)),
    min_size=1,
    max_size=6,
)
overrides = st.fixed_dictionaries(
    {
        "psn": st.sampled_from([*START_PSNS, 0xFFFFF0, 12345]),
        "ack_every": st.integers(1, 20),
        "ack_request_every": st.integers(1, 70),
        "window_packets": st.sampled_from([1, 2, 3, 7, 100, 1 << 20]),
        "spacing_ns": st.sampled_from([0, 10_000]),
        "rnr_timer_code": st.sampled_from([1, 12, 20]),
    }
)
schedules = st.builds(
    Schedule,
    seed=st.integers(0, 2**32),
    loss=st.sampled_from([0.0, 0.01, 0.05, 0.2]),
    duplicate=st.sampled_from([0.0, 0.1]),
    reorder=st.sampled_from([0.0, 0.2]),
    corrupt=st.sampled_from([0.0, 0.1]),
    messages=messages.map(tuple),
    late_receives=st.booleans(),
    overrides=overrides.map(lambda d: tuple(d.items())),
)

ROOM = 12 * MTU


def play(schedule: Schedule, *, retry7_infinite: bool) -> RcPair:
    pair = RcPair(
        memory=ROOM * len(schedule.messages),
        timeout_code=9,
        retry7_infinite=retry7_infinite,
        **dict(schedule.overrides),
    )
    draw = random.Random(schedule.seed)

    def fate(sent: Sent) -> Sequence[int]:
        if draw.random() < schedule.loss:
            return ()
        delay = draw.randrange(400_000) if draw.random() < schedule.reorder else 0
        if draw.random() < schedule.corrupt:
            bad = bytearray(sent.frame)
            bad[draw.randrange(42, len(bad))] ^= 1 << draw.randrange(8)
            if bad[46] == sent.frame[46]:  # BTH byte 4 is outside the iCRC: such a packet is good
                other = pair.ends["b" if sent.side == "a" else "a"]
                pair.at(pair.now + pair.delay_ns + delay, lambda: other.receive_frame(0, bad, pair.now))
                return ()
        return (delay, delay + draw.randrange(100_000)) if draw.random() < schedule.duplicate else (delay,)

    pair.fate = fate
    for number, (verb, size) in enumerate(schedule.messages):
        data = pattern(size, number)
        imm = number if verb.endswith("_imm") else None
        if verb.startswith("send"):
            pair.send(data, wr_id=number, imm=imm)
        else:
            cut = size // 3
            pair.write(data[:cut], data[cut:], wr_id=number, imm=imm, at=number * ROOM)
    if schedule.late_receives:
        for number in range(len(schedule.messages)):
            pair.at((number + 1) * 700_000, lambda n=number: pair.post_receives(1, size=ROOM, first=n))  # type: ignore[misc]
    else:
        pair.post_receives(len(schedule.messages), size=ROOM)
    pair.run(limit_ns=20_000_000_000)
    return pair


def expected(schedule: Schedule) -> list[bytes]:
    return [pattern(size, i) for i, (verb, size) in enumerate(schedule.messages) if verb != "write"]


@settings(max_examples=120, deadline=None)
@given(schedules)
def test_exactly_once_in_order_in_bounded_time(schedule: Schedule) -> None:
    pair = play(schedule, retry7_infinite=True)
    assert pair.statuses() == [(i, "SUCCESS") for i in range(len(schedule.messages))]
    assert pair.received == expected(schedule)
    for number, (verb, size) in enumerate(schedule.messages):
        place = bytes(pair.memory[number * ROOM : (number + 1) * ROOM])
        written = pattern(size, number) if verb.startswith("write") else b""
        assert place == written + b"\xee" * (ROOM - len(written))
    assert pair.ends["a"].outstanding_packets(0x11) == 0
    msns = [s.packet.aeth.msn for s in pair.sent if s.packet.aeth and s.side == "b"]
    assert msns == sorted(msns)
    assert msns[-1] == len(schedule.messages)


@settings(max_examples=40, deadline=None)
@given(schedules)
def test_the_same_seed_gives_the_same_run(schedule: Schedule) -> None:
    one, two = (play(schedule, retry7_infinite=True) for _ in range(2))
    assert one.now == two.now
    assert [(s.time, s.frame) for s in one.sent] == [(s.time, s.frame) for s in two.sent]
    assert one.events == two.events
    assert one.completions == two.completions


@settings(max_examples=60, deadline=None)
@given(schedules, st.integers(0, 2))
def test_with_few_retries_it_delivers_a_prefix_or_fails_and_says_so(schedule: Schedule, retries: int) -> None:
    few = (*schedule.overrides, ("retry_count", retries), ("rnr_retry", retries))
    pair = play(Schedule(**{**_fields(schedule), "overrides": few}), retry7_infinite=False)
    statuses = [status for _, status in pair.statuses()]
    assert len(statuses) == len(schedule.messages)
    good = statuses.count("SUCCESS")
    assert statuses[:good] == ["SUCCESS"] * good
    if good < len(statuses):
        assert statuses[good] in ("RETRY_EXC", "RNR_RETRY_EXC")
        assert set(statuses[good + 1 :]) <= {"FLUSH"}
        (failed,) = pair.events_of(QpFailed)
        assert failed.status == statuses[good]
    whole = expected(schedule)
    assert pair.received == whole[: len(pair.received)]
    acknowledged = [m for m, s in zip(schedule.messages, statuses, strict=True) if s == "SUCCESS" and m[0] != "write"]
    assert len(pair.received) >= len(acknowledged)


def _fields(schedule: Schedule) -> dict[str, Any]:
    return {name: getattr(schedule, name) for name in Schedule.__dataclass_fields__}


def test_a_receiver_that_never_reads_the_same_memory_twice() -> None:
    """A WRITE that was delivered is not written again by late duplicates: the user may reuse its memory."""
    pair = RcPair(memory=ROOM, retry7_infinite=True)
    pair.fate = lambda sent: (0, 5_000_000) if sent.side == "a" else (0,)
    pair.ends["b"].post_receive(0x22, ReceiveRequest(0))
    pair.write(pattern(8 * MTU), imm=1)
    pair.run(until=lambda: bool(pair.received))
    pair.memory[:] = b"\x11" * ROOM
    pair.run()
    assert pair.memory == b"\x11" * ROOM
