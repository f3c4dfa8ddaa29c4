"""`tb route`: plan gradient routes; nothing is sent."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.terminal.folding import fold_lines
from testbed.terminal.standard import print_document
from testbed.terminal.stream import columns, complain
from workloads.errors import ScenarioError
from workloads.trusted import write_named

if TYPE_CHECKING:
    from topologies.routing.gradients import RoutingPlan

__all__ = ["run_route"]


def run_route(args: argparse.Namespace) -> int:
    from testbed.drawing.routes import picture_of_plan
    from testbed.plan.gradient_routes import plan_scenario
    from testbed.scenario import load_scenario
    from topologies.routing.gradients import plan_to_document

    if args.scenario.endswith(".json"):
        return _show_saved(args)
    scenario = load_scenario(args.scenario, args.overrides, args.seed)
    common, single = _capacities(args.capacities)
    if common is not None and scenario.routing is not None:
        single = dict.fromkeys((switch.name for switch in scenario.topology.switches), common) | single
    plan = plan_scenario(scenario, args.planner, single or None)
    if args.svg is not None:
        from testbed.drawing import draw_svg

        write_named(args.svg, draw_svg(picture_of_plan(scenario, plan)), key="--svg")
    if args.json:
        print_document(json.dumps(plan_to_document(plan), indent=1))
    else:
        _show(plan)
    return 0


def _show(plan: RoutingPlan) -> None:
    from testbed.drawing.load_table import load_table

    print("\n".join(fold_lines(load_table(plan), columns(sys.stdout))))


def _show_saved(args: argparse.Namespace) -> int:
    """A plan that does not hold is a failed check: exit 1."""
    from topologies.routing.gradients import plan_from_document, plan_to_document, violations

    for flag, given in (("--planner", args.planner), ("--switch-capacity", args.capacities), ("--set", args.overrides),
                        ("--svg", args.svg), ("--seed", args.seed is not None)):  # fmt: skip
        if given:
            raise ScenarioError("a saved plan is shown as it is", file=flag, allowed="without a plan: a scenario")
    try:
        plan = plan_from_document(json.loads(Path(args.scenario).read_text(encoding="utf-8")))
    except OSError as error:
        raise ScenarioError(f"cannot be read: {error.strerror or error}", file=args.scenario) from error
    except ValueError as error:
        raise ScenarioError(
            f"not a plan: {error}", file=args.scenario, allowed="what `tb route --json` wrote"
        ) from error
    if args.json:
        print_document(json.dumps(plan_to_document(plan), indent=1))
    else:
        _show(plan)
    wrong = violations(plan)
    complain(*(f"does not hold: {text}" for text in wrong))
    return 1 if wrong else 0


def _capacities(texts: list[str]) -> tuple[float | None, dict[str, float]]:
    """(for all, for single switches)"""
    from testbed.reading.units import UnitError, parse_rate

    common, single = None, dict[str, float]()
    for text in texts:
        name, equals, rate = text.rpartition("=")
        try:
            value = float(parse_rate(rate))
        except UnitError as error:
            raise ScenarioError(
                error.problem, file="--switch-capacity", found=f"'{text}'", allowed=error.allowed, hint=error.hint
            ) from error
        if equals:
            single[name] = value
        else:
            common = value
    return common, single
