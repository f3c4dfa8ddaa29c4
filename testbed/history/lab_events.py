"""Facts about a lab's hosts, for the history of a run and the log of a lab."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event

__all__ = ["LabStep"]


@dataclass(frozen=True, slots=True)
class LabStep(Event):
    """One task on one host."""

    step: str
    """check, deploy, program, ..."""
    host: str
    seconds: float
    verdict: str
    """done, unchanged, failed"""
    detail: str
    """text for people: what was found, or what went wrong"""
