"""Nodes of the emulated world that send and obey PFC."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from testbed.history import Record
from testbed.scenario.model import Scenario

if TYPE_CHECKING:
    from testbed.worlds.emulated.lossless.reports import PauseReports

__all__ = ["pause_reports"]


def pause_reports(scenario: Scenario, on_record: Callable[[Record], None]) -> PauseReports | None:
    """None: without PFC, which alone needs parts of the simulated world."""
    if scenario.pfc is None:
        return None
    from testbed.worlds.emulated.lossless.reports import PauseReports

    return PauseReports(scenario, on_record)
