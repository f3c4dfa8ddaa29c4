"""A rule for the PFC frames that switches send: `pauses_answered`. The stock checkers cannot judge it, since a pause
that runs out costs time, or a loss that a fault may explain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from testbed.captures.capture import MemoryTap
from testbed.scenario.model import Scenario
from workloads.wire.pfc import decode_pfc, pause_ns

__all__ = ["PAUSES_ANSWERED", "broken_pause_rules"]

PAUSES_ANSWERED = "pauses_answered"


def broken_pause_rules(scenario: Scenario, taps: Sequence[MemoryTap], end: int) -> Iterator[tuple[str, str]]:
    """(rule, what broke it): pauses that a switch let run out. After each PFC frame with a time, another one comes
    within half of this time. Faults behind the tap do not matter. `end`: of the run, in ns."""
    if scenario.pfc is None:
        return
    for what in _unasked(scenario, taps, end):
        yield PAUSES_ANSWERED, what


def _unasked(scenario: Scenario, taps: Sequence[MemoryTap], end: int) -> Iterator[str]:
    for tap in taps:
        last: dict[tuple[str, int], tuple[int, int]] = {}
        for name, captured in tap.read():
            times = decode_pfc(captured.frame) if captured.outgoing else None
            for pfc_class, quanta in (times or {}).items():
                yield from _late(scenario, name, last.get((name, pfc_class)), captured.time_ns)
                last[name, pfc_class] = captured.time_ns, quanta
        for (name, _), asked in last.items():
            yield from _late(scenario, name, asked, end)


def _late(scenario: Scenario, name: str, asked: tuple[int, int] | None, now: int) -> Iterator[str]:
    if asked is not None and asked[1]:
        rate = scenario.topology.link(name).shape.rate_bps
        if now > asked[0] + pause_ns(asked[1], rate) // 2 + 1:
            yield f"a pause on {name} from {asked[0]} ns was neither asked for again nor ended by {now} ns"
