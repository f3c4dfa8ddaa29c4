"""The smallest set of faults that still stalls a job, by delta debugging (Zeller and Hildebrandt, Simplifying and
Isolating Failure-Inducing Input, 2002)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from testbed.faults.base import Fault, Window
from testbed.faults.events import FaultStruck
from testbed.faults.model import Drop
from testbed.history import Record
from testbed.scenario import Scenario
from topologies import Direction

__all__ = ["Smallest", "smallest_faults", "smallest_part"]

_LOST = ("loss", "burst", "drop")
"""kinds of faults whose hits lose a packet"""
_MOST_TRIES = 300
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Smallest:
    faults: tuple[Fault, ...]
    tries: int
    """runs that were made for it"""
    minimal: bool
    """no single fault can be left out; False: the search ended at its limit"""


def smallest_part(
    whole: Sequence[_T], holds: Callable[[Sequence[_T]], bool], most: int = _MOST_TRIES
) -> tuple[list[_T], int, bool]:
    """A part of `whole` that `holds`, from which nothing can be left out: (part, tries, whether that was proved).
    `whole` itself must hold."""
    part, pieces, tries = list(whole), 2, 0
    if part and holds([]):
        return [], 1, True
    while len(part) > 1:
        size = -(-len(part) // pieces)
        chunks = [part[at : at + size] for at in range(0, len(part), size)]
        candidates = [*chunks] if pieces == 2 else []
        candidates += [[each for other in chunks if other is not chunk for each in other] for chunk in chunks]
        for candidate in candidates:
            if tries >= most:
                return part, tries, False
            tries += 1
            if holds(candidate):
                part, pieces = candidate, max(2, pieces - 1)
                break
        else:
            if pieces >= len(part):
                return part, tries, True
            pieces = min(len(part), 2 * pieces)
    return part, tries, True


def smallest_faults(scenario: Scenario, history: Iterable[Record], stalls: Callable[[Scenario], bool]) -> Smallest:
    """Of a scenario that `stalls`. First, each packet that a fault lost becomes a fault of its own, so that the result
    names packets; where that does not stall, the faults stay as they are."""
    whole: Sequence[Fault] = scenario.faults
    single = _one_for_each_hit(scenario, history)
    tries = 0
    if single is not None:
        tries = 1
        if stalls(replace(scenario, faults=tuple(single))):
            whole = single
    part, more, minimal = smallest_part(whole, lambda faults: stalls(replace(scenario, faults=tuple(faults))))
    return Smallest(tuple(part), tries + more, minimal)


def _one_for_each_hit(scenario: Scenario, history: Iterable[Record]) -> list[Fault] | None:
    """None: no fault lost a packet by chance or by its window."""
    kinds = {fault.name: fault for fault in scenario.faults}
    lost: dict[str, list[Fault]] = {}
    for record in history:
        event = record.event
        if isinstance(event, FaultStruck) and event.kind in _LOST and event.fault in kinds:
            hits = lost.setdefault(event.fault, [])
            window = Window(record.t, record.t + 1)
            name = f"{event.fault}-{len(hits) + 1}"
            hits.append(Drop(name, (event.target,), (Direction(event.direction),), window))
    if not lost:
        return None
    return [each for fault in scenario.faults for each in lost.get(fault.name, [fault])]
