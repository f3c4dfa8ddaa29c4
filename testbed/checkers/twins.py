"""Comparison of an emulated run with its reference run: the same plan and seed in virtual time. Pure.

What differs between the two is what the machine did to the emulation. Where nothing is lost, one reference run is
enough: times deviate by 5 % at most, and nothing is sent again.

Under chance, or where losses depend on when things happen, one run is one draw. Then several reference runs, their
starts shifted by less than a wake-up, span a range. There are more of them if the run is outside the range of a few.

Where every loss is a drop by identity, the number of resent packets must be that of one of them. Which frame is on its
way when a NAK comes may depend on less than a wake-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from testbed.faults.model import Corrupt, Drop, Fault, PacketFault
from testbed.scenario.model import Scenario

__all__ = [
    "MOST_TWINS",
    "OF_JOB",
    "TOLERANCE",
    "TWINS",
    "Figures",
    "Twin",
    "deviation",
    "is_by_identity",
    "judge_twin",
    "needs_several",
]

TOLERANCE = 0.05
OF_JOB = "JCT of job "
TWINS = 5
"""of a run under chance, at least"""
MOST_TWINS = 25
"""most reference runs of a run that is outside the range of fewer. A draw of the same kind lies outside the range of n
others with probability 2 / (n + 1): a third for 5, and 8 % for 25"""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run is compared by."""

    seconds: Mapping[str, float]
    """by name: `JCT`, `JCT of job two`, `iterations`"""
    resent: int | None
    """packets sent again; None: not reported"""


@dataclass(frozen=True, slots=True)
class Twin:
    """The runs in virtual time, or why there are none."""

    runs: tuple[Figures, ...] = ()
    by_identity: bool = False
    """packets sent again must be equal"""
    left_out: str = ""
    """why it judges nothing, in words; empty: it judges"""
    fails: bool = False
    """whether being left out is a reason of its own: it is then not known whether the figures are true"""
    took_s: float = field(default=0.0, compare=False)
    """real time"""


def is_by_identity(faults: tuple[Fault, ...]) -> bool:
    """Whether there are faults, and each applies to packets that it names, whenever they come."""
    return bool(faults) and all(
        isinstance(fault, Drop | Corrupt)
        and fault.rate in (0, 1)
        and not fault.window.start_ns
        and fault.window.stop_ns is None
        for fault in faults
    )


def needs_several(scenario: Scenario, first: Figures) -> bool:
    """Whether one reference run is only one draw. `first`: figures of the reference run that was made first."""
    if scenario.faults and not is_by_identity(scenario.faults):
        return any(not isinstance(fault, PacketFault) or fault.rate > 0 for fault in scenario.faults)
    jitter = any(link.shape.jitter_ns for link in scenario.topology.links)
    # One mark more or less, and DCQCN takes another way.
    slows_down = scenario.transport.congestion_control != "none"
    return bool(first.resent) or jitter or slows_down


def deviation(own: Figures, twin: Twin) -> float | None:
    """Deviation of the JCT from the nearest end of the range of the reference runs: 0.05 is 5 % slower. None: one of
    them has no JCT."""
    return _deviation("JCT", own, twin)


def _deviation(name: str, own: Figures, twin: Twin) -> float | None:
    found = [run.seconds[name] for run in twin.runs if name in run.seconds]
    if name not in own.seconds or not found or min(found) <= 0:
        return None
    value = own.seconds[name]
    nearest = min(max(value, min(found)), max(found))
    return value / nearest - 1


def judge_twin(own: Figures, twin: Twin) -> list[str]:
    """Reasons why the figures of a run are not to be trusted. None where the reference run does not judge."""
    if twin.left_out:
        return [twin.left_out] if twin.fails else []
    reasons = []
    several = len(twin.runs) > 1
    # Of many jobs under chance some are outside any range of five draws: then their average is judged.
    judged = [name for name in own.seconds if not several or not name.startswith(OF_JOB)]
    for name in judged:
        off = _deviation(name, own, twin)
        if off is None:
            reasons.append(f"{name}: the reference run in virtual time has none")
        elif abs(off) > TOLERANCE:
            beside = f"the range of {len(twin.runs)} runs" if several else "the same run"
            reasons.append(f"{name}: {off:+.1%} from {beside} in virtual time, the limit is {TOLERANCE:.0%}")
    missing = sorted({name for run in twin.runs for name in run.seconds} - set(own.seconds))
    reasons += [f"{name}: the reference run in virtual time has it, this run does not" for name in missing]
    resent = {run.resent for run in twin.runs}
    equal = twin.by_identity or resent == {0}
    if equal and own.resent is not None and own.resent not in resent:
        counts = ", ".join(f"{count:,}" for count in sorted(count for count in resent if count is not None))
        reasons.append(f"{own.resent:,} packets were sent again, in virtual time {counts or 'unknown'}")
    return reasons
