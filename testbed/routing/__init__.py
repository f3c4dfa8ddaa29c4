"""Gradient routes of a scenario: planned, as a table, as a picture."""

from testbed.routing.picture import picture_of_plan
from testbed.routing.planning import plan_scenario, problem_of
from testbed.routing.table import format_bps, load_table

__all__ = ["format_bps", "load_table", "picture_of_plan", "plan_scenario", "problem_of"]
