"""A sweep over scenarios as values: what is varied, one point of it, and what came out there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.comparison.figures import Figure
from testbed.sweeps.plots.options import PlotOptions

__all__ = ["MAX_POINTS", "Outcome", "Point", "ScenarioSweep", "Variant", "name_of"]

_NAME_DIGITS = 16
MAX_POINTS = 20_000
"""runs of one sweep"""


@dataclass(frozen=True, slots=True)
class Variant:
    """A named set of changes, for instance a protocol with one kind of loss recovery."""

    label: str
    protocol: str = ""
    """empty: that of the scenario"""
    changes: tuple[tuple[str, Any], ...] = ()
    """keys of the scenario and their values, applied last"""


@dataclass(frozen=True, slots=True)
class ScenarioSweep:
    name: str
    description: str
    scenarios: tuple[str, ...]
    """names of built-ins, or files"""
    variants: tuple[Variant, ...] = ()
    """empty: the scenarios as they are"""
    axes: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """(key of the scenario, values), in the order of the file"""
    seeds: tuple[int, ...] = ()
    """empty: each scenario's own"""
    worlds: tuple[str, ...] = ()
    """empty: each scenario's own"""
    changes: tuple[str, ...] = ()
    """`key=value` for all points"""
    figures: tuple[str, ...] = ("jct_s",)
    """shown in tables and plots; files hold all"""
    plot: PlotOptions = PlotOptions()
    """how its plots look"""
    names_code: bool = False
    """a command line, not a file, said which switch program: it may be one of the user's own"""
    source: str = ""

    @property
    def variant_name(self) -> str:
        """What the variants are called in tables: `protocol` where they are nothing else."""
        return (
            "protocol" if all(each.label == each.protocol and not each.changes for each in self.variants) else "variant"
        )

    @property
    def dimensions(self) -> dict[str, tuple[Any, ...]]:
        """Everything that is varied but the seed, by name -> values in order; a thing with one value is not varied."""
        found: dict[str, tuple[Any, ...]] = {
            "scenario": self.scenarios,
            self.variant_name: tuple(variant.label for variant in self.variants),
            **dict(self.axes),
            "world": self.worlds,
        }
        return {name: values for name, values in found.items() if len(values) > 1}


def name_of(function: Callable[..., object]) -> str:
    """By which another process finds a function of a module: `module:function`, as `Point.measure`."""
    return f"{function.__module__}:{function.__qualname__}"


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a sweep."""

    labels: tuple[tuple[str, Any], ...]
    """(scenario, variant, keys of axes, world) -> value; the seed is apart"""
    seed: int
    world: str
    text: str
    """the scenario, resolved, as text of a file; empty: it is invalid"""
    program: str = ""
    """a switch program of the user's own, `path.py:Class`, which a file cannot name"""
    problem: str = ""
    """why it is invalid"""
    expect: str = "pass"
    faults: tuple[str, ...] = ()
    """names of its faults"""
    measure: str = ""
    """`module:function` of the testbed: (scenario, history, result.json) -> further figures by name; empty: none"""
    repeat: int = 0
    """number of the run, where the same one is made several times in real time; 0: it is made once"""

    @property
    def values(self) -> dict[str, Any]:
        return dict(self.labels)

    def key(self, version: str) -> str:
        """Content hash: the scenario with its seed and world, and the version of the code that runs it."""
        more = (self.measure, str(self.repeat)) if self.measure or self.repeat else ()
        return hashlib.sha256("\0".join((version, self.program, self.text, *more)).encode()).hexdigest()[:32]

    @property
    def name(self) -> str:
        """Of its folder: from its content, whatever code computes it."""
        return self.key("")[:_NAME_DIGITS]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out at a point."""

    status: str
    """done; invalid (the scenario is), failed (this machine or a process of ours did)"""
    verdict: str = ""
    """verdict of a run that is done: pass, fail, unknown"""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    reason: str = ""
    """reason of what is not done, and of a verdict that is not pass: which checks"""
    untimed: str = ""
    """for a run that is done: why its figures of time are unknown"""
    wall_s: float = 0.0
    rest_bytes: int = 0
    """memory of the process before the run"""
    peak_bytes: int = 0
    """the most that the process had up to its end; 0: not known"""

    @property
    def is_done(self) -> bool:
        return self.status == "done"
