"""Facts that the controller reports; each names the switch that it is about, and is recorded for that node."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event

__all__ = ["ControllerReady", "RulesInstalled", "RulesRefused", "SwitchLost"]


@dataclass(frozen=True, slots=True)
class ControllerReady(Event):
    """Every switch has confirmed its rules."""

    library: str
    """os-ken 4.2.2"""
    switches: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RulesInstalled(Event):
    """The switch has confirmed that it holds the rules (barrier reply)."""

    node: str
    reason: str
    """connected; port 2 of s1 is down; ..."""
    down: tuple[int, ...]
    """its ports without carrier"""
    fallback: bool
    """data is not led to the accelerator, as a port of it is dead"""
    kept: int
    """entries that were there already and stayed untouched"""
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class SwitchLost(Event):
    """The OpenFlow connection ended; the switch forwards by the rules that it has."""

    node: str


@dataclass(frozen=True, slots=True)
class RulesRefused(Event):
    """The switch answered with an error (OpenFlow 1.5, 7.5.4): a run with such a switch is no run."""

    node: str
    type: int
    code: int
