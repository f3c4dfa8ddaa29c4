"""Facts that an emulated card reports."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.machine import Event

__all__ = ["CardCommanded", "CardFaultStruck", "CardLoaded"]


@dataclass(frozen=True, slots=True)
class CardCommanded(Event):
    """A command was taken from register CONTROL."""

    command: str
    """command as in `regmap.Command`, in lower case"""
    failure: str
    """failure as in `regmap.Failure`, in lower case; none: it was obeyed"""


@dataclass(frozen=True, slots=True)
class CardLoaded(Event):
    """A load came to its end."""

    hash: str
    """SHA-256 of what is loaded, in hexadecimal; empty: nothing is"""
    program: str
    failure: str


@dataclass(frozen=True, slots=True)
class CardFaultStruck(Event):
    """A fault of the card took effect for the first time."""

    fault: str
