"""What an archive holds, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Experiment", "LeftOut", "PackedRun"]


@dataclass(frozen=True, slots=True)
class PackedRun:
    """One finished run: alone, or at a point of a sweep."""

    name: str
    """its folder inside that of the experiment; empty: it is the experiment"""
    scenario: bytes
    """resolved scenario as a file"""
    document: Mapping[str, Any]
    """result.json"""
    labels: Mapping[str, Any] = field(default_factory=dict)
    """what the sweep varied, without the seed"""

    @property
    def in_virtual_time(self) -> bool:
        return bool(self.document["world"] == "simulated")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A point of a sweep without a result."""

    labels: Mapping[str, Any]
    seed: int
    status: str
    """invalid (no run is possible), failed (it was not computed)"""
    reason: str

    @property
    def shown(self) -> str:
        return ", ".join((*(f"{name} {value}" for name, value in self.labels.items()), f"seed {self.seed}"))


@dataclass(frozen=True, slots=True)
class Experiment:
    """One run or one sweep."""

    name: str
    kind: str
    """run, sweep"""
    runs: tuple[PackedRun, ...]
    figures: tuple[str, ...]
    """figures that tables and plots show"""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """other files of its folder: tables and plots"""
    left_out: tuple[LeftOut, ...] = ()
    hidden: tuple[str, ...] = ()
    """plots that are not packed: they may show absolute paths"""
