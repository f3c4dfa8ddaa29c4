"""When the faults of nodes and rates act: a pure list of actions in time order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from testbed.faults.model import Fault, Kill, Pause, RateChange
from topologies import Direction

__all__ = ["Act", "Action", "effective_rate", "make_schedule"]


class Act(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    KILL = "kill"
    RESTART = "restart"
    CHANGE_RATE = "rate_change"
    RESTORE_RATE = "rate_restore"
    CUT = "cut"
    MEND = "mend"


HEALING = frozenset({Act.RESUME, Act.RESTART, Act.RESTORE_RATE, Act.MEND})


@dataclass(frozen=True, slots=True)
class Action:
    at_ns: int
    """since the start of the traffic"""
    act: Act
    fault: str
    target: str
    """node, or link"""
    direction: Direction | None = None


def make_schedule(faults: Iterable[Fault], more: Iterable[Action] = ()) -> tuple[Action, ...]:
    """By time; at equal times what heals comes first, then in the order of the scenario, then `more`."""
    actions = [*(action for fault in faults for action in _actions(fault)), *more]
    return tuple(sorted(actions, key=lambda action: (action.at_ns, action.act not in HEALING)))


def _actions(fault: Fault) -> Iterator[Action]:
    if isinstance(fault, Pause | Kill):
        begin, end = (Act.PAUSE, Act.RESUME) if isinstance(fault, Pause) else (Act.KILL, Act.RESTART)
        yield Action(fault.window.start_ns, begin, fault.name, fault.node)
        if fault.window.stop_ns is not None:
            yield Action(fault.window.stop_ns, end, fault.name, fault.node)
    elif isinstance(fault, RateChange):
        for link in fault.links:
            for direction in fault.directions:
                yield Action(fault.window.start_ns, Act.CHANGE_RATE, fault.name, link, direction)
                if fault.window.stop_ns is not None:
                    yield Action(fault.window.stop_ns, Act.RESTORE_RATE, fault.name, link, direction)


def effective_rate(faults: Iterable[Fault], link: str, direction: Direction, at_ns: int, base_bps: int) -> int:
    """Of windows that overlap, the one that began last holds."""
    active = [
        (fault.window.start_ns, number, fault.rate_bps)
        for number, fault in enumerate(faults)
        if isinstance(fault, RateChange)
        and link in fault.links
        and direction in fault.directions
        and fault.window.start_ns <= at_ns
        and (fault.window.stop_ns is None or at_ns < fault.window.stop_ns)
    ]
    return max(active)[2] if active else base_bps
