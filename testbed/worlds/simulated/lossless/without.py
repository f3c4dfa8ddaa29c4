"""What the checker of lossless classes asks: whether the same run would have lost a packet without PFC."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Protocol

from testbed.history import Record, make_record
from testbed.history.pfc_events import WithoutPfc
from testbed.plan import Plan
from testbed.worlds.simulated.agenda import Agenda
from testbed.worlds.simulated.lossless.fabric import LosslessFabric

__all__ = ["first_loss", "lossy"]


class _Run(Protocol):
    agenda: Agenda
    fabric: LosslessFabric | None

    @property
    def unfinished(self) -> Collection[str]: ...

    def start(self) -> None: ...

    def advance(self, limit: int, goes_on: Callable[[], object]) -> bool: ...


def lossy(plan: Plan) -> Plan:
    """The same plan with the same thresholds, but without any lossless class or pause."""
    assert plan.scenario.pfc is not None
    return replace(plan, scenario=replace(plan.scenario, pfc=replace(plan.scenario.pfc, lossless=())))


def first_loss(run: _Run, until_ns: int) -> Record:
    """Carry out a run of a lossy plan, up to the first packet that a buffer drops, or `until_ns`, when the record is
    made."""
    fabric = run.fabric
    assert fabric is not None
    run.start()
    run.advance(until_ns, lambda: bool(run.unfinished) and not fabric.first_drop)
    dropped_ns = run.agenda.now if fabric.first_drop else -1
    return make_record(until_ns, "world", WithoutPfc(dropped_ns, fabric.first_drop))
