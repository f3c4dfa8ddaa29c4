"""A Machine that is told when its run ends."""

from __future__ import annotations

from typing import Protocol

from workloads.machine import Machine

__all__ = ["FinishingMachine"]


class FinishingMachine(Machine, Protocol):
    def finish(self, now: int) -> None:
        """Queue what is told at the end: statistics, slots."""
        ...
