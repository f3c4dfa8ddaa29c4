"""What a user may ask of a bench beside its world."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from workloads.errors import ScenarioError

__all__ = ["BenchOptions", "refuse_options"]


@dataclass(frozen=True, slots=True)
class BenchOptions:
    quick: bool = False
    """fewer points"""
    processes: int | None = None
    """runs at the same time; None: one for each core"""
    seeds: int | None = None
    """of each point; None: as many as the bench thinks right"""
    csv: Path | None = None
    """where all runs are written, too"""


_FLAGS = {"quick": "--quick", "processes": "--jobs", "seeds": "--seeds", "csv": "--csv"}


def refuse_options(bench: str, options: BenchOptions, allowed: str) -> None:
    """Raises ScenarioError when anything is asked for: `bench` has no options. `allowed`: the benches that have."""
    for item in fields(options):
        value = getattr(options, item.name)
        if value != item.default:
            flag = _FLAGS[item.name]
            raise ScenarioError(f"{bench} has no such option", file="tb bench", key=flag, allowed=f"with {allowed}")
