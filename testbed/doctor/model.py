"""What a probe is and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Check", "Probe", "ProbeFailed", "ProbeSpec"]

Check = Callable[[], str]
"""Does the thing; returns a detail for people. Whatever it raises means no."""


class ProbeFailed(Exception):
    """The machine lacks it; the text is the detail."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One answer. All fields are JSON values."""

    name: str
    title: str
    ok: bool
    detail: str
    instead: str
    """what will be used, or what will not run, when it is not ok"""
    remedy: str
    """what would supply it"""


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    name: str
    title: str
    check: Check
    instead: str
    remedy: str
    isolated: bool = False
    """whether it runs in a child process with a network namespace of its own, which goes with it"""
