"""A sweep as values: what is varied, what is computed, and one task of it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["MAX_TASKS", "MODELS", "SWEEP_NAME", "PointTask", "Sweep"]

MAX_TASKS = 200_000
"""points of a grid times algorithms"""

SWEEP_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z", re.ASCII)

MODELS = {
    "formula": "closed forms (workloads.costs)",
    "flow": "phases of max-min fair transfers",
    "message": "every message as an event, packets in closed form",
    "packet": "the simulated world: real Machines, real frames (netreduce and ring on a rack)",
}


@dataclass(frozen=True, slots=True)
class Sweep:
    name: str
    description: str
    family: str
    """machines or rack: what the parameters describe"""
    model: str
    algorithms: tuple[str, ...]
    axes: tuple[tuple[str, tuple[int, ...]], ...]
    """(parameter, values in base units), in the order of the file; defaults are not there"""
    source: str = ""


@dataclass(frozen=True, slots=True)
class PointTask:
    """One algorithm at one point."""

    model: str
    family: str
    algorithm: str
    parameters: tuple[tuple[str, int], ...]
    """all of them, defaults too, in base units (bits per second, bytes, nanoseconds), sorted by name"""

    @property
    def values(self) -> dict[str, int]:
        return dict(self.parameters)

    def key(self, version: str) -> str:
        """Content hash: all of the task and the version of the code that computes it."""
        content: list[Any] = [version, self.model, self.family, self.algorithm, self.parameters]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
