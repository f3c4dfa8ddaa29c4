"""Gradient routing: which switch aggregates which worker's gradients, and along which links they travel.

A `Problem` goes in, a `RoutingPlan` comes out; `violations` says whether a plan holds. Pure functions; linear programs
by HiGHS."""

from topologies.routing.gradients.assigned import assigned_plan
from topologies.routing.gradients.plan import Load, Merge, Route, RoutingPlan, Stream
from topologies.routing.gradients.planners import PLANNERS, Planner, make_plan
from topologies.routing.gradients.problem import Infeasible, Problem
from topologies.routing.gradients.storage import plan_from_document, plan_to_document
from topologies.routing.gradients.validation import violations

__all__ = [
    "PLANNERS",
    "Infeasible",
    "Load",
    "Merge",
    "Planner",
    "Problem",
    "Route",
    "RoutingPlan",
    "Stream",
    "assigned_plan",
    "make_plan",
    "plan_from_document",
    "plan_to_document",
    "violations",
]
