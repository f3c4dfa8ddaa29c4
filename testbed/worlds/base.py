"""What every world offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from testbed.history import Record
from testbed.plan import Plan

__all__ = ["RunFacts", "World"]


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run leaves beside its history."""

    captures: tuple[Path, ...] = ()
    """pcapng files, one per switch"""
    environment: dict[str, str] = field(default_factory=dict)
    """kernel, versions, backends that were used"""
    skipped: tuple[str, ...] = ()
    """checks that could not run, with the reason"""
    partial: tuple[str, ...] = ()
    """checks that saw less than they see elsewhere, with what they did not see"""
    plan: Plan | None = None
    """as it ran, where devices chose names that the plan could not know; None: as it was"""


class World(Protocol):
    name: str

    def run(self, plan: Plan, run_dir: Path, on_record: Callable[[Record], None]) -> RunFacts:
        """Realise the plan until every worker finished or failed, or the time limit; tell each record as it comes; leave
        nothing behind. Raises HostCapabilityError before it makes anything when this machine cannot do it."""
        ...
