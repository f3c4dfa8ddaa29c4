"""A Machine with a verb for the end of its run."""

from __future__ import annotations

from typing import Protocol

from workloads.machine import Machine

__all__ = ["FinishingMachine"]


class FinishingMachine(Machine, Protocol):
    def finish(self, now: int) -> None:
        """Queue the last events: statistics, slots."""
        ...
