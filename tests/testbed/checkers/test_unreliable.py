"""Captures of SwitchML over UC: what a run leaves passes, and each rule is broken once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from testbed.captures.capture import MemoryTap
from testbed.captures.pcapng import CapturedFrame
from testbed.checkers import CheckContext
from testbed.checkers.unreliable import skip_unreliable, unreliable
from testbed.faults.model import Corrupt, Duplicate, Kill, Loss, Window
from testbed.history.verdict import CheckResult, Verdict
from testbed.plan import Plan, make_plan
from testbed.worlds.simulated import simulate
from tests.support.simulation import rack_links, rack_plan
from workloads.wire import Packet, Reth, decode_packet, encode_packet

pytestmark = pytest.mark.protocols("switchml")

Frames = list[tuple[str, CapturedFrame]]


def plan_of(*faults: Any, framing: str = "uc", **changes: Any) -> Plan:
    plan = rack_plan(
        2, faults=faults, program="switchml", time_limit_ns=200_000_000,
        transport={"path_mtu": 256, "framing": framing, "uc_packets": 3 if framing == "uc" else 1,
            "start_psn": 0xFFFFFB},
        job={"protocol": "switchml", "size_bytes": 12_000, "window_packets": 6},
    )  # fmt: skip
    return make_plan(replace(plan.scenario, **{"capture": True, **changes}))


@dataclass
class Recorded:
    frames: Frames
    name = switch = "s1"

    def read(self) -> Iterator[tuple[str, CapturedFrame]]:
        return iter(self.frames)


def record(plan: Plan) -> Frames:
    tap = MemoryTap("s1", ["h1-s1", "h2-s1"])
    simulate(plan, taps={"s1": tap})
    return list(tap.read())


def judge(plan: Plan, frames: Frames) -> CheckResult:
    return unreliable(CheckContext(plan, [], (Recorded(frames),)))


PLAN = plan_of()
GOOD = record(PLAN)


def positions(outgoing: bool, starts: bool, ends: bool) -> list[int]:
    return [
        at
        for at, (_, captured) in enumerate(GOOD)
        if captured.outgoing == outgoing
        and (packet := decode_packet(captured.frame)) is not None
        and (packet.info.starts, packet.info.ends) == (starts, ends)
    ]


FIRSTS, LASTS, ONLIES = (positions(True, *kind) for kind in ((True, False), (False, True), (True, True)))
COMING = positions(False, True, False)


def edit(at: int, change: Callable[[Packet], Packet]) -> Frames:
    frames = list(GOOD)
    link, captured = frames[at]
    packet = decode_packet(captured.frame)
    assert packet is not None
    frames[at] = link, captured._replace(frame=encode_packet(change(packet)))
    return frames


def psn(packet: Packet, step: int) -> Packet:
    return replace(packet, bth=replace(packet.bth, psn=(packet.bth.psn + step) % (1 << 24)))


def damaged(at: int) -> Frames:
    frames = list(GOOD)
    link, captured = frames[at]
    frames[at] = link, captured._replace(frame=captured.frame[:-1] + bytes([captured.frame[-1] ^ 1]))
    return frames


def without(at: int) -> Frames:
    return GOOD[:at] + GOOD[at + 1 :]


def rules(result: CheckResult) -> set[int]:
    assert result.verdict is Verdict.FAIL, result
    return {int(text.split()[1]) for text in result.evidence}


def test_a_run_passes_and_says_what_was_seen() -> None:
    result = judge(PLAN, GOOD)
    assert result.verdict is Verdict.PASS
    left = sum(captured.outgoing for _, captured in GOOD)
    messages = len(LASTS) + len(ONLIES)
    assert result.detail == (
        f"{left} packets came, {left} left in {messages} messages, with valid iCRCs and without a gap in the switch's "
        "PSNs"
    )
    assert len(FIRSTS) == len(LASTS) > 20
    assert ONLIES


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (damaged(FIRSTS[3]), {1, 3, 4}),
        (damaged(COMING[3]), {1}),
        ([("h1-s1", CapturedFrame(0, 0, True, GOOD[0][1].frame[:60], ""))], {1}),
        (edit(FIRSTS[3], lambda p: replace(p, bth=replace(p.bth, dest_qpn=5))), {2, 3, 4}),
        (edit(COMING[3], lambda p: replace(p, bth=replace(p.bth, dest_qpn=5))), {2}),
        (edit(ONLIES[0], lambda p: psn(p, 1)), {3}),
        (without(ONLIES[0]), {3}),
        (without(FIRSTS[2]), {3, 4}),
        (without(LASTS[-1]), set()),
        (GOOD[: FIRSTS[2]] + GOOD[FIRSTS[2] : FIRSTS[2] + 1] * 2 + GOOD[FIRSTS[2] + 1 :], {3}),
        (edit(FIRSTS[3], lambda p: replace(p, payload=p.payload[:-4])), {4}),
        (edit(LASTS[3], lambda p: replace(p, payload=p.payload[:-4])), {4}),
        (edit(FIRSTS[3], lambda p: replace(p, reth=Reth(0, 0, 700))), {4}),
        (edit(COMING[4], lambda p: psn(p, -1)), {5}),
    ],
)  # fmt: skip
def test_each_rule_is_found_broken(frames: Frames, expected: set[int]) -> None:
    result = judge(PLAN, frames)
    assert (rules(result) if expected else result.verdict) == (expected or Verdict.PASS)


def test_what_a_fault_explains_is_no_violation() -> None:
    links = rack_links(2)
    for faults in (
        (Loss("loss", links, rate=0.1), Corrupt("damage", links, rate=0.1)),
        (Loss("loss", links, rate=0.1), Duplicate("twice", links, rate=0.2, delay_ns=3_000_000)),
        (Kill("crash", "s1", Window(2_000_000, 9_000_000)),),
        (Kill("crash", "h1", Window(2_000_000, 9_000_000)),),
    ):
        plan = plan_of(*faults)
        result = judge(plan, record(plan))
        assert result.verdict is Verdict.PASS, result


def test_damage_may_come_in_and_never_leave() -> None:
    plan = plan_of(Corrupt("damage", rack_links(2), rate=0.1))
    assert judge(plan, damaged(COMING[3])).verdict is Verdict.PASS
    assert 1 in rules(judge(plan, damaged(FIRSTS[3])))


def test_without_evidence_nothing_is_said() -> None:
    assert unreliable(CheckContext(PLAN, [])).verdict is Verdict.UNKNOWN
    assert judge(PLAN, GOOD[: ONLIES[0]]).detail == "no packet of an unreliable connection left a switch"


def test_where_it_does_not_apply() -> None:
    assert skip_unreliable(CheckContext(PLAN, [])) is None
    assert skip_unreliable(CheckContext(plan_of(framing="udp"), [])) == ""
    off = plan_of(capture=False)
    assert skip_unreliable(CheckContext(off, [])) == "the scenario turns the capture off (capture: false)"
