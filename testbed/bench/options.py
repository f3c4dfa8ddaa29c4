"""What a user may ask of a bench in addition to its world."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
    """seeds of each point; None: as many as the bench thinks right"""
    csv: Path | None = None
    """file where all runs are written, too"""
    slower: int = 1
    """divisor of all rates"""
    repeats: int | None = None
    """repeats of each run in real time; None: as many as the bench thinks right"""
    dilation: int | str | None = None
    """real seconds of an emulated one, `auto`: as many as the machine needs; None: as the bench thinks right"""
    plot: Path | None = None
    """file for the plot; None: where the bench thinks right"""

    @property
    def factor(self) -> int | None:
        """The dilation as a number; None: left to the machine."""
        return None if self.dilation in (None, "auto") else int(self.dilation)


_FLAGS = {
    "quick": "--quick", "processes": "--jobs", "seeds": "--seeds", "csv": "--csv", "slower": "--slower",
    "repeats": "--repeats", "dilation": "--dilation", "plot": "--plot",
}  # fmt: skip


def refuse_options(bench: str, options: BenchOptions, takers: Mapping[str, Collection[str]]) -> None:
    """Raises ScenarioError when something is asked for that `bench` does not have. `takers`: by bench, names of the
    fields that it has."""
    for item in fields(options):
        if getattr(options, item.name) != item.default and item.name not in takers[bench]:
            having = ", ".join(name for name, taken in takers.items() if item.name in taken)
            raise ScenarioError(
                f"{bench} has no such option", file="tb bench", key=_FLAGS[item.name], allowed=f"with {having}"
            )
