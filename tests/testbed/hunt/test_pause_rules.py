"""Pauses that a switch lets run out are found, and answered ones are not."""

from __future__ import annotations

import pytest

from testbed.captures.capture import MemoryTap
from testbed.hunt.pause_rules import PAUSES_ANSWERED, broken_pause_rules
from testbed.scenario import parse_scenario
from workloads.wire.pfc import encode_pfc

_TEXT = """
name: paused
world: simulated
topology: {kind: rack, hosts: 2, link: {rate: 1Gbps}}
job: {size: 4kB}
"""
_QUANTA = 1000
_HALF = 256_000
"""ns: half of 1,000 times 512 bit times at 1 Gbit/s"""
_END = 10_000_000


def broken(sent: list[tuple[int, int]], pfc: str = "pfc: {buffer: 1MB}") -> list[tuple[str, str]]:
    """`sent`: (time in ns, quanta) of the PFC frames of the switch."""
    scenario = parse_scenario(_TEXT + pfc, "paused.yaml")
    tap = MemoryTap("s1", ["h1-s1", "h2-s1"])
    for time, quanta in sent:
        tap.record_frame(0, encode_pfc(bytes(6), {3: quanta}), time, True)
    return list(broken_pause_rules(scenario, [tap], _END))


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [(1000, _QUANTA), (1000 + _HALF, _QUANTA), (1000 + 2 * _HALF, 0)],
        [(1000, _QUANTA), (1500, 0)],
        [(_END - _HALF, _QUANTA)],
    ],
)
def test_answered_pauses_break_no_rule(sent: list[tuple[int, int]]) -> None:
    assert broken(sent) == []


@pytest.mark.parametrize(
    "sent",
    [
        [(1000, _QUANTA)],
        [(1000, _QUANTA), (1000 + _HALF + 2, 0)],
        [(1000, _QUANTA), (1000 + _HALF, _QUANTA)],
    ],
)
def test_a_pause_that_runs_out_breaks_the_rule(sent: list[tuple[int, int]]) -> None:
    ((rule, what),) = broken(sent)
    assert rule == PAUSES_ANSWERED
    assert "a pause on h1-s1 from" in what


def test_without_pfc_there_is_nothing_to_answer() -> None:
    assert broken([(1000, _QUANTA)], "") == []
