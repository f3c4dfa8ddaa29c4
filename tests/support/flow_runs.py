"""Runs of flows in virtual time."""

from __future__ import annotations

from testbed.checkers.context import CheckContext
from testbed.history import Record, sort_history
from testbed.plan import Plan, make_plan
from testbed.scenario import parse_scenario
from testbed.worlds.simulated.world import Simulation

__all__ = ["run_of", "run_text"]


def run_of(plan: Plan) -> CheckContext:
    """A finished run."""
    records: list[Record] = []
    Simulation(plan, records.append).run()
    return CheckContext(plan, sort_history(records))


def run_text(text: str) -> CheckContext:
    """The same of a scenario file's text."""
    return run_of(make_plan(parse_scenario(text, "flows.yaml")))
