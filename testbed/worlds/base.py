"""What every world offers, and what those with our own nodes on this machine share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from testbed.history import Record
from testbed.plan import Plan
from workloads.native.account import COMPILED, account_of

__all__ = ["NODE_LIBRARIES", "SIMULATED_LIBRARIES", "RunFacts", "World", "code_that_ran"]

NODE_LIBRARIES = ("packet_io", "rc_fast", "switch_programs", "fault_filter")
"""of the C core, that nodes in processes of their own use"""
SIMULATED_LIBRARIES = ("simulator", "rc_fast", "switch_programs", "fault_filter", COMPILED)
"""of the C core, that the simulated world uses"""


def code_that_ran(*libraries: str) -> dict[str, str]:
    """For `RunFacts.environment`: whether the C core ran, or the Python reference and why."""
    return {"code": account_of(libraries)}


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run leaves in addition to its history."""

    captures: tuple[Path, ...] = ()
    """pcapng files, one per switch"""
    environment: dict[str, str] = field(default_factory=dict)
    """kernel, versions, backends that were used"""
    skipped: tuple[str, ...] = ()
    """checks that could not run, with the reason"""
    partial: tuple[str, ...] = ()
    """checks that saw less than they see elsewhere, with what they did not see"""
    not_dilated: tuple[str, ...] = ()
    """what of a dilated run lived by the machine's time all the same"""
    plan: Plan | None = None
    """as it ran, where devices chose names that the plan could not know; None: as it was"""


class World(Protocol):
    name: str

    def run(self, plan: Plan, run_dir: Path, on_record: Callable[[Record], None]) -> RunFacts:
        """Realise the plan until every worker finished or failed, or the time limit; tell each record as it comes;
        leave nothing behind. Raises HostCapabilityError before it makes anything when this machine cannot do it."""
        ...
