"""A checker as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from testbed.checkers.context import CheckContext
    from testbed.history.verdict import CheckResult

__all__ = ["Check", "Checker", "never"]

Check: TypeAlias = "Callable[[CheckContext], CheckResult]"


def never(context: CheckContext) -> str | None:
    """Of a check that applies to every run."""
    return None


@dataclass(frozen=True, slots=True)
class Checker:
    name: str
    check: Check
    proves: str
    """what a pass means, for `tb list` and the documentation"""
    skip: Callable[[CheckContext], str | None] = never
    """why the check does not apply to this run; None: it does; empty: it does not, and no report says so"""
    of_run: bool = False
    """it asks what holds for a run as a whole; False: it judges the jobs of one protocol, each for itself"""
    own: bool = False
    """code of the user's own, named on a command line"""
